"""languages.toml: its rows do not contradict each other; name, extension and #! line decide a file's language."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files

import pytest

from codelens.errors import UsageError
from codelens.lang.parser import DEFINING, load_grammar, read_query_source, split_patterns
from codelens.lang.registry import detect_language, languages, resolve_language


@pytest.mark.parametrize("column", ["extensions", "filenames", "shebangs", "aliases"])
def test_no_two_rows_claim_the_same(column: str) -> None:
    claims = Counter(claim for row in languages().values() for claim in getattr(row, column))
    assert [claim for claim, times in claims.items() if times > 1] == []


def test_names_aliases_and_extensions_mean_one_language_each() -> None:
    rows = languages().values()
    extensions = {extension: row.name for row in rows for extension in row.extensions}
    for row in rows:
        for word in (row.name, *row.aliases):
            assert extensions.get(word, row.name) == row.name, word
        assert not set(row.aliases) & languages().keys()


def test_extensions_are_written_as_they_are_compared() -> None:
    for row in languages().values():
        assert all(e == e.lower() and not e.startswith(".") for e in row.extensions), row.name
        assert row.chunks in ("code", "headings", "lines", "cells")


def test_a_row_names_a_grammar_and_queries_together() -> None:
    folder = files("codelens.lang") / "queries"
    for row in languages().values():
        assert bool(row.grammar) == bool(row.queries), row.name
        assert all((folder / f"{name}.scm").is_file() for name in row.queries), row.name


@pytest.mark.parametrize("language", ["c", "go", "java", "javascript", "php", "python", "rust", "typescript"])
def test_patterns_are_those_of_the_compiled_query(language: str) -> None:
    source, query = read_query_source(languages()[language]), load_grammar(language).query
    starts = [query.start_byte_for_pattern(number) for number in range(query.pattern_count)]
    assert [len(source[: source.index(pattern)].encode()) for pattern in split_patterns(source)] == starts
    defining = [pattern for pattern in split_patterns(source) if any(capture in pattern for capture in DEFINING)]
    assert 0 < load_grammar(language, definitions_only=True).query.pattern_count == len(defining) < len(starts)


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("src/app.py", "python"),
        ("SRC/APP.PY", "python"),
        ("lib/a.rb", "ruby"),
        ("Rakefile", "ruby"),
        ("tasks/build.rake", "ruby"),
        ("Gemfile", "ruby"),
        ("Gemfile.local", "ruby"),
        ("Gemfile.lock", "text"),
        ("jekyll.gemspec", "ruby"),
        ("config.ru", "ruby"),
        ("types/index.d.ts", "typescript"),
        ("app.min.js", "javascript"),
        ("views/show.html.erb", "erb"),
        ("views/home.blade.php", "blade"),
        ("index.php", "php"),
        ("build.sbt", "scala"),
        ("a.rockspec", "lua"),
        ("Dockerfile", "dockerfile"),
        ("docker/Dockerfile.dev", "dockerfile"),
        ("release.dockerfile", "dockerfile"),
        ("Makefile", "make"),
        ("Makefile.am", "make"),
        ("rules.mk", "make"),
        ("CMakeLists.txt", "cmake"),
        ("config.cmake.in", "cmake"),
        ("meson.build", "meson"),
        ("notes.txt", "text"),
        ("LICENSE", "text"),
        ("README", "text"),
        ("README.md", "markdown"),
        ("README.MARKDOWN", "markdown"),
        ("docs/index.rst", "restructuredtext"),
        ("guide.adoc", "asciidoc"),
        ("data.json", "json"),
        (".eslintrc", "json"),
        (".eslintrc.yml", "yaml"),
        ("ci.yml", "yaml"),
        ("Cargo.lock", "toml"),
        (".env", "ini"),
        (".env.production", "ini"),
        (".editorconfig", "ini"),
        (".gitignore", "ignore"),
        ("setup.cfg", "ini"),
        ("App.csproj", "xml"),
        ("logo.svg", "xml"),
        ("page.html", "html"),
        ("site.scss", "scss"),
        ("schema.sql", "sql"),
        ("main.tf", "hcl"),
        ("api.proto", "protobuf"),
        ("messages.po", "gettext"),
        ("analysis.R", "r"),
        ("boot.S", "asm"),
        ("View.m", "objc"),
        ("app.app.src", "erlang"),
        (".vimrc", "vim"),
        ("plugin.vim", "vim"),
        ("change.patch", "diff"),
        ("unknown.extension-of-nobody", "text"),
        ("noextension", "text"),
        ("trailing.", "text"),
        ("folder.py/noextension", "text"),
    ],
)
def test_a_name_tells_the_language(path: str, language: str) -> None:
    assert detect_language(path) == language


@pytest.mark.parametrize(
    ("head", "language"),
    [
        (b"#!/usr/bin/python3\n", "python"),
        (b"#!/usr/bin/env python3.11\n", "python"),
        (b"#! /usr/bin/env -S python3 -u\n", "python"),
        (b"#!/usr/bin/env LANG=C perl\n", "perl"),
        (b"#!/usr/local/bin/lua5.4\n", "lua"),
        (b"#!/usr/bin/env ruby\r\n", "ruby"),
        (b"\xef\xbb\xbf#!/usr/bin/env php\n", "php"),
        (b"#!ruby", "ruby"),
        (b"#!/usr/bin/make -f\n", "make"),
        (b"#!/opt/program-of-nobody\n", "text"),
        (b"#!", "text"),
        (b"text #!/usr/bin/python\n", "text"),
        (b"", "text"),
    ],
)
def test_the_first_line_tells_the_language_of_a_script_without_extension(head: bytes, language: str) -> None:
    assert detect_language("bin/tool", head) == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("struct order { int total; };\nint sum(struct order *o);\n", "c"),
        ('/* a class of\nnamespace x { std::string */\nconst char *s = "a::b"; // template <class T>\n', "c"),
        ('#ifdef __cplusplus\nextern "C" {\n#endif\nint f(void);\n', "c"),
        ("#if defined(__cplusplus)\n#include <string>\nclass A {};\n#else\ntypedef struct A A;\n#endif\n", "c"),
        ("int operator = 3; int class_of(int x);\n", "c"),
        ("", "c"),
        ("namespace shop {\nint f();\n}\n", "cpp"),
        ("class Order;\n", "cpp"),
        ("struct Order {\n  Order() = default;\n};\n", "cpp"),
        ("struct Order {\n private:\n  int total;\n};\n", "cpp"),
        ("template <typename T>\nstruct Box { T one; };\n", "cpp"),
        ("#include <vector>\n", "cpp"),
        ("void print(const std::string &text);\n", "cpp"),
        ("using Names = list;\n", "cpp"),
        ("#import <Foundation/Foundation.h>\n@interface Order : NSObject\n@end\n", "c"),
    ],
)
def test_the_text_tells_the_language_of_a_header(text: str, language: str) -> None:
    assert detect_language("include/order.h", text.encode()) == language


def test_the_name_goes_before_the_first_line() -> None:
    assert detect_language("tool.rb", b"#!/usr/bin/python\n") == "ruby"


@pytest.mark.parametrize(
    ("word", "language"),
    [
        ("py", "python"),
        (".py", "python"),
        ("Ruby", "ruby"),
        ("rb", "ruby"),
        ("rst", "restructuredtext"),
        ("text", "text"),
        ("htm", "html"),
    ],
)
def test_a_language_goes_by_name_alias_and_extension(word: str, language: str) -> None:
    assert resolve_language(word) == language


@pytest.mark.parametrize("word", ["", "klingon", "..", "rubyy"])
def test_an_unknown_language_is_an_error_that_says_where_to_look(word: str) -> None:
    with pytest.raises(UsageError) as fault:
        resolve_language(word)
    assert word in str(fault.value) and "--type-list" in fault.value.hint
