from __future__ import annotations

import math
from array import array

from codelens.embed.base import EmbeddedFields, sum_vectors
from codelens.embed.registry import HASHING, open_embedder


def test_the_sum_of_one_vector_is_itself_and_of_none_is_empty() -> None:
    (vector,) = open_embedder(HASHING).embed_code([EmbeddedFields("parse_header", "", "", "")])
    assert sum_vectors([vector]) is vector
    assert sum_vectors([]) == b""
    opposite = bytes(-v & 0xFF for v in array("b", vector))
    assert sum_vectors([vector, opposite]) == b""


def test_the_sum_of_vectors_does_not_depend_on_their_order() -> None:
    entries = [EmbeddedFields(name, "", "", "") for name in ("parse_header", "write_header", "open_socket")]
    vectors = open_embedder(HASHING).embed_code(entries)
    middle = array("b", sum_vectors(vectors))
    assert abs(math.sqrt(sum(v * v for v in middle)) - 127) < 1
    assert sum_vectors(vectors[::-1]) == middle.tobytes()
    near = [sum(a * b for a, b in zip(middle, array("b", v), strict=True)) / 127**2 for v in vectors]
    apart = sum(a * b for a, b in zip(array("b", vectors[0]), array("b", vectors[2]), strict=True)) / 127**2
    assert min(near) > apart
    assert near[0] > near[2]  # two of the three speak of headers
