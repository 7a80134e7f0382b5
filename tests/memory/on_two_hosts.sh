#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# on_two_hosts.sh SOFTIB USER ALLOCATOR PROGRAM [ARGS]: runs a program on both hosts of a private
# fabric, as a user starts it: with the library that softib preloads.
#
# USER is self, or plain for an ordinary user, also where root runs the test. ALLOCATOR is none, the
# name of a library that is preloaded besides, or bare if softib's is not preloaded either. The exit
# status is 77 if this machine cannot run the test.
set -eu

# Opens the way to a folder, in this mount namespace alone, where an ordinary user may not pass the
# folders above it (a tree in /root): an empty folder covers the first closed one, and the folder is
# put back where it was.
open_way() {
    place=$(mktemp -d)
    mount --bind "$1" "$place" && closed= && above=$1
    while [ "$above" != / ]; do
        above=$(dirname "$above")
        $as sh -c 'test -x "$0"' "$above" || closed=$above
    done
    [ -n "$closed" ] && mount -t tmpfs -o mode=755 tmpfs "$closed" && mkdir -p "$1" &&
        mount --bind "$place" "$1" && umount "$place" && rmdir "$place"
}

softib=$1 user=$2 allocator=$3
build=$(dirname "$(dirname "$softib")")
as=
if [ "$user" = plain ] && [ "$(id -u)" = 0 ]; then
    as='setpriv --reuid=65534 --regid=65534 --clear-groups --'
    # The shell between them has no capabilities; setpriv itself would look its program up with
    # them.
    if ! $as sh -c '"$0" --version' "$softib" >/dev/null 2>&1; then
        if [ -z "${SOFTIB_WAY_OPENED:-}" ] && unshare -m true 2>/dev/null; then
            SOFTIB_WAY_OPENED=tried exec unshare -m "$0" "$@"
        fi
        [ -n "${SOFTIB_WAY_OPENED:-}" ] && open_way "$build" && cd / &&
            $as sh -c '"$0" --version' "$softib" >/dev/null || {
            echo "an ordinary user cannot run $softib here" >&2
            exit 77
        }
    fi
fi
shift 3
SOFTIB_RUNTIME_DIR=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
export SOFTIB_RUNTIME_DIR
[ -z "$as" ] || chown 65534:65534 "$SOFTIB_RUNTIME_DIR"
trap 'rm -rf "$SOFTIB_RUNTIME_DIR"' EXIT
library=
[ "$allocator" != bare ] || set -- env LD_PRELOAD= "$@"
if [ "$allocator" != none ] && [ "$allocator" != bare ]; then
    library=$(ldconfig -p | sed -n "s/.*$allocator\\.so[.0-9]* (.*=> //p" | head -n 1)
    [ -n "$library" ] || {
        echo "no library $allocator here" >&2
        exit 77
    }
fi
$as "$softib" run --hosts 2 --arena 8G --data-path "${SOFTIB_TEST_DATA_PATH:-direct}" -- \
    sh -c 'SOFTIB_HOST=h0,h1; export SOFTIB_HOST
           LD_PRELOAD="$LD_PRELOAD${0:+:$0}" exec "$@"' "$library" "$@"
