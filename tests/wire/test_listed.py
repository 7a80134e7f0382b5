#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""test_listed.py SRC/CORE/WIRE: formats.inc and formats.h have every format, or no test sees it."""
import re
import sys
from pathlib import Path


def main():
    folder = Path(sys.argv[1])
    listed = set(
        re.findall(r"^SOFTIB_WIRE_FORMAT\((\w+)\)$", (folder / "formats.inc").read_text(), re.M))
    included = (folder / "formats.h").read_text()
    missing = []
    for header in sorted(folder.glob("*.h")):
        formats = re.findall(r"^static_assert\(layout_is_sound<(\w+)>", header.read_text(), re.M)
        missing += [f"{name} of {header.name} is not in formats.inc"
                    for name in formats if name not in listed]
        if formats and f'"core/wire/{header.name}"' not in included:
            missing.append(f"{header.name} is not in formats.h")
    print("\n".join(missing) or f"all {len(listed)} formats are listed")
    return 1 if missing or not listed else 0


if __name__ == "__main__":
    sys.exit(main())
