"""Compare the sentences of `why` with the source tree: `python -m tools.bench.sentences INDEX … [--queries N]`.

Queries are drawn from each index and asked with several profiles. Each sentence that explains a part of a score is read back and
compared with the file on disk, the query and the other hits of the answer; the state of the ranking is not used. It prints how
many sentences of each kind were compared, how many none of the rules below knows, and each that is not true.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from rapidfuzz.distance import OSA

from codelens.config import Settings
from codelens.errors import CodelensError
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.render.records import Record, to_json
from codelens.render.why_json import build_why_record
from tools.bench.recheck import make_queries

PROFILES = ("codelens", "rrf", "knowing", "graph-memory", "codexlens")
QUESTIONS = ("how is an error reported", "where is the configuration read", "what happens when a connection is closed")
DOCUMENTS = (".md", ".rst", ".txt", ".adoc", ".org", ".ipynb", ".markdown")
PART = r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+"  # A word within a name, with the digits behind it
SHORT, LONG = 15, 60  # Lines of a definition that is called short, and of one that is called long


def words_in(text: str) -> set[str]:
    """The words of a text and their parts, in lower case."""
    whole = {word.casefold() for word in re.findall(r"\w+", text)}
    parts = (*re.findall(PART, text), *re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", text))
    return whole | set(map(str.casefold, parts))


def letters(text: str) -> str:
    """The letters and digits of a text in lower case."""
    return re.sub(r"[\W_]", "", text.casefold())


def are_forms(one: str, other: str) -> bool:
    """True if two words are equal but for their endings."""
    same = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    bare_one, bare_other = (re.sub(r"(.)\1$", r"\1", re.sub(r"(?:ings?|ed|es|s)$", "", word)) for word in (one, other))
    return (
        bare_one == bare_other
        or same >= max(4, max(len(one), len(other)) - 5)
        or (same >= max(3, min(len(one), len(other)) - 1) and abs(len(one) - len(other)) <= 3)
    )


def has_form(word: str, words: set[str]) -> bool:
    """True if a form of the word is among these."""
    return word in words or any(are_forms(word, other) for other in words)


@dataclass(frozen=True)
class Tree:
    """The files of the repositories of an index, as they are on disk, and where its definitions are."""

    index: Index

    @cached_property
    def root(self) -> Path:
        """The root of the first repository."""
        return Path(self.index.info().repositories[0].root)

    @cached_property
    def files(self) -> Mapping[str, str]:
        """Path → text."""
        paths = dict.fromkeys(path for _, path in self.index.files(SearchOptions()))
        return {path: (self.root / path).read_text("utf-8", "replace") for path in paths}

    @cached_property
    def definitions(self) -> Mapping[str, Sequence[str]]:
        """Qualified name → the texts of its definitions; of a file's path, its text."""
        found: dict[str, list[str]] = {path: [text] for path, text in self.files.items()}
        for path, text in self.files.items():
            lines = text.splitlines()
            for unit in self.index.symbols(path):
                found.setdefault(unit.qualified_name, []).append("\n".join(lines[unit.start_line - 1 : unit.end_line]))
        return found


@dataclass(frozen=True)
class Hit:
    """One hit of an answer, with what the disk says of it."""

    record: Record
    query: str
    terms: Sequence[tuple[str, str, str]]
    others: Sequence[Record]
    cosines: Mapping[tuple[str, int, str], float]
    tree: Tree
    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.record["name"])

    @property
    def container(self) -> str:
        """The qualified name of what holds it."""
        return str(self.record["qualified_name"].removesuffix(self.name).removesuffix("."))

    @property
    def lines(self) -> int:
        """Its length."""
        return int(self.record["end_line"] - self.record["start_line"] + 1)

    @property
    def file(self) -> str:
        """The text of its file."""
        return self.tree.files[self.record["path"]]

    @cached_property
    def words(self) -> set[str]:
        """The words of its text, the comments above it, its name and its path."""
        lines, start = self.file.splitlines(), self.record["start_line"] - 1
        while start and re.match(r"\s*(?://|#|/?\*|@|<!--|--|[)\]]|\w+ = .*,$|$)", lines[start - 1]):
            start -= 1
        text = "\n".join(lines[start : self.record["end_line"]])
        return words_in(f"{text} {self.record['qualified_name']} {self.record['path']}")

    def has_any(self, tiers: Callable[[str], bool], words: set[str] | None = None) -> bool:
        """True if it, or these words, have a term of such tiers."""
        among = self.words if words is None else words
        return any(has_form(text.rstrip("*"), among) for tier, text, _ in self.terms if tiers(tier))

    @property
    def cosine(self) -> float | None:
        """Its cosine in a search by meaning alone; None if it is too far for that."""
        return self.cosines.get(key_of(self.record))


def key_of(record: Record) -> tuple[str, int, str]:
    """The identity of a hit: path, line and name."""
    return record["path"], record["start_line"], record["qualified_name"]


def _is_typed(tier: str) -> bool:
    return tier not in ("lexicon", "pair")


def _is_near(hit: Hit, share: float) -> bool:
    best = max(hit.cosines.values(), default=0.0)
    return hit.cosine is None or abs(hit.cosine / best - share) < 0.011


def _is_reached(hit: Hit, first: str, way: str) -> bool:
    """Compare each step of a way with the texts of its two ends."""
    at, here = first, hit.record["qualified_name"]
    for step in way.split(", which ")[1:]:
        step = re.sub(r"^uses (.+) in a test$", r"tests \1", step)
        step = re.sub(r"^(.+) uses in a test$", r"\1 tests", step)
        for pattern, along in ((rf"({_VERB}) (.+)", True), (rf"(.+) ({_VERB})", False)):
            if found := re.fullmatch(pattern, step):
                verb, other = found.groups() if along else found.groups()[::-1]
                other = here if other == "it" else other
                source, target = (at, other) if along else (other, at)
                if not _has_edge(hit, source, target, verb):
                    return False
                at = other
                break
        else:
            return False
    return bool(at == here)


_VERB = (
    "calls|names|uses a field of|uses|references|imports|extends|implements|overrides|decorates|throws|tests|contains|documents"
    "|inherits|reads|runs|handles|belongs to|is used in a test by|is used in one test with|resembles|is next to|depends on"
    "|is owned by"
)


def _has_edge(hit: Hit, source: str, target: str, verb: str) -> bool:
    if verb in ("is used in one test with", "resembles", "is next to", "inherits"):
        return True  # of a third one, which the sentence does not name
    if verb == "uses a field of":
        return True  # the sentence does not name the field
    if verb in ("contains", "belongs to"):
        outer, inner = (source, target) if verb == "contains" else (target, source)
        return outer in hit.tree.files or outer.rpartition(".")[2] in inner.split(".")[:-1]
    if verb == "is used in a test by":
        source, target = target, source
    last = target.rpartition(".")[2].strip("#?!=$") if target not in hit.tree.files else Path(target).stem
    if outside := re.match(r"(?:module|route|env|file|flag):(.+)", target):
        return any(outside[1].strip("./") in text for text in hit.tree.definitions.get(source, ()))
    if re.match(r"(?:module|route|env|file|flag):", source):
        return True  # it was compared on the way there
    if verb in ("implements", "extends"):
        ends = {source.rpartition(".")[2].casefold(), last.casefold()}
        return any(ends <= words_in(text) for text in hit.tree.files.values())
    texts = [*hit.tree.definitions.get(source, ()), hit.file if source == hit.record["qualified_name"] else ""]
    if verb == "implements" and hit.record["language"] == "go":
        return True  # a type has the methods, and does not name the interface
    if verb == "overrides":
        return source.rpartition(".")[2] == last
    if source.startswith(f"{target}.") and any(words_in(text) & {"self", "static", "cls", "this"} for text in texts):
        return True  # a method that makes one of its own class
    made_by = target.split(".")[-2:-1]  # a constructor is called by the name of its class
    return any(name in words_in(text) for text in texts for name in map(str.casefold, (last, *made_by)))


def _has_changed(hit: Hit, commit: str, subject: str) -> bool:
    """True if git has the commit, with this subject, among those that changed the file under any of its names."""
    command = [
        "git",
        "-C",
        str(hit.tree.root),
        "log",
        "--follow",
        "--format=%h %s",
        "--abbrev=7",
        "--",
        hit.record["path"],
    ]
    log = subprocess.run(command, check=True, capture_output=True, text=True, errors="replace").stdout
    return any(line.startswith(f"{commit} {subject}") for line in log.splitlines())


def _is_used(hit: Hit, source: str, target: str) -> bool:
    """True if the text of one has the name of the other; a class that extends or implements it may not name it."""
    last = target.rpartition(".")[2].strip("#?!=$").casefold()
    texts = [*hit.tree.definitions.get(source, ()), hit.file if source == hit.record["qualified_name"] else ""]
    return any(last in words_in(text) for text in texts) or _has_edge(hit, source, target, "calls")


def _agree(hit: Hit, words: str) -> bool:
    asked = {text.rstrip("*") for tier, text, _ in hit.terms if _is_typed(tier)} | words_in(hit.query)
    return all(has_form(word, words_in(hit.name)) and has_form(word, asked) for word in words.split(", "))


def _is_query(hit: Hit) -> bool:
    asked = letters(hit.query)
    return asked in (letters(hit.name), letters(hit.container.rpartition(".")[2] + hit.name)) or letters(
        f"{hit.record['path']}.{hit.record['qualified_name']}"
    ).endswith(asked)


def _is_length(hit: Hit, word: str, lines: int) -> bool:
    kinds = {"short": hit.lines <= SHORT, "long": hit.lines >= LONG, "of medium length": SHORT < hit.lines < LONG}
    return lines == hit.lines and kinds[word]


def _files_that_may_use(hit: Hit) -> int:
    """How many other files have its name; of a type all others, which may use its members alone."""
    if hit.record["kind"] not in ("function", "method"):
        return len(hit.tree.files) - 1
    name = re.compile(rf"\b{re.escape(hit.name.strip('#?!=$'))}\b")
    return sum(bool(name.search(text)) for path, text in hit.tree.files.items() if path != hit.record["path"])


def _share_of_file_name(hit: Hit) -> float:
    words: list[str] = re.findall(PART, Path(hit.record["path"]).name.partition(".")[0])
    asked = {text.rstrip("*") for tier, text, _ in hit.terms if tier in ("component", "compound", "exact")}
    return sum(has_form(word.casefold(), asked) for word in words) / max(1, len(words))


def _is_part(hit: Hit, share: float) -> bool:
    """True if so much of its name is in the query."""
    own, asked = letters(hit.name), letters(hit.query) + " " + " ".join(letters(text) for _, text, _ in hit.terms)
    runs = (own[i:j] for i in range(len(own)) for j in range(i + 1, len(own) + 1))
    longest = max((len(run) for run in runs if run in asked), default=0)
    return longest / len(own) >= share - 0.01


def _is_mistyped(hit: Hit) -> bool:
    own, asked = letters(hit.name), [letters(word) for word in hit.query.split()]
    asked += [*words_in(hit.query), *(text for tier, text, _ in hit.terms if tier == "exact")]
    return any(0 < OSA.distance(own, word) <= 3 for word in asked)


def _has_typed(hit: Hit, text: str) -> bool:
    flat = " ".join(hit.file.split()).casefold()
    return " ".join(text.split()).casefold() in flat and letters(text) in letters(hit.query)


RULES: Sequence[tuple[str, Callable[..., Any]]] = (
    (r"matches the words (?:best|\d+% as well as the best hit)", lambda h: h.has_any(_is_typed)),
    (r"matches related words .*", lambda h: h.has_any(lambda tier: tier == "lexicon")),
    (r"its file matches the words .*", lambda h: h.has_any(_is_typed, words_in(h.file + h.record["path"]))),
    (r"has all words of the query, except common ones", lambda h: all(
        has_form(text, h.words) for tier, text, _ in h.terms if tier == "component")),
    (r"has \d+% of the query's words \(.*", lambda h: h.has_any(lambda tier: tier != "pair")),
    (r"has '?(.+?)'? as typed", _has_typed),
    (r"(?:rank \d+: )?has (.+) in another spelling as a part", lambda h, part: letters(part) in letters(h.record["qualified_name"])
        and part not in h.name),
    (r"(?:rank \d+: )?has (.+) as a part", lambda h, part: part.casefold() in (h.file + h.record["qualified_name"]).casefold()),
    (r"is named (\S+)", lambda h, name: name == h.name and letters(name) in letters(h.query)),
    (r"is named (\S+), but is not (.+)", lambda h, name, other: name == h.name
        and not h.record["qualified_name"].endswith(other.strip("`"))),
    (r"is named (\S+), as (.+) but for spelling", lambda h, name, other: name == h.name and name not in other),
    (r"the query is its name", _is_query),
    (r"the query is its name, spelled differently", lambda h: _is_query(h) and h.name not in h.query),
    (r"the query is its name, if (\S+) is short for (\S+)", lambda h, _, holder: h.container == holder),
    (r"its name shares (.+) with the query", _agree),
    (r"its name and the names around it have words related to \d+% of the query", lambda h: h.has_any(
        lambda tier: tier == "lexicon", words_in(h.record["qualified_name"]))),
    (r"its name is in the query, misspelled", _is_mistyped),
    (r"a part of the query is (\d+)% of its name", lambda h, share: _is_part(h, int(share) / 100)),
    (r"the query has (\d+)% of the words of its file's name", lambda h, share:
        abs(_share_of_file_name(h) - int(share) / 100) < 0.34),
    (r"its place and name have (\d+)% of (.+)", lambda h, share, scope: abs(sum(
        has_form(word, words_in(h.record["path"] + " " + h.record["qualified_name"])) for word in scope.split())
        / len(scope.split()) - int(share) / 100) < 0.01),
    (r"in tests or benchmarks|test path", lambda h: bool(re.search(r"test|spec|bench", h.record["path"], re.I))),
    (r"in an example|example path", lambda h: bool(re.search(r"example|sample|demo|playground", h.record["path"], re.I))),
    (r"in vendored code, a copy of another project's",
        lambda h: bool(re.search(r"vendor|third.?party|3rd|^deps?/|^extern", h.record["path"], re.I))),
    (r"in documentation", lambda h: h.record["path"].endswith(DOCUMENTS)
        or bool(re.search(r"doc|change|news|history", h.record["path"], re.I))),
    (r"the closest in meaning", lambda h: _is_near(h, 1.0)),
    (r"(\d+)% as close in meaning as the closest", lambda h, share: _is_near(h, int(share) / 100)),
    (r"meaning counts more, because the best match of words is (\d+)% of a perfect one", lambda h, share: int(share) < 100),
    (r"(class|struct|interface|trait|enum|type|function|method)", lambda h, kind: h.record["kind"] == kind),
    (r"text outside of definitions", lambda h: h.record["kind"] in ("toplevel", "text")),
    (r"a section of a document", lambda h: h.record["kind"] == "section"),
    (r"a (note|task|skill|todo)", lambda h, kind: h.record["kind"] == kind),
    (r"local to (.+)", lambda h, holder: h.container == holder),
    (r"quoted by a document", lambda h: h.record["path"].endswith(DOCUMENTS)),
    (r"(short|long|of medium length) \((\d+) lines?\)", lambda h, word, n: _is_length(h, word, int(n))),
    (r"(short|long) name \((\d+) words?\)", lambda h, word, n: (int(n) <= 2) == (word == "short")
        and abs(len(re.findall(PART, h.name)) - int(n)) <= 1),
    (r"connected with (\d+) other files?, not counting tests(?:; .*)?", lambda h, n: int(n) <= _files_that_may_use(h)),
    (r"(?:\d+% as close as the closest: |[\d.]+ of the score it comes from: )?(reached from (.+?), which .+?)(?: \(authority .*)?",
        lambda h, way, first: _is_reached(h, first, way)),
    (r"its file was changed by ([0-9a-f]{7}) '(.*)', [\d?-]{10}", lambda h, commit, subject: _has_changed(h, commit, subject)),
    (r"its file has (.+), (?:the best|a good) hit", lambda h, other: letters(other.rpartition(".")[2]) in letters(h.file)),
    (r"uses (.+), (?:the best|a good) hit", lambda h, other: _is_used(h, h.record["qualified_name"], other)),
    (r"is used by (.+), (?:the best|a good) hit", lambda h, other: _is_used(h, other, h.record["qualified_name"])),
    (r"hit (\d+) of its file", lambda h, n: sum(o["path"] == h.record["path"] for o in h.others) >= 1 or int(n) > 1),
    (r"rank \d+: \"[^\"]+\"(?: and \"[^\"]+\")? of class \S+ names (.+)", lambda h, name: letters(name) == letters(h.name)),
    (r"rank \d+: (?:tier \d: )?(?:its name is|is named) (\w+)", lambda h, name: letters(name) == letters(h.name)),
    (r"rank \d+: (?:tier \d: )?its name is '(\w+)', a part of .+", lambda h, name: letters(name) == letters(h.name)),
    (r"rank \d+: its name (?:is|has|begins with) '([^']+)' in one word", lambda h, text: letters(text) in letters(h.name)),
    (r"rank \d+: its name has (\w+)", lambda h, name: letters(name) in letters(h.name)),
    (r"rank \d+: its name has '(\w+)', a part of [^;]+", lambda h, name: letters(name) in letters(h.name)),
    (r"rank \d+: its name begins with '?(\w+)'?(?:, a part of .+)?", lambda h, name: letters(h.name).startswith(letters(name))),
    (r"rank \d+: has '([^']+)'", lambda h, text: text.casefold() in " ".join(h.file.split()).casefold()),
    (r"rank \d+: (\w+) ~ (\w+), (\d) typing mistakes?", lambda h, typed, name, n: name == letters(h.name)
        and OSA.distance(typed, name) == int(n)),
)  # fmt: skip
"""A sentence's form → whether it is true of a hit."""
COUNTED = (
    r"rank \d+: (?:path )?BM25 .*",
    r"rank \d+: cosine .*",
    r"rank \d+: satisfies every condition",
    r"\d+% as close as the closest: (?:a seed|not reached).*",
    r"no trace shows it running|the most certain edge .*|no sure edge .*|\d hops?: .*|.* among the walk's best",
    r"changed .*|.* (?:was|were) changed .*|\d+ commits? touched its file",
    r"one of the hits that the walk starts from",
)  # Sentences about ranks, the graph's numbers and git, which other tests compare


@dataclass
class Comparison:
    """Counts of compared sentences."""

    accounts: int = 0
    compared: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    untrue: list[str] = field(default_factory=list)

    def add(self, hit: Hit, source: str, sentence: str) -> None:
        """Compare one sentence about a hit; of what a rank is for, each reason."""
        if (parts := re.fullmatch(r"(rank \d+: )(.+; .+)", sentence)) and "BM25" not in sentence:
            for reason in parts[2].split("; "):
                self.add(hit, source, parts[1] + reason)
            return
        for form, is_true in RULES:
            if found := re.fullmatch(form, sentence):
                self.compared[source] += 1
                if not is_true(hit, *found.groups()):
                    where = f"{hit.record['path']}:{hit.record['start_line']} {hit.record['qualified_name']}"
                    self.untrue.append(f"{hit.query!r}: {where}: {sentence}")
                return
        if not any(re.fullmatch(form, sentence) for form in COUNTED):
            self.unknown[re.sub(r"\d+", "N", sentence)] += 1


def ask(index: Index, query: str, **options: Any) -> Record:
    """The JSON of `why` for the hits of a query; empty if the query is refused."""
    try:
        return dict(json.loads(to_json(build_why_record(index.why(query, (), SearchOptions(**options)), 0))))
    except CodelensError:
        return {"explanations": [], "terms": []}


def compare(index: Index, queries: Sequence[str], profiles: Sequence[str] = PROFILES) -> Comparison:
    """Compare the sentences of all hits of these queries."""
    found, tree = Comparison(), Tree(index)
    for query in queries:
        cosines = dict(_cosines(ask(index, query, mode="vector", limit=200, profile="rrf")))
        for profile in profiles:
            answer = ask(index, query, profile=profile)
            records = [one["candidate"] for one in answer["explanations"]]
            terms = [(t["tier"], t["term"], t["origin"]) for t in answer["terms"]]
            for record in records:
                found.accounts += 1
                hit = Hit(record, query, terms, [r for r in records if r is not record], cosines, tree)
                for part in record["contributions"]:
                    found.add(hit, part["source"], part["reason"])
    return found


def _cosines(answer: Record) -> Iterator[tuple[tuple[str, int, str], float]]:
    for one in answer["explanations"]:
        for part in one["candidate"]["contributions"]:
            if part["source"] == "vector":
                yield key_of(one["candidate"]), float(part["reason"].rpartition(" ")[2])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the counts; 1 if a sentence is not true or has no rule."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("indexes", nargs="+", type=Path)
    parser.add_argument("--queries", type=int, default=20)
    given = parser.parse_args(arguments)
    wrong = 0
    for path in given.indexes:
        with Index.open(path, Settings()) as index:
            found = compare(index, [*make_queries(index, given.queries), *QUESTIONS])
        print(
            f"{path.name}: {found.accounts} accounts, {found.compared.total()} sentences, {len(found.untrue)} not true"
        )
        print("  " + ", ".join(f"{source} {n}" for source, n in sorted(found.compared.items())))
        for text, count in found.unknown.most_common():
            print(f"  no rule ({count}): {text}")
        for text in found.untrue:
            print(f"  not true: {text}")
        wrong += len(found.untrue) + len(found.unknown)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
