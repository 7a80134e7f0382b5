# SPDX-License-Identifier: BSD-2-Clause
"""The commands of a document: what stands in its fenced blocks, as the statements of a shell.

A block of the kind `sh` is a script. In one of the kind `console` or `text`, or of none, commands
stand behind `$ `; other lines are their output, or begin with `# ` and need root. Two comments,
which a reader does not see, may stand above a block:

    <!-- not run: WHY -->       the block is exempt
    <!-- first: COMMAND -->     something to run before it, such as making the files that it names
"""
import re
import subprocess
from typing import NamedTuple

_FENCE = re.compile(r"^\s*```(\w*)\s*$")
_COMMENT = re.compile(r"^\s*<!-- (not run|first): (.*?) -->\s*$")
_PROMPT = "$ "
_SESSIONS = ("", "console", "text")


class Block(NamedTuple):
    line: int  # The line of the document on which the block begins.
    statements: list  # The commands; each is complete for a shell.
    reason: str  # The reason why it is not run, or nothing.


def is_complete(text):
    """Returns whether a shell would run the text, rather than wait for more."""
    if text.rstrip().endswith("\\"):
        return False
    check = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True)
    # The shell only warns of an open here-document.
    return check.returncode == 0 and not check.stderr


def split(lines):
    """Returns the statements of a script: as few lines as are complete."""
    statements, text = [], ""
    for line in lines:
        text += line + "\n"
        if is_complete(text):
            if text.strip() and not text.lstrip().startswith("#"):
                statements.append(text.strip())
            text = ""
    if text.strip():
        statements.append(text.strip())  # The shell will say what is wrong with it.
    return statements


def typed(lines):
    """Returns what was typed in a console: lines behind prompts, and those that go on from them."""
    result, goes_on = [], False
    for line in lines:
        if line.startswith(_PROMPT):
            result.append(line[len(_PROMPT):])
        elif goes_on:
            result.append(line)
        else:
            continue
        goes_on = result[-1].rstrip().endswith("\\")
    return result


def blocks(text):
    """Returns the blocks of a document that have commands."""
    found, comments, body, kind = [], [], None, ""
    for number, line in enumerate(text.splitlines(), 1):
        fence, comment = _FENCE.match(line), _COMMENT.match(line)
        if body is None and fence:
            kind, body, begin = fence[1], [], number + 1
        elif fence:
            commands = body if kind == "sh" else typed(body) if kind in _SESSIONS else []
            if commands:
                first = [what for which, what in comments if which == "first"]
                why = [what for which, what in comments if which == "not run"]
                found.append(Block(begin, first + split(commands), " ".join(why)))
            comments, body = [], None
        elif body is not None:
            body.append(line)
        elif comment:
            comments.append(comment.groups())
        elif line.strip():
            comments = []  # They belong to what stands directly below.
    return found


_CTEST = re.compile(r"`(ctest --test-dir build [^`]*)`")


def ctest_calls(text):
    """Returns the calls of ctest that stand in prose and tables, where a `|` is written `\\|`."""
    return [call.replace("\\|", "|") for call in _CTEST.findall(text)]
