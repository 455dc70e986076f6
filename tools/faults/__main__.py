"""python -m tools.faults [--only NAME...] [--count N] [--seed S] [--out FILE.json]"""

from __future__ import annotations

import sys

from tools.campaign import main
from tools.faults import disk, gitconfig, kills, planted, trees

CAMPAIGNS = (*kills.campaigns(), *disk.CAMPAIGNS, *trees.CAMPAIGNS, *gitconfig.CAMPAIGNS, *planted.CAMPAIGNS)

if __name__ == "__main__":
    sys.exit(main("tools.faults", CAMPAIGNS))
