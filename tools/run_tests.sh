#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs the tests of make test: run_tests.sh JOBS CTEST...
# Many tests wait most of the time. So while the tests of one build run, the next builds compile on
# idle processors (SCHED_IDLE): a test gets a core whenever it needs one. AddressSanitizer's tests
# come last, because they compute most, so that both cores are busy until the end.
set -uo pipefail
cd "$(dirname "$0")/.."
jobs=$1
shift
builders=()  # Process groups, so that compilers can be ended too.

# prepare AFTER SANITIZER: compiles a build in the background, once the process AFTER has ended.
prepare() {
    cmake --preset "$2" -DSOFTIB_PLANNER=OFF >/dev/null || exit
    echo "building build-$2 beside the tests; its output is in build-$2/build.log"
    set -m
    {
        while [[ -n $1 ]] && kill -0 "$1" 2>/dev/null; do sleep 0.2; done
        exec chrt --idle 0 cmake --build "build-$2" -j "$jobs" --target sanitized
    } >"build-$2/build.log" 2>&1 &
    builders+=($!)
    set +m
}

# built NUMBER SANITIZER: waits for builder NUMBER. If it failed, prints its output and ends.
built() {
    wait "${builders[$1]}" && return
    cat "build-$2/build.log"
    exit 1
}

trap 'for each in "${builders[@]}"; do kill -- "-$each" 2>/dev/null; done' EXIT
sanitized=(-L 'sanitize|unit' -LE long)
prepare "" tsan
prepare "${builders[0]}" asan
"$@" --test-dir build -LE long || exit
built 0 tsan
"$@" --test-dir build-tsan "${sanitized[@]}" || exit
built 1 asan
"$@" --test-dir build-asan "${sanitized[@]}"
