"""Arguments that begin with a dash: queries such as `-client` and `-repo:x`, and options of ripgrep's that belong elsewhere.

A word after a dash is a query unless it is a valid cluster of short options, as `-il`, `-C3` or `-tpy` are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from codelens.cli.declare import MARK
from codelens.errors import UsageError

WHEN_INDEXING = "what is hidden, ignored or binary is decided when indexing"
ELSEWHERE: Mapping[str, tuple[str, str]] = {
    "--hidden": (WHEN_INDEXING, "--hidden belongs to `codelens index`"),
    "-.": (WHEN_INDEXING, "`codelens index --hidden` takes hidden files in"),
    "--no-ignore": (WHEN_INDEXING, "--no-ignore belongs to `codelens index`"),
    "-u": (WHEN_INDEXING, "`codelens index --no-ignore`; for -uu add --hidden"),
    "--unrestricted": (WHEN_INDEXING, "`codelens index --no-ignore --hidden`"),
    "-a": (WHEN_INDEXING, "binary files are not indexed: `codelens status --skipped` lists them"),
    "--text": (WHEN_INDEXING, "binary files are not indexed: `codelens status --skipped` lists them"),
    "-z": (WHEN_INDEXING, "compressed files are not indexed"),
    "--follow": ("links are not followed", "their targets are indexed under their own path"),
    "--replace": ("a search replaces nothing", "pipe it: codelens search … | sed 's/OLD/NEW/'"),
    "--max-depth": ("there is no limit of depth", "a glob says it: -g '/*' or -g '/*/*'"),
    "-d": ("there is no limit of depth", "a glob says it: -g '/*' or -g '/*/*'"),
    "--max-count": ("-m limits the whole answer, not each file", "-m N; or use rg --max-count"),
    "--count-matches": ("there is no --count-matches", "-c -o counts matches"),
    "-U": ("-U is not needed", r"--regex 'a\nb' and (?s:.) match across lines"),
    "--multiline": ("--multiline is not needed", r"--regex 'a\nb' and (?s:.) match across lines"),
    "--pcre2": ("there is one kind of pattern", "--regex (-P) knows look-around and back-references"),
    "--encoding": ("a file's encoding is detected when it is indexed", "leave --encoding out"),
    "--type-add": ("file types are languages", "-g '*.EXT' chooses by ending; --type-list lists the languages"),
    "-j": ("a search runs in one thread", "leave -j out"),
    "--threads": ("a search runs in one thread", "leave --threads out"),
    "--sortr": ("there is no --sortr", "--sort path --reverse"),
}
"""Option of ripgrep or grep → what there is instead: a sentence and a hint."""
EQUIVALENT: Mapping[str, Callable[[str], Sequence[str]]] = {
    "--include": lambda glob: ("-g", glob),
    "--exclude": lambda glob: ("-g", f"!{glob}"),
    "--exclude-dir": lambda glob: ("-g", f"!{glob.rstrip('/')}/"),
    "--iglob": lambda glob: ("-g", ignore_glob_case(glob)),
    "--colour": lambda when: ("--color", when),
}
"""Option of ripgrep or grep with a value → the same as an option of ours."""
_LETTER = re.compile(r"\[[^]]*]|[^\W\d_]")
_NEGATED = re.compile(r'-(?:[^\W\d]\w|_|["`/(])')
_FILTERED = re.compile(r"-(?:[A-Za-z][A-Za-z_-]+|[rf]):")


class Spellings(NamedTuple):
    """The options of a command, by how they take values."""

    flags: Collection[str]  # Short letters without a value
    values: Mapping[str, bool]  # Option with a value, letter or --name → whether the value is a number
    names: Collection[str]  # All of them as they are written


def marked(arguments: Sequence[str], options: Spellings) -> Iterator[str]:
    """The arguments, with MARK before queries that begin with a dash. Raises UsageError for options in ELSEWHERE."""
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            yield argument
            yield from rest
            return
        name = argument.partition("=")[0]
        if name in EQUIVALENT and "-g" in options.names:
            value = argument.partition("=")[2] if "=" in argument else next(rest, "")
            if not value:
                raise UsageError(f"{name} needs a value", f"as in {name}=VALUE")
            yield from EQUIVALENT[name](value)
            continue
        if argument.startswith("--"):
            if name not in options.names and name in ELSEWHERE:
                raise UsageError(f"{name}: {ELSEWHERE[name][0]}", ELSEWHERE[name][1])
            takes = name == argument and name in options.values
        elif len(argument) > 1 and argument[0] == "-":
            cluster, takes = _cluster(argument, options)
            argument = argument if cluster else MARK + argument
        else:
            takes = False
        yield argument
        if takes:
            yield from [value for value in [next(rest, None)] if value is not None]


def _cluster(argument: str, options: Spellings) -> tuple[bool, bool]:
    """(whether a word after one dash is options, whether its last one takes the next argument)."""
    if _FILTERED.match(argument):
        return False, False
    if not _NEGATED.match(argument):
        _refuse(argument if argument in ELSEWHERE and argument not in options.names else "")
        return True, argument[1:] in options.values
    elsewhere = ""
    for at, letter in enumerate(argument[1:], start=1):
        if letter in options.values:
            value, number = argument[at + 1 :], options.values[letter]
            fits = value.isdecimal() if number else at == 1 and _is_value(letter, value)
            _refuse(elsewhere if fits or not value else "")
            return not value or fits, not value
        if letter not in options.flags:
            if f"-{letter}" not in ELSEWHERE:
                return False, False
            elsewhere = elsewhere or f"-{letter}"
    _refuse(elsewhere)
    return True, False


def ignore_glob_case(glob: str) -> str:
    """A glob that ignores letter case, by a set for each letter."""
    return _LETTER.sub(
        lambda found: f"[{found[0].lower()}{found[0].upper()}]" if len(found[0]) == 1 else found[0], glob
    )


def _refuse(name: str) -> None:
    if name:
        raise UsageError(f"{name}: {ELSEWHERE[name][0]}", ELSEWHERE[name][1])


def _is_value(letter: str, value: str) -> bool:
    """True for what may be written right after an option: -tpy, -g'*.py', -efoo."""
    if letter in "tT":
        from codelens.lang.registry import accepted_names

        return value.lower() in accepted_names()
    return letter == "e" or not any(map(str.isspace, value))
