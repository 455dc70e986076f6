"""The origin of figures: commit, date, machine, and its speed."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import Any

from tools.campaign import ROOT, describe_commit


def circumstances() -> dict[str, Any]:
    """The commit has a plus if files differ from it. `loop_s` is the CPU time of a fixed loop in Python, to compare machines."""
    return {
        **describe_commit(ROOT),
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.release()}",
            "python": platform.python_version(),
            "loop_s": round(_loop(), 3),
        },
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _loop() -> float:
    started = time.process_time()
    total = 0
    for number in range(5_000_000):
        total += number & 3
    return time.process_time() - started
