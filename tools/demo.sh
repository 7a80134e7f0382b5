#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs the distribution's own InfiniBand programs, unmodified, between two hosts of a fabric.
set -euo pipefail
softib=${1:-$(dirname "$0")/../build/bin/softib}
fabric=demo-$$
port=$((10000 + $$ % 20000))
log=$(mktemp)

finish() {
    "$softib" down "$fabric" >/dev/null || true
    rm -f "$log"
}
trap finish EXIT

if [[ -t 1 ]]; then bold=$'\e[1m' plain=$'\e[0m'; else bold='' plain=''; fi

on() {  # on HOST CPU COMMAND...
    local host=$1 cpu=$2
    shift 2
    # Each side gets a CPU of its own, if there are two.
    (($(nproc) > 1)) && set -- taskset -c "$cpu" "$@"
    "$softib" exec -f "$fabric" "$host" -- "$@"
}

show() {  # show HOST COMMAND...
    local host=$1
    shift
    printf '\n%s%s$ %s%s\n' "$bold" "$host" "$*" "$plain"
    on "$host" 0 "$@"
}

listening() {
    grep -qh ":$(printf %04X "$port") [0-9A-F]*:0000 0A " /proc/net/tcp /proc/net/tcp6
}

measure() {  # measure COMMAND...: server on h0, client on h1; shows the client's table
    printf '\n%sh0$ %s\nh1$ %s localhost%s\n' "$bold" "$*" "$*" "$plain"
    set -- "$1" -p "$port" -F "${@:2}"
    on h0 0 "$@" >"$log" 2>&1 &
    local server=$!
    until listening; do
        kill -0 "$server" 2>/dev/null || { cat "$log"; return 1; }
        sleep 0.02
    done
    on h1 1 "$@" localhost | sed -n '/#bytes/,/^ *-----/p' | grep -v -- '-----'
    wait "$server"
    port=$((port + 1))
}

"$softib" up "$fabric" --hosts 2
"$softib" topo -f "$fabric"
show h0 ibstatus
show h0 ibstat
show h0 ibv_devinfo
measure ib_write_bw -d mlx5_0
measure ib_write_lat -d mlx5_0
