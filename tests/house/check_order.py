#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Nothing in src/core and src/net iterates over a hash table: its order is not a rule of IBA. A
name counts as a hash table where the file, or a header that it includes, declares it as one."""
import re
import sys
from functools import cache
from pathlib import Path

import tree
from cpp_text import code_of

PURE = ("src/core/", "src/net/")
_TABLE = r"unordered_(?:multi)?(?:map|set)\s*<"
_ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*(?:std::)?" + _TABLE)
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
_RANGE_FOR = re.compile(r"\bfor\s*\((?:[^;(){}]|\([^;(){}]*\))*?[^:]:(?!:)\s*([^;{}]+?)\)"
                        r"\s*(?=[\w{+*-])")
_ITERATES = re.compile(r"\b(\w+)(?:\(\))?(?:\.|->)c?begin\("
                       r"|\branges::\w+\(\s*(?:\w+\.)*(\w+)\s*[,)]")
_LAST_NAME = re.compile(r"(\w+)(?:\(\))?(?:\[[^\]]*\])?\s*$")


def _end_of_arguments(code, at):
    """Returns where the template arguments end that begin before `at`."""
    depth = 1
    while depth and at < len(code):
        depth += {"<": 1, ">": -1}.get(code[at], 0)
        at += 1
    return at


def declared(code, aliases):
    """Returns the names of variables, parameters and functions that are or return hash tables."""
    kinds = _TABLE + (r"|\b(?:" + "|".join(sorted(aliases)) + r")\b(?=[\s&*])" if aliases else "")
    names = set()
    for match in re.finditer(kinds, code):
        at = _end_of_arguments(code, match.end()) if match.group().endswith("<") else match.end()
        found = re.match(r"[\s&*]*(?:const\s*)?(\w+)", code[at:])
        if found:
            names.add(found[1])
    return names


def walks(code, tables):
    """Yields the line and the name of each hash table that the code iterates over."""
    for match in _RANGE_FOR.finditer(code):
        name = _LAST_NAME.search(match[1])
        if name and name[1] in tables:
            yield code.count("\n", 0, match.start()) + 1, name[1]
    for match in _ITERATES.finditer(code):
        name = match[1] or match[2]
        if name in tables:
            yield code.count("\n", 0, match.start()) + 1, name


class Sources:
    """The sources below a folder, and the declarations that each can see."""

    def __init__(self, root):
        self.root = root

    @cache
    def text(self, name):
        path = self.root / name
        return path.read_text() if path.is_file() else ""

    @cache
    def seen_from(self, name):
        """Returns the headers of ours that a file includes, directly or not, and the file."""
        seen, open_ = {name}, [name]
        while open_:
            for included in _INCLUDE.findall(self.text(open_.pop())):
                header = f"src/{included}"
                if header not in seen and self.text(header):
                    seen.add(header)
                    open_.append(header)
        return frozenset(seen)

    @cache
    def code(self, name):
        return code_of(self.text(name))

    @cache
    def aliases(self, name):
        return frozenset(_ALIAS.findall(self.code(name)))

    @cache
    def declared(self, name, aliases):
        return declared(self.code(name), aliases)

    def tables(self, name):
        seen = self.seen_from(name)
        aliases = frozenset().union(*(self.aliases(n) for n in seen))
        return set().union(*(self.declared(n, aliases) for n in seen))


def main():
    sources = Sources(Path(sys.argv[1]))
    names = [n for n in tree.names(sources.root)
             if n.startswith(PURE) and Path(n).suffix in tree.CPP and not n.endswith("_test.cc")]
    found = [f"{name}:{line}: walks over the hash table '{table}'; take an ordered container"
             for name in names
             for line, table in walks(sources.code(name), sources.tables(name))]
    if not names:
        found.append("no file was checked")
    return tree.report(found, f"{len(names)} files walk over nothing whose order is chance")


if __name__ == "__main__":
    sys.exit(main())
