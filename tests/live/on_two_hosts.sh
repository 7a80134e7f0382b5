#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# on_two_hosts.sh SOFTIB PROGRAM [ARGS]: runs a program on both hosts of a private fabric.
#
# The arena is small because a sanitizer leaves less address space, and nothing is preloaded
# because its library must come first. SOFTIB_TEST_DATA_PATH=packet: on the packet path.
set -eu
softib=$1
shift
SOFTIB_RUNTIME_DIR=$(mktemp -d)
export SOFTIB_RUNTIME_DIR
trap 'rm -rf "$SOFTIB_RUNTIME_DIR"' EXIT
"$softib" run --hosts 2 --arena 8G --data-path "${SOFTIB_TEST_DATA_PATH:-direct}" -- env -u LD_PRELOAD SOFTIB_HOST=h0,h1 "$@"
