#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Rules for every tracked file: licence line, length, #pragma once, no stray bytes."""
import subprocess
import sys
from pathlib import Path

SOURCES = (".h", ".cc", ".c")
LINES_MAX = 800


def complaints_of(root, name):
    path = root / name
    text = path.read_text(errors="replace")
    lines = text.splitlines()
    if path.suffix in SOURCES + (".py", ".sh", ".cmake") and not any(
            "SPDX-License-Identifier: BSD-2-Clause" in line for line in lines[:3]):
        yield "no SPDX line at its top"
    if path.suffix in SOURCES:
        if len(lines) > LINES_MAX:
            yield f"{len(lines)} lines: does it still do one thing?"
        if "\t" in text:
            yield "has a tab"
    if path.suffix == ".h" and "#pragma once" not in text:
        yield "header without #pragma once"
    if path.suffix in SOURCES + (".py", ".md", ".txt", ".sh"):
        if text and not text.endswith("\n"):
            yield "does not end with a newline"
        for number, line in enumerate(lines, 1):
            if line != line.rstrip() and path.suffix != ".md":
                yield f"line {number}: trailing white space"


def main():
    root = Path(sys.argv[1])
    try:
        names = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(root), "ls-files"], check=True,
                               capture_output=True, text=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        names = [p.relative_to(root).as_posix() for folder in ("src", "tests", "bench", "tools", "docs")
                 for p in (root / folder).rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    found = [f"{name}: {c}" for name in names if (root / name).is_file() for c in complaints_of(root, name)]
    if not names:
        found.append("no file was checked")
    print("\n".join(found) or f"{len(names)} files keep the rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
