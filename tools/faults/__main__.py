"""python -m tools.faults [--only NAME...] [--count N] [--seed S] [--out FILE.json]"""

from __future__ import annotations

import sys

from tools.campaign import by_name, main
from tools.faults import beside, disk, edits, fleet, gitconfig, gitfolder, kills, links, planted, trees

CAMPAIGNS = (
    *kills.campaigns(),
    *beside.CAMPAIGNS,
    *disk.CAMPAIGNS,
    by_name("damage", "tools.faults.damage", 5000, "index files with bytes altered, cut or exchanged"),
    *trees.CAMPAIGNS,
    *edits.CAMPAIGNS,
    *gitconfig.CAMPAIGNS,
    *gitfolder.CAMPAIGNS,
    *planted.CAMPAIGNS,
    *links.CAMPAIGNS,
    *fleet.CAMPAIGNS,
)

if __name__ == "__main__":
    sys.exit(main("tools.faults", CAMPAIGNS))
