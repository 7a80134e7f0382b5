#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs commands in a terminal, and writes an SVG that plays what the terminal showed.

    tools/record_session.py FILE.svg COMMAND...

Each command is a line for bash; all run in one folder, one after the other. A command that fails
ends the recording, and no file is written. The SVG keeps the time between lines, but cuts pauses to
PAUSE_MAX_S.
"""
import html
import os
import pty
import re
import subprocess
import sys
import time

COLUMNS = 100
FONT_PX, LINE_PX, CHAR_PX, MARGIN_PX = 13, 18, 7.83, 14
TYPING_S = 0.035    # Time for each character of a command.
PAUSE_S = 0.7       # Pause before each command, for the reader.
PAUSE_MAX_S = 1.5
REST_S = 6          # Time that the whole session stays before it begins again.
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def run(command):
    """Returns [(seconds, line)] of what a command prints on a terminal."""
    master, slave = pty.openpty()
    environment = dict(os.environ, TERM="xterm", COLUMNS=str(COLUMNS), NO_COLOR="1")
    child = subprocess.Popen(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=slave,
                             stderr=slave, env=environment, close_fds=True)
    os.close(slave)
    begin, pending, lines = time.monotonic(), b"", []
    while True:
        try:
            data = os.read(master, 4096)
        except OSError:  # The last program closed the terminal.
            data = b""
        *whole, pending = (pending + data).split(b"\n")
        at = time.monotonic() - begin
        lines += [(at, ESCAPES.sub("", line.decode()).rstrip().split("\r")[-1]) for line in whole]
        if not data:
            break
    os.close(master)
    if child.wait() != 0:
        last = lines[-1][1] if lines else "it printed nothing"
        sys.exit(f"'{command}' failed with {child.returncode}: {last}")
    return lines


def record(commands):
    """Returns [(seconds, text, is_command)] of the whole session."""
    now, session = 0.0, []
    for command in commands:
        now += PAUSE_S
        session.append((now, "$ " + command, True))
        now += TYPING_S * len(command)
        begin = before = now
        for at, line in run(command):
            now = min(begin + at, before + PAUSE_MAX_S)
            before = now
            session.append((now, line, False))
    return session


def draw(session):
    total = session[-1][0] + REST_S
    height = 2 * MARGIN_PX + LINE_PX * len(session)
    width = 2 * MARGIN_PX + CHAR_PX * max(60, *(len(text.expandtabs()) for _, text, _ in session))
    rules, texts = [], []
    for number, (at, text, is_command) in enumerate(session):
        # A viewer that plays no animation shows all lines.
        start = 100 * at / total
        rules.append(f"@keyframes l{number}{{0%,{start:.2f}%{{opacity:0}}"
                     f"{start + 0.01:.2f}%,100%{{opacity:1}}}}"
                     f".l{number}{{animation:l{number} {total:.1f}s infinite}}")
        kind = " class=\"c\"" if is_command else ""
        y = MARGIN_PX + LINE_PX * (number + 1) - 5
        texts.append(f"<g class=\"l{number}\"><text x=\"{MARGIN_PX}\" y=\"{y}\"{kind} "
                     f"xml:space=\"preserve\">{html.escape(text.expandtabs())}</text></g>")
    return "\n".join([
        "<svg xmlns=\"http://www.w3.org/2000/svg\" "
        f"viewBox=\"0 0 {width:.0f} {height}\" role=\"img\" "
        "aria-label=\"A terminal session\">",
        f"<style>text{{font:{FONT_PX}px ui-monospace,Menlo,Consolas,monospace;fill:#d6deeb}}"
        ".c{fill:#7fdbca;font-weight:bold}",
        *rules,
        "@media (prefers-reduced-motion:reduce){g{animation:none!important}}</style>",
        f"<rect width=\"{width:.0f}\" height=\"{height}\" rx=\"8\" fill=\"#011627\"/>",
        *texts, "</svg>", ""])


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    picture = draw(record(sys.argv[2:]))
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write(picture)


if __name__ == "__main__":
    main()
