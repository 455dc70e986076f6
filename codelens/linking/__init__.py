"""Resolve the references, imports and bindings of documents to edges of the symbol graph.

`facts` holds one document, `catalog` finds others and records what was looked up, `imports` and `evaluator` find the meaning of
names and expressions. Edges come from `references`, `inheritance`, `procedures` (gRPC) and `precise` (SCIP indexes);
`linker` puts them together and finds the documents to link again after a change.
"""
