"""Planted indexes, settings, notes, skills and precise indexes: codelens reports them and reads nothing outside the repository."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import apsw

from codelens.store.connection import open_writer
from codelens.zstd import zstd
from tools.campaign import ROOT, Campaign, Report, expect
from tools.program import Program, listed, split_commands, unchanged

SECRET = "secret_outside_of_the_root"  # A word of files outside the repository: no answer may hold it
COMMANDS = split_commands(
    f"search one --json; search {SECRET}; status; why one; files a; context 'change one'; symbols a.py; map; note list;"
    f"snapshot list; memory stats; graph traces; config; doctor; index; search {SECRET} -l; note list; status --skipped"
)  # Commands that only read come first, before any of them writes
Plant = Callable[[Path, random.Random, Path], None]
"""(repository, luck, a good index of it elsewhere) → None. Plants one thing."""


def _sql(index: Path, *statements: str) -> None:
    connection, _ = open_writer(index)  # with page checksums, as somebody with codelens would
    for allowed in (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, apsw.SQLITE_DBCONFIG_ENABLE_VIEW):
        connection.config(allowed, 1)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    for statement in statements:
        connection.execute(statement).fetchall()
    connection.close()


def _place(root: Path, good: Path, *statements: str) -> None:
    shutil.copy2(good, root / ".codelens/index.db")
    _sql(root / ".codelens/index.db", *statements)


def _elsewhere(root: Path, luck: random.Random, good: Path) -> None:
    outside = root.parent / "outside"
    _place(
        root,
        good,
        f"UPDATE repositories SET root = '{luck.choice((outside, '..', '../outside', '/', '/etc', root.parent))}'",
    )


def _outside_path(root: Path, luck: random.Random, good: Path) -> None:
    path = luck.choice(("../outside/kept.py", "/etc/passwd", "../../x", "a\n\x1b[31m.py"))
    _place(root, good, f"UPDATE documents SET path = '{path}', os_path = CAST('{path}' AS BLOB)")


def _bomb(root: Path, luck: random.Random, good: Path) -> None:
    """zstd data that claims, or holds, gigabytes."""
    raw = zstd.compress(bytes(300_000_000), 19)
    claims = b"\x28\xb5\x2f\xfd\xe0" + (1 << luck.choice((32, 40, 62))).to_bytes(8, "little") + raw[12:40]
    column, table = luck.choice((("bytes", "snapshots"), ("facts", "snapshot_log"), ("packed", "refs")))
    _place(root, good, f"UPDATE {table} SET {column} = x'{luck.choice((raw, claims)).hex()}'")


def _view(root: Path, luck: random.Random, good: Path) -> None:
    """Replace a table by a view or a trigger."""
    table = luck.choice(("documents", "meta", "units", "repositories", "snapshots"))
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
    _place(
        root,
        good,
        "PRAGMA legacy_alter_table = ON",
        f"ALTER TABLE {table} RENAME TO was",
        f"CREATE VIEW {table} AS SELECT was.* FROM was, ({endless})",
    )


def _trigger(root: Path, luck: random.Random, good: Path) -> None:
    _place(root, good, "CREATE TRIGGER t AFTER INSERT ON documents BEGIN DELETE FROM units; END")


def _values(root: Path, luck: random.Random, good: Path) -> None:
    """Put values of other types and sizes in a random column."""
    table = luck.choice(("documents", "units", "meta", "vectors", "repositories", "snapshots", "edges", "refs"))
    with sqlite3.connect(good) as connection:
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if not row[5]]
    values = (
        "NULL",
        "-1",
        "9223372036854775807",
        "1e308",
        "x''",
        "x'00ff'",
        "1.5",
        "'many'",
        "CAST(x'61ff' AS TEXT)",
        "zeroblob(3000000)",
        "'\x1b]0;x\x07'",
        "''",
        "'../..'",
    )
    value = luck.choice(values)
    _place(root, good, f"UPDATE OR IGNORE {table} SET {luck.choice(columns)} = {value}")


def _settings(root: Path, luck: random.Random, good: Path) -> None:
    text = luck.choice(
        (
            *("aliases = " + "[" * luck.choice((1, 300, 100_000)), "a." * 20_000 + "b = 1"),
            *('aliases = "../outside/aliases.toml"', f'metadata = "{root.parent}/outside/kept.py"'),
            *('weights = "/etc/passwd"', 'classes = "loop"', 'model = "https://127.0.0.1:1/v1#x"'),
            *('model = "../outside/x.model"', "allow_network = true", "memory = true"),
            *('hyperlink_format = "x-run:{path}"', "max_file_size = 99999999999999999999", "jobs = 100000"),
            *("parse_seconds = nan", "query_seconds = 1e300", 'profile = "\x1b[31m"', "\x1b[31m = 1", "unknown = 1"),
            *("\ufeffjobs = 1", "\0"),
        )
    )
    (root / ".codelens.toml").write_text(text, errors="surrogatepass")
    (root / "loop").symlink_to("loop")


def _note(root: Path, luck: random.Random, good: Path) -> None:
    folder = root / ".codelens/notes"
    folder.mkdir()
    for name in ("one.md", "-rf.md", "a\x1b[31m.md", "two.md"):
        text = "---\n" + "".join(
            luck.choice(
                (
                    *("title: [", "anchors:\n- ../outside/kept.py:1\n", "tags: &a [*a]\n", "\x1b[31m: \x07\n"),
                    *("- - - -\n", "status: " + "x" * 100_000 + "\n", "id: ../../x\n"),
                )
            )
            for _ in range(luck.randint(1, 9))
        )
        (folder / name).write_text(text + luck.choice(("---\n# T\n", "", "\0")))
    (folder / "link.md").symlink_to(root.parent / "outside/kept.py")
    os.mkfifo(folder / "pipe.md")


def _skill(root: Path, luck: random.Random, good: Path) -> None:
    folder = root / "skills/x"
    folder.mkdir(parents=True)
    text = (
        "---\nname: "
        + luck.choice(("\x1b[31m", "a" * 200_000, "[" * 5000, "&a *a", "!!python/object/apply:os.system [id]", "../.."))
        + "\ndescription: "
        + "".join(luck.choice(("|", ">", "\n ", "'", '"', "{", "x: ")) for _ in range(200))
    )
    (folder / "SKILL.md").write_text(text + luck.choice(("\n---\n# Skill\n", "")))


def _precise(root: Path, luck: random.Random, good: Path) -> None:
    source = luck.choice(("typescript/index.scip", "python/index.scip"))
    raw = bytearray((ROOT / "tests/cases/precise" / source).read_bytes())
    for _ in range(luck.randint(1, 40)):
        at = luck.randrange(len(raw))
        raw[at : at + luck.randint(0, 9)] = luck.choice(
            (luck.randbytes(luck.randint(0, 9)), b"../outside/kept.py", b"\xff" * 9)
        )
    (root / Path(source).name).write_bytes(bytes(raw[: luck.choice((len(raw), luck.randrange(len(raw))))]))


def _folder(root: Path, luck: random.Random, good: Path) -> None:
    """Replace the index's folder, or files in it, by links, pipes, folders or other databases."""
    at = root / ".codelens"
    outside = root.parent / "outside"
    name = at / luck.choice(
        (
            "index.db",
            "index.db-wal",
            "index.db-journal",
            "index.db.lock",
            "index.db.building",
            "memory.db",
            "traces.db",
            ".gitignore",
        )
    )
    match luck.randrange(6):
        case 0:
            name.symlink_to(outside / "kept.py")
        case 1:
            os.mkfifo(name)
        case 2:
            name.mkdir()
        case 3:
            name.write_bytes(luck.randbytes(5000))
        case 4:
            name.symlink_to(name.name)
        case _:
            at.rmdir()
            at.symlink_to(outside)


KINDS: dict[str, Plant] = {
    "index": lambda root, luck, good: _place(root, good),
    "index of elsewhere": _elsewhere,
    "index with paths outside": _outside_path,
    "index with a bomb": _bomb,
    "index with a view": _view,
    "index with a trigger": _trigger,
    "index with other values": _values,
    "settings": _settings,
    "notes": _note,
    "skill": _skill,
    "precise index": _precise,
    "index folder": _folder,
}


def run(count: int, seed: int, folder: Path, report: Report) -> None:
    """Plant one kind per attempt, in turn, and run every command."""
    if os.name == "nt":
        report.note("skipped: plants pipes and links")
        return
    for number in range(seed, seed + count):
        kind = list(KINDS)[number % len(KINDS)]
        with report.attempt(number):
            report.counts[kind] += 1
            _attempt(folder / str(number), kind, random.Random(number))


def _attempt(folder: Path, kind: str, luck: random.Random) -> None:
    root, outside, home, victim = folder / "tree", folder / "outside", folder / "victim", folder / "planter"
    for new in (root, outside, home, victim):
        new.mkdir(parents=True)
    (outside / "kept.py").write_text(f"def {SECRET}(): pass\n")
    (root / "a.py").write_text("def one():\n    return two()\n\ndef two(): return 1\n")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    good = folder / "good.db"
    Program(victim).run("index", str(root), "--db", str(good), codes=(0,))
    (root / ".codelens").mkdir()
    KINDS[kind](root, luck, good)
    # Otherwise all indexes are refused: the campaign also checks reading them.
    accepting = {"CODELENS_TRUST_INDEXES": "1"} if luck.random() < 0.7 else {}
    program, before = Program(home, accepting), listed(folder)
    for arguments in COMMANDS:
        ran = program.run(*arguments, cwd=root)
        output = (ran.out.decode("utf-8", "replace") + ran.err).replace(" ".join(arguments), "")
        expect(f"def {SECRET}" not in output, f"{kind}: read outside of the root: {ran} {ran.out!r}")
        unchanged(before, folder, [root / ".codelens", home])


CAMPAIGNS = (
    Campaign("planted", run, 60, "indexes, settings, notes, skills and precise indexes that a repository brings"),
)
