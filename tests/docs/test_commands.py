#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs every command of a document, in its order, in a folder of its own that looks like the tree.

    test_commands.py DOCUMENT        documented.py says what a command is
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import documented
import softib_test

# A client that comes before its server is started again, as a person would. A fabric that is
# brought up finds no other and no program of an earlier one.
DRIVER = r"""
servers=0
clean() {
    local job
    for job in $(jobs -p); do kill -- "$job" 2>/dev/null; done
    wait 2>/dev/null
    servers=0
    softib list --json | python3 -c 'import json, sys
for fabric in json.load(sys.stdin): print(fabric["name"])' | xargs -r -n 1 softib down >/dev/null
}
run() {  # run WHERE STATEMENT
    local tries=0
    printf '%s: %s\n' "$1" "$2"
    [[ $2 =~ softib\ up ]] && clean
    until eval "$2"; do
        ((servers && ++tries < 50)) || { echo "$1: failed"; clean; exit 1; }
        sleep 0.1
    done
    [[ $2 == *'&' || $2 == *'& '*'#'* ]] && servers=1
    return 0
}
"""


def script_of(name, blocks):
    """Returns the shell script that runs the blocks."""
    calls = [f"run {shlex.quote(f'{name}:{block.line}')} {shlex.quote(statement)}"
             for block in blocks if not block.reason for statement in block.statements]
    return "\n".join([DRIVER, *calls, "clean", ""])


def run_blocks(name, blocks, build):
    """Runs them; returns the exit status."""
    with tempfile.TemporaryDirectory(prefix="softib-docs-") as folder:
        home = pathlib.Path(folder, "tree")
        home.mkdir()
        for entry in softib_test.SOURCE.iterdir():
            if not entry.name.startswith((".", "build")):
                (home / entry.name).symlink_to(entry)
        # What was built, and not the folder itself: nothing here builds.
        (home / "build").mkdir()
        for entry in ("bin", "lib", "examples", "tests"):
            (home / "build" / entry).symlink_to(build / entry)
        runtime = pathlib.Path(folder, "run")
        runtime.mkdir(mode=0o700)
        environment = dict(os.environ, XDG_RUNTIME_DIR=str(runtime), HOME=str(home), TMPDIR=folder,
                           PATH=f"{build / 'bin'}:{os.environ['PATH']}")
        return subprocess.run(["bash", "-c", script_of(name, blocks)], cwd=home, env=environment,
                              stdin=subprocess.DEVNULL).returncode


def tests_of(call, build):
    """Returns how many tests a call of ctest names."""
    argv = shlex.split(call)
    argv[argv.index("--test-dir") + 1] = str(build)
    output = subprocess.run([*argv, "-N"], capture_output=True, text=True).stdout
    found = re.search(r"Total Tests: (\d+)", output)
    return int(found[1]) if found else 0


def main():
    document = pathlib.Path(sys.argv[1]).resolve()
    build = softib_test.find_build()
    name = document.relative_to(softib_test.SOURCE).as_posix()
    text = document.read_text()
    blocks = documented.blocks(text)
    for block in blocks:
        if block.reason:
            print(f"{name}:{block.line}: not run: {block.reason}")
    idle = [call for call in documented.ctest_calls(text) if tests_of(call, build) == 0]
    for call in idle:
        print(f"{name}: no test is named by: {call}")
    return run_blocks(name, blocks, build) or (1 if idle else 0)


if __name__ == "__main__":
    if shutil.which("bash") is None:
        softib_test.skip("there is no bash")
    sys.exit(main())
