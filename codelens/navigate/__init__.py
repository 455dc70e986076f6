"""Questions to the symbol graph: who uses a thing, what it uses, how two things hang together, what a change reaches."""
