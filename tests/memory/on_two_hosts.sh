#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# on_two_hosts.sh SOFTIB USER ALLOCATOR PROGRAM [ARGS]: runs a program on both hosts of a private
# fabric, as a user starts it: with the library that softib preloads.
#
# USER: self, or plain: an ordinary user, also where the test is run by root. ALLOCATOR: none, or the
# name of a library that is preloaded besides. 77: this machine cannot.
set -eu
softib=$1 user=$2 allocator=$3
shift 3
as=
if [ "$user" = plain ] && [ "$(id -u)" = 0 ]; then
    as='setpriv --reuid=65534 --regid=65534 --clear-groups --'
    $as "$softib" --version >/dev/null 2>&1 || {
        echo "an ordinary user cannot run $softib here" >&2
        exit 77
    }
fi
SOFTIB_RUNTIME_DIR=$(mktemp -d)
export SOFTIB_RUNTIME_DIR
[ -z "$as" ] || chown 65534:65534 "$SOFTIB_RUNTIME_DIR"
trap 'rm -rf "$SOFTIB_RUNTIME_DIR"' EXIT
library=
if [ "$allocator" != none ]; then
    library=$(ldconfig -p | sed -n "s/.*$allocator\\.so[.0-9]* (.*=> //p" | head -n 1)
    [ -n "$library" ] || {
        echo "no library $allocator here" >&2
        exit 77
    }
fi
$as "$softib" run --hosts 2 --arena 8G --data-path "${SOFTIB_TEST_DATA_PATH:-direct}" -- \
    sh -c 'SOFTIB_HOST=h0,h1; export SOFTIB_HOST
           LD_PRELOAD="$LD_PRELOAD${0:+:$0}" exec "$@"' "$library" "$@"
