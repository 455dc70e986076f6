"""References, imports and bindings of documents → edges of the symbol graph."""
