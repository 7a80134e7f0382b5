#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes docs/reference/*.md from the public headers and from the Python module.

    tools/reference.py           writes the pages
    tools/reference.py --check   says which page is not what the sources say, and exits with 1
"""
import ast
import copy
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADERS = {
    "libsoftib.md": ("libsoftib.so.0: simulations for programs in any language",
                     ["src/abi/planner/include/softib/softib.h"], "guide/python.md"),
    "libsharp_coll.md": ("libsharp_coll.so.5: collective operations that switches compute",
                         ["src/abi/sharp/include/sharp/api/sharp_coll.h",
                          "src/abi/sharp/include/sharp/api/version.h"], "guide/sharp.md"),
}
PYTHON = "python.md"
MODULE = "python/softib"
NOTE = "`tools/reference.py` writes this page from {}; the guide is [{}](../{}).\n"


# Headers in C

def plain(comment):
    """Returns the words of a block comment, its paragraphs apart."""
    lines = [re.sub(r"^\s*/?\*+/?", "", line).replace("*/", "").strip()
             for line in comment.splitlines()]
    return "\n".join(lines).strip()


def balanced(text):
    return all(text.count(a) == text.count(b) for a, b in ("{}", "()"))


def chunks(text):
    """Yields (comment, declarations) of a header: what stands between two empty lines."""
    text = re.sub(r"#ifdef __cplusplus\n.*?#endif\n", "", text, flags=re.DOTALL)
    chunk = ""
    for part in re.split(r"\n\s*\n", text):
        chunk = f"{chunk}\n\n{part}" if chunk else part
        if not balanced(re.sub(r"/\*.*?\*/", "", chunk, flags=re.DOTALL)) or \
                chunk.count("/*") != chunk.count("*/"):
            continue  # An empty line inside a structure or a comment.
        begin = re.match(r"\s*(/\*.*?\*/)\n?", chunk, re.DOTALL)
        comment = plain(begin[1]) if begin and begin.start() == 0 else ""
        declarations = chunk[begin.end():].strip("\n") if comment else chunk.strip("\n")
        yield comment, declarations
        chunk = ""


def names_of(declarations):
    """Returns what the declarations declare, for a heading."""
    code = re.sub(r"/\*.*?\*/", "", declarations, flags=re.DOTALL)
    outer = re.sub(r"\{[^{}]*(\{[^{}]*\}[^{}]*)*\}", "{}", code)
    found = re.findall(r"^(?:typedef\s+)?(?:struct|enum)\s+(\w+)\s*(?:\{|;|\w)", outer,
                       re.MULTILINE)
    found += re.findall(r"(\w+)\s*\((?!\*)", re.sub(r"#define[^\n]*", "", outer))
    found += re.findall(r"^#define\s+(\w+)", outer, re.MULTILINE)
    return list(dict.fromkeys(found))


def header_page(title, paths, guide):
    out = [f"# {title}\n", NOTE.format(" and ".join(f"`{path}`" for path in paths),
                                       Path(guide).name, guide)]
    for path in paths:
        if len(paths) > 1:
            out.append(f"## {Path(path).name}\n")
        for comment, declarations in chunks((ROOT / path).read_text()):
            comment = comment.replace("SPDX-License-Identifier: BSD-2-Clause", "").strip()
            code = "\n".join(line for line in declarations.splitlines()
                             if not re.match(r"#(pragma|include)", line)).strip()
            if code and names_of(code):
                shown = names_of(code)
                out.append("### " + ", ".join(f"`{name}`" for name in shown[:4]) +
                           (" …" if len(shown) > 4 else "") + "\n")
            if comment:
                out.append(comment + "\n")
            if code:
                out.append(f"```c\n{code}\n```\n")
    return "\n".join(out)


# Python

def signature(node, name):
    """Returns a definition's line as a caller writes it. Keywords that may be left out have no
    default here if it is None."""
    plain_arguments = copy.deepcopy(node.args)
    for each in ast.walk(plain_arguments):
        if isinstance(each, ast.arg):
            each.annotation = None
    arguments = ast.unparse(plain_arguments)
    if "*, " in arguments:
        before, _, after = arguments.rpartition("*, ")
        arguments = f"{before}*, {after.replace('=None', '')}"
    arguments = re.sub(r"^(self|cls)(, |$)", "", arguments)
    return f"{name}({arguments})"


def documented(node):
    """Returns the words of a definition. Its lines about keywords are a list."""
    return re.sub(r"^([a-z]\w*(?:, \w+)*): ", r"- `\1`: ",
                  (ast.get_docstring(node) or "").strip(), flags=re.MULTILINE)


def bodies(node, classes):
    """Yields the definitions of a class, and those of its bases in the same file."""
    yield from node.body
    for base in node.bases:
        if getattr(base, "id", None) in classes:
            yield from bodies(classes[base.id], classes)


def class_lines(node, prefix, classes):
    makers = [each for each in node.body
              if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
    yield f"### `{signature(makers[0], prefix + node.name)}`\n" if makers else \
        f"### `{prefix}{node.name}`\n"
    if documented(node):
        yield documented(node) + "\n"
    for each in bodies(node, classes):
        if isinstance(each, ast.FunctionDef) and not each.name.startswith("_"):
            is_property = any(getattr(one, "id", "") == "property" for one in each.decorator_list)
            shown = each.name if is_property else signature(each, each.name)
            words = " ".join(documented(each).split())
            yield f"- `.{shown}`" + (f": {words}" if words else "")
    yield ""


def definitions(path):
    """Returns the public classes and functions of a module's file, by name."""
    return {node.name: node for node in ast.parse(path.read_text()).body
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name[0] != "_"}


def item_lines(node, prefix, known):
    if isinstance(node, ast.ClassDef):
        yield from class_lines(node, prefix, known)
    else:
        yield f"### `{signature(node, prefix + node.name)}`\n"
        if documented(node):
            yield documented(node) + "\n"


def brought(path, but):
    """Yields the definitions that a module exports from another one, without those named `but`."""
    whole = ast.parse(path.read_text())
    exported = {name for node in whole.body if isinstance(node, ast.Assign) and
                node.targets[0].id == "__all__" for name in ast.literal_eval(node.value)}
    for node in whole.body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            for alias in node.names:
                if alias.name in exported and alias.name not in but:
                    yield definitions(path.with_name(f"{node.module}.py"))[alias.name]


def python_page():
    package = ast.parse((ROOT / MODULE / "__init__.py").read_text())
    exported = next(ast.literal_eval(node.value) for node in package.body
                    if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    imported = {alias.asname or alias.name: node.module for node in package.body
                if isinstance(node, ast.ImportFrom) for alias in node.names}
    out = ["# The Python module softib\n",
           NOTE.format(f"`{MODULE}`", "python.md", "guide/python.md"),
           re.sub(r"((?:^    .*\n|^\n(?=    ))+)",
                  lambda block: "\n```python\n" + re.sub(r"^    ", "", block[1].strip("\n"),
                                                       flags=re.MULTILINE) + "\n```\n\n",
                  documented(package) + "\n", flags=re.MULTILINE)]
    for name in sorted(exported, key=lambda name: imported.get(name) is None):
        if name not in imported:
            raise SystemExit(f"{MODULE}/__init__.py exports {name}, which no module defines")
        module = imported[name] or name
        path = ROOT / MODULE / f"{module}.py"
        if imported[name]:
            out += item_lines(definitions(path)[name], "softib.", definitions(path))
            continue
        out.append(f"## softib.{name}\n")
        out.append(documented(ast.parse(path.read_text())) + "\n")
        for node in [*definitions(path).values(), *brought(path, exported)]:
            out += item_lines(node, f"softib.{name}.", {})
    return "\n".join(out)


def pages():
    made = {page: header_page(*of) for page, of in HEADERS.items()}
    made[PYTHON] = python_page()
    return {page: re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n" for page, text in made.items()}


def main():
    folder = ROOT / "docs" / "reference"
    stale = []
    for page, text in pages().items():
        path = folder / page
        if path.is_file() and path.read_text() == text:
            continue
        stale.append(path.relative_to(ROOT).as_posix())
        if "--check" not in sys.argv:
            folder.mkdir(exist_ok=True)
            path.write_text(text)
    if "--check" in sys.argv:
        print("\n".join(f"{path}: not what the sources say; run tools/reference.py"
                        for path in stale) or "the reference pages are what the sources say")
        return 1 if stale else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
