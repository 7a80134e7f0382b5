#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The map of docs/MAP.md names every folder of sources and no other; paths in prose exist."""
import re
import sys
from pathlib import Path

import tree

DEPTH_MAX = 3  # The depth below src/.
SOURCES = tree.CPP + (".inc",)
# Where a path in prose may begin. A path that does not begin here and is no source is not checked.
BASES = ("", "src/", "src/core/", "src/runtime/", "src/abi/", "src/core/sm/")
_FOLDER = re.compile(r"(?<![\w/.])((?:[\w-]+/)+)(?![\w/])")
_PATH = re.compile(r"`([\w./*{},-]+)`")
_SOURCE = re.compile(r"\.(cc|h|c|py|sh|md|cmake|inc)$")


def mapped(text):
    """Returns the folders that the map names.

    An entry begins with a folder at the margin, or two columns in with one below the last of those;
    folders that its description names are below it."""
    block = re.search(r"^## Map\n.*?^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    folders, top, entry = set(), "", ""
    for line in block[1].splitlines() if block else []:
        begin = re.match(r"( {0,2})((?:[\w-]+/)+)(?:\s|$)", line)
        if begin:
            top = top if begin[1] else begin[2]
            entry = top if not begin[1] else top + begin[2]
            folders.add(entry)
            line = line[begin.end():]
        folders.update(entry + below for below in _FOLDER.findall(line))
    return folders


def with_sources(names):
    """Returns the folders of src/ that have sources of their own, down to the mapped depth."""
    folders = {Path(name).parent for name in names
               if name.startswith("src/") and Path(name).suffix in SOURCES}
    return {f"{folder}/" for folder in folders if len(folder.parts) - 1 <= DEPTH_MAX}


def check_map(text, names):
    folders = mapped(text)
    present = {f"{parent}/" for name in names for parent in Path(name).parents}
    if not folders:
        yield "docs/MAP.md: has no map"
    for folder in sorted(with_sources(names) - folders):
        yield f"docs/MAP.md: the map does not name {folder}"
    for folder in sorted(folders - present):
        yield f"docs/MAP.md: the map names {folder}, which is not there"


def alternatives(path):
    """Returns what `a{b,c}` stands for."""
    group = re.search(r"\{([^{}]*)\}", path)
    if group is None:
        return [path]
    return [each for choice in group[1].split(",")
            for each in alternatives(path[:group.start()] + choice + path[group.end():])]


class Paths:
    """The files and folders of the tree, to look paths of prose up in."""

    def __init__(self, names):
        self.files = set(names)
        self.folders = {parent.as_posix() for name in names for parent in Path(name).parents}
        self.bare = {Path(name).name for name in names}

    def is_ours(self, path):
        """Returns whether the path claims to be in the tree: a source, or below a folder of the
        tree."""
        first = path.split("/")[0]
        return bool(_SOURCE.search(path)) or (
            "/" in path and bool(first) and any(base + first in self.folders for base in BASES))

    def exists(self, path):
        if "/" not in path:
            return any(Path(name).match(path) for name in self.bare)
        path = path.rstrip("/")
        if any(base + path + suffix in self.files for base in BASES for suffix in tree.CPP):
            return True  # A name without suffix stands for its header and its source.
        return any(Path("/" + each).match("/" + base + path) for base in BASES
                   for each in (self.files | self.folders if "*" in path else (base + path,))
                   if each in self.files or each in self.folders)


def check_paths(root, names):
    paths = Paths(names)
    for name in names:
        if not name.endswith(".md"):
            continue
        for number, line in enumerate((root / name).read_text().splitlines(), 1):
            for path in (each for found in _PATH.findall(line) for each in alternatives(found)):
                if paths.is_ours(path) and not paths.exists(path):
                    yield f"{name} {path}", f"line {number}: is not in the tree"


def main():
    root = Path(sys.argv[1])
    names = tree.names(root)
    found = list(check_map((root / "docs/MAP.md").read_text(), names))
    found += tree.ratchet("foreign_paths.txt", dict(check_paths(root, names)))
    return tree.report(found, "the map is true, and every path in prose exists")


if __name__ == "__main__":
    sys.exit(main())
