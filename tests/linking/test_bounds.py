"""Linking is linear, whatever the code: steps are counted, and answers do not depend on who asks first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.linking.fuel import FUEL
from codelens.linking.linker import DocumentLinks, Linker
from codelens.model.graph import KINDS
from codelens.store.store import Store
from tests.dump import dump
from tests.indexing.here import derive_here
from tests.steps import calls

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).parents[2] / "sample_repos"
SETTINGS = Settings(jobs=1, fuzzy=False, vector=False)


def put(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@contextmanager
def linker(tmp_path: Path, files: dict[str, str] | Path) -> Iterator[Linker]:
    """A linker of a tree that is indexed in this process."""
    root = files if isinstance(files, Path) else put(tmp_path / "tree", files)
    index = tmp_path / "index.db"
    with pytest.MonkeyPatch.context() as patch:
        derive_here(patch)
        Index.build(index, [root], SETTINGS)
    with Store.read(index) as store:
        yield Linker(store, store.documents.list_repositories()[0].id)


def mutual_methods(count: int) -> dict[str, str]:
    """Each class is built on the one before, and gets what it returns from the next: circles as long as the tree."""
    lines = [
        f"from m{(i + 1) % count} import C{(i + 1) % count}\n"
        + (f"from m{i - 1} import C{i - 1}\n" if i else "")
        + f"class C{i}({f'C{i - 1}' if i else 'object'}):\n"
        + f"    def __init__(self): self.next = C{(i + 1) % count}().next.step()\n"
        + f"    def step(self): return self.next.step().next or C{(i + 1) % count}().step().step()\n"
        + "    def go(self): return self.step().go().next.step().go()\n"
        for i in range(count)
    ]
    return {f"m{i}.py": text for i, text in enumerate(lines)}


def fan_of_calls(count: int) -> dict[str, str]:
    """Each function may return what any of three others returns, none of which is ever known."""
    body = "".join(
        f"def f{i}(x):\n    if x: return f{(i * 7 + 1) % count}(x)\n    if not x: return f{(i * 5 + 2) % count}(x)\n"
        f"    return f{(i * 3 + 4) % count}(x).again()\n"
        for i in range(count)
    )
    return {"fan.py": body}


def stars(count: int) -> dict[str, str]:
    """Modules that pass on all names of each other, in circles."""
    files = {
        f"p/m{i}.py": f"from p.m{(i + 1) % count} import *\nfrom p.m{(i * 3 + 2) % count} import *\n"
        f"def own{i}(): return missing{i}()\n"
        for i in range(count)
    }
    return files | {"p/__init__.py": ""}


def barrels(count: int) -> dict[str, str]:
    """Scripts that pass on all names of all others, and one that asks for names that no one has."""
    return {
        f"s{i}.ts": "".join(f"export * from './s{(i + step) % count}';\n" for step in (1, 2, 3, 5))
        + f"import {{ Missing{i}, T{(i * 7) % count} }} from './s{(i + 1) % count}';\n"
        + f"export class T{i} extends T{(i * 7) % count} {{ go(): Missing{i} {{ return this.go().go(); }} }}\n"
        for i in range(count)
    }


def one_package(count: int) -> dict[str, str]:
    """A Kotlin package of many files, each of which uses all of some other packages."""
    return {
        f"a/F{i}.kt": f"package a\nimport b.*\nimport a.inner{i}.*\nopen class F{i} : F{(i * 3 + 1) % count}() {{\n"
        f"    val next = F{(i + 1) % count}().next.step()\n    fun step() = next.step().missing{i}().step()\n}}\n"
        for i in range(count)
    }


def go_package(count: int) -> dict[str, str]:
    """A Go package whose types embed each other and have their methods in other files."""
    return {"go.mod": "module example.org/m\n"} | {
        f"m/f{i}.go": f"package m\n\ntype T{i} struct {{ *T{(i + 1) % count} }}\n\n"
        f"func (t *T{(i * 7) % count}) M{i}() *T{(i + 2) % count} {{ return t.M{(i + 1) % count}().M{(i + 5) % count}() }}\n"
        for i in range(count)
    }


def same_names(count: int) -> dict[str, str]:
    """Folders whose files, functions and imports all have the same names, in four languages."""
    return {
        name: text
        for i in range(count)
        for name, text in {
            f"d{i}/utils.py": "from const import KEY\nimport helpers.const\ndef run(x): return x.run(KEY).other()\n",
            f"d{i}/const.py": "KEY = 1\n",
            f"d{i}/helpers/const.py": "from utils import run\n",
            f"d{i}/lib/config.h": "#include <config.h>\nint run(int x);\n",
            f"d{i}/main.c": '#include "lib/config.h"\n#include "other/config.h"\nint run(int x) { return other(x); }\n',
            f"d{i}/tool.rb": "require 'utils/tool'\nclass Tool < Base\n  def run(x) = x.run.other(run)\nend\n",
            f"d{i}/README.md": "See [this](other/README.md), [utils](utils.py) and `run`.\n",
        }.items()
    }


SHAPES = (same_names, mutual_methods, fan_of_calls, stars, barrels, one_package, go_package)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_steps_grow_with_the_text(shape, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    def steps(count: int) -> tuple[int, int, int]:
        with linker(tmp_path / str(count), shape(count)) as linking:
            references = 0
            for document in linking.catalog.files:
                references += sum(linking.link(document, whole=True).counts.values())
            return linking.evaluator.steps, references, linking.catalog.looked_at

    (small, few, less), (large, many, more) = steps(40), steps(160)
    assert many >= 3 * few
    assert more <= 6 * max(less, few)
    assert large <= 4.5 * small
    assert large <= 4 * FUEL * many


def common_methods(count: int) -> dict[str, str]:
    """Types in folders of their own, all with one method that an interface has."""
    return {
        "named/named.go": "package named\n\ntype Stringer interface { String() string }\n",
        **{
            f"d{i}/t.go": f'package d{i}\n\ntype T{i} struct {{}}\n\nfunc (t *T{i}) String() string {{ return "" }}\n'
            for i in range(count)
        },
    }


def test_types_with_a_common_method_are_not_read_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 60
    monkeypatch.setattr("codelens.linking.catalog.MOST_LOADED", 10)
    with linker(tmp_path, common_methods(count)) as linking:
        satisfied = 0

        def link_all() -> None:
            nonlocal satisfied
            for document in linking.catalog.files:
                edges = linking.link(document, whole=True).edges
                satisfied += sum(kind == KINDS["implements"] for _, kind, *_ in edges)

        reads = calls(link_all)["units.list_definitions"]
    assert satisfied == count
    assert reads <= 3 * count


def links_of(linking: Linker, documents: Sequence[int]) -> dict[int, DocumentLinks]:
    return {document: linking.link(document, whole=True) for document in documents}


TREES: dict[str, dict[str, str] | Path] = {shape.__name__: shape(24) for shape in SHAPES}
TREES |= {folder.name: folder / "repo" for folder in sorted(SAMPLES.iterdir())}


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys())
def test_links_do_not_depend_on_what_was_linked_before(tree: dict[str, str] | Path, tmp_path: Path) -> None:
    with linker(tmp_path, tree) as linking:
        documents = list(linking.catalog.files)
        forwards = links_of(linking, documents)
        linking.evaluator.forget_answers()
        assert links_of(linking, documents[::-1]) == forwards
        for document in documents:
            linking.evaluator.forget_answers()
            assert linking.link(document, whole=True) == forwards[document]


def chain(count: int) -> dict[str, str]:
    """A value that so many functions hand on, and a call of its only method."""
    steps = "".join(f"def f{i}(): return f{i + 1}()\n" for i in range(count))
    return {
        "chain.py": f"class Thing:\n    def finally_done(self): pass\n\n\n{steps}def f{count}(): return Thing()\n",
        "use.py": "from chain import f0\n\n\ndef use():\n    f0().finally_done()\n",
    }


def tier_of_call(linking: Linker) -> int:
    (use,) = (d for d, file in linking.catalog.files.items() if file.path == "use.py")
    found = linking.link(use, whole=True)
    assert found.counts.get("resolved", 0) + found.counts.get("guessed", 0) == 2
    (tier,) = {tier for _, _, target, line, tier in found.edges if line == 5 and isinstance(target, int) and tier != 4}
    return tier


def test_a_reference_without_fuel_falls_back_to_its_name_and_is_counted(tmp_path: Path) -> None:
    with linker(tmp_path / "short", chain(5)) as linking:
        assert tier_of_call(linking) == 5  # by its receiver
    with linker(tmp_path / "long", chain(2 * FUEL)) as linking:
        assert tier_of_call(linking) == 9  # the only one of the name
    root, index = tmp_path / "long" / "tree", tmp_path / "told.db"
    (report,) = Index.build(index, [root], SETTINGS)
    assert report.references["out_of_fuel"] == 1
    with Index.open(index) as opened:
        assert opened.status().repositories[0].references["out_of_fuel"] == 1


def test_processes_link_as_one_does(tmp_path: Path) -> None:
    files = mutual_methods(250) | {f"g/{name}": text for name, text in go_package(200).items()}
    root = put(tmp_path / "tree", files)
    Index.build(tmp_path / "one.db", [root], SETTINGS)
    Index.build(tmp_path / "two.db", [root], Settings(jobs=2, fuzzy=False, vector=False))
    assert dump(tmp_path / "one.db") == dump(tmp_path / "two.db")
