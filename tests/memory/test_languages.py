#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs whose runtime has its own ideas of memory: a JVM and Go, where they are installed.

    SOFTIB_BUILD=build python3 tests/memory/test_languages.py java|go
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import SOURCE, Fabric, Failure, find_build, skip

FOLDER = SOURCE / "tests" / "memory"
LIBRARY = find_build() / "tests" / "libmemory_round_trip.so"


def java(_scratch):
    """Java compiles a single file when it runs it, if the compiler is there."""
    modules = subprocess.run(["java", "--list-modules"], capture_output=True, text=True,
                             check=False).stdout
    if "jdk.compiler" not in modules:
        skip("this java has no compiler")
    return ["java", "-Xmx256m", str(FOLDER / "RoundTrip.java"), str(LIBRARY)]


def go(scratch):
    program = pathlib.Path(scratch, "round_trip")
    folder = LIBRARY.parent
    env = {**os.environ, "CGO_ENABLED": "1", "GOCACHE": f"{scratch}/cache",
           "CGO_LDFLAGS": f"-L{folder} -lmemory_round_trip -Wl,-rpath,{folder}"}
    built = subprocess.run(["go", "build", "-o", str(program), str(FOLDER / "round_trip.go")],
                           env=env, capture_output=True, text=True, check=False)
    if built.returncode != 0:
        raise Failure(built.stderr)
    return [str(program)]


def main():
    language = {"java": java, "go": go}[sys.argv[1]]
    if shutil.which(sys.argv[1]) is None:
        skip(f"no {sys.argv[1]}")
    with tempfile.TemporaryDirectory(prefix="softib-test-") as scratch:
        argv = language(scratch)
        with Fabric("--hosts", "2") as fabric:
            output = fabric.run("h0", argv).check().output
    if "round trips: 60" not in output:
        raise Failure(output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
