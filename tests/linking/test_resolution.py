# ruff: noqa: E501 - sources of other languages keep to their own lines
"""Resolution of names, language by language: small trees and the edges that a reader would draw."""

from __future__ import annotations

from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.model.graph import is_unit
from codelens.store.store import Store
from tests.indexing.here import derive_here


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    derive_here(monkeypatch)


def edges(tmp_path: Path, files: dict[str, str]) -> set[str]:
    """'source kind target' of all edges, units as path:qualified name, documents as their path."""
    root, index = tmp_path / "tree", tmp_path / "index.db"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    Index.build(index, [root], Settings(jobs=1, fuzzy=False, vector=False))
    with Store.read(index) as store:
        rows = [row for d in store.documents.read_rows() for row in store.units.list_in_document(d.id)]
        names: dict[int, str] = {row.id: f"{row.path}:{row.qualified_name}" for row in rows}
        names |= {-d.id: d.path for d in store.documents.read_rows()}
        sources = [*names]
        found = list(store.edges.find_outgoing(sources))
        names |= store.edges.read_external_names([e.target for e in found])
        assert all(e.target in names for e in found)
        assert all(e.line > 0 or not is_unit(e.source) or e.provenance in ("implied", "scope") for e in found)
        return {f"{names[e.source]} {e.kind} {names[e.target]}" for e in found}


PYTHON = {
    "shop/__init__.py": "from .cart import Cart as Basket\nfrom .cart import *\n",
    "shop/cart.py": (
        "from .base import Thing\n\n\nclass Cart(Thing):\n    item: 'Item'\n\n    def total(self):\n"
        "        return self.each(lambda i: i) + self.item.price()\n\n\n"
        "class Item:\n    def price(self) -> int:\n        return helper(1)\n\n\ndef helper(x): return x\n"
    ),
    "shop/base.py": "class Thing:\n    def each(self, f): return f(self.total())\n    def total(self): raise Broken()\n\n\nclass Broken(Exception): pass\n",
    "main.py": "import shop\nfrom shop import Basket\nimport os\n\n\ndef run():\n    cart = Basket()\n    cart.each(shop.helper)\n    os.getenv('SHOP_DB')\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\n\ndef test_total():\n    assert Cart().total()\n",
}


def test_names_of_python_lead_to_their_definitions(tmp_path: Path) -> None:
    found = edges(tmp_path, PYTHON)
    assert {
        "main.py:run calls shop/cart.py:Cart",
        "main.py:run calls shop/base.py:Thing.each",
        "main.py:run references shop/cart.py:helper",
        "main.py:run reads_env env:SHOP_DB",
        "shop/cart.py:Cart extends shop/base.py:Thing",
        "shop/cart.py:Cart inherits shop/base.py:Thing.each",
        "shop/cart.py:Cart.total overrides shop/base.py:Thing.total",
        "shop/cart.py:Cart.total calls shop/base.py:Thing.each",
        "shop/cart.py:Cart.total calls shop/cart.py:Item.price",
        "shop/cart.py:Item.price calls shop/cart.py:helper",
        "shop/base.py:Thing.total throws shop/base.py:Broken",
        "tests/test_cart.py:test_total tests shop/cart.py:Cart",
        "tests/test_cart.py:test_total tests shop/cart.py:Cart.total",
        "shop/__init__.py imports shop/cart.py",
        "main.py imports module:os",
    } <= found
    assert not any("calls shop" in edge and edge.startswith("tests/") for edge in found)


def test_typescript_modules_aliases_and_reexports(tmp_path: Path) -> None:
    found = edges(
        tmp_path,
        {
            "tsconfig.json": '{ "compilerOptions": { "baseUrl": ".", "paths": { "@lib/*": ["src/lib/*"] } } // c\n}',
            "src/lib/index.ts": "export * from './shape';\nexport { area as size } from './shape';\n",
            "src/lib/shape.ts": "export abstract class Shape { abstract area(): number; twice() { return this.area() * 2; } }\n"
            "export function area(s: Shape): number { return s.area(); }\n",
            "src/circle.ts": "import { Shape } from './lib';\nexport class Circle extends Shape { area() { return 3; } }\n",
            "src/app.ts": "import { size } from '@lib/index';\nimport * as all from './circle';\n"
            "export const go = () => { const c = new all.Circle(); c.twice(); [1].map(() => size(c)); };\n",
        },
    )
    assert {
        "src/circle.ts:Circle extends src/lib/shape.ts:Shape",
        "src/circle.ts:Circle.area overrides src/lib/shape.ts:Shape.area",
        "src/lib/shape.ts:Shape.twice calls src/lib/shape.ts:Shape.area",
        "src/lib/shape.ts:area calls src/lib/shape.ts:Shape.area",
        "src/app.ts:go calls src/circle.ts:Circle",
        "src/app.ts:go calls src/lib/shape.ts:Shape.twice",
        "src/app.ts:go calls src/lib/shape.ts:area",
    } <= found


def test_go_packages_embedding_and_structural_interfaces(tmp_path: Path) -> None:
    found = edges(
        tmp_path,
        {
            "go.mod": "module example.org/app\n",
            "store/store.go": "package store\n\ntype Store interface {\n\tGet(key string) (string, error)\n\tClose() error\n}\n\n"
            "func Open() Store { return &file{} }\n",
            "store/file.go": "package store\n\ntype base struct{}\n\nfunc (b base) Close() error { return nil }\n\n"
            "type file struct{ base }\n\nfunc (f *file) Get(key string) (string, error) { return load(key), f.Close() }\n\n"
            "func load(key string) string { return key }\n",
            "main.go": 'package main\n\nimport "example.org/app/store"\n\nfunc main() {\n\ts := store.Open()\n\tdefer s.Close()\n'
            '\tgo func() { s.Get(name()) }()\n}\n\nfunc name() string { return "x" }\n',
        },
    )
    assert {
        "main.go:main calls store/store.go:Open",
        "main.go:main calls store/store.go:Store.Close",
        "main.go:main calls store/store.go:Store.Get",
        "main.go:main calls main.go:name",
        "store/file.go:file implements store/store.go:Store",
        "store/file.go:file extends store/file.go:base",
        "store/file.go:file inherits store/file.go:base.Close",
        "store/file.go:file.Get calls store/file.go:load",
        "store/file.go:file.Get calls store/file.go:base.Close",
        "store/file.go:file.Get member_of store/file.go:file",
        "store/store.go:Open calls store/file.go:file",
    } <= found
    assert "store/file.go:base implements store/store.go:Store" not in found


def test_java_names_resolve_through_packages(tmp_path: Path) -> None:
    found = edges(
        tmp_path,
        {
            "src/a/Base.java": "package a;\npublic abstract class Base { protected void run() { step(); } abstract void step(); }\n",
            "src/a/Helper.java": "package a;\nclass Helper { static int help(int x) { return x; } }\n",
            "src/b/Child.java": "package b;\nimport a.Base;\nimport static b.Tools.twice;\n"
            "public class Child extends Base {\n  private final Tools tools = new Tools();\n"
            "  void step() { run(); tools.use(twice(1)); new Runnable() { public void run() { tools.use(2); } }; }\n}\n",
            "src/b/Tools.java": "package b;\nclass Tools { static int twice(int x) { return 2 * x; } void use(int x) {} }\n",
        },
    )
    assert {
        "src/b/Child.java:Child extends src/a/Base.java:Base",
        "src/b/Child.java:Child.step overrides src/a/Base.java:Base.step",
        "src/b/Child.java:Child.step calls src/a/Base.java:Base.run",
        "src/b/Child.java:Child.step calls src/b/Tools.java:Tools.use",
        "src/b/Child.java:Child.step calls src/b/Tools.java:Tools.twice",
        "src/a/Base.java:Base.run calls src/a/Base.java:Base.step",
    } <= found


def test_structure_gives_edges_of_every_kind(tmp_path: Path) -> None:
    found = edges(
        tmp_path,
        {
            "src/a/Codec.java": "package a;\npublic interface Codec { Word encode(Word word) throws Broken; }\n",
            "src/a/Base.java": "package a;\npublic class Base { int most() { return 9; } }\n",
            "src/a/Word.java": "package a;\npublic class Word { Word again() { return this; } }\n",
            "src/a/Broken.java": "package a;\npublic class Broken extends Exception { }\n",
            "src/a/Mark.java": "package a;\npublic @interface Mark { }\n",
            "src/b/Morse.java": "package b;\nimport a.*;\nimport a.Codec;\n@Mark\n"
            "public class Morse extends Base implements Codec {\n"
            "  public Word encode(Word word) throws Broken { if (word == null) throw new Broken(); return word.again(); }\n"
            "  int most() { return 1; }\n}\n",
            "hooks.py": "def chosen():\n    return hook\n\n\ndef hook():\n    pass\n",
            "src/test/java/b/MorseTest.java": "package b;\npublic class MorseTest {\n"
            "  @Test public void testMost() { new Morse().most(); }\n}\n",
        },
    )
    morse = "src/b/Morse.java:Morse"
    assert {
        f"{morse}.encode calls src/a/Word.java:Word.again",
        "src/b/Morse.java imports src/a/Codec.java",
        f"{morse} extends src/a/Base.java:Base",
        f"{morse} implements src/a/Codec.java:Codec",
        f"{morse}.encode overrides src/a/Codec.java:Codec.encode",
        "hooks.py:chosen references hooks.py:hook",
        f"{morse}.encode type_hint_of src/a/Word.java:Word",
        f"{morse} decorates src/a/Mark.java:Mark",
        f"{morse}.encode throws src/a/Broken.java:Broken",
        f"src/test/java/b/MorseTest.java:MorseTest.testMost tests {morse}.most",
    } <= found


def test_literals_lead_to_what_they_name(tmp_path: Path) -> None:
    text = (
        "import os\nimport subprocess\nimport requests\n\n\n@app.route('/lamps')\ndef show():\n    os.getenv('LAMPS')\n"
        "    subprocess.run(['git', 'status'])\n    requests.get('http://localhost/lamps')\n    is_enabled('new-lamps')\n"
    )
    assert {
        "main.py:show handles_route route:/lamps",
        "main.py:show reads_env env:LAMPS",
        "main.py:show executes_process process:git",
        "main.py:show consumes_endpoint route:/lamps",
        "main.py:show gated_by_flag flag:new-lamps",
    } <= edges(tmp_path, {"main.py": text})


def test_rust_names_resolve_through_crates_and_modules(tmp_path: Path) -> None:
    found = edges(
        tmp_path,
        {
            "Cargo.toml": '[package]\nname = "my-app"\n',
            "src/main.rs": "mod parser;\nmod util;\nuse crate::parser::Parser;\nuse util::helper;\n\n"
            "fn main() {\n    let p = Parser::new();\n    p.parse(helper());\n    parser::free();\n}\n",
            "src/parser/mod.rs": "use super::util;\npub mod tokens;\npub struct Parser { pos: usize }\n\nimpl Parser {\n    pub fn new() -> Self { Parser { pos: 0 } }\n"
            "    pub fn parse(&self, s: String) -> u8 { self.step(); tokens::next(); util::helper(); 1 }\n    fn step(&self) {}\n}\n\npub fn free() {}\n",
            "src/parser/tokens.rs": "pub fn next() {}\n",
            "src/util.rs": "pub fn helper() -> String { String::new() }\n",
        },
    )
    assert {
        "src/main.rs:main calls src/parser/mod.rs:Parser.new",
        "src/main.rs:main calls src/parser/mod.rs:Parser.parse",
        "src/main.rs:main calls src/util.rs:helper",
        "src/main.rs:main calls src/parser/mod.rs:free",
        "src/parser/mod.rs:Parser.parse calls src/parser/mod.rs:Parser.step",
        "src/parser/mod.rs:Parser.parse calls src/parser/tokens.rs:next",
        "src/parser/mod.rs:Parser.parse calls src/util.rs:helper",
        "src/parser/mod.rs:Parser.new calls src/parser/mod.rs:Parser",
    } <= found


def test_csharp_names_resolve_through_namespaces(tmp_path: Path) -> None:
    found = edges(
        tmp_path,
        {
            "Core/Shape.cs": "namespace App.Core;\npublic interface IShape { double Area(); }\n"
            "public abstract class Shape : IShape { public abstract double Area(); public double Twice() => Area() * 2; }\n",
            "Web/Page.cs": "using App.Core;\nnamespace App.Web\n{\n    public class Page\n    {\n        private readonly Shape shape;\n"
            "        public double Show(IShape other) { Log(); return shape.Twice() + other.Area(); }\n        private void Log() { }\n    }\n}\n",
        },
    )
    assert {
        "Web/Page.cs:Page.Show calls Core/Shape.cs:Shape.Twice",
        "Web/Page.cs:Page.Show calls Core/Shape.cs:IShape.Area",
        "Web/Page.cs:Page.Show calls Web/Page.cs:Page.Log",
        "Core/Shape.cs:Shape.Twice calls Core/Shape.cs:Shape.Area",
        "Core/Shape.cs:Shape.Area overrides Core/Shape.cs:IShape.Area",
    } <= found


def test_c_names_resolve_through_includes(tmp_path: Path) -> None:
    found = edges(
        tmp_path,
        {
            "lib/buf.h": "struct buf { int n; };\nint buf_add(struct buf *b, int x);\n",
            "lib/buf.c": '#include "buf.h"\n\nstatic int grow(struct buf *b) { return 1; }\n\n'
            "int buf_add(struct buf *b, int x) { return grow(b) + x; }\n",
            "main.c": '#include "lib/buf.h"\n#include <stdio.h>\n\nint main(void) { struct buf b; printf("x"); return buf_add(&b, 1); }\n',
        },
    )
    assert {
        "main.c:main calls lib/buf.c:buf_add",
        "lib/buf.c:buf_add calls lib/buf.c:grow",
        "main.c imports lib/buf.h",
        "main.c:main type_hint_of lib/buf.h:buf",
    } <= found


def test_ruby_constants_and_requires(tmp_path: Path) -> None:
    found = edges(
        tmp_path,
        {
            "lib/app.rb": "require_relative 'app/user'\n\nmodule App\n  class Base\n    def save; validate; end\n    def validate; end\n  end\nend\n",
            "lib/app/user.rb": "module App\n  class User < Base\n    def initialize(name); @mail = Mailer.new; end\n"
            "    def rename(name); save; @mail.deliver(name); end\n  end\n\n  class Mailer\n    def deliver(to); end\n  end\nend\n",
        },
    )
    assert {
        "lib/app/user.rb:App.User extends lib/app.rb:App.Base",
        "lib/app/user.rb:App.User.rename calls lib/app.rb:App.Base.save",
        "lib/app/user.rb:App.User.rename calls lib/app/user.rb:App.Mailer.deliver",
        "lib/app.rb:App.Base.save calls lib/app.rb:App.Base.validate",
        "lib/app.rb imports lib/app/user.rb",
    } <= found


def test_php_names_resolve_through_use(tmp_path: Path) -> None:
    found = edges(
        tmp_path,
        {
            "src/Model/User.php": "<?php\nnamespace App\\Model;\n\nclass User {\n    public function name(): string { return $this->load(); }\n"
            "    private function load() { return ''; }\n    public static function find(int $id): self { return new self(); }\n}\n",
            "src/Http/Page.php": "<?php\nnamespace App\\Http;\n\nuse App\\Model\\User;\n\nclass Page {\n    private User $user;\n"
            "    public function show() { $u = User::find(1); return $u->name() . $this->user->name(); }\n}\n",
        },
    )
    assert {
        "src/Http/Page.php:Page.show calls src/Model/User.php:User.find",
        "src/Http/Page.php:Page.show calls src/Model/User.php:User.name",
        "src/Model/User.php:User.name calls src/Model/User.php:User.load",
        "src/Http/Page.php imports src/Model/User.php:User",
    } <= found


def test_kotlin_names_resolve_through_packages(tmp_path: Path) -> None:
    found = edges(
        tmp_path,
        {
            "a/Shape.kt": "package a\n\ninterface Shape { fun area(): Double }\n\nfun helper(x: Int): Int = x\n",
            "b/Circle.kt": "package b\n\nimport a.Shape\nimport a.helper\n\nclass Circle(val r: Int) : Shape {\n"
            "    override fun area(): Double { grow(); return helper(r).toDouble() }\n    private fun grow() {}\n}\n\n"
            "fun use(s: Shape) { s.area(); Circle(1).area() }\n",
        },
    )
    assert {
        "b/Circle.kt:Circle.area calls a/Shape.kt:helper",
        "b/Circle.kt:Circle.area calls b/Circle.kt:Circle.grow",
        "b/Circle.kt:use calls a/Shape.kt:Shape.area",
        "b/Circle.kt:use calls b/Circle.kt:Circle",
        "b/Circle.kt:use calls b/Circle.kt:Circle.area",
        "b/Circle.kt:Circle.area overrides a/Shape.kt:Shape.area",
    } <= found


def test_prose_manifests_and_owners_lead_to_files_and_symbols(tmp_path: Path) -> None:
    found = edges(
        tmp_path,
        {
            **PYTHON,
            "README.md": "# Shop\n\nA `Cart.total()` adds up; see [the cart](shop/cart.py).\n",
            "requirements.txt": "flask>=2\n",
            "CODEOWNERS": "*.py @team/shop\n",
        },
    )
    assert {
        "README.md:Shop documents shop/cart.py:Cart.total",
        "README.md:Shop documents shop/cart.py",
        "requirements.txt depends_on package:pypi:flask",
        "main.py owned_by owner:@team/shop",
    } <= found


def test_a_guess_is_bounded_and_says_that_it_is_one(tmp_path: Path) -> None:
    several = {f"m{i}.py": f"class C{i}:\n    def rare_name(self): pass\n" for i in range(3)}
    found = edges(tmp_path, {**several, "use.py": "def go(x):\n    x.rare_name()\n    x.get()\n"})
    assert {f"use.py:go calls m{i}.py:C{i}.rare_name" for i in range(3)} <= found
    many = {f"n{i}.py": f"class D{i}:\n    def other_name(self): pass\n" for i in range(9)}
    assert not [
        e
        for e in edges(tmp_path, {**many, "use.py": "def go(x): x.other_name()\n"})
        if "other_name" in e and "calls" in e
    ]
