#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Packs style and script of reports into a C++ source: embed_report.py OUTPUT CSS... JS

The dark colours of each style are repeated for browsers whose user wants a dark page and has not
chosen, since a report's pictures need no script."""
import pathlib
import re
import sys

DARK = re.compile(r':root\[data-theme="dark"\] \{(.*?)\}', re.S)


def small_css(text):
    for block in DARK.findall(text):
        text += ("@media (prefers-color-scheme: dark) { :root:not([data-theme]) {" + block + "} }")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r" ?([{};,]) ?", r"\1", text)
    return re.sub(r"(?<=[\w)]): ", ":", text).replace(";}", "}").strip()


def small_js(text):
    lines = [line.strip() for line in text.splitlines()]
    return "\n".join(line for line in lines if line and not line.startswith("//")) + "\n"


def main():
    output, *styles, script = map(pathlib.Path, sys.argv[1:])
    css = "".join(small_css(path.read_text()) for path in styles)
    output.write_text("\n".join([
        "// Written by src/page/embed_report.py.", '#include "page/report_files.h"', "",
        "namespace softib::page {", "std::string_view report_style() {",
        f'    return R"~({css})~";', "}", "std::string_view report_script() {",
        f'    return R"~({small_js(script.read_text())})~";', "}",
        "}  // namespace softib::page", ""]))


if __name__ == "__main__":
    main()
