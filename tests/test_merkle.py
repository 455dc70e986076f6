"""The tree of RFC 6962: its own recursive definition, the vectors of Certificate Transparency, and tampered proofs."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.merkle import Proof, audit_path, holds, leaf_hash, root_hash


def by_definition(leaves: list[bytes]) -> bytes:
    """MTH as RFC 6962, section 2.1, writes it: split at the largest power of two below the number of leaves."""
    if len(leaves) <= 1:
        return leaves[0] if leaves else hashlib.sha256().digest()
    k = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\x01" + by_definition(leaves[:k]) + by_definition(leaves[k:])).digest()


VECTORS = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
ROOTS = {
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    5: "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}
"""Of the reference implementation of Certificate Transparency, for its eight leaves."""


@pytest.mark.parametrize("size", ROOTS)
def test_roots_of_the_reference_implementation(size: int) -> None:
    leaves = [hashlib.sha256(b"\0" + bytes.fromhex(text)).digest() for text in VECTORS[:size]]
    assert root_hash(leaves).hex() == ROOTS[size]


def leaves_of(number: int) -> list[bytes]:
    return [leaf_hash("shop", f"f{i}.py", hashlib.sha256(bytes([i])).digest()) for i in range(number)]


def proof_of(index: int, size: int) -> Proof:
    leaves = leaves_of(size)
    audit = tuple(digest.hex() for digest in audit_path(leaves, index))
    sha256 = hashlib.sha256(bytes([index])).hexdigest()
    return Proof(root_hash(leaves).hex(), size, index, "shop", f"f{index}.py", sha256, audit)


@pytest.mark.parametrize("size", range(1, 34))
def test_every_leaf_of_every_size_is_proved(size: int) -> None:
    assert root_hash(leaves_of(size)) == by_definition(leaves_of(size))
    for index in range(size):
        proof = proof_of(index, size)
        assert holds(proof)
        assert len(proof.audit) <= (size - 1).bit_length()


def test_the_root_of_nothing() -> None:
    assert root_hash([]) == by_definition([])


@given(st.data())
def test_whatever_is_changed_it_holds_no_more(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 20))
    proof = proof_of(data.draw(st.integers(0, size - 1)), size)
    digest = st.binary(min_size=32, max_size=32).map(bytes.hex)
    changed = data.draw(
        st.one_of(
            st.builds(replace, st.just(proof), root=digest),
            st.builds(replace, st.just(proof), sha256=digest),
            st.builds(replace, st.just(proof), path=st.text()),
            st.builds(replace, st.just(proof), repository=st.text()),
            st.builds(replace, st.just(proof), audit=st.lists(digest).map(tuple)),
            st.builds(replace, st.just(proof), root=st.text()),
            st.builds(replace, st.just(proof), index=st.integers()),
        )
    )
    assert holds(changed) == (changed == proof)


def test_a_node_is_no_leaf() -> None:
    """Leaf and node are hashed under different first bytes: the digests of two leaves make no document."""
    one, other = leaves_of(2)
    assert hashlib.sha256(b"\x00" + one + other).digest() != root_hash([one, other])


def test_names_cannot_be_shifted_into_each_other() -> None:
    digest = hashlib.sha256(b"").digest()
    assert leaf_hash("a", "b/c", digest) != leaf_hash("a/b", "c", digest)
    assert leaf_hash("ab", "c", digest) != leaf_hash("a", "bc", digest)
