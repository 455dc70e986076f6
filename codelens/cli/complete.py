"""Tab completion: the script of each shell, and the answers that it asks for.

A script runs codelens with `_CODELENS_COMPLETE=SHELL` and the words of the line up to the cursor, the last of them unfinished.
The answer is a line for each offer: the word, and for zsh and fish a tab and what it means. Where nothing is offered the
shells offer files. PowerShell has typer's script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from codelens.cli.declare import SYMBOLS, Parameter, declared_at
from codelens.cli.streams import write
from codelens.errors import UsageError

Offer = Callable[[Any, str], Iterable[str]]  # Context of the command line, text that was begun → words that begin so

ASKING = "_CODELENS_COMPLETE"  # The variable that names the shell that asks
_BASH = """\
_codelens() {
    local found
    COMPREPLY=()
    while IFS= read -r found; do
        COMPREPLY+=("$found")
    done < <(_CODELENS_COMPLETE=bash "$1" "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _codelens codelens
"""
_ZSH = """\
#compdef codelens
_codelens() {
    local -a found
    local one
    for one in "${(@f)$(_CODELENS_COMPLETE=zsh "${words[1]}" "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -n $one ]] && found+=("${${one//:/\\\\:}/$'\\t'/:}")
    done
    if (( $#found )); then
        _describe -V codelens found
    else
        _files
    fi
}
if [[ $funcstack[1] == _codelens ]]; then  # zsh has found this file in $fpath
    _codelens "$@"
else
    compdef _codelens codelens
fi
"""
_FISH = """\
function __codelens_offers
    set -l line (commandline -opc) (commandline -ct)
    set -l found (env _CODELENS_COMPLETE=fish $line[1] $line[2..-1] 2>/dev/null)
    if count $found >/dev/null
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete --command codelens --no-files --arguments '(__codelens_offers)'
"""
SCRIPTS: Mapping[str, str] = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
SHELLS = (*SCRIPTS, "powershell")


def script(shell: str) -> str:
    """The completion script of a shell. Raises UsageError unless it is one of SHELLS."""
    if shell not in SHELLS:
        raise UsageError(f"no completion for '{shell}'", f"shells: {', '.join(SHELLS)}")
    if shell in SCRIPTS:
        return SCRIPTS[shell]
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    return f"{get_completion_script(prog_name='codelens', complete_var=ASKING, shell=shell)}\n"


def install(shell: str) -> Path:
    """Write the script to where the shell reads it, with a line in its start-up file if it needs one; return its path."""
    text = script(shell)
    from typer.completion import install as install_script  # type: ignore[attr-defined]

    _, path = install_script(shell=shell, prog_name="codelens")
    if shell in SCRIPTS:
        path.write_text(text, encoding="utf-8")
    return Path(path)


def complete(shell: str, words: Sequence[str], group: Any) -> None:
    """Print the offers for the last of `words`. It is empty if a new word begins. A fault offers nothing."""
    if shell not in SCRIPTS:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
        group.main(list(words), prog_name="codelens")
    with suppress(Exception):  # whatever is wrong here, the line that is typed stays as it is
        write(f"{offer}\n" for offer in _offers(shell, list(words), group))


def _offers(shell: str, words: list[str], group: Any) -> list[str]:
    from typer._click.shell_completion import _resolve_context, _resolve_incomplete

    words = _without_equals(words) or [""]
    before, begun = words[:-1], words[-1]
    joined = begun[: begun.index("=") + 1] if begun.startswith("--") and "=" in begun else ""
    context = _resolve_context(group, {}, "codelens", list(before))
    asked, rest = _resolve_incomplete(context, before, begun)
    found = {joined + item.value: " ".join((item.help or "").split()) for item in asked.shell_complete(context, rest)}
    return [f"{value}\t{help}" if help and shell != "bash" else value for value, help in found.items()]


def _without_equals(words: Sequence[str]) -> list[str]:
    """Bash splits --type=rust into three words."""
    kept = [w for i, w in enumerate(words) if w != "=" or i == 0 or not words[i - 1].startswith("--")]
    return [*kept, ""] if len(words) > 1 and kept[-1] != words[-1] else kept


def offer_of(parameter: Parameter) -> Offer | None:
    """The words that shells offer for a parameter; several values with commas between them if its metavar ends in ",…".

    A module that lists the values is imported only when a shell asks.
    """
    if parameter.values is None and not parameter.choices:
        return None
    has_commas = parameter.has_commas or (parameter.metavar or "").endswith(",…")

    def offer(ctx: Any, incomplete: str) -> list[str]:
        before = incomplete[: incomplete.rfind(",") + 1] if has_commas else ""
        begun = incomplete.removeprefix(before)
        return [before + value for value in _values(parameter, ctx, begun) if value.startswith(begun)]

    return offer


def _values(parameter: Parameter, ctx: Any, begun: str) -> Iterable[str]:
    values = parameter.values
    if not isinstance(values, str):
        return values or parameter.choices
    listed = declared_at(values)
    if values == SYMBOLS:
        return listed(ctx.params.get("db"), begun)  # type: ignore[no-any-return]
    return list(listed() if callable(listed) else listed)
