"""A document of an index → a proof that it is in the snapshot, as JSON, and back to what is to be checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from codelens.errors import TargetError, UsageError
from codelens.merkle import ALGORITHM, Proof, audit_path, leaf_hash, root_hash
from codelens.notation import parse_json
from codelens.store.store import Store


def prove(store: Store, path: str, repository: str = "") -> Proof:
    """The proof for the document with this path, in this repository where several have it. Raises TargetError."""
    rows = [(name, known, digest) for _, name, known, digest in store.log.leaves()]
    places = [i for i, (name, known, _) in enumerate(rows) if known == path and repository in ("", name)]
    if not places:
        raise TargetError(f"{path} is not in the index", hint="`codelens status --skipped` lists what was left out")
    if len(places) > 1:
        candidates = tuple(f"{rows[i][0]}/{path}" for i in places)
        raise TargetError(f"several repositories have {path}", candidates, "put the repository's name before the path")
    if not all(digest for _, _, digest in rows):
        raise TargetError("the index was made before there were digests", hint="`codelens index --force` makes them")
    leaves, index = [leaf_hash(*row) for row in rows], places[0]
    name, known, digest = rows[index]
    audit = tuple(beside.hex() for beside in audit_path(leaves, index))
    return Proof(root_hash(leaves).hex(), len(leaves), index, name, known, digest.hex(), audit)


def as_record(proof: Proof, snapshot: str) -> dict[str, object]:
    """The object that is printed, with all that a checker needs."""
    return {
        "schema": 1,
        "algorithm": ALGORITHM,
        "snapshot": snapshot,
        "root": proof.root,
        "size": proof.size,
        "index": proof.index,
        "repository": proof.repository,
        "path": proof.path,
        "sha256": proof.sha256,
        "audit": list(proof.audit),
    }


def from_json(raw: bytes, name: str) -> Proof:
    """What somebody hands in as a proof, `name` being its file's. Raises UsageError where it is none."""
    try:
        record: Any = parse_json(raw)
        if not isinstance(record, Mapping) or record.get("algorithm") != ALGORITHM:
            raise ValueError(f"its `algorithm` is not {ALGORITHM}")
        texts = [record[key] for key in ("root", "repository", "path", "sha256")]
        numbers, audit = [record["size"], record["index"]], record["audit"]
        if not all(isinstance(text, str) for text in [*texts, *audit]):
            raise ValueError("a digest or a path is no text")
        if not all(isinstance(number, int) and not isinstance(number, bool) for number in numbers):
            raise ValueError("size and index are no numbers")
    except KeyError as fault:
        raise UsageError(f"{name} is no proof: it lacks {fault}", "as `codelens prove PATH` prints it") from None
    except (ValueError, TypeError) as fault:
        raise UsageError(f"{name} is no proof: {fault}", "as `codelens prove PATH` prints it") from None
    root, repository, path, sha256 = texts
    return Proof(root, numbers[0], numbers[1], repository, path, sha256, tuple(audit))
