# SPDX-License-Identifier: BSD-2-Clause
"""A C++ source as text without what only looks like code: comments, strings, directives."""
import re

_NOT_CODE = re.compile(
    r'//(?:\\\n|[^\n])*|/\*.*?\*/'
    r'|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"
    r'|^[ \t]*\#(?:\\\n|[^\n])*', re.DOTALL | re.MULTILINE)


def _blank(match):
    return "\n".join(" " * len(line) for line in match.group().split("\n"))


def code_of(text):
    """Returns the text with these parts blank, each line where it was."""
    return _NOT_CODE.sub(_blank, text)
