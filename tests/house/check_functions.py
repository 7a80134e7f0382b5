#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""No function is longer than 70 lines, from its name to its closing brace; C++ and Python."""
import ast
import re
import sys
from pathlib import Path

import tree
from cpp_text import code_of

LINES_MAX = 70
_SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b[^()]*$")
_MARK = re.compile(r"[{};]")
_NAME = re.compile(r"(operator\s*\S{1,3}|~?[A-Za-z_][\w:~]*)\s*\(")


def _kind(head):
    """Returns what a brace opens outside of functions, by the text before it."""
    head = re.sub(r"\balignas\([^()]*\)", "", head)
    if _SCOPE.search(head):
        return "scope"
    before = head.split("(")[0]
    is_value = "=" in before and "operator" not in before
    return "function" if "(" in head and not is_value else "value"


def _name(head):
    """Returns the function's name; for a test, its suite and its name."""
    test = re.match(r"\s*(?:TEST|TEST_F|TEST_P)\(\s*(\w+),\s*(\w+)\s*\)", head)
    if test:
        return f"{test[1]}.{test[2]}"
    found = _NAME.search(head)
    return found[1] if found else "?"


def cpp_functions(text):
    """Yields the name and the number of lines of each function of a C++ source."""
    code = code_of(text)
    stack, head_start = [], 0
    for match in _MARK.finditer(code):
        at, char = match.start(), match.group()
        inside = bool(stack) and stack[-1][0] != "scope"
        if char == "{":
            head = code[head_start:at]
            begin = head_start + len(head) - len(head.lstrip())
            stack.append(("inner", 0, "") if inside else (_kind(head), begin, _name(head)))
        elif char == "}" and stack:
            kind, begin, name = stack.pop()
            if kind == "function":
                yield name, code.count("\n", begin, at) + 1
        if not inside and char in "{};" or (char == "}" and not stack):
            head_start = at + 1
        elif char == "}" and stack and stack[-1][0] == "scope":
            head_start = at + 1


def python_functions(text):
    """Yields the name and the number of lines of each function of a Python source."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.end_lineno - node.lineno + 1


def main():
    root = Path(sys.argv[1])
    found, count = [], 0
    for name in tree.names(root):
        suffix = Path(name).suffix
        if suffix not in tree.CPP + (".py",):
            continue
        functions = python_functions if suffix == ".py" else cpp_functions
        for function, lines in functions((root / name).read_text()):
            count += 1
            if lines > LINES_MAX:
                found.append(f"{name} {function}: {lines} lines, {LINES_MAX} are allowed")
    if count == 0:
        found.append("no function was found")
    return tree.report(found, f"none of {count} functions is longer than {LINES_MAX} lines")


if __name__ == "__main__":
    sys.exit(main())
