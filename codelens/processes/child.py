"""Runs inside a Python process that we started: calls a function, exchanges frames (a length and as many bytes) with the
parent, and ends when the parent ends."""

from __future__ import annotations

import os
import signal
import struct
import sys
import threading
import time
from _thread import interrupt_main
from contextlib import suppress
from importlib import import_module
from typing import IO, Any

LOOK_SECONDS = 0.5  # Time between two checks for the parent: a fourth of the promised two seconds
GRACE_SECONDS = 1.0  # Time that a process gets to end in order after its parent is gone
_PR_SET_PDEATHSIG = 1


def main() -> Any:
    """Run the function named in sys.argv with the arguments that follow. The boot line of `python.start` calls this."""
    program, count, *rest = sys.argv[1:]
    sys.argv = ["codelens", *rest[: int(count)]]
    module, _, function = program.partition(":")
    return getattr(import_module(module), function)()


def end_with_parent(parent: int) -> None:
    """End this process as soon as the process `parent` ends, even by SIGKILL or while native code keeps the interpreter busy.
    On Linux the *thread* that started this process counts, so it must live as long as the worker."""
    if sys.platform == "linux":
        with suppress(ImportError, OSError, AttributeError):
            import ctypes

            if ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) == 0:
                if os.getppid() != parent:  # the parent ended before prctl
                    os._exit(1)
                return
    threading.Thread(target=_await_end, args=(parent,), name="codelens-parent", daemon=True).start()


def _await_end(parent: int) -> None:
    """Wait for the end of the parent process, then end this one."""
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
    """Send this process the signal when stdin is closed, and end it a little later if the parent is gone."""
    threading.Thread(target=_await_eof, args=(number, os.getppid()), name="codelens-eof", daemon=True).start()


def _await_eof(number: signal.Signals, parent: int) -> None:
    """Wait until stdin is closed, then send this process the signal."""
    while os.read(0, 4096):  # not sys.stdin: a thread waiting for its lock would keep the interpreter from ending
        pass
    if os.name == "nt":
        interrupt_main(number)
    else:
        os.kill(os.getpid(), number)  # also wakes the main thread if it is waiting
    while os.getppid() == parent:
        time.sleep(GRACE_SECONDS)
    time.sleep(GRACE_SECONDS)
    os._exit(128 + number)


def claim_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Claim a worker's pipes (from parent, to parent) for our frames only: what a library prints goes to stderr instead, and
    programs that the worker starts have an empty stdin."""
    inbox, outbox = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return os.fdopen(inbox, "rb"), os.fdopen(outbox, "wb")


_LENGTH = struct.Struct("<I")


def write_frame(pipe: IO[bytes], payload: bytes) -> None:
    """Send a message. Raises OSError if the other side is gone."""
    pipe.write(_LENGTH.pack(len(payload)) + payload)
    pipe.flush()


def read_frame(pipe: IO[bytes]) -> bytes | None:
    """Read the next message; None if the other side has ended, even in the middle of one."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    payload = pipe.read(_LENGTH.unpack(head)[0])
    return payload if len(payload) == _LENGTH.unpack(head)[0] else None
