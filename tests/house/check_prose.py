#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Comments and documents keep those rules of docs/writing.md that a program can see.

A comment stands by itself: it begins with a noun, a verb or a name, and what a tool shows of one
declaration does not go on at the next one. The actor has a name, and sentences have plain verbs."""
import re
import sys
from pathlib import Path

import tree

_STRING_OR_COMMENT = re.compile(
    r'(?P<comment>//(?:\\\n|[^\n])*)|/\*.*?\*/'
    r'|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'", re.DOTALL)
_MARKER = re.compile(r"///?<?|//")
_NO_WORDS = re.compile(
    r"SPDX-License-Identifier|clang-format (?:on|off)|NOLINT|namespace\b|[=-]{5,}")

# What a text must not say anywhere.
PHRASES = (
    (re.compile(r"\b(?:is|was|are|were) (?:not )?to (?!(?:the|an?|its|their|this|that|each|one|be "
                r"found|blame|scale|date|no|another|[0-9`]|[A-Z])\b)\w+"),
     "say must, will or would"),
    (re.compile(r"\bso (?:many|much|long|often)\b(?! (?:as|that)\b)"),
     "say how many: at most N, this long"),
    (re.compile(r"\b(?:he|him|his|whoever|whomever)\b"), "name the actor"),
    (re.compile(r"(?:^|[.;:] )Whom? (?![^.]*\?)"), "name the actor"),
)
# How a comment must not begin.
BEGINNINGS = (
    (re.compile(r"Of (?!course)"), "begin with the noun"),
    (re.compile(r"(?:False|True|Nothing|None):"), "say \"Returns … if …\""),
)
_LOWER_WORD = re.compile(r"[a-z]+[,.]?(?: |$)")


class Comment:
    """The words of a comment, with the line on which it begins."""

    def __init__(self, line, marker, words):
        self.line, self.marker, self.words = line, marker, words

    @property
    def is_documentation(self):
        """Whether tools show it with one declaration."""
        return self.marker.startswith("///")


def comments(text):
    """Yields the comments of a C++ source; lines that follow each other are one."""
    last, last_line, last_alone = None, 0, False
    for match in _STRING_OR_COMMENT.finditer(text):
        if not match["comment"]:
            continue
        line = text.count("\n", 0, match.start()) + 1
        marker = _MARKER.match(match["comment"])[0]
        words = match["comment"][len(marker):].strip()
        alone = not text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip()
        goes_on = (last and line == last_line + 1 and alone and marker == last.marker and
                   (last_alone or marker == "///<"))
        if goes_on and words:
            last.words += " " + words
        elif words and not _NO_WORDS.match(words):
            if last:
                yield last
            last = Comment(line, marker, words)
        elif last:
            yield last
            last = None
        last_line, last_alone = line, alone
    if last:
        yield last


def complaints_of_comment(comment):
    """Yields what is wrong with how a comment begins and ends."""
    for pattern, help_ in BEGINNINGS:
        if pattern.match(comment.words):
            yield f"begins with \"{comment.words[:30]}\": {help_}"
    if comment.is_documentation:
        if _LOWER_WORD.match(comment.words):
            yield f"\"{comment.words[:30]}\" goes on with another comment: begin anew"
        if comment.words.endswith((",", ";")):
            yield f"\"{comment.words[-30:]}\" ends in the middle of a sentence"


def phrases_of(words):
    """Yields what a text says that it must not."""
    plain = re.sub(r"`[^`]*`|\"[^\"]*\"", "`x`", words)
    for pattern, help_ in PHRASES:
        for match in pattern.finditer(plain):
            yield f"\"{match.group().strip()}\": {help_}"


def paragraphs(text):
    """Yields the first line and the words of each paragraph and row of a document, without code."""
    text = re.sub(r"^```.*?^```|<!--.*?-->", lambda m: "\n" * m.group().count("\n"), text,
                  flags=re.DOTALL | re.MULTILINE)
    line, words = 0, []
    for number, each in enumerate(text.splitlines() + [""], 1):
        starts_anew = re.match(r"\s*$|\||#|\s*[-*] |\s*\d+\. |\.[A-Z\\]", each)
        if starts_anew and words:
            yield line, " ".join(words)
            words = []
        if each.strip():
            line = line if words else number
            words.append(each.strip())


def complaints_of(name, text):
    """Yields the line and what is wrong there, for a source or a document."""
    if Path(name).suffix in tree.CPP:
        for comment in comments(text):
            for complaint in [*complaints_of_comment(comment), *phrases_of(comment.words)]:
                yield comment.line, complaint
    else:
        for line, words in paragraphs(text):
            for complaint in phrases_of(words):
                yield line, complaint


def is_prose(name):
    """Whether a file is a source or a document; the guide quotes what it advises against."""
    path = Path(name)
    return (path.suffix in tree.CPP or path.suffix == ".md" or name.startswith("docs/man/")) and \
        name != "docs/writing.md"


def main():
    root = Path(sys.argv[1])
    below = tuple(sys.argv[2:])  # A part of the tree, while one works there.
    names = [name for name in tree.names(root) if is_prose(name) and name.startswith(below or "")]
    found = [f"{name}:{line}: {complaint}" for name in names
             for line, complaint in complaints_of(name, (root / name).read_text(errors="replace"))]
    if not names:
        found.append("no file was checked")
    return tree.report(found, f"{len(names)} files are written as docs/writing.md says")


if __name__ == "__main__":
    sys.exit(main())
