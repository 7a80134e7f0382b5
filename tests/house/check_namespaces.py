#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The namespace of a file in src/ is its folder: src/core/hca is softib::hca.

A folder may leave out words of its path (core/sm/sa is softib::sm), but none that is not in it; a
part of a folder may have one further namespace (softib::wire::detail). Declarations of types that
another folder defines stand in that folder's namespace."""
import re
import sys
from pathlib import Path

import cpp_text
import tree

OPENS = re.compile(r"^namespace softib((?:::\w+)*) \{$", re.MULTILINE)
DECLARATIONS = re.compile(r"\s*(?:(?:class|struct|enum class|template <[^>]*>) [^;{]*;\s*)+\}")

# A word of C++ cannot name a namespace; the library of libibverbs is only abi.
SPELLED = {"switch": "sw"}


def fits(folder, namespaces):
    """Whether each namespace but one further one is a word of the folder's path, in their order."""
    words = [SPELLED.get(word, word) for word in folder.split("/")]
    if not namespaces:
        return folder in ("core/base", "abi/planner")
    at = 0
    for depth, name in enumerate(namespaces):
        if name in words[at:]:
            at = words.index(name, at) + 1
        elif depth == 0 or depth + 1 < len(namespaces):
            return False
    return True


def complaints_of(folder, text):
    code = cpp_text.code_of(text)
    for opened in OPENS.finditer(code):
        namespaces = opened.group(1).split("::")[1:]
        if not fits(folder, namespaces) and not DECLARATIONS.match(code, opened.end()):
            yield f"namespace softib{opened.group(1)} is not {folder}"


def main():
    root = Path(sys.argv[1])
    sources = [name for name in tree.names(root)
               if name.startswith("src/") and name.endswith(tree.CPP)]
    complaints = [f"{name}: {complaint}" for name in sources
                  for complaint in complaints_of(name[len("src/"):].rpartition("/")[0],
                                                 (root / name).read_text())]
    return tree.report(complaints, f"{len(sources)} sources have their folder's namespace")


if __name__ == "__main__":
    sys.exit(main())
