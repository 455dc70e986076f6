"""Text → vector. `registry.open_embedder` opens the embedder that a setting names; `hashing` needs no model file."""
