#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every *_test.cc is built by the CMakeLists.txt beside it, or the nearest one above."""
import re
import sys
from pathlib import Path

import tree


def owner_of(root, name):
    """Returns the CMakeLists.txt that has to name a file."""
    folder = (root / name).parent
    while not (folder / "CMakeLists.txt").is_file():
        folder = folder.parent
    return folder / "CMakeLists.txt"


def main():
    root = Path(sys.argv[1])
    names = [name for name in tree.names(root) if name.endswith("_test.cc")]
    found = []
    for name in names:
        owner = owner_of(root, name)
        words = re.split(r"[\s()\"]+", owner.read_text())
        if (root / name).relative_to(owner.parent).as_posix() not in words:
            found.append(f"{name}: {owner.relative_to(root)} does not name it, so nobody runs it")
    if not names:
        found.append("no test was found")
    return tree.report(found, f"{len(names)} tests are registered beside their sources")


if __name__ == "__main__":
    sys.exit(main())
