"""Pure algorithms on adjacency: numbers of nodes in, weights and paths out; no SQL and no word of what a node stands for."""
