#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The archives of src/core and src/net need no clock, socket, file, thread or environment.

    check_purity.py TREE ARCHIVE...        reads the symbols that they need"""
import re
import subprocess
import sys

FORBIDDEN = re.compile(
    r"^(clock_gettime|clock_nanosleep|gettimeofday|time|nanosleep|usleep|sleep|timer_.*"
    r"|socket|bind|listen|accept4?|connect|send(to|msg)?|recv(from|msg)?|poll|select|epoll_.*"
    r"|open(at)?(64)?|fopen(64)?|read|pread(64)?|pwrite(64)?|mmap(64)?|shm_open|memfd_create"
    r"|getenv|secure_getenv|setenv|rand|srand|random|getrandom|fork|exec.*|system"
    r"|pthread_.*|__tls_get_addr|sched_yield|syscall"
    r"|_ZNSt6chrono.*|_ZNSt6thread.*|_ZNSt13random_device.*|_ZNSt14basic_[io]?fstream.*)$")


def undefined_symbols(archive):
    output = subprocess.run(["nm", "--undefined-only", "--format=posix", archive], check=True,
                            capture_output=True, text=True).stdout
    return {line.split()[0].split("@")[0] for line in output.splitlines() if " U" in line}


def main():
    complaints = []
    total = 0
    for archive in sys.argv[2:]:
        symbols = undefined_symbols(archive)
        total += len(symbols)
        complaints += [f"{archive}: needs {s}" for s in sorted(symbols) if FORBIDDEN.match(s)]
    if total == 0:
        complaints.append("no symbol was read: wrong archives?")
    print("\n".join(complaints) or
          f"{total} symbols needed by {len(sys.argv) - 2} archives, none of them impure")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
