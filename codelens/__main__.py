"""The `codelens` command, and `python -m codelens`: ends at once on Ctrl-C while the rest is still being imported.

Imports nothing that takes time, not even `signal` with its enums. What comes before is Python's own start: an interrupt there
ends it in Python's own way.
"""

import _signal  # type: ignore[import-not-found]  # signal without the enums
import gc
import os


def run() -> None:
    """Entry point of the `codelens` script. Does not return."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:  # else the parent wants it ignored
        _signal.signal(_signal.SIGINT, lambda number, frame: os._exit(130))
    from codelens.cli.warm import OBJECTS, ask_for_answer

    gc.set_threshold(OBJECTS)
    answer = ask_for_answer()
    try:
        if answer and answer.write():
            os._exit(answer.code)
    except OSError:  # what follows tries the rest again, and reports it
        pass
    from codelens.cli.main import run as run_command

    run_command(answer)


if __name__ == "__main__":
    run()
