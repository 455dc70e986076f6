"""Turns the list of evaluation repositories into the answer whether a package may be one of them, or a part, fork or port of one.

A package is excluded when a listed name is among the words of its name: that also refuses plug-ins with code of their own
(`django-filter`), which is the cheaper mistake. Parts and ports that carry another name are listed here.
"""

import re
from collections.abc import Iterable

# Packages cut from a listed repository, ports of it, and copies that go by another name.
_OTHER_NAMES = {
    "black": "blib2to3 blackd",
    "cal.com": "calcom",
    "commons-lang": "commons-lang2 commons-lang3 commonslang",
    "curl": "libcurl",
    "eslint": "espree",
    "flask": "werkzeug",  # they share documentation
    "gson": "google-gson",
    "kubernetes": "k8s kubectl kubelet apimachinery",
    "kafka": "libkafka",
    "lodash": "underscore",  # one came of the other, and they share documentation
    "pandas": "modin pyspark snowpark",  # with its documentation in them
    "playwright": "puppeteer",  # one came of the other
    "rails": "railties activerecord activesupport activemodel activejob activestorage"
    " actionpack actionview actionmailer actioncable",
    "redis": "hiredis valkey keydb",
    "ripgrep": "globset ignore grep-cli grep-matcher grep-printer grep-regex grep-searcher",
    "scikit-learn": "sklearn",
    "slim": "slimphp",
    "vscode": "monaco",
    "vue-core": "vue",
    "zoekt": "csearch",
}


def excluded_names(text: str) -> frozenset[tuple[str, ...]]:
    """The names of an exclusion list, each as its words. Text after `#` and in brackets is comment."""
    lines = (re.sub(r"\([^)]*\)", " ", line.partition("#")[0]) for line in text.splitlines())
    names = {name for line in lines for name in line.lower().split()}
    names |= {other for name in names for other in _OTHER_NAMES.get(name, "").split()}
    return frozenset(words for name in names if (words := _words(name)))


def exclusion(package: str, names: Iterable[tuple[str, ...]]) -> str | None:
    """The excluded name that forbids a package of this name, or None."""
    words = _words(package)
    bare = tuple(re.sub(r"(?<=[a-z])\d+$|^lib", "", word) for word in words)
    for name in sorted(names):
        spans = (form[start : start + len(name)] for form in (words, bare) for start in range(len(form)))
        if name in spans or "".join(name) in words:
            return "-".join(name)
    return None


def _words(name: str) -> tuple[str, ...]:
    return tuple(word for word in re.split(r"[^a-z0-9]+", name.lower()) if word)
