"""The child's side of a Python process: what it runs, and that it ends when its parent has ended, however that happened."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from _thread import interrupt_main
from importlib import import_module
from typing import Any, BinaryIO

LOOK_SECONDS = 0.5
"""Between two looks for the parent where the system does not tell of its end. Chosen: a fourth of the two seconds promised."""
GRACE_SECONDS = 1.0
"""After which a process that was asked to end, and whose parent is gone, ends at once. Chosen."""
_PR_SET_PDEATHSIG = 1


def main() -> Any:
    """Called by the boot line of `python.start`: the function that it names, with its arguments in sys.argv."""
    program, count, *rest = sys.argv[1:]
    sys.argv = ["codelens", *rest[: int(count)]]
    module, _, function = program.partition(":")
    return getattr(import_module(module), function)()


def work() -> None:
    """Run `main` of the module that is the first argument, as a worker of the process whose number is the second.

    Ctrl-C and an order to end reach the whole group of processes; they are the parent's to answer.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    end_with(int(sys.argv[2]))
    import_module(sys.argv[1]).main()


def end_with(parent: int) -> None:
    """End this process at once when the process `parent` ends, even while it computes and never lets another thread run.

    On Linux it ends with the *thread* of the parent that started it: that thread must live as long as the worker.
    """
    if sys.platform == "linux" and _killed_with_parent():
        if os.getppid() != parent:  # it ended before we could ask
            os._exit(1)
    else:
        threading.Thread(target=_await_end, args=(parent,), name="codelens-parent", daemon=True).start()


def _killed_with_parent() -> bool:
    """Have the kernel send SIGKILL. False where it knows no such thing."""
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _await_end(parent: int) -> None:
    if sys.platform == "win32":
        import ctypes

        synchronize, for_ever = 0x0010_0000, 0xFFFF_FFFF
        kernel = ctypes.windll.kernel32
        kernel.OpenProcess.restype = ctypes.c_void_p
        if process := kernel.OpenProcess(synchronize, False, parent):
            kernel.WaitForSingleObject(ctypes.c_void_p(process), for_ever)
    else:
        while os.getppid() == parent:
            time.sleep(LOOK_SECONDS)
    os._exit(1)


def end_at_eof(number: signal.Signals) -> None:
    """When stdin is closed, send this process the signal; end it a little later if the parent is gone and it still runs."""
    threading.Thread(target=_await_eof, args=(number, os.getppid()), name="codelens-eof", daemon=True).start()


def _await_eof(number: signal.Signals, parent: int) -> None:
    while os.read(0, 4096):  # not by sys.stdin: a thread that waits in its lock would keep the interpreter from ending
        pass
    if os.name == "nt":
        interrupt_main(number)
    else:
        os.kill(os.getpid(), number)  # wakes the main thread too, where it waits
    while os.getppid() == parent:
        time.sleep(GRACE_SECONDS)
    time.sleep(GRACE_SECONDS)
    os._exit(128 + number)


def connection() -> tuple[BinaryIO, BinaryIO]:
    """(inbox, outbox) of a worker. They are for our frames alone: what a library prints goes to stderr, and a program that it
    starts has nothing to read."""
    inbox, outbox = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return os.fdopen(inbox, "rb"), os.fdopen(outbox, "wb")
