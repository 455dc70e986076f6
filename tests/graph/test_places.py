"""Every place of a name, with its role and certainty."""

from __future__ import annotations

from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.errors import TargetError
from codelens.graph.places import PlaceFinder, make_target
from codelens.graph.view import GraphView
from codelens.index import Index
from codelens.model.budget import TimeBudget
from codelens.model.graph import CERTAINTIES, RelationAnswer
from codelens.store.targets import find_units_named
from tests.graph.linked import asking
from tests.search.trees import QUICK, Tree

Files = dict[str, str | bytes]


def indexed(tmp_path: Path, files: Files) -> Index:
    tree = Tree(tmp_path, files, QUICK)
    tree.index().close()
    return Index.open(tree.db, QUICK)


def places(answer: RelationAnswer) -> list[str]:
    return [f"{r.place.path}:{r.place.line}:{r.place.column} {r.role} {r.certainty}" for r in answer.relations]


def summary(answer: RelationAnswer) -> str:
    return next(notice.text for notice in answer.notices if notice.code == "places")


PYTHON: Files = {
    "shop/errors.py": "class Sold(Exception):\n    pass\n\n\nLIMIT = 3\n",
    "shop/cart.py": (
        "from shop.errors import (\n    LIMIT,\n    Sold,\n)\n\n\n"
        "def take(it: 'Sold', count):\n    try:\n        return LIMIT + count\n    except Sold:\n        raise\n"
    ),
    "other.py": "def f(Sold):\n    return Sold\n\n\nfrom elsewhere import LIMIT\n\nprint(LIMIT)\n",
    "README.md": "# Shop\n\nRaises `Sold`:\n\n```python\nclass Sold:\n    pass\n```\n",
}


def test_each_place_has_its_role_and_its_own_column(tmp_path: Path) -> None:
    with indexed(tmp_path, PYTHON) as index:
        answer = index.graph.refs("Sold", asking())
        code = [place for place in places(answer) if not place.startswith("README")]
        assert code == [
            "shop/cart.py:3:5 import resolved",
            "shop/cart.py:7:15 type resolved",
            "shop/cart.py:10:12 catch resolved",
        ]


def test_a_local_name_and_one_of_a_library_are_something_else(tmp_path: Path) -> None:
    with indexed(tmp_path, PYTHON) as index:
        assert "2 mean something else" in summary(index.graph.refs("Sold", asking()))
        limit = index.graph.refs("LIMIT", asking())
        assert places(limit) == ["shop/cart.py:2:5 import resolved", "shop/cart.py:9:16 read resolved"]
        assert "2 mean something else" in summary(limit)


def test_a_name_may_begin_with_a_dollar_sign(tmp_path: Path) -> None:
    files: Files = {"a.ts": "export type $Key = string;\nlet key: $Key = read();\n"}
    with indexed(tmp_path, files) as index:
        assert places(index.graph.refs("$Key", asking())) == ["a.ts:2:10 type resolved"]


def test_code_in_a_document_does_not_compete_with_code(tmp_path: Path) -> None:
    with indexed(tmp_path, PYTHON) as index:
        assert [target.path for target in index.graph.refs("Sold", asking()).targets] == ["shop/errors.py"]


def test_comments_and_strings_are_counted_and_listed_if_asked_for(tmp_path: Path) -> None:
    files: Files = {"a.py": "def fee():\n    pass\n\n\n# fee is called\nfee()\nprint('fee', f'{fee()}')\n"}
    with indexed(tmp_path, files) as index:
        answer = index.graph.refs("fee", asking())
        assert places(answer) == ["a.py:6:1 call resolved", "a.py:7:17 call resolved"]
        assert "2 in comments, strings and documents" in summary(answer)
        listed = index.graph.refs("fee", asking(text=True))
        assert [r.place.line for r in listed.relations if r.role == "text"] == [5, 7]


def test_only_sure_places(tmp_path: Path) -> None:
    files: Files = {
        "a.py": "class A:\n    def close_it(self):\n        pass\n\n\nA().close_it()\n\n\ndef g(x):\n    x.close_it()\n"
    }
    with indexed(tmp_path, files) as index:
        assert places(index.graph.refs("A.close_it", asking())) == ["a.py:6:5 call resolved", "a.py:10:7 call likely"]
        assert places(index.graph.refs("A.close_it", asking(sure=True))) == ["a.py:6:5 call resolved"]


def test_the_surest_come_first(tmp_path: Path) -> None:
    files: Files = {
        "a.py": "def g(x):\n    x.run()\n",
        "b.py": "class A:\n    def run(self):\n        pass\n\n\nclass B:\n    def run(self):\n        pass\n\n\nA().run()\n",
    }
    with indexed(tmp_path, files) as index:
        answer = index.graph.refs("A.run", asking())
        assert places(answer) == ["b.py:11:5 call resolved", "a.py:2:7 call by name"]
        order = [CERTAINTIES.index(r.certainty) for r in answer.relations]
        assert order == sorted(order)
        assert summary(answer).startswith("1 resolved, 0 likely, 1 by name only; 1 mean something else")


GO: Files = {
    "go.mod": "module shop\n",
    "config.go": "package shop\n\ntype Config struct {\n\tLimit int\n}\n\ntype Other struct {\n\tLimit int\n}\n",
    "use.go": (
        "package shop\n\nfunc Make() *Config {\n\treturn &Config{Limit: 3}\n}\n\n"
        "func More(c *Config, o *Other) {\n\tc.Limit = 4\n\to.Limit = 5\n}\n"
    ),
}


def test_a_field_in_a_literal_and_after_a_dot(tmp_path: Path) -> None:
    with indexed(tmp_path, GO) as index:
        answer = index.graph.refs("Config.Limit", asking())
        assert (answer.targets[0].kind, answer.targets[0].qualified_name) == ("field", "Config.Limit")
        assert places(answer) == [
            "config.go:4:2 declaration resolved",
            "use.go:4:17 key resolved",
            "use.go:8:4 write resolved",
        ]
        assert len(index.graph.refs("Limit", asking()).relations) == 5


def test_a_literal_in_a_literal_has_the_type_of_the_elements(tmp_path: Path) -> None:
    files = GO | {
        "many.go": 'package shop\n\nvar a = map[string][]Config{"a": {{Limit: 1}}}\nvar b = []*Other{{Limit: 2}}\n'
    }
    with indexed(tmp_path, files) as index:
        assert "many.go:3:36 key resolved" in places(index.graph.refs("Config.Limit", asking()))
        assert "many.go:4:19 key resolved" in places(index.graph.refs("Other.Limit", asking()))


RUST: Files = {
    "src/lib.rs": "mod walk;\n\npub enum Part {\n    One,\n}\n\npub struct Config {\n    pub git: bool,\n}\n\n"
    "pub struct Other {\n    pub git: bool,\n}\n\npub fn other() -> Other {\n    Other { git: false }\n}\n",
    "src/walk.rs": "use crate::{Config, Part};\n\npub fn walk(builder: Builder) -> Config {\n    use Part::*;\n"
    "    builder.git(true);\n    let one = One;\n    Config { git: true }\n}\n\n"
    "fn all() {\n    use crate::Part::*;\n}\n",
}


def test_keys_of_literals_and_calls_in_rust(tmp_path: Path) -> None:
    with indexed(tmp_path, RUST) as index:
        assert places(index.graph.refs("Config.git", asking())) == [
            "src/lib.rs:8:9 declaration resolved",
            "src/walk.rs:7:14 key resolved",
        ]
        found = places(index.graph.refs("Part", asking()))
        assert "src/walk.rs:4:9 import resolved" in found
        assert "src/walk.rs:11:16 import resolved" in found


def test_keys_of_initializers_in_c(tmp_path: Path) -> None:
    files: Files = {
        "a.c": "struct box {\n    int size;\n};\nstruct bag {\n    int size;\n};\n"
        "struct box one = {.size = 1};\nstruct bag two[] = {{.size = 2}};\n"
    }
    with indexed(tmp_path, files) as index:
        assert places(index.graph.refs("box.size", asking())) == [
            "a.c:2:9 declaration resolved",
            "a.c:7:20 key resolved",
        ]


def test_enum_members_in_patterns(tmp_path: Path) -> None:
    files: Files = {
        "src/lib.rs": "pub enum Choice {\n    Never,\n    Auto,\n}\n\n"
        "pub fn f(c: Choice) -> bool {\n    match c {\n        Choice::Never => false,\n        Choice::Auto => true,\n    }\n}\n"
    }
    with indexed(tmp_path, files) as index:
        assert [r.place.line for r in index.graph.refs("Never", asking()).relations] == [2, 8]


C: Files = {
    "server.h": "typedef struct client client;\nstruct client {\n    int fd;\n};\nvoid reply(client *c);\n",
    "reply.c": '#include "server.h"\n\nvoid reply(client *c) {\n    c->fd = 1;\n}\n',
    "main.c": '#include "server.h"\n\nint main(void) {\n    client c;\n    reply(&c);\n    return c.fd;\n}\n',
}


def test_a_typedef_and_its_struct_are_one_thing(tmp_path: Path) -> None:
    with indexed(tmp_path, C) as index:
        answer = index.graph.refs("client", asking())
        lines = {(r.place.path, r.place.line) for r in answer.relations}
        assert {("reply.c", 3), ("main.c", 4), ("server.h", 5)} <= lines


def test_prototypes_are_declarations(tmp_path: Path) -> None:
    with indexed(tmp_path, C) as index:
        found = {(r.place.path, r.place.line): r.role for r in index.graph.refs("reply", asking()).relations}
        assert found == {("server.h", 5): "declaration", ("main.c", 5): "call"}


def test_several_definitions_are_named_and_all_answered(tmp_path: Path) -> None:
    files: Files = {"a.py": "def run():\n    pass\n\n\nrun()\n", "b.py": "def run():\n    pass\n\n\nrun()\n"}
    with indexed(tmp_path, files) as index:
        answer = index.graph.refs("run", asking())
        assert places(answer) == [
            "a.py:1:5 definition resolved",
            "a.py:5:1 call resolved",
            "b.py:1:5 definition resolved",
            "b.py:5:1 call resolved",
        ]
        assert answer.notices[0].text.startswith("2 things are named run; name one as PATH:LINE: ")
        assert places(index.graph.refs("a.py:1", asking())) == ["a.py:5:1 call resolved"]


@pytest.mark.parametrize("settings", [Settings(vector=False), Settings(vector=False, fuzzy=False)])
def test_short_names_and_indexes_without_trigrams(settings: Settings, tmp_path: Path) -> None:
    tree = Tree(tmp_path, {"a.py": "def q():\n    pass\n\n\nq()\n", "b.py": "from a import q\n\nq()\n"}, settings)
    tree.index().close()
    with Index.open(tree.db, settings) as index:
        assert len(index.graph.refs("q", asking()).relations) == 3


def test_bytes_rename_the_thing_in_any_encoding(tmp_path: Path) -> None:
    text = "# größer\ndef größe():\n    return 1\n\n\nx = größe()  # größe\n"
    for name, raw in (
        ("utf8", text.encode()),
        ("bom", b"\xef\xbb\xbf" + text.encode()),
        ("utf16", text.encode("utf-16")),
    ):
        folder = tmp_path / name
        folder.mkdir()
        with indexed(folder, {"a.py": raw}) as index:
            (place,) = index.graph.refs("größe", asking()).relations
            encoding = "utf-16-le" if name == "utf16" else "utf-8"
            assert raw[place.span.start : place.span.end].decode(encoding) == "größe"


SCRIPTS: Files = {
    "lib.js": "function handleAll() {}\nclass Base {}\n",
    "use.js": "function go() { handleAll() }\nclass Part extends Base {}\n",
    "test/use.test.js": "function testGo() { handleAll() }\n",
}
"""Scripts of one page see each other's names without an import."""


def test_impact_and_tests_follow_calls_that_are_not_stored(tmp_path: Path) -> None:
    with indexed(tmp_path, SCRIPTS) as index:
        stored = list(index._store.edges.find_incoming([units_of(index, "handleAll")], ["calls", "tests"]))
        assert stored == []
        affected = {r.source.qualified_name for r in index.graph.impact("handleAll", asking()).relations}
        assert {"go", "testGo"} <= affected
        tests = index.graph.find_tests_reaching(["handleAll"], None, None).tests
        assert [one.test.qualified_name for one in tests] == ["testGo"]


def test_a_hierarchy_follows_bases_that_are_not_stored(tmp_path: Path) -> None:
    with indexed(tmp_path, SCRIPTS) as index:
        assert [r.source.name for r in index.graph.hierarchy("Base", asking()).relations] == ["Part"]


def units_of(index: Index, name: str) -> int:
    (unit,) = find_units_named(name, index._store)
    return unit.id


def test_callers_include_calls_that_are_not_stored(tmp_path: Path) -> None:
    with indexed(tmp_path, SCRIPTS) as index:
        called = {
            (r.place.path, r.place.line) for r in index.graph.refs("handleAll", asking()).relations if r.role == "call"
        }
        assert called == {(r.place.path, r.place.line) for r in index.graph.callers("handleAll", asking()).relations}


def count_steps(folder: Path, files: int) -> int:
    folder.mkdir()
    body = "from lib import work\n\n\ndef f(x):\n    x.work()\n    return work(x)\n"
    tree: Files = {"lib.py": "def work(x):\n    return x\n"} | {f"m{i}.py": body for i in range(files)}
    with indexed(folder, tree) as index:
        view = GraphView(index._store, index.info())
        finder = PlaceFinder(view, make_target(view, find_units_named("work", index._store)))
        assert len(finder.find_places()) == 3 * files
        return finder.steps


def test_the_work_is_linear_in_the_files_that_have_the_name(tmp_path: Path) -> None:
    few, many = count_steps(tmp_path / "few", 10), count_steps(tmp_path / "many", 40)
    assert many <= 4 * few


def test_a_value_in_a_literal_is_read(tmp_path: Path) -> None:
    files: Files = {
        "go.mod": "module shop\n",
        "a.go": "package shop\n\nconst Most = 3\n\ntype Box struct{ Size int }\n\nvar one = Box{Size: Most}\n"
        "var two = map[int]bool{Most: true}\n",
    }
    with indexed(tmp_path, files) as index:
        assert places(index.graph.refs("Most", asking())) == ["a.go:7:21 read resolved", "a.go:8:24 key resolved"]


def test_a_function_in_a_closure_is_not_the_one_of_another_closure(tmp_path: Path) -> None:
    text = (
        "it('a', () => {\n  const next = mock()\n  expect(next)\n})\n"
        "it('b', () => {\n  const next = (x) => {\n    return x\n  }\n  run(next)\n})\n"
    )
    with indexed(tmp_path, {"a.test.js": text}) as index:
        assert places(index.graph.refs("a.test.js:6", asking())) == ["a.test.js:9:7 argument resolved"]


def test_a_variant_after_an_import_from_a_package_of_the_repository(tmp_path: Path) -> None:
    files: Files = {
        "Cargo.toml": '[package]\nname = "shop"\n',
        "src/lib.rs": "pub use other::*;\n",
        "kind.rs": "pub enum ErrorKind {\n    Sold,\n}\n",
        "tests/sale.rs": "use shop::error::ErrorKind;\n\nfn f() {\n    check(ErrorKind::Sold);\n}\n",
    }
    with indexed(tmp_path, files) as index:
        answer = index.graph.refs("Sold", asking())
        assert answer.targets[0].qualified_name == "ErrorKind.Sold"
        assert places(answer) == ["kind.rs:2:5 declaration resolved", "tests/sale.rs:4:22 read likely"]


def test_overloads_are_listed_as_definitions(tmp_path: Path) -> None:
    files: Files = {"A.java": "class A {\n  void put(int x) {}\n  void put(long x) {}\n  void g() { put(1); }\n}\n"}
    with indexed(tmp_path, files) as index:
        assert places(index.graph.refs("A.java:2", asking())) == [
            "A.java:3:8 definition resolved",
            "A.java:4:14 call resolved",
        ]


def test_a_name_that_only_text_has_is_counted_in_the_error(tmp_path: Path) -> None:
    with indexed(tmp_path, {"a.py": "# frobnicate it\nx = 1\n"}) as index:
        with pytest.raises(TargetError) as fault:
            index.graph.refs("frobnicate", asking())
        assert "1 in comments, strings and documents" in fault.value.hint
        (place,) = index.graph.refs("frobnicate", asking(text=True)).relations
        assert place.place.line == 1


def test_uses_of_a_function_of_a_library(tmp_path: Path) -> None:
    files: Files = {"a.py": "import json\nfrom json import dumps\n\njson.dumps(1)\ndumps(2)\nother.dumps(3)\n"}
    with indexed(tmp_path, files) as index:
        assert [r.place.line for r in index.graph.refs("json.dumps", asking()).relations] == [2, 4, 5]


JAVA: Files = {
    "src/shop/Token.java": "package shop;\n\npublic enum Token {\n  OPEN, CLOSE\n}\n",
    "src/shop/Use.java": (
        "package shop;\n\nimport static shop.Token.OPEN;\nimport static org.other.Io.CLOSE;\n\n"
        "class Use {\n  Object a = OPEN;\n  Object b = CLOSE;\n}\n"
    ),
}


def test_constants_that_are_imported_from_a_type(tmp_path: Path) -> None:
    with indexed(tmp_path, JAVA) as index:
        assert places(index.graph.refs("OPEN", asking())) == [
            "src/shop/Token.java:4:3 declaration resolved",
            "src/shop/Use.java:3:26 import resolved",
            "src/shop/Use.java:7:14 read resolved",
        ]
        close = index.graph.refs("CLOSE", asking())
        assert places(close) == ["src/shop/Token.java:4:9 declaration resolved"]
        assert "2 mean something else" in summary(close)


OPTIONS: Files = {
    "src/options.ts": (
        "export interface Options {\n  filter?: (x: string) => boolean\n}\n\n"
        "export function run(options?: Options) {\n  return options?.filter\n}\n"
    ),
    "src/options.test.ts": "import { run } from './options'\n\nrun({ filter: (x) => x.length > 0 })\n",
    "docs/options.md": "# Options\n\n## filter\n\nText.\n",
}


def test_a_function_in_an_object_may_be_the_field_of_an_interface(tmp_path: Path) -> None:
    with indexed(tmp_path, OPTIONS) as index:
        found = index.graph.refs("Options.filter", asking())
        assert places(found) == [
            "src/options.ts:2:3 declaration resolved",
            "src/options.ts:6:19 read resolved",
            "src/options.test.ts:3:7 key by name",
        ]


def test_a_name_means_definitions_and_fields(tmp_path: Path) -> None:
    files: Files = GO | {"limit.go": "package shop\n\nfunc Limit() int {\n\treturn 1\n}\n\nvar most = Limit()\n"}
    with indexed(tmp_path, files) as index:
        answer = index.graph.refs("Limit", asking())
        assert {(r.place.path, r.place.line) for r in answer.relations} == {
            ("config.go", 4),
            ("config.go", 8),
            ("use.go", 4),
            ("use.go", 8),
            ("use.go", 9),
            ("limit.go", 7),
        }
        assert answer.notices[0].text.startswith(
            "fields have this name too; name one as TYPE.FIELD: config.go:4  field"
        )
        assert places(index.graph.refs("limit.go:3", asking())) == ["limit.go:7:12 call resolved"]


def test_a_heading_does_not_compete_with_a_field(tmp_path: Path) -> None:
    files: Files = {"docs/a.md": "# Text\n\n## Limit\n\nMore.\n"} | GO
    with indexed(tmp_path, files) as index:
        assert index.graph.refs("Limit", asking()).targets[0].kind == "field"


CPP: Files = {
    "box.h": (
        "class Box {\npublic:\n    Box(int size);\n    ~Box();\n    int size;\n};\n\n"
        "typedef struct line { int price; } line;\nstruct order { line *line; Box box; };\n"
    ),
    "box.cc": (
        '#include "box.h"\n\nBox::Box(int size) : size(size) {}\n\nBox::~Box() {}\n\n'
        "Box *make(line *of) { return new Box(3); }\n"
    ),
}


def test_a_constructor_and_its_type_differ_by_role(tmp_path: Path) -> None:
    with indexed(tmp_path, CPP) as index:
        assert places(index.graph.refs("box.cc:3", asking())) == [
            "box.cc:7:34 type resolved",
            "box.h:3:5 declaration likely",
        ]
        assert places(index.graph.refs("box.h:1", asking())) == [
            "box.cc:3:1 read resolved",
            "box.cc:3:6 declaration resolved",
            "box.cc:5:1 read resolved",
            "box.cc:5:7 read resolved",
            "box.cc:7:1 type resolved",
            "box.cc:7:34 type resolved",
            "box.h:3:5 declaration resolved",
            "box.h:4:6 read resolved",
            "box.h:9:28 type resolved",
        ]


def test_a_type_a_field_and_a_parameter_of_one_name(tmp_path: Path) -> None:
    with indexed(tmp_path, CPP) as index:
        assert places(index.graph.refs("box.h:8", asking())) == [
            "box.cc:7:11 type resolved",
            "box.h:8:36 declaration resolved",
            "box.h:9:16 type resolved",
        ]
        assert places(index.graph.refs("Box.size", asking())) == [
            "box.cc:3:22 write resolved",
            "box.h:5:9 declaration resolved",
        ]


def test_files_that_the_time_does_not_allow_are_counted(tmp_path: Path) -> None:
    with indexed(tmp_path, PYTHON) as index:
        view = GraphView(index._store, index.info())
        seconds = iter(range(100))
        index._store.budget = TimeBudget(4.0, clock=lambda: next(seconds))
        finder = PlaceFinder(view, make_target(view, find_units_named("Sold", index._store)))
        assert {place.document.path for place in finder.find_places()} == {"shop/cart.py"}
        assert "1 file not read, since the time is spent" in finder.summarize(())


def test_a_field_and_a_method_of_one_name(tmp_path: Path) -> None:
    text = (
        "pub struct Builder {\n    word: bool,\n}\n\nimpl Builder {\n    pub fn word(&mut self, yes: bool) -> &mut Builder {\n"
        "        self.word = yes;\n        self\n    }\n}\n\nfn f(b: &mut Builder) {\n    b.word(true);\n}\n"
    )
    with indexed(tmp_path, {"src/lib.rs": text}) as index:
        assert places(index.graph.refs("src/lib.rs:6", asking())) == ["src/lib.rs:13:7 call resolved"]
        assert [r.place.line for r in index.graph.refs("word", asking()).relations] == [2, 7, 13]
