"""Makes the URLs of a file on its code host and in an editor, with {line} and {column} to be filled in.

The host's address comes from git's remote, without user and password. Host URLs are only http and https.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote, urlsplit

from codelens.config import Settings
from codelens.errors import UsageError
from codelens.model.fast_dataclass import field, frozen_dataclass
from codelens.worktree.history import read_remote_and_commit
from codelens.worktree.repository import find_enclosing_repository

FORMS = {
    "github": "{address}/blob/{commit}/{path}#L{line}",
    "gitlab": "{address}/-/blob/{commit}/{path}#L{line}",
    "gitea": "{address}/src/commit/{commit}/{path}#L{line}",
    "bitbucket": "{address}/src/{commit}/{path}#lines-{line}",
    "sourcehut": "{address}/tree/{commit}/item/{path}#L{line}",
}
"""Kind of code host → URL template of a line of a file."""
PARTS_OF_HOSTS = {"sr.ht": "sourcehut", "codeberg": "gitea", "forgejo": "gitea"} | {form: form for form in FORMS}
"""Part of a host's name → key of FORMS."""
EDITORS = {
    "vscode": "vscode://file{path}:{line}:{column}",
    "cursor": "cursor://file{path}:{line}:{column}",
    "zed": "zed://file{path}:{line}:{column}",
    "idea": "idea://open?file={path}&line={line}&column={column}",
    "sublime": "subl://open?url=file://{path}&line={line}&column={column}",
    "textmate": "txmt://open?url=file://{path}&line={line}&column={column}",
    "none": "",
}
"""Editor → URL template. Paths begin with a slash."""
_UNSAFE_SCHEMES = ("javascript:", "data:", "vbscript:", "blob:")
_HOST = r"[\w-]+(?:\.[\w-]+)+"
_REMOTE = re.compile(
    rf"(?:(?P<scheme>https?|(?:git\+)?ssh|git)://(?:[^@/]*@)?(?P<host>{_HOST})(?P<port>:\d+)?/|(?:[^@/:]*@)?(?P<short>{_HOST}):)"
    r"(?P<path>\S+)"
)


@frozen_dataclass
class SourceLinks:
    """The links of one page. Git's files are read once for each repository."""

    editor: str
    host: str
    _known: dict[str, tuple[str, str, str, str]] = field(default_factory=dict)
    """Root → (URL template, address, commit, path of the root in its git repository); the template is empty without a link."""

    @classmethod
    def from_settings(cls, settings: Settings, is_local: bool) -> SourceLinks:
        """Read the settings. Only a browser on this machine (`is_local`) gets links to an editor. Raises UsageError."""
        editor = EDITORS.get(settings.editor_link, settings.editor_link)
        if editor and (not re.match(r"[a-z][a-z0-9+.-]*:.*\{path\}", editor) or editor.startswith(_UNSAFE_SCHEMES)):
            fault = f"editor_link: '{settings.editor_link}' is not a URL with {{path}}"
            raise UsageError(fault, f"names: {', '.join(EDITORS)}")
        host, names = settings.host_link, ("auto", "none", *FORMS)
        if host not in names and not re.match(r"(https?://|\{address\}/).*\{path\}", host):
            raise UsageError(f"host_link: '{host}' is not an http URL with {{path}}", f"names: {', '.join(names)}")
        return cls(editor if is_local else "", host)

    def link_editor(self, root: str, path: str) -> str:
        """Make the URL of a file in the editor; empty if there is no link."""
        place = Path(root, path).as_posix()
        shown = bool(self.editor) and Path(root).is_absolute() and Path(root).is_dir()
        return self.editor.replace("{path}", quote("/" + place.lstrip("/"), safe="/:")) if shown else ""

    def link_host(self, root: str, path: str) -> str:
        """Make the URL of a file on its code host; empty if the host or its kind is not known."""
        if root not in self._known:
            self._known[root] = self._read_repository(Path(root))
        form, address, commit, below = self._known[root]
        values = {"address": address, "commit": commit, "path": quote(f"{below}{path}")}
        return re.sub(r"\{(address|commit|path)\}", lambda found: values[found[1]], form)

    def _read_repository(self, root: Path) -> tuple[str, str, str, str]:
        repository = find_enclosing_repository(root) if root.is_absolute() and self.host != "none" else None
        remote, commit = read_remote_and_commit(repository) if repository else ("", "")
        address = find_web_address(remote)
        if repository is None or not address or not commit:
            return "", "", "", ""
        host = urlsplit(address).hostname or ""
        named = FORMS.get(self.host, self.host if self.host != "auto" else "")
        known = next((FORMS[form] for part, form in PARTS_OF_HOSTS.items() if part in host), "")
        below = root.relative_to(repository.top).as_posix()
        form = (known or named) if self.host in FORMS else (named or known)
        return form, address, commit, f"{below}/".removeprefix("./")


def find_web_address(remote: str) -> str:
    """Convert the URL of a git remote to the repository's page, https://HOST/PATH; empty if the remote is not on a host."""
    parts = _REMOTE.fullmatch(remote.strip())
    if not parts:
        return ""
    is_web = (parts["scheme"] or "").startswith("http")
    port = parts["port"] or "" if is_web else ""
    path = parts["path"].strip("/").removesuffix(".git")
    return f"{parts['scheme'] if is_web else 'https'}://{(parts['host'] or parts['short']).lower()}{port}/{quote(path, safe='/~%')}"


def fill_in_line(url: str, line: int, column: int = 1) -> str:
    """Fill line and column into a URL."""
    return url.replace("{line}", str(line)).replace("{column}", str(column))
