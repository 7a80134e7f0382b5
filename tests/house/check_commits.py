#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A commit's subject is `area: Imperative summary`; checked for the commits since the rule
exists. The commits that ARCHITECTURE.md names are in the history."""
import re
import subprocess
import sys
from pathlib import Path

import tree

SINCE = "b90a61e"
SKIPPED = 77
COLUMNS_MAX = 100
_SUBJECT = re.compile(r"[a-z][\w/.-]*(, [a-z][\w/.-]*)*: [A-Z][a-z]+\b.*[^.]")
# A subject that begins with one of these words is no imperative. (A program cannot recognise an
# imperative itself.)
_NO_VERB = re.compile(r": (What|Where|Why|Who|How|When|The|A|An|One|Two|It|No|Every|Each)\b")


_NAMED = re.compile(r"\| `([0-9a-f]{7,40})` \|$", re.MULTILINE)


def is_good(subject):
    return (_SUBJECT.fullmatch(subject) is not None and _NO_VERB.search(subject) is None
            and len(subject) <= COLUMNS_MAX)


def named_commits(text):
    """Returns the commits in the last column of tables."""
    return _NAMED.findall(text)


def is_there(git, commit):
    return subprocess.run(git + ["merge-base", "--is-ancestor", commit, "HEAD"],
                          capture_output=True).returncode == 0


def main():
    git = ["git", "-c", "safe.directory=*", "-C", sys.argv[1]]
    try:
        log = subprocess.run(git + ["log", "--no-merges", "--format=%h %s", f"{SINCE}..HEAD"],
                             check=True, capture_output=True, text=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        print("there is no history here that begins where the rule does")
        return SKIPPED
    found = [f"{line}: write `area: Imperative summary`" for line in log
             if not is_good(line.split(" ", 1)[1])]
    named = named_commits((Path(sys.argv[1]) / "ARCHITECTURE.md").read_text())
    found += [f"ARCHITECTURE.md: commit {commit} is not in the history"
              for commit in named if not is_there(git, commit)]
    return tree.report(found, f"{len(log)} commits say what they do")


if __name__ == "__main__":
    sys.exit(main())
