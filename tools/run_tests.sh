#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs the tests of make test: run_tests.sh JOBS CTEST...
# Most tests wait. While those of one build run, the next build compiles on what they leave of the
# processors (SCHED_IDLE), so that a test gets its core when it wants one.
set -uo pipefail
cd "$(dirname "$0")/.."
jobs=$1
shift
builder=

# prepare SANITIZER: compiles its build in the background.
prepare() {
    cmake --preset "$1" >/dev/null || exit
    echo "building build-$1 beside the tests; its output is in build-$1/build.log"
    set -m  # A process group of its own, so that its compilers can be ended too.
    chrt --idle 0 cmake --build "build-$1" -j "$jobs" --target sanitized \
        >"build-$1/build.log" 2>&1 &
    builder=$!
    set +m
}

# built SANITIZER: waits for it.
built() {
    wait "$builder" && builder= && return
    cat "build-$1/build.log"
    exit 1
}

trap '[[ -z $builder ]] || kill -- "-$builder" 2>/dev/null' EXIT
sanitized=(-L 'sanitize|unit' -LE long)
prepare asan
"$@" --test-dir build -LE long || exit
built asan
prepare tsan
"$@" --test-dir build-asan "${sanitized[@]}" || exit
built tsan
"$@" --test-dir build-tsan "${sanitized[@]}"
