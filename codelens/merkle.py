"""Documents → one digest of all of them, and short proofs that a document is among them: the Merkle trees of RFC 6962.

Leaves and inner nodes are hashed under different first bytes, so that no node can pass for a document. A leaf is a
document's repository, path and the SHA-256 of its own bytes; leaves stand in the order of repository and path.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from codelens.nouns import dataclass

ALGORITHM = "rfc6962-sha256"
_LEAF, _NODE = b"\x00", b"\x01"


@dataclass(frozen=True, slots=True)
class Proof:
    """That one document is in a snapshot. All digests in hexadecimal."""

    root: str
    size: int
    """Documents in the snapshot."""
    index: int
    """The place of this one, from 0."""
    repository: str
    path: str
    sha256: str
    """Of the file's own bytes."""
    audit: tuple[str, ...]
    """Digests of the subtrees beside the way from the leaf to the root, the lowest first."""


def leaf_hash(repository: str, path: str, sha256: bytes) -> bytes:
    """The leaf of a document. No NUL byte is in a name of a repository or in a path, so no two documents share a leaf."""
    told = "\0".join((repository, path, "")).encode("utf-8", "surrogateescape")
    return hashlib.sha256(_LEAF + told + sha256).digest()


def root_hash(leaves: Sequence[bytes]) -> bytes:
    """MTH of RFC 6962, section 2.1; of no leaves the hash of nothing."""
    level = list(leaves)
    if not level:
        return hashlib.sha256(b"").digest()
    while len(level) > 1:  # the same tree from below: a last node without a partner goes up as it is
        pairs = list(map(_node, level[::2], level[1::2]))
        level = pairs + level[2 * len(pairs) :]
    return level[0]


def audit_path(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """PATH of RFC 6962, section 2.1.1: what to hash a leaf with, one after the other, to come to the root."""
    level, path = list(leaves), []
    while len(level) > 1:
        beside = index ^ 1
        if beside < len(level):
            path.append(level[beside])
        level = [_node(*level[i : i + 2]) if i + 1 < len(level) else level[i] for i in range(0, len(level), 2)]
        index //= 2
    return path


def holds(proof: Proof) -> bool:
    """Whether a proof leads from its document to its root: RFC 9162, section 2.1.3.2. Whatever it says, nothing is raised."""
    try:
        found = leaf_hash(proof.repository, proof.path, bytes.fromhex(proof.sha256))
        beside = [bytes.fromhex(digest) for digest in proof.audit]
        root = bytes.fromhex(proof.root)
    except ValueError:
        return False
    place, last = proof.index, proof.size - 1
    if not 0 <= place <= last or any(len(digest) != len(root) for digest in (found, *beside)):
        return False
    for digest in beside:
        if last == 0:
            return False
        if place % 2 or place == last:
            found = _node(digest, found)
            while place % 2 == 0 and place:
                place, last = place // 2, last // 2
        else:
            found = _node(found, digest)
        place, last = place // 2, last // 2
    return last == 0 and found == root


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(_NODE + left + right).digest()
