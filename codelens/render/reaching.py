"""Tests that reach a change → lines that a test runner takes, and objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from codelens.related import FILE, Reaching, ReachingTests
from codelens.render.paths import PathStyle
from codelens.render.records import SCHEMA, Record, index_record, notice_record
from codelens.render.relations import node_record
from codelens.render.templates import ended, parse_template

Field = Callable[[Reaching, PathStyle], object]


def pytest_id(reaching: Reaching, paths: PathStyle) -> str:
    """path::Class::function, as pytest names its tests; the path alone for a whole file."""
    test = reaching.test
    parts = [] if test.kind == FILE else test.qualified_name.split(".")
    return "::".join([_path(reaching, paths), *parts])


def _path(reaching: Reaching, paths: PathStyle) -> str:
    return paths.of(reaching.test.root, reaching.test.os_path)


FIELDS: Mapping[str, Field] = {
    "path": _path,
    "pytest": pytest_id,
    "name": lambda r, _: "" if r.test.kind == FILE else r.test.name,
    "qualified_name": lambda r, _: "" if r.test.kind == FILE else r.test.qualified_name,
    "kind": lambda r, _: r.test.kind,
    "language": lambda r, _: r.test.language,
    "line": lambda r, _: r.test.line,
    "depth": lambda r, _: r.depth,
    "through": lambda r, _: " ".join(r.through),
}
"""What `{…}` in --format may name."""
FORMS = {"paths": "{path}", "pytest": "{pytest}"}
"""Names of templates."""


def reaching_lines(result: ReachingTests, paths: PathStyle, form: str, null: bool = False) -> Iterator[str]:
    """One test a line by a template of FORMS or of one's own, the same line once; `null`: a NUL byte in place of the break."""
    fill = parse_template(FORMS.get(form, form), FIELDS)
    paths = paths.raw() if null else paths
    for text in dict.fromkeys(fill(reaching, paths) for reaching in result.tests):
        yield text + "\0" if null else ended(text)


def reaching_record(result: ReachingTests, paths: PathStyle, exit_code: int) -> Record:
    """The object of --json."""
    return {
        "schema": SCHEMA,
        "touched": [node_record(named) for named in result.touched],
        "tests": [
            node_record(r.test) | {"depth": r.depth, "through": list(r.through), "pytest": pytest_id(r, paths.raw())}
            for r in result.tests
        ],
        "total": len(result.tests),
        "notices": [notice_record(n) for n in result.notices],
        "index": index_record(result.index),
        "exit_code": exit_code,
    }
