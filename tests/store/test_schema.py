"""The schema of an index, as the migrations create it."""

from __future__ import annotations

import apsw
import pytest

from codelens.store.connection import load_vector_extension
from codelens.store.migrate import (
    SCHEMA_DIGEST,
    _apply,
    _list_objects,
    check_schema,
    compute_schema_digest,
    find_newest_version,
    migrate,
)


def test_the_digest_is_of_the_newest_schema() -> None:
    connection = apsw.Connection(":memory:")
    migrate(connection, load_vector_extension(connection))
    assert compute_schema_digest(_list_objects(connection)) == SCHEMA_DIGEST


@pytest.mark.parametrize("with_vectors", [False, True])
@pytest.mark.parametrize("version", range(1, find_newest_version() + 1))
def test_every_version_is_known(version: int, with_vectors: bool) -> None:
    connection = apsw.Connection(":memory:")
    load_vector_extension(connection)
    _apply(connection, version, with_vectors)
    check_schema(connection)


def test_a_migration_that_fails_leaves_the_schema_before_it() -> None:
    """All statements of one are one transaction: here its table `edges` is there already, behind others that it makes."""
    connection = apsw.Connection(":memory:")
    _apply(connection, 1, with_vectors=False)
    connection.execute("CREATE TABLE edges (mine)").fetchall()
    before = _list_objects(connection)
    with pytest.raises(apsw.SQLError, match="edges already exists"):
        migrate(connection, with_vectors=False)
    assert (_list_objects(connection), connection.pragma("user_version")) == (before, 1)
