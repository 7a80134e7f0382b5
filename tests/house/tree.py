# SPDX-License-Identifier: BSD-2-Clause
"""What the checks share: the files of the tree, and lists of exceptions that only shrink."""
import subprocess
from pathlib import Path

CPP = (".h", ".cc", ".c")
HOUSE = Path(__file__).resolve().parent


def names(root):
    """Returns the paths of the tree's files, from its root, without what git ignores."""
    git = ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files"]
    try:
        listed = subprocess.run(git + ["--cached", "--others", "--exclude-standard"], check=True,
                                capture_output=True, text=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):  # The tree was unpacked from an archive.
        folders = ("src", "tests", "bench", "fuzz", "examples", "tools", "docs", "packaging")
        listed = [p.relative_to(root).as_posix() for folder in folders
                  for p in (root / folder).rglob("*") if "__pycache__" not in p.parts]
    return sorted(name for name in set(listed) if (root / name).is_file())


def exceptions(name):
    """Returns the entries of a list beside this file, one a line."""
    lines = (HOUSE / name).read_text().splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def ratchet(name, offenders):
    """Returns what is wrong with a list of exceptions: each offender is on it, and nothing else.

    `offenders` says of each what it does; so a list can only shrink, unless somebody extends it
    where a reviewer sees it."""
    known = exceptions(name)
    found = [f"{what}: {why}" for what, why in sorted(offenders.items()) if what not in known]
    return found + [f"{what}: keeps the rule now; strike it from tests/house/{name}"
                    for what in sorted(known - offenders.keys())]


def report(complaints, praise):
    """Prints the complaints, or `praise` if there are none. Returns the exit status."""
    print("\n".join(complaints) or praise)
    return 1 if complaints else 0
