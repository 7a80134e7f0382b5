#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs one rank of bench/nccl.sh: torch.distributed with NCCL. Values are small whole numbers,
whose sums are exact in floats, so that every element of a result can be compared for equality."""
import argparse
import datetime
import json
import pathlib
import sys
import time

import torch
import torch.distributed as dist

WORD = 4
PERIOD = 61
RUNS_MIN = 6  # Least number of runs of an operation while it is measured, with checks.
LARGE = 1 << 20  # From here on the time of an operation grows with its size.
BYTES_PER_S_MIN = 1e8  # The rate to expect of large operations before one was measured.
COUNTER = pathlib.Path("/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data")


def pattern(count, rank, device):
    """Returns what a rank sends: element i is i modulo PERIOD, plus the rank."""
    return (torch.arange(count, device=device, dtype=torch.int32) % PERIOD + rank).float()


class Ranks:
    def __init__(self, options):
        self.rank, self.world, self.device = options.rank, options.world, torch.device("cuda", 0)
        self.next, self.previous = (self.rank + 1) % self.world, (self.rank - 1) % self.world

    def all_reduce(self, count):
        """Returns the functions that prepare, do and check the operation."""
        data = torch.empty(count, device=self.device)
        mine = pattern(count, self.rank, self.device)
        ranks = self.world * (self.world - 1) / 2
        return (lambda: data.copy_(mine), lambda: dist.all_reduce(data),
                lambda: torch.equal(data, (mine - self.rank) * self.world + ranks))

    def all_gather(self, count):
        each = count // self.world
        mine, data = (pattern(each, self.rank, self.device),
                      torch.empty(each * self.world, device=self.device))
        return (lambda: data.zero_(), lambda: dist.all_gather_into_tensor(data, mine),
                lambda: all(torch.equal(data[r * each:(r + 1) * each], mine - self.rank + r)
                            for r in range(self.world)))

    def reduce_scatter(self, count):
        each = count // self.world
        mine, data = (pattern(each * self.world, self.rank, self.device),
                      torch.empty(each, device=self.device))
        part = slice(self.rank * each, (self.rank + 1) * each)
        ranks = self.world * (self.world - 1) / 2
        return (lambda: data.zero_(), lambda: dist.reduce_scatter_tensor(data, mine),
                lambda: torch.equal(data, (mine[part] - self.rank) * self.world + ranks))

    def broadcast(self, count):
        root = self.world - 1
        data, wanted = torch.empty(count, device=self.device), pattern(count, root, self.device)
        prepare = (lambda: data.copy_(wanted)) if self.rank == root else (lambda: data.zero_())
        return prepare, lambda: dist.broadcast(data, root), lambda: torch.equal(data, wanted)

    def send_recv(self, count):
        """Sends to the next rank of a ring."""
        mine, data = pattern(count, self.rank, self.device), torch.empty(count, device=self.device)

        def exchange():
            for request in dist.batch_isend_irecv([dist.P2POp(dist.isend, mine, self.next),
                                                   dist.P2POp(dist.irecv, data, self.previous)]):
                request.wait()
        return (lambda: data.zero_(), exchange,
                lambda: torch.equal(data, mine - self.rank + self.previous))

    def all_to_all(self, count):
        each = count // self.world
        mine, data = (pattern(each * self.world, self.rank, self.device),
                      torch.empty(each * self.world, device=self.device))
        part = mine[self.rank * each:(self.rank + 1) * each] - self.rank
        return (lambda: data.zero_(), lambda: dist.all_to_all_single(data, mine),
                lambda: all(torch.equal(data[r * each:(r + 1) * each], part + r)
                            for r in range(self.world)))


def timed(action, repeats):
    dist.barrier()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        action()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / repeats


def agreed(value, device, operation=dist.ReduceOp.MAX):
    """Returns the same number on all ranks."""
    shared = torch.tensor([value], device=device, dtype=torch.float64)
    dist.all_reduce(shared, op=operation)
    return shared.item()


def fits(ranks, end, last, size):
    """Returns whether the operation will end in time, judged by its last size. The slowest rank
    decides for all."""
    large = last and last["size"] >= LARGE
    bytes_per_s = last["size"] / last["ms"] * 1e3 if large else BYTES_PER_S_MIN
    return not agreed(time.monotonic() + RUNS_MIN * size / bytes_per_s > end, ranks.device)


def fabric_bytes():
    try:
        return int(COUNTER.read_text()) * WORD
    except (OSError, ValueError):
        return 0


def measure(ranks, operation, size):
    prepare, act, right = getattr(ranks, operation)(max(ranks.world, size // WORD))
    before = fabric_bytes()
    prepare()
    first = timed(act, 1)
    wrong = 0 if right() else 1
    once = agreed(timed(act, 1), ranks.device)
    repeats = int(min(100, max(2, 0.25 / max(once, 1e-6))))
    spent = agreed(timed(act, repeats), ranks.device)
    prepare()
    timed(act, 1)
    wrong += 0 if right() else 1
    return {"operation": operation, "size": size, "ms": spent * 1e3, "first_ms": first * 1e3,
            "repeats": repeats, "wrong": agreed(wrong, ranks.device, dist.ReduceOp.SUM),
            "fabric_bytes": fabric_bytes() - before}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("rank", "world", "port"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--sizes", required=True)
    parser.add_argument("--operations", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--result", required=True)
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    torch.cuda.set_device(0)
    dist.init_process_group(
        "nccl", init_method=f"tcp://127.0.0.1:{options.port}", rank=options.rank,
        world_size=options.world, timeout=datetime.timedelta(seconds=120))
    ranks = Ranks(options)
    with open(options.result if options.rank == 0 else "/dev/null", "w") as file:
        last = {}
        for size in map(int, options.sizes.split(",")):
            for operation in options.operations.split(","):
                if not fits(ranks, end, last.get(operation), size):
                    print(f"no time left for {operation} of {size} bytes")
                    continue
                last[operation] = measure(ranks, operation, size)
                print(json.dumps(last[operation]), file=file, flush=True)
                torch.cuda.empty_cache()
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
