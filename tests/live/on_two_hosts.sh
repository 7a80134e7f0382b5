#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# on_two_hosts.sh SOFTIB PROGRAM [ARGS]: runs a program on both hosts of a private fabric.
#
# The arena is small because a sanitizer leaves less address space, and nothing is preloaded
# because the sanitizer's library must come first. With SOFTIB_TEST_DATA_PATH=packet the fabric has
# the packet path. With SOFTIB_TEST_AM=program the aggregation manager is a program on the second
# host, which must end with status 0. SOFTIB_TEST_UP has further options of the fabric.
set -eu
softib=$1
shift
SOFTIB_RUNTIME_DIR=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
export SOFTIB_RUNTIME_DIR
trap 'rm -rf "$SOFTIB_RUNTIME_DIR"' EXIT
path=${SOFTIB_TEST_DATA_PATH:-direct}
if [ "${SOFTIB_TEST_AM:-}" != program ]; then
    # shellcheck disable=SC2086 # Options are words.
    "$softib" run --hosts 2 --arena 8G --data-path "$path" ${SOFTIB_TEST_UP:-} -- \
        env -u LD_PRELOAD SOFTIB_HOST=h0,h1 "$@"
    exit
fi
trap '"$softib" down --all; rm -rf "$SOFTIB_RUNTIME_DIR"' EXIT
"$softib" up --hosts 2 --arena 8G --data-path "$path" --am none
log=$SOFTIB_RUNTIME_DIR/am.log
"$softib" am h1 > "$log" &
manager=$!
until grep -q READY "$log"; do
    kill -0 $manager
    sleep 0.05
done
"$softib" exec h0 -- env -u LD_PRELOAD SOFTIB_HOST=h0,h1 "$@"
kill $manager
wait $manager
