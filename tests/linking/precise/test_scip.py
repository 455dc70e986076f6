"""SCIP indexes: two that real tools made, and forms that those tools do not write."""

from __future__ import annotations

import base64
import tracemalloc

import pytest

from codelens.errors import PreciseIndexError
from codelens.linking.precise.scip import (
    CodeUnits,
    Occurrence,
    PreciseDocument,
    Range,
    RefusedDocument,
    Relationship,
    read_scip,
)
from tests.linking.precise.indexes import converted, named, read

TYPED = base64.b64decode(
    "CiQSDwoNcnVzdC1hbmFseXplchoRZmlsZTovLy90bXAvZm9ybXMSigEKDHNyYy8uL2xpYi5ycxI1EiVydXN0LWFuYWx5emVyIGNh"
    "cmdvIGZvcm1zIDEuMCBhcmVhKCkuGAFCBBADGAdaBBgCIAESEBIHbG9jYWwgMUIFCKwCGAISMRIlcnVzdC1hbmFseXplciBjYXJn"
    "byBmb3JtcyAxLjAgYXJlYSgpLkoICAQQCBgFIAESZwoEYi5weRIOCgMBAgMSB2xvY2FsIDESBwoCAQISAXMSCAoDAQkDEgFzEhEK"
    "DP///////////wEAAxIBcxIFCgMBAgMaIAoHbG9jYWwgMSIHCgFzEAEYASIFCgF0IAEiBQoBdSgBMAMSDwoNLi4vb3V0c2lkZS5w"
    "eRINCgsvZXRjL3Bhc3N3ZBIPCg1DOi9Vc2Vycy9hLmNzEgYiBG5vbmU="
)
"""Encoded by protobuf's own library from this text, with the schema of 2026:

metadata { tool_info { name: "rust-analyzer" } project_root: "file:///tmp/forms" }
documents {
  relative_path: "src/./lib.rs"
  occurrences { symbol: "rust-analyzer cargo forms 1.0 area()." symbol_roles: 1
    single_line_range { line: 0 start_character: 3 end_character: 7 }
    multi_line_enclosing_range { start_line: 0 end_line: 2 end_character: 1 } }
  occurrences { symbol: "local 1" single_line_range { line: 300 start_character: 0 end_character: 2 } }
  occurrences { symbol: "rust-analyzer cargo forms 1.0 area()."
    multi_line_range { start_line: 4 start_character: 8 end_line: 5 end_character: 1 } }
}
documents {
  relative_path: "b.py" position_encoding: 3
  occurrences { symbol: "local 1" range: [1, 2, 3] }
  occurrences { symbol: "s" range: [1, 2] }
  occurrences { symbol: "s" range: [1, 9, 3] }
  occurrences { symbol: "s" range: [-1, 0, 3] }
  occurrences { range: [1, 2, 3] }
  symbols { symbol: "local 1" relationships { symbol: "s" is_reference: true is_implementation: true }
    relationships { symbol: "t" is_type_definition: true } relationships { symbol: "u" is_definition: true } }
}
documents { relative_path: "../outside.py" }
documents { relative_path: "/etc/passwd" }
documents { relative_path: "C:/Users/a.cs" }
documents { language: "none" }
"""
UNPACKED = base64.b64decode("Eh4KBGEudHMSFAgBCAIIrAISAXMYCTgAOAA4FDgBMAE=")
"""The same way, with `[packed = false]` on both ranges:

documents { relative_path: "a.ts" position_encoding: 1
  occurrences { symbol: "s" symbol_roles: 9 range: [1, 2, 300] enclosing_range: [0, 0, 20, 1] } }
"""


def test_names_stand_where_scip_typescript_says() -> None:
    shape, main = converted("typescript/index.scip")
    assert (shape.path, main.path) == ("src/shape.ts", "src/main.ts")
    assert named("typescript/index.scip", main) == [
        ("1:1", "", True),
        ("1:10", "Circle", False),
        ("1:18", "Square", False),
        ("1:26", "total", False),
        ("1:39", '"./shape"', False),
        ("3:17", "größe", True),
        ("4:9", "round", True),
        ("4:21", "Circle", False),
        ("4:38", "label", True),
        ("4:61", "total", False),
        ("4:68", "round", False),
        ("4:79", "Square", False),
        ("4:93", "label", False),
        ("4:99", "length", False),
        ("7:32", "report", True),
        ("7:61", "größe", False),
    ]
    assert Relationship(
        "scip-typescript npm shapes 1.0.0 src/`shape.ts`/Circle#area().",
        "scip-typescript npm shapes 1.0.0 src/`shape.ts`/Shape#area().",
        "implementation",
    ) in shape.relationships  # fmt: skip


def test_names_stand_where_scip_python_says() -> None:
    _, main, shape = converted("python/index.scip")
    assert ("8:28", "total", False) in named("python/index.scip", main)
    assert ("13:15", "größe", False) in named("python/index.scip", main)
    total = next(found for found in shape.occurrences if found.symbol.endswith("/total().") and found.is_definition)
    assert total.range == Range(24, 5, 24, 10)


def test_a_local_symbol_belongs_to_its_document() -> None:
    locals_of = {
        facts.path: {found.symbol for found in facts.occurrences if found.symbol.startswith("local ")}
        for facts in converted("python/index.scip")
    }
    assert locals_of["shapes/main.py"] == {"local 0 shapes/main.py", "local 1 shapes/main.py"}
    assert locals_of["shapes/shape.py"] == {"local 0 shapes/shape.py"}


def test_ranges_in_the_newer_form_are_read() -> None:
    area = "rust-analyzer cargo forms 1.0 area()."
    assert read("", TYPED)[0] == PreciseDocument(
        "src/lib.rs",
        CodeUnits.UTF8,  # not stated: rust-analyzer counts bytes
        (
            Occurrence(Range(1, 4, 1, 8), area, True),
            Occurrence(Range(301, 1, 301, 3), "local 1 src/lib.rs", False),
            Occurrence(Range(5, 9, 6, 2), area, False),
        ),
    )


def test_ranges_in_unpacked_numbers_are_read() -> None:
    expected = Occurrence(Range(2, 3, 2, 301), "s", True)
    assert read("", UNPACKED) == [PreciseDocument("a.ts", CodeUnits.UTF8, (expected,))]


def test_invalid_ranges_are_dropped() -> None:
    assert read("", TYPED)[1] == PreciseDocument(
        "b.py",
        CodeUnits.UTF32,
        (Occurrence(Range(2, 3, 2, 4), "local 1 b.py", False),),
        (Relationship("local 1 b.py", "s", "implementation"), Relationship("local 1 b.py", "u", "definition")),
    )


def test_a_range_of_a_million_numbers_is_dropped_unread() -> None:
    numbers = bytes([0x0A, 0xC0, 0x84, 0x3D]) + bytes(1_000_000)  # field 1, one million bytes
    occurrence = bytes([0x12, 0xC4, 0x84, 0x3D]) + numbers
    document = b"\x0a\x01a" + occurrence
    content = bytes([0x12, 0xCB, 0x84, 0x3D]) + document
    tracemalloc.start()
    (facts,) = read("", content)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert facts == PreciseDocument("a", CodeUnits.UTF16, ())
    assert most < 100_000


def test_documents_outside_the_root_are_refused() -> None:
    assert read("", TYPED)[2:] == [
        RefusedDocument("../outside.py", "the path leaves the project's root"),
        RefusedDocument("/etc/passwd", "the path is absolute"),
        RefusedDocument("C:/Users/a.cs", "the path is absolute"),
        RefusedDocument("", "the document has no path"),
    ]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "byte 0: not a SCIP index: neither metadata nor documents"),
        (b"\x12\xff\xff\xff\xff\x0f", "byte 0: not a SCIP index: a field of 4294967295 bytes has only 0"),
        (b"\x12\x03\x0a\x7fa", "byte 2: not a SCIP index: a field of 127 bytes has only 1"),
        (b"\x12\x03\x0a\x01\xff", "byte 4: not a SCIP index: a string is not UTF-8"),
        (b"\x0a\x00\x0b", "byte 2: not a SCIP index: unknown wire type 3"),
        (b"\x0a\x00\x88" + b"\xff" * 11, "byte 2: not a SCIP index: a number does not end"),
        (b"\x0a\x00\x09\x00", "byte 2: not a SCIP index: a number is cut off"),
        (b"#!/bin/sh\n", "byte 0: not a SCIP index: unknown wire type 3"),
    ],
)
def test_a_fault_names_file_and_byte(content: bytes, fault: str) -> None:
    with pytest.raises(PreciseIndexError) as raised:
        list(read_scip(content, "web/index.scip"))
    assert str(raised.value) == f"web/index.scip, {fault}"


def test_documents_before_a_fault_are_valid() -> None:
    documents = read_scip(UNPACKED + b"\x12\x7f", "index.scip")
    assert isinstance(next(documents), PreciseDocument)
    with pytest.raises(PreciseIndexError, match="byte 32"):
        next(documents)
