"""Dockerfile and compose.yaml: what they name exists, nothing more than the server is reachable, and the commands work together.

Docker itself is not needed: the commands of compose.yaml are started here, with host names and ports replaced.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.commands import SAMPLES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: Mapping[str, Mapping[str, Any]] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if service["image"] == "codelens"]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PROGRAMS = Path(sys.executable).parent
PATIENCE = 90.0


def instructions(word: str) -> list[str]:
    """The arguments of each such instruction, on one line."""
    joined = re.sub(r"\\\n", " ", DOCKERFILE)
    return re.findall(rf"^{word} (.+)$", joined, flags=re.MULTILINE)


def test_all_that_is_copied_is_there_and_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignored
    for line in instructions("COPY"):
        *sources, _ = [word for word in line.split() if not word.startswith("--")]
        for source in sources:
            if "--from=build" in line:
                assert f"venv {source}" in DOCKERFILE
            else:
                assert (ROOT / source).exists()
                assert f"!{source}" in ignored


def test_the_image_has_the_extras_that_its_commands_need() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r"whl\)\[([\w,]+)\]", DOCKERFILE)
    assert set(extras.split(",")) == {"cluster", "serve"} <= set(project["optional-dependencies"])
    python = re.findall(r"^FROM python:([\d.]+)-slim", DOCKERFILE, flags=re.MULTILINE)
    assert len(set(python)) == 1
    assert f"Programming Language :: Python :: {python[0]}" in project["classifiers"]


def test_the_wheel_is_made_of_what_the_image_copies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    wanted = {*wheel["only-include"], *(path.split("/")[0] for path in wheel["shared-data"]), "pyproject.toml"}
    wanted |= {project["project"]["readme"], *project["project"]["license-files"]}
    copied = {word for line in instructions("COPY") if "--from" not in line for word in line.split()[:-1]}
    assert wanted == copied


@pytest.mark.parametrize("name", OURS)
def test_services_have_no_rights_that_they_do_not_need(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert instructions("USER") == ["10001"]


def test_only_the_server_can_be_reached_and_on_loopback_alone() -> None:
    assert {name: service["ports"] for name, service in SERVICES.items() if "ports" in service} == {
        "server": ["127.0.0.1:8640:8640"]
    }
    for name in ("scheduler", "worker"):
        assert "127.0.0.1:" in " ".join(SERVICES[name]["command"]), "the dashboard would listen on all addresses"


def test_volumes_lie_where_the_image_lets_its_user_write() -> None:
    (made,) = re.findall(r"install --directory --owner codelens --mode 0700 (.+)", DOCKERFILE)
    for service in SERVICES.values():
        for volume in service.get("volumes", []):
            inside = volume.removesuffix(":ro").rpartition(":")[2]
            assert volume.endswith(":/fleet:ro") or inside in made.split()


@pytest.mark.parametrize("name", SERVICES)
def test_the_program_of_a_service_exists(name: str) -> None:
    service = SERVICES[name]
    program = [*service.get("entrypoint", []), *service["command"]][0]
    if program == "moto_server":
        pytest.importorskip("moto")
    if program == "dask":
        pytest.importorskip("distributed")
    assert program == "python" or (PROGRAMS / program).is_file()


def test_healthy_means_that_the_port_of_the_command_answers() -> None:
    for name, service in SERVICES.items():
        if "healthcheck" in service:
            (port,) = re.findall(r"'127\.0\.0\.1', (\d+)", " ".join(service["healthcheck"]["test"]))
            assert port in " ".join(service["command"]), name


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Here:
    """The services of compose.yaml as processes of this machine."""

    def __init__(self, place: Path, fleet: Path, started: ExitStack) -> None:
        self.ports = {port: _free_port() for port in ("5000", "8786", "8640", "8787")}
        self._place, self._fleet, self._started = place, fleet, started
        asked = SERVICES["server"]["environment"]
        given = {name: self._said(re.sub(r"\$\{\w+:-(.*)\}", r"\1", value)) for name, value in asked.items()}
        image = dict(word.split("=", 1) for line in instructions("ENV") for word in line.split())
        folders = {name: str(place / image[name].strip("/")) for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")}
        dask = {name: value for name, value in image.items() if name.startswith("DASK_")}
        path = {"PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
        self.environment = {**given, **folders, **dask, **path}

    def _said(self, word: str) -> str:
        """A word of a command with this machine's names."""
        word = re.sub(r"\b(store|scheduler):(\d+)", lambda found: f"127.0.0.1:{self.ports[found[2]]}", word)
        word = word.replace("/scratch", str(self._place / "scratch")).replace("0.0.0.0", "127.0.0.1")
        word = {"/fleet": str(self._fleet)}.get(word, word)
        word = re.sub(r"127\.0\.0\.1:8788", "127.0.0.1:0", word)  # each worker has an address of its own there
        return re.sub(r"\b(5000|8786|8640|8787)$", lambda found: str(self.ports[found[1]]), word)

    def command(self, name: str) -> list[str]:
        """The command line of a service. codelens itself is that of this checkout."""
        words = [*SERVICES[name].get("entrypoint", []), *SERVICES[name]["command"]]
        said = [self._said(word) for word in words]
        if self.environment.get("DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION"):
            said = [word.replace("tcp://", "tls://") for word in said]
            said += ["--protocol", "tls"] if said[:2] == ["dask", "scheduler"] else []
        program = {"codelens": [sys.executable, "-P", "-m", "codelens"], "python": [sys.executable]}
        return [*program.get(said[0], [said[0]]), *said[1:]]

    def run(self, command: Sequence[str]) -> str:
        """Its stdout, once it has ended well."""
        ran = subprocess.run(
            command, cwd=self._place, env=self.environment, capture_output=True, text=True, timeout=600
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def start(self, name: str, port: str = "") -> None:
        """Run until the test ends; returns when the port answers."""
        log = (self._place / f"{name}.log").open("ab")
        process = subprocess.Popen(self.command(name), cwd=self._place, env=self.environment, stdout=log, stderr=log)
        self._started.callback(log.close)
        self._started.callback(_ended, process)
        until = time.monotonic() + PATIENCE
        while port:
            assert process.poll() is None, (self._place / f"{name}.log").read_text()
            try:
                socket.create_connection(("127.0.0.1", self.ports[port]), 1).close()
                return
            except OSError:
                assert time.monotonic() < until, f"{name} does not answer"
                time.sleep(0.2)


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def certificate(folder: Path) -> Path:
    """A certificate that signs itself, with its key in the same file."""
    crypto = pytest.importorskip("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "cluster")])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    packed = key.private_bytes(serialization.Encoding.PEM, *form)
    file = folder / f"{crypto.__name__}.pem"
    file.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM) + packed)
    return file


@contextmanager
def running(place: Path, settings: Mapping[str, str] | None = None) -> Iterator[Here]:
    with ExitStack() as started:
        fleet = place / "fleet"
        for name in ("notes", "shop"):
            shutil.copytree(SAMPLES / name / "repo", fleet / name)
        here = Here(place, fleet, started)
        here.environment |= settings or {}
        here.start("store", "5000")
        here.run(here.command("bucket"))
        here.start("scheduler", "8786")
        for _ in range(SERVICES["worker"]["deploy"]["replicas"]):
            here.start("worker")
        yield here


def test_the_services_index_and_answer_together(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    pytest.importorskip("moto")
    pytest.importorskip("s3fs")
    with running(tmp_path) as here:
        here.run(here.command("index"))
        said = here.run([sys.executable, "-P", "-m", "codelens", "serve", "keys", "add", "me"])
        key = next(word for word in said.split() if word.startswith("codelens_"))
        here.start("server", "8640")
        asked = urllib.request.Request(
            f"http://127.0.0.1:{here.ports['8640']}/api/search?q=place+an+order&limit=3",
            headers={"Authorization": f"Bearer {key}"},
        )
        with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
            found = json.load(answer)
        assert found["count"] == 3
        assert {hit["repository"] for hit in found["results"]} <= {"notes", "shop"}
        words = [sys.executable, "-P", "-m", "codelens", "cluster", "search", "--json", "-m", "3", "place an order"]
        options = [word for word in here.command("server") if word.startswith(("--store", "--scheduler"))]
        again = json.loads(here.run([*words, *options]))
        shown = [[(hit["path"], hit["score"]) for hit in one["results"]] for one in (found, again)]
        assert shown[0] == shown[1]


def test_the_cluster_answers_over_tls_and_to_nobody_without_a_certificate(tmp_path: Path) -> None:
    """With the settings that docs/organisation.md names."""
    pytest.importorskip("distributed")
    pytest.importorskip("s3fs")
    file = str(certificate(tmp_path))
    page = (ROOT / "docs/organisation.md").read_text(encoding="utf-8")
    named = re.findall(r"`(DASK_DISTRIBUTED__COMM__\w+)(?:=(\w+))?`", page)
    settings = {name: value or file for name, value in named}
    assert len(settings) == 8
    with running(tmp_path, settings) as here:
        here.run(here.command("index"))
        searched = [sys.executable, "-P", "-m", "codelens", "cluster", "search", "--json", "order"]
        options = ["--store", "s3://codelens/fleet", "--timeout", "10", "--scheduler"]
        scheduler = f"tls://127.0.0.1:{here.ports['8786']}"
        assert json.loads(here.run([*searched, *options, scheduler]))["results"]
        for name in settings:
            del here.environment[name]
        for other in (scheduler, scheduler.replace("tls", "tcp")):
            refused = subprocess.run(
                [*searched, *options, other], cwd=tmp_path, env=here.environment, capture_output=True, text=True
            )
            assert refused.returncode == 2
            assert "no scheduler at" in refused.stderr or "tls" in refused.stderr.lower()
