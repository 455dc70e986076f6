"""Lists indexed files, and reads the text of one."""

from __future__ import annotations

from codelens.errors import TargetError
from codelens.model.code import IndexedFile, SourceFile, UnitRow
from codelens.model.request import SearchOptions
from codelens.search.scope import list_documents_in_scope
from codelens.store.documents import DocumentRow, RepositoryRow
from codelens.store.store import Store
from codelens.store.targets import resolve_target
from codelens.store.texts import Texts
from codelens.worktree.files import check_freshness


def list_files(store: Store, options: SearchOptions) -> list[IndexedFile]:
    """List the files that the options allow, without a query, by repository and path."""
    repositories = {row.id: row for row in store.documents.list_repositories()}
    files = [_describe_file(d, repositories[d.repository]) for d in list_documents_in_scope(store, options)]
    return sorted(files, key=lambda file: (file.repository, file.path))


def read_source(store: Store, path: str, repository: str = "") -> SourceFile:
    """Read the file at a path below a root. Raises TargetError if it is not indexed, or several repositories have it."""
    repositories = {row.id: row for row in store.documents.list_repositories()}
    documents = [
        d for d in store.documents.find_by_path(path) if not repository or repositories[d.repository].name == repository
    ]
    if not documents:
        raise TargetError(f"{path} is not in the index", hint="`codelens status --skipped` lists what was left out")
    if len(documents) > 1:
        names = tuple(sorted(repositories[d.repository].name for d in documents))
        raise TargetError(f"several repositories have {path}", names, "put the repository's name before the path")
    return _read_source(store, documents[0], repositories[documents[0].repository])


def find_passage(store: Store, target: str) -> tuple[SourceFile, UnitRow | None, int]:
    """Find a PATH, PATH:LINE or name: (file, symbol named so or at the line, its first line or that line). Raises TargetError."""
    meant = resolve_target(target, store)
    unit = None if meant.path and meant.line is None else meant.unit
    documents = [meant.document] if meant.document else list(store.documents.read_rows({unit.document} if unit else ()))
    if not documents:
        raise TargetError(f"{target} is not in the index", hint="`codelens status --skipped` lists what was left out")
    document = documents[0]
    home = next(row for row in store.documents.list_repositories() if row.id == document.repository)
    return _read_source(store, document, home), unit, unit.start_line if unit else meant.line or 1


def _read_source(store: Store, document: DocumentRow, home: RepositoryRow) -> SourceFile:
    return SourceFile(
        file=_describe_file(document, home),
        freshness=check_freshness(home.root, document.os_path, document.stamp, document.content_hash),
        lines=tuple(Texts(store).read_lines(document)),
        units=tuple(store.units.list_in_document(document.id)),
    )


def _describe_file(document: DocumentRow, repository: RepositoryRow) -> IndexedFile:
    size, roles = document.stamp.size, tuple(sorted(document.roles))
    return IndexedFile(repository.name, str(repository.root), document.path, document.language, size, roles)
