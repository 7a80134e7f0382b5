#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs every command of a document, in its order, in a folder of its own that looks like the tree.

    test_commands.py DOCUMENT        documented.py says what a command is
"""
import json
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

# A client that comes before its server is started again, as a person would do. A fabric that is
# brought up finds no other fabric and no program of an earlier one.
DRIVER = r"""
servers=0
clean() {
    local job
    for job in $(jobs -p); do kill -KILL "$job" 2>/dev/null; done
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
    """Runs the commands. Returns the exit status."""
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


def unit_tests():
    """Returns the name of every GoogleTest case in the sources: this build may be without them."""
    for folder in ("src", "tests"):
        for source in (softib_test.SOURCE / folder).rglob("*_test.cc"):
            for suite, case in re.findall(r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)", source.read_text(),
                                          re.MULTILINE):
                yield f"{suite}.{case}", ["unit"]


def all_tests(build):
    """Returns the name and the labels of every test of a build."""
    listed = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"],
                            capture_output=True, text=True, check=True).stdout
    for test in json.loads(listed[listed.index("{"):])["tests"]:
        labels = [each["value"] for each in test.get("properties", []) if each["name"] == "LABELS"]
        yield test["name"], labels[0] if labels else []


def is_idle(call, tests):
    """Returns whether a call of ctest, by names (-R) or labels (-L), selects no test."""
    argv = shlex.split(call)
    by_label = "-L" in argv
    pattern = re.compile(argv[argv.index("-L" if by_label else "-R") + 1])
    return not any(pattern.search(text) for name, labels in tests
                   for text in (labels if by_label else [name]))


def main():
    document = pathlib.Path(sys.argv[1]).resolve()
    build = softib_test.find_build()
    name = document.relative_to(softib_test.SOURCE).as_posix()
    text = document.read_text()
    blocks = documented.blocks(text)
    for block in blocks:
        if block.reason:
            print(f"{name}:{block.line}: not run: {block.reason}")
    calls = documented.ctest_calls(text)
    tests = [*all_tests(build), *unit_tests()] if calls else []
    idle = [call for call in calls if is_idle(call, tests)]
    for call in idle:
        print(f"{name}: no test is named by: {call}")
    return run_blocks(name, blocks, build) or (1 if idle else 0)


if __name__ == "__main__":
    if shutil.which("bash") is None:
        softib_test.skip("there is no bash")
    sys.exit(main())
