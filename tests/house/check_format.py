#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""clang-format 19 would change nothing in our C++ sources."""
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tree

PROGRAM = "clang-format-19"  # Other versions format in another way.
SKIPPED = 77
BATCH = 64


def badly_laid_out(root, names):
    """Returns the names of the files that the program would change."""
    output = subprocess.run([PROGRAM, "--dry-run", "-Werror", *names], cwd=root,
                            capture_output=True, text=True).stderr
    return {line.split(":")[0] for line in output.splitlines() if ": error:" in line}


def main():
    if shutil.which(PROGRAM) is None:
        print(f"there is no {PROGRAM}; `make deps` installs it")
        return SKIPPED
    root = Path(sys.argv[1])
    names = [name for name in tree.names(root) if Path(name).suffix in tree.CPP]
    batches = [names[i:i + BATCH] for i in range(0, len(names), BATCH)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = sorted(set().union(*pool.map(lambda batch: badly_laid_out(root, batch), batches)))
    complaints = [f"{name}: run {PROGRAM} -i on it" for name in found]
    if not names:
        complaints.append("no file was checked")
    return tree.report(complaints, f"{len(names)} files are laid out as .clang-format says")


if __name__ == "__main__":
    sys.exit(main())
