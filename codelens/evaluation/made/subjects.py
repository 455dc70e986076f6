"""A commit's message → what a person might ask with it, or why nobody would.

The subject stays as it was written, with its `fix(parser):`; only the number of a pull request behind it goes.
"""

from __future__ import annotations

import re

from codelens.training.histories import bare_subject
from codelens.worktree.history import Message

FEWEST_WORDS, MOST_WORDS = 8, 60
"""Of a body that makes a task, and of what is taken of it. Chosen: a sentence, and a paragraph."""
_NUMBER = re.compile(r"(?:\s*\((?:#|GH-)\d+\)|\s+#\d+)+\s*$")
_BOT = re.compile(
    r"\[bot\]|\bbot\b|dependabot|renovate|greenkeeper|github-actions|pre-commit-ci|weblate|transifex|mergify|crowdin|snyk-",
    re.IGNORECASE,
)
_RELEASE = (
    r"v?\d+(?:\.\d+)+\S*$",
    r".*\bbump(?:s|ed|ing)?\b",
    r".*\b(?:up|down)grade[sd]?\b.*\d\.\d",
    r".*\bupdates? (?:dependency|dependencies|deps)\b",
    r".*\b(?:chore|build|fix)\(deps[^)]*\)",
    r".*\bnext (?:development|dev|snapshot) (?:version|iteration)",
    r"prepar(?:e|ing)\b.*\brelease$",
    r"(?:\[?\w[\w-]*\]?:? )?(?:prepare|cut|tag|start|begin|post|pre|finali[sz]e)?[- ]?(?:for |the |a |next |new )*"
    r"release[sd]?(?:\b.*\d\.\d|$)",
    r".*\b(?:version|release) v?\d+\.\d",
    r".*\bupdate (?:the )?(?:version|changelog|change log)\b",
    r"deploy(?:ing|ed)? to \S+ from @",
    r".*\bfrom v?\d+\.\d\S* to v?\d",
)
_MERGED = (
    r"(?:remote-tracking |the )?(?:pull|branch|tag|commit|pr\b)|[#'\"]|\S+ (?:in)?to \S+$|(?:\S+ )?from \S+$"
    r"|[\w./-]*[/_.-]\S*$|\w+$"
)
"""Git's own words, or names of branches: "Merge the two overloads" is a change."""
_KINDS = (
    ("a merge", re.compile(rf"merge[sd]?:? (?:{_MERGED})", re.IGNORECASE)),
    (
        "a revert",
        re.compile(r"(?:\w+(?:\([^)]*\))?:\s*)?(?:revert|this reverts|reapply|back out)\b", re.IGNORECASE),
    ),
    ("a release or a version", re.compile("|".join(_RELEASE), re.IGNORECASE)),
)
_TRAILER = re.compile(
    r"(?:[A-Z][\w]*(?:-[\w]+)+|fix\w*|close[sd]?|refs?|see|resolve[sd]?|issue|bug|cc|pr|link|related(?: to)?|part of)"
    r"\s*:?\s*(?:(?:[\w./-]*#|GH-)\d+|https?:|:|\S+@)|[A-Z][\w]*(?:-[\w]+)+:\s|\(cherry picked",
    re.IGNORECASE,
)
_URL = re.compile(r"<?\bhttps?://\S+")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FENCE = re.compile(r"\s*(?:```|~~~)")
_FORM = re.compile(r"#+ |[-+] \[[ xX]\]|\* ")
"""Lines of a form for pull requests (headings, boxes to tick), and the subjects of the commits that were squashed into one."""


def refused(message: Message) -> str:
    """Why a commit makes no task, in a person's words; empty where it may make one."""
    if _BOT.search(message.author):
        return "by a bot"
    for why, shape in _KINDS:
        if shape.match(message.subject):
            return why
    if not message.parents:
        return "the first commit"
    return "" if bare_subject(message.subject) else "too few words"


def query_of(message: Message) -> str:
    """The subject without the number of its pull request."""
    return _NUMBER.sub("", message.subject).strip()


def long_query_of(message: Message) -> str:
    """The subject and the first paragraph of the body on one line; empty where that paragraph adds too little to the subject."""
    subject = query_of(message)
    words = _paragraph(message.body).removeprefix(subject).lstrip(".… ").split()
    if len(words) < FEWEST_WORDS or set(words) <= set(subject.split()):
        return ""
    return f"{subject.rstrip('.… ')}. {' '.join(words[:MOST_WORDS])}"


def _paragraph(body: str) -> str:
    """Its first paragraph that holds words, without trailers and addresses; empty where code comes first."""
    kept: list[str] = []
    for line in map(str.strip, _COMMENT.sub("", body).splitlines()):
        if _FENCE.match(line) or (not line and kept):
            break
        said = _URL.sub("", line).strip()
        if said.strip("-=*_ ") and not _TRAILER.match(line) and not _FORM.match(line):
            kept.append(said.removeprefix("- "))
    return " ".join(kept)
