#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the linker version script and the symbol table source of softib's libibverbs.so.1.

Input: symbols.txt (every symbol@version of the releases we serve) and implemented.txt (the names
that we implement as softib_<name>).

One function often answers under several versions, and a versioned alias must live in the
translation unit that defines it. So each exported name becomes a one-instruction trampoline in a
generated assembly file, which carries all labels and .symver directives of that name and jumps to
softib_<name> or to a stub. The hot verbs are not exported symbols (programs reach them through
context->ops), so the extra jump costs nothing that matters.
"""

import argparse
import dataclasses
import pathlib
import re
import sys

KINDS = ("public", "compat", "private")
FAILURES = ("errno", "null", "minus1", "zero", "void", "argument", "data")
PRIVATE_PREFIX = "IBVERBS_PRIVATE_"


class InputError(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Symbol:
    name: str
    version: str
    kind: str
    failure: str

    @property
    def label(self):
        return f"{self.name}__{self.version.replace('.', '_')}"


def content_lines(path):
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), start=1):
        text = line.split("#", 1)[0].strip()
        if text:
            yield f"{path.name}:{number}", text.split()


def version_order(version):
    """Sort key: public nodes in numeric order, then private nodes in numeric order."""
    numbers = tuple(int(n) for n in re.findall(r"\d+", version))
    return (version.startswith(PRIVATE_PREFIX), numbers)


def read_symbols(path):
    symbols = []
    seen = set()
    for where, fields in content_lines(path):
        if len(fields) != 4:
            raise InputError(f"{where}: expected 'name version kind failure'")
        symbol = Symbol(*fields)
        if symbol.kind not in KINDS or symbol.failure not in FAILURES:
            raise InputError(f"{where}: kind is one of {KINDS}, failure one of {FAILURES}")
        if symbol.version.startswith(PRIVATE_PREFIX) != (symbol.kind == "private"):
            raise InputError(f"{where}: kind {symbol.kind} in node {symbol.version}")
        if (symbol.name, symbol.version) in seen:
            raise InputError(f"{where}: {symbol.name}@{symbol.version} is listed twice")
        seen.add((symbol.name, symbol.version))
        symbols.append(symbol)
    return symbols


def read_implemented(path, symbols):
    known = {s.name: s for s in symbols if s.kind != "compat"}
    implemented = set()
    for where, fields in content_lines(path):
        if len(fields) != 1 or fields[0] not in known:
            raise InputError(f"{where}: not a public or private name of symbols.txt")
        if known[fields[0]].failure == "data":
            raise InputError(f"{where}: {fields[0]} is an object, not a function")
        if fields[0] in implemented:
            raise InputError(f"{where}: {fields[0]} is listed twice")
        implemented.add(fields[0])
    return implemented


def version_script(symbols):
    """Returns the version script. Public nodes inherit in a chain, private nodes do not inherit;
    all other symbols are local."""
    nodes = {}
    for symbol in symbols:
        nodes.setdefault(symbol.version, []).append(symbol.name)
    out = ["/* Generated from symbols.txt. */\n"]
    parent = ""
    for version in sorted(nodes, key=version_order):
        private = version.startswith(PRIVATE_PREFIX)
        out.append(f"{version} {{\n    global:\n")
        out.extend(f"        {name};\n" for name in sorted(nodes[version]))
        if not parent:
            out.append("    local: *;\n")
        out.append(f"}}{' ' + parent if parent and not private else ''};\n\n")
        if not private:
            parent = version
    return "".join(out)


def default_version(versions):
    """Returns the version that a new link binds to: the newest public one, else the newest
    private one."""
    candidates = [s for s in versions if s.kind == "public"]
    candidates = candidates or [s for s in versions if s.kind == "private"]
    return max(candidates, key=lambda s: version_order(s.version), default=None)


def emit_labels(out, symbols, default, object_type):
    for symbol in symbols:
        at = "@@" if symbol is default else "@"
        out.append(f"    .globl {symbol.label}\n")
        out.append(f"    .type {symbol.label}, %{object_type}\n")
        out.append(f"    .symver {symbol.label}, {symbol.name}{at}{symbol.version}\n")
        out.append(f"{symbol.label}:\n")


def emit_sizes(out, symbols):
    out.extend(f"    .size {s.label}, . - {s.label}\n" for s in symbols)
    out.append("\n")


ASSEMBLY_HEAD = """/* Generated from symbols.txt and implemented.txt. */

#if defined(__x86_64__)
#define JUMP jmp
#elif defined(__aarch64__)
#define JUMP b
#else
#error "name this architecture's jump instruction"
#endif

"""


def assembly(symbols, implemented):
    by_name = {}
    for symbol in symbols:
        by_name.setdefault(symbol.name, []).append(symbol)
    out = [ASSEMBLY_HEAD, "    .text\n"]
    data = ["    .bss\n"]
    targets = set()
    for name, versions in sorted(by_name.items()):
        default = default_version(versions)
        if versions[0].failure == "data":
            emit_labels(data, versions, default, "object")
            data.append("    .zero 1\n")
            emit_sizes(data, versions)
            continue
        by_target = {}
        for symbol in versions:
            ours = name in implemented and symbol.kind != "compat"
            target = f"softib_{name}" if ours else f"softib_stub_{symbol.failure}"
            by_target.setdefault(target, []).append(symbol)
        for target, aliases in sorted(by_target.items()):
            targets.add(target)
            out.append("    .p2align 4\n")
            emit_labels(out, aliases, default, "function")
            out.append(f"    JUMP {target}\n")
            emit_sizes(out, aliases)
    out.extend(f"    .hidden {target}\n" for target in sorted(targets))
    out.append("\n")
    out.extend(data)
    out.append('    .section .note.GNU-stack, "", %progbits\n')
    return "".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--symbols", type=pathlib.Path, required=True)
    parser.add_argument("--implemented", type=pathlib.Path, required=True)
    parser.add_argument("--version-script", type=pathlib.Path, required=True)
    parser.add_argument("--assembly", type=pathlib.Path, required=True)
    args = parser.parse_args()
    try:
        symbols = read_symbols(args.symbols)
        implemented = read_implemented(args.implemented, symbols)
    except InputError as error:
        print(f"gen_verbs_symbols: {error}", file=sys.stderr)
        return 1
    args.version_script.write_text(version_script(symbols), encoding="ascii")
    args.assembly.write_text(assembly(symbols, implemented), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
