#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Packs the files of the page into a C++ source: embed.py OUTPUT FILE...

The output depends on the files alone: gzip gets no time stamp, and files are sorted."""
import gzip
import hashlib
import pathlib
import sys

TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
BYTES_PER_LINE = 20


def literal(data):
    """Returns bytes as lines of a C++ array's elements."""
    lines = [", ".join(f"{byte}" for byte in data[at:at + BYTES_PER_LINE])
             for at in range(0, len(data), BYTES_PER_LINE)]
    return ",\n    ".join(lines)


def main():
    output, *files = map(pathlib.Path, sys.argv[1:])
    arrays, rows = [], []
    for number, path in enumerate(sorted(files, key=lambda file: file.name)):
        text = path.read_bytes()
        packed = gzip.compress(text, 9, mtime=0)
        etag = hashlib.sha256(text).hexdigest()[:16]
        arrays.append(f"constexpr unsigned char kFile{number}[] = {{\n    {literal(packed)}}};")
        rows.append(f'    {{"{path.name}", "{TYPES[path.suffix]}", "\\"{etag}\\"",\n'
                    f"     {{reinterpret_cast<const char*>(kFile{number}), sizeof kFile{number}}}"
                    "},")
    output.write_text("\n".join([
        "// Written by src/page/embed.py.", '#include "page/page_files.h"', "",
        "namespace softib::page {", "namespace {", *arrays, "}  // namespace", "",
        "std::span<const PageFile> page_files() {", "    static const PageFile kAll[]{",
        *rows, "    };", "    return kAll;", "}", "", "}  // namespace softib::page", ""]))


if __name__ == "__main__":
    main()
