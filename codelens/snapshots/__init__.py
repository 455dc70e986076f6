"""What an index was: its log, the facts that are kept of each state, what tells two states apart, and proofs."""
