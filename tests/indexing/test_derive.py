"""The derivation of one file, which depends on that file alone."""

from __future__ import annotations

from codelens.config import Settings
from codelens.embed.registry import SHIPPED, open_embedder
from codelens.indexing.run import compute_current_recipe, compute_recipe
from codelens.lang.registry import languages
from codelens.store.codec import unpack_bindings, unpack_references
from codelens.zstd import zstd
from tests.indexing.documents import derived

SOURCE = b'''"""Retries."""

from time import sleep

LIMIT = 3


def backoffDelay(attempt: int) -> float:
    """Seconds to wait before the next attempt."""
    return 2.0 ** min(attempt, LIMIT)
'''


def test_a_posting_holds_the_words_of_each_field() -> None:
    document = derived("src/net/http_retry.py", SOURCE)
    posting = document.postings[[u.name for u in document.extraction.units].index("backoffDelay")]
    assert posting.name == "backoffdelay backoff delay"
    assert {"http", "retry", "net"} <= set(posting.concepts.split())
    assert "seconds" in posting.doc and "attempt" in posting.signature and "min" in posting.body


def test_one_posting_and_one_list_of_vectors_for_each_unit() -> None:
    document = derived("a.py", SOURCE)
    assert len(document.extraction.units) == len(document.postings) == len(document.vectors)
    assert all(len(vector) == 256 for unit in document.vectors for vector in unit)


def test_the_snapshot_gives_the_bytes_back() -> None:
    raw = "\ufeffgrün\r\n".encode("utf-16-le")
    document = derived("a.txt", raw)
    assert zstd.decompress(document.snapshot) == raw
    assert (document.encoding, document.bom, document.lines, document.trigrams) == ("utf-16-le", 2, 1, "grü\nrün\n")


def test_a_moved_file_is_what_it_would_be_if_parsed_again() -> None:
    for raw in (SOURCE, b"\xef\xbb\xbf" + SOURCE, SOURCE.decode().encode("utf-16")):
        old, fresh = derived("old/a.py", raw), derived("new/b.py", raw)
        extraction = type(old.extraction)(
            old.extraction.namespace,
            old.extraction.units,
            unpack_references(old.references.packed),
            old.extraction.imports,
            old.extraction.fault,
            unpack_bindings(old.references.packed),
        )
        assert derived("new/b.py", raw, reuse=extraction, old_path="old/a.py") == fresh


def test_each_language_has_a_recipe_of_its_own() -> None:
    recipes = {compute_current_recipe(language, Settings()) for language in languages()}
    assert len(recipes) == len(languages())


def test_the_recipe_follows_what_is_derived() -> None:
    assert compute_recipe("python") != compute_recipe("python", fuzzy=False)
    document = derived("a.py", SOURCE)
    assert (document.recipe, document.embedder) == (
        compute_recipe("python"),
        open_embedder(SHIPPED).compute_fingerprint(),
    )
    assert derived("a.py", SOURCE, settings=Settings(vector=False)).embedder == ""
