"""Campaigns: a check repeated with many seeds, each failure reported with the command that repeats it alone.

python -m tools.faults [--only NAME...] [--count N] [--seed S] [--out FILE.json]
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PROGRESS_SECONDS = 10.0  # Seconds between two progress lines on stderr
LONGEST = 1500  # Most characters of a failure's message; the end is kept


class Failed(AssertionError):
    """A broken promise of codelens, with the behaviour found."""


def expect(holds: object, message: str) -> None:
    """Raise Failed with this message unless the promise holds."""
    if not holds:
        raise Failed(message)


@dataclass(frozen=True, slots=True)
class Failure:
    """An attempt that failed; `--seed SEED --count 1` makes the same attempt again."""

    seed: int
    text: str


@dataclass
class Report:
    """The attempts of a campaign so far, and their results."""

    name: str
    tried: int = 0
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # Checks that cannot run here, with the reason
    counts: Counter[str] = field(default_factory=Counter)  # Event → number: exit codes, the phases in which kills fell
    _reported: float = field(default_factory=time.monotonic, repr=False)

    @contextmanager
    def attempt(self, seed: int, tries: int = 1) -> Iterator[None]:
        """Run one attempt, which counts as `tries`. An exception in it is a failure of this seed."""
        self.tried += tries
        try:
            yield
        except Failed as fault:
            self.fail(seed, str(fault))
        except Exception:
            self.fail(seed, traceback.format_exc())
        if time.monotonic() - self._reported > PROGRESS_SECONDS:
            self._reported = time.monotonic()
            print(f"{self.name}: {self.tried} tried, {len(self.failures)} failed", file=sys.stderr, flush=True)

    def fail(self, seed: int, message: str) -> None:
        """Count a failure and print it at once."""
        self.failures.append(Failure(seed, message if len(message) <= LONGEST else "…" + message[-LONGEST:]))
        print(f"{self.name}, seed {seed}: {self.failures[-1].text}", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """Print once that a check cannot run here."""
        if text not in self.notes:
            self.notes.append(text)
            print(f"{self.name}: {text}", file=sys.stderr, flush=True)


Run = Callable[[int, int, Path, Report], None]
"""(count, seed, folder, report): make `count` attempts with the seeds from `seed` on. The folder is empty and may be filled."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """A named check. `count` is the default number of attempts, chosen to end within ten minutes on two cores."""

    name: str
    run: Run
    count: int
    what: str


def by_name(name: str, module: str, count: int, what: str) -> Campaign:
    """A campaign that is the `run` of a module, imported when it runs."""

    def run(count: int, seed: int, folder: Path, report: Report) -> None:
        import_module(module).run(count, seed, folder, report)

    return Campaign(name, run, count, what)


def main(module: str, campaigns: Sequence[Campaign], arguments: Sequence[str] | None = None) -> int:
    """Run the selected campaigns, print a table, and write the JSON; return 1 if something failed."""
    options = _options(module, campaigns, arguments)
    result: dict[str, Any] = _circumstances() | {"campaigns": []}
    for campaign in campaigns:
        if options.only and campaign.name not in options.only:
            continue
        result["campaigns"].append(_ran(module, campaign, options.count or campaign.count, options.seed))
        if options.out:
            options.out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print("\n".join(_table(result["campaigns"])))
    return int(any(row["failed"] for row in result["campaigns"]))


def _options(module: str, campaigns: Sequence[Campaign], arguments: Sequence[str] | None) -> argparse.Namespace:
    names = "\n".join(f"  {c.name:<20} {c.count:>7}  {c.what}" for c in campaigns)
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=f"campaign, default count, and what is tried:\n{names}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these campaigns")
    parser.add_argument("--count", type=int, help="attempts of each campaign")
    parser.add_argument("--seed", type=int, default=1, help="of the first attempt; the next has the next number")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the results as JSON, after each campaign")
    options = parser.parse_args(arguments)
    if unknown := set(options.only or ()) - {c.name for c in campaigns}:
        parser.error(f"no such campaign: {', '.join(sorted(unknown))}")
    return options


def _ran(module: str, campaign: Campaign, count: int, seed: int) -> dict[str, Any]:
    report, started = Report(campaign.name), time.monotonic()
    with tempfile.TemporaryDirectory(prefix=f"{campaign.name}-", ignore_cleanup_errors=True) as folder:
        try:
            campaign.run(count, seed, Path(folder), report)
        except Exception:  # the campaign itself is broken, which must not look like a pass
            report.fail(seed, f"the campaign broke off: {traceback.format_exc()}")
    repeat = f"python -m {module} --only {campaign.name}"
    return {
        "name": campaign.name,
        "what": campaign.what,
        "tried": report.tried,
        "failed": len(report.failures),
        "failures": [asdict(f) | {"command": f"{repeat} --count 1 --seed {f.seed}"} for f in report.failures],
        "notes": report.notes,
        "counts": dict(sorted(report.counts.items())),
        "seconds": round(time.monotonic() - started, 1),
        "seed": seed,
        "command": f"{repeat} --count {count} --seed {seed}",
    }


def _table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    lines = [("campaign", "tried", "failures", "command")]
    lines += [(r["name"], f"{r['tried']:,}".replace(",", " "), str(r["failed"]), r["command"]) for r in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(3)]
    for name, tried, failed, command in lines:
        yield f"{name:<{widths[0]}}  {tried:>{widths[1]}}  {failed:>{widths[2]}}  {command}"
    for row in rows:
        yield from (f"{row['name']}: {note}" for note in row["notes"])
        commands = Counter(failure["command"] for failure in row["failures"])
        yield from (f"{row['name']} failed: {command}" for command in commands)


def describe_commit(folder: Path | str) -> dict[str, Any]:
    """Describe a run now: its date, and the commit of a folder, with a plus if files below the folder differ from it."""
    git = ["git", "-C", str(folder)]
    commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    changed = subprocess.run([*git, "status", "--porcelain", "."], capture_output=True, text=True, check=False).stdout
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return {"commit": commit + ("+" if changed.strip() else ""), "date": date}


def _circumstances() -> dict[str, Any]:
    """The environment of the result: the commit, with a plus if files differ from it, and versions."""
    import apsw

    from codelens import __version__

    version = subprocess.run(["git", "--version"], capture_output=True, text=True, check=False).stdout.split()
    return {
        **describe_commit(ROOT),
        "versions": {
            "codelens": __version__,
            "python": platform.python_version(),
            "sqlite": apsw.sqlite_lib_version(),
            "git": version[2] if len(version) > 2 else "",
            "system": f"{platform.system()} {platform.release()}",
        },
        "cores": os.cpu_count(),
    }
