#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A commit's subject is `area: Imperative summary`; checked for the commits since the rule
exists."""
import re
import subprocess
import sys

import tree

SINCE = "b90a61e"
SKIPPED = 77
COLUMNS_MAX = 100
_SUBJECT = re.compile(r"[a-z][\w/.-]*(, [a-z][\w/.-]*)*: [A-Z][a-z]+\b.*[^.]")
# A subject that begins with one of these words is no imperative. (A program cannot recognise an
# imperative itself.)
_NO_VERB = re.compile(r": (What|Where|Why|Who|How|When|The|A|An|One|Two|It|No|Every|Each)\b")


def is_good(subject):
    return (_SUBJECT.fullmatch(subject) is not None and _NO_VERB.search(subject) is None
            and len(subject) <= COLUMNS_MAX)


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
    return tree.report(found, f"{len(log)} commits say what they do")


if __name__ == "__main__":
    sys.exit(main())
