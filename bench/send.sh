#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# bench/send.sh NEW_BUILD [OLD_BUILD] [ROUNDS]: SENDs between two pinned cores, interleaved rounds
# of the builds. CORES="a b" names the cores, SHORT=1 leaves out all but the first table. Needs
# perftest, g++. Prints min, median, max. Run where nothing else runs; as root it uses chrt.
new=$1; old=$2; rounds=${3:-5}
read -r c0 c1 <<<"${CORES:-0 1}"
builds=("$new"); [ -n "$old" ] && builds=("$old" "$new")
rt=$(chrt -r 1 true 2>/dev/null && echo "chrt -r 1")
tmp=$(mktemp -d); export SOFTIB_RUNTIME_DIR=$tmp/rt; mkdir -p "$SOFTIB_RUNTIME_DIR"
port=$((20000 + RANDOM % 20000))
cat > "$tmp/line.cc" <<'CC'
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <thread>
alignas(128) std::atomic<unsigned> word{0};
static void pin(int c) { cpu_set_t s; CPU_ZERO(&s); CPU_SET(c, &s);
    pthread_setaffinity_np(pthread_self(), sizeof s, &s); }
int main(int, char** v) { constexpr unsigned n = 200000;
    std::thread t([&] { pin(atoi(v[2])); for (unsigned i = 0; i < n; ++i) {
        while (word.load() != 2 * i + 1) {} word.store(2 * i + 2, std::memory_order_release); } });
    pin(atoi(v[1])); auto s = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < n; ++i) { word.store(2 * i + 1, std::memory_order_release);
        while (word.load() != 2 * i + 2) {} }
    auto e = std::chrono::steady_clock::now(); t.join();
    printf("cache line, one way: %.3f us\n",
           std::chrono::duration<double, std::micro>(e - s).count() / n / 2); }
CC
g++ -O2 -pthread "$tmp/line.cc" -o "$tmp/line"
line() { $rt "$tmp/line" "$c0" "$c1"; }
wait_port() { for _ in $(seq 400); do grep -q ":$(printf %04X "$1") .* 0A " /proc/net/tcp \
    /proc/net/tcp6 && return; sleep 0.01; done; }
# one BUILD PIN0 PIN1 COLUMN SERVER_ARGS -- CLIENT_ARGS
one() {
    local b=$1 p0=$2 p1=$3 col=$4; shift 4
    port=$((port + 1))
    "$b/bin/softib" exec -f bs h0 -- $p0 "$@" -d mlx5_0 -F -p $port >"$tmp/server" 2>&1 &
    local pid=$!
    wait_port $port
    timeout 60 "$b/bin/softib" exec -f bs h1 -- $p1 "$@" -d mlx5_0 -F -p $port localhost \
        2>"$tmp/client" | awk -v c="$col" '/^ *[0-9]+ +[0-9]+ /{print $c}'
    wait $pid
}
# table NAME COLUMN ROUNDS PIN0 PIN1 TEST...
table() {
    local name=$1 col=$2 n=$3 p0=$4 p1=$5; shift 5
    for b in "${builds[@]}"; do : > "$tmp/out$(echo "$b" | tr / _)"; done
    for _ in $(seq "$n"); do for b in "${builds[@]}"; do
        "$b/bin/softib" up bs --hosts 2 >/dev/null || exit 1
        one "$b" "$p0" "$p1" "$col" "$@" >> "$tmp/out$(echo "$b" | tr / _)"
        "$b/bin/softib" down bs >/dev/null
    done; done
    for b in "${builds[@]}"; do
        sort -n "$tmp/out$(echo "$b" | tr / _)" | awk -v n="$name" -v b="$b" '{a[NR]=$1} END {
            printf "%-34s %-40s min %s median %s max %s (%d)\n",
                n, b, a[1], a[int((NR+1)/2)], a[NR], NR}'
    done
}
p0="$rt taskset -c $c0"; p1="$rt taskset -c $c1"
echo "$(nproc) cores, pinned to $c0 and $c1"; line
table "send rate, 8 B, M/s" 5 "$rounds" "$p0" "$p1" ib_send_bw -s 8 -n 1000000
table "write rate, 8 B, M/s" 5 "$rounds" "$p0" "$p1" ib_write_bw -s 8 -n 1000000
table "send latency, 8 B, us" 5 "$rounds" "$p0" "$p1" ib_send_lat -s 8 -n 100000
table "write latency, 8 B, us" 5 "$rounds" "$p0" "$p1" ib_write_lat -s 8 -n 100000
table "send 64 KiB, MiB/s" 4 "$rounds" "$p0" "$p1" ib_send_bw -s 65536 -n 60000
table "write 64 KiB, MiB/s" 4 "$rounds" "$p0" "$p1" ib_write_bw -s 65536 -n 60000
line
[ -n "$SHORT" ] && { rm -rf "$tmp"; exit; }
table "20 short, unpinned, 2 cores, M/s" 5 20 "$rt taskset -c $c0,$c1" "$rt taskset -c $c0,$c1" \
    ib_send_bw -s 8 -n 20000
table "UD rate, 8 B, M/s" 5 "$rounds" "$p0" "$p1" ib_send_bw -c UD -s 8 -n 500000
table "UD latency, 8 B, us" 5 "$rounds" "$p0" "$p1" ib_send_lat -c UD -s 8 -n 50000
table "SRQ rate, 8 B, M/s" 5 "$rounds" "$p0" "$p1" ib_send_bw --use-srq -s 8 -n 500000
table "8 queue pairs, 8 B, M/s" 5 "$rounds" "$p0" "$p1" ib_send_bw -q 8 -s 8 -n 500000
table "short receive queue (RNR), M/s" 5 "$rounds" "$p0" "$p1" ib_send_bw -r 16 -s 8 -n 300000
table "events, rate, 8 B, M/s" 5 "$rounds" "$p0" "$p1" ib_send_bw -e -s 8 -n 100000
table "events, latency, 8 B, us" 5 "$rounds" "$p0" "$p1" ib_send_lat -e -s 8 -n 5000
line
rm -rf "$tmp"
