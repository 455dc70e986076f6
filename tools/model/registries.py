"""Download a package's archive through its registry's own client.

Clients run as programs with the user's set-up, so the project names no host. None of them runs code of a package: wheels are
only copied, npm's scripts are off, Debian's sources are not built nor its packages installed. apt gets its own state next to
the archives; the system's is read, never written.
"""

import subprocess
import threading
from pathlib import Path

from codelens.model.fast_dataclass import dataclass
from codelens.processes.python import build_python_command, filter_environment

_PATIENCE = 600  # seconds for one package; chosen: ten times what the largest took
# Fixed, so that every machine picks the same wheel
_WHEEL_TAGS = (
    "--python-version 3.13 --implementation cp --abi cp313 --abi abi3 --abi none --platform any"
    " --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64"
)


class NotDownloaded(Exception):
    """A registry's client gave no archive; the text is its own last word."""


@dataclass(frozen=True, slots=True)
class Archive:
    """A downloaded archive, and for Debian the archive of its packaging, which has the licences."""

    path: Path
    packaging: Path | None = None


class Registries:
    """The registries, with what their clients keep below `state`."""

    def __init__(self, state: Path) -> None:
        self._state = state.resolve()
        self._apt_lock = threading.Lock()
        self._apt_options: list[str] = []

    def download(
        self, registry: str, name: str, version: str | None, folder: Path, *, packaging: bool = False
    ) -> Archive:
        """Puts the archive of a package into the empty `folder`; of the newest version where none is named.

        `packaging` asks Debian for the packaging's archive too. Raises NotDownloaded.
        """
        folder.mkdir(parents=True, exist_ok=True)
        if registry == "pypi":
            return Archive(_wheel(name, version, folder))
        if registry == "npm":
            return Archive(_tarball(name, version, folder))
        if registry == "debian-binary":
            return Archive(_binary(name, version, folder))
        return self._sources(name, version, folder, packaging)

    def _sources(self, name: str, version: str | None, folder: Path, packaging: bool) -> Archive:
        wanted = f"{name}={version}" if version else name
        command = ["apt-get", *self._apt(), "-q", "source", "--only-source", "--download-only"]
        if packaging:
            _run([*command, "--diff-only", wanted], folder)
        _run([*command, "--tar-only", wanted], folder)
        return Archive(
            _single(folder, f"{name}_*.orig.tar.*", exclude=".asc"),
            _single(folder, f"{name}_*.debian.tar.*") if packaging else None,
        )

    def _apt(self) -> list[str]:
        """Options that give apt a state of its own with source packages in it, which the first call makes."""
        with self._apt_lock:
            if not self._apt_options:
                self._apt_options = _private_apt(self._state / "apt")
        return self._apt_options


def _wheel(name: str, version: str | None, folder: Path) -> Path:
    pip = [*build_python_command(), "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    wanted = f"{name}=={version}" if version else name
    _run(
        [*pip, "--no-deps", "--only-binary", ":all:", "--no-cache-dir", *_WHEEL_TAGS.split(), "-d", ".", wanted], folder
    )
    return _single(folder, "*.whl")


def _tarball(name: str, version: str | None, folder: Path) -> Path:
    wanted = f"{name}@{version}" if version else name
    _run(["npm", "pack", "--silent", "--ignore-scripts", wanted], folder)
    return _single(folder, "*.tgz")


def _binary(name: str, version: str | None, folder: Path) -> Path:
    wanted = f"{name}={version}" if version else name
    _run(["apt-get", "-o", "APT::Sandbox::User=", "-q", "download", wanted], folder)
    return _single(folder, "*.deb")


def _private_apt(state: Path) -> list[str]:
    for part in ("lists/partial", "cache/archives/partial"):
        (state / part).mkdir(parents=True, exist_ok=True)
    sources = state / "sources.list"
    suites = _run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"], state
    )
    sources.write_text("".join(f"deb-src {suite}\n" for suite in dict.fromkeys(suites.splitlines())), "utf-8")
    places = {
        "Dir::State": state,
        "Dir::State::lists": state / "lists",
        "Dir::State::status": "/var/lib/dpkg/status",
        "Dir::Cache": state / "cache",
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "/dev/null",
        "APT::Sandbox::User": "",  # a user without root cannot change to another one
    }
    options = [word for key, value in places.items() for word in ("-o", f"{key}={value}")]
    _run(["apt-get", *options, "-q", "update"], state)
    return options


def _run(command: list[str], folder: Path) -> str:
    """Runs a client in `folder`; the output, or NotDownloaded with the line that tells the cause."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=filter_environment() | {"LC_ALL": "C"},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
        )
    except FileNotFoundError:
        raise NotDownloaded(f"{command[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise NotDownloaded(f"{command[0]} gave no answer in {_PATIENCE} s") from None
    if done.returncode:
        lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        telling = [line for line in lines if line.startswith(("E:", "ERROR:", "npm error"))]
        raise NotDownloaded(f"{Path(command[0]).name}: {(telling or lines or ['failed without a word'])[0]}")
    return done.stdout


def _single(folder: Path, pattern: str, exclude: str = "") -> Path:
    found = sorted(path for path in folder.glob(pattern) if not (exclude and path.name.endswith(exclude)))
    if len(found) != 1:
        raise NotDownloaded(f"{len(found)} archives instead of one")
    return found[0]
