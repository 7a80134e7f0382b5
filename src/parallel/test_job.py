#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""One fabric on 1, 2 and 4 processes of Open MPI gives the same numbers to the last bit."""
import os
import shutil
import subprocess
import sys


def run(mpirun, processes, program, library_dir):
    words = [mpirun, "-n", str(processes), "--oversubscribe", "--mca", "btl", "self,vader",
             "--mca", "pml", "ob1", program, library_dir]
    if os.geteuid() == 0:
        words.insert(1, "--allow-run-as-root")
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"{processes} processes: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.splitlines()


def main():
    mpirun = shutil.which("mpirun.openmpi")
    if mpirun is None:
        print("no mpirun.openmpi")
        return 77
    one = run(mpirun, 1, *sys.argv[1:3])
    if len(one) < 5:
        sys.exit(f"only {len(one)} cases were run")
    for processes in (2, 4):
        several = run(mpirun, processes, *sys.argv[1:3])
        for expected, got in zip(one, several, strict=True):
            if expected != got:
                sys.exit(f"{processes} processes differ:\n  {expected[:200]}\n  {got[:200]}")
    print(f"{len(one)} cases are the same on 1, 2 and 4 processes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
