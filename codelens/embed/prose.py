"""The fields of a piece of code → the one text that a general model is given.

Such models look at the first 256 or 512 tokens, and the beginning counts most: so the names come first, and what the body says
itself is not said twice.
"""

from __future__ import annotations

from codelens.embed.base import EmbeddedFields

LEAST_COSINE = 0.15
"""Of models of others. No figure holds for all of them: some keep even unrelated texts above .7, where ranks alone tell, others
about 0, where this is what hashing has. Chosen."""


def as_text(fields: EmbeddedFields) -> str:
    """Name and place on one line, the lines of signature and doc that the body lacks, the body; empty fields leave no line."""
    body = fields.body.strip()
    head = " ".join(part for part in (fields.name, fields.context.strip()) if part)
    signature = [line for line in map(str.strip, fields.signature.splitlines()) if line and line not in body]
    return "\n".join(part for part in (head, *signature, body) if part)
