"""The symbol graph: walks and scores on it, and questions about it (callers, references, impact, hierarchy, map)."""
