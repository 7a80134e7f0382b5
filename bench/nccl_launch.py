#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Starts the ranks of bench/nccl.sh on the hosts of a fabric, for each number of ranks: over
sockets, over softib through the host's memory, and over softib from GPU to GPU. Makes a table of
all three. Runs on a host of the fabric (softib run)."""
import argparse
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

RANK = pathlib.Path(__file__).resolve().with_name("nccl_rank.py")
TRAINING = RANK.with_name("nccl_ddp.py")
TRAINING_SECONDS = 60
OPERATIONS = ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "send_recv", "all_to_all"]
SIZES = "1K,32K,1M,16M,128M,1G"
# Settings of NCCL. How far a GPU may be from its HCA (NCCL_NET_GDR_LEVEL) decides about GPUDirect.
TRANSPORTS = {
    "sockets": {"NCCL_NET": "Socket"},
    "staged": {"NCCL_NET": "IB", "NCCL_NET_GDR_LEVEL": "LOC"},
    "gpudirect": {"NCCL_NET": "IB", "NCCL_NET_GDR_LEVEL": "SYS"},
    # Messages of 2 MiB instead of 512 KiB, and of 1 MiB instead of 128 KiB from one to one: fewer
    # waits for the GPU.
    "gpudirect-large": {"NCCL_NET": "IB", "NCCL_NET_GDR_LEVEL": "SYS", "NCCL_BUFFSIZE": "16777216",
                        "NCCL_P2P_NET_CHUNKSIZE": "1048576"},
    # libnccl-net-softib.so: a ring of ranks, and all-reduce in the switches (SHARP).
    "ring": {"NCCL_NET_PLUGIN": "softib", "NCCL_ALGO": "allreduce:ring",
             "NCCL_NET_GDR_LEVEL": "LOC"},
    "switches": {"NCCL_NET_PLUGIN": "softib", "NCCL_COLLNET_ENABLE": "1",
                 "NCCL_ALGO": "allreduce:collnetchain", "NCCL_NET_GDR_LEVEL": "LOC"},
    "ring-gpudirect": {"NCCL_NET_PLUGIN": "softib", "NCCL_ALGO": "allreduce:ring",
                       "NCCL_NET_GDR_LEVEL": "SYS"},
    "switches-gpudirect": {"NCCL_NET_PLUGIN": "softib", "NCCL_COLLNET_ENABLE": "1",
                           "NCCL_ALGO": "allreduce:collnetchain", "NCCL_NET_GDR_LEVEL": "SYS"},
    # All-reduce in the switches by the plug-in of nccl-rdma-sharp-plugins, which
    # SOFTIB_NCCL_SHARP_PLUGIN names.
    "vendor": {"NCCL_NET_PLUGIN": os.environ.get("SOFTIB_NCCL_SHARP_PLUGIN", ""),
               "NCCL_COLLNET_ENABLE": "1", "NCCL_ALGO": "allreduce:collnetchain",
               "NCCL_NET_GDR_LEVEL": "LOC"},
    # The switches refuse the job: NCCL must go on without them.
    "refused": {"NCCL_NET_PLUGIN": "softib", "NCCL_COLLNET_ENABLE": "1",
                "NCCL_NET_GDR_LEVEL": "LOC", "SHARP_COLL_JOB_QUOTA_OSTS": "1000000"},
}
IN_SWITCHES = {"switches", "switches-gpudirect", "vendor"}
# What NCCL logs when switches do the all-reduce, and when it goes on without them.
OFFLOADED, NOT_OFFLOADED = ("via COLLNET/", "Connected Collnet Chains"), "Cannot initialize CollNet"
TITLES = {"sockets": "sockets", "staged": "softib, staged", "gpudirect": "softib, GPUDirect",
          "gpudirect-large": "softib, GPUDirect, large messages", "ring": "plug-in, ring",
          "switches": "plug-in, switches", "ring-gpudirect": "plug-in, ring, GPUDirect",
          "switches-gpudirect": "plug-in, switches, GPUDirect",
          "vendor": "nccl-rdma-sharp-plugins, switches", "refused": "plug-in, switches refused"}
TABLE = ["sockets", "staged", "gpudirect"]
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def bytes_of(text):
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)


def size_name(size):
    for unit, value in reversed(UNITS.items()):
        if size >= value:
            return f"{size // value} {unit}iB"
    return f"{size} B"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def nccl_environment(rank, transport, log):
    return dict(
        os.environ,
        NCCL_HOSTID=f"softib-h{rank}",  # Otherwise ranks on one machine would use shared memory.
        NCCL_SOCKET_IFNAME="lo",
        NCCL_IB_HCA="mlx5_0",
        NCCL_DEBUG="INFO",
        NCCL_DEBUG_SUBSYS="INIT,NET",
        NCCL_DEBUG_FILE=str(log),
        PYTHONUNBUFFERED="1",
        # All kernels must fit on the GPU at once.
        NCCL_MAX_NCHANNELS=os.environ.get("NCCL_MAX_NCHANNELS", "4"),
        TORCH_NCCL_ASYNC_ERROR_HANDLING="1",
        **TRANSPORTS[transport])


def end(processes):
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run_script(script, world, transport, folder, arguments, deadline):
    """Returns the lines that rank 0 of the script wrote, and what went wrong."""
    folder.mkdir()
    command = ["--world", str(world), "--port", str(free_port()), "--result",
               str(folder / "result"), *arguments]
    processes = []
    try:
        for rank in range(world):
            processes.append(subprocess.Popen(
                ["softib", "exec", f"h{rank}", "--", sys.executable, str(script), "--rank",
                 str(rank), *command],
                env=nccl_environment(rank, transport, folder / f"nccl-{rank}.log"),
                stdout=open(folder / f"out-{rank}", "w"), stderr=subprocess.STDOUT,
                start_new_session=True))
        while any(process.poll() is None for process in processes):
            if time.monotonic() > deadline + 30 or any(process.poll() for process in processes):
                break
            time.sleep(0.1)
        statuses = [process.poll() for process in processes]
    finally:
        end(processes)
    results = [json.loads(line) for line in (folder / "result").read_text().splitlines()] \
        if (folder / "result").exists() else []
    complaint = ""
    if any(statuses) or None in statuses:
        complaint = f"{script.name}, {world} ranks over {transport}: exit statuses {statuses}\n"
        first = next((rank for rank, status in enumerate(statuses) if status), 0)
        for name in (f"out-{first}", f"nccl-{first}.log"):
            path = folder / name
            if path.exists():
                complaint += (f"--- {name}\n" +
                              "\n".join(path.read_text(errors="replace").splitlines()[-25:]) + "\n")
    return results, complaint


def run_ranks(world, transport, options, deadline):
    """Returns the results by operation and size, and what went wrong."""
    # Sizes that would take too long are left out by all ranks.
    results, complaint = run_script(
        RANK, world, transport, pathlib.Path(options.work, f"{transport}-{world}"),
        ["--sizes", options.sizes, "--operations", options.operations,
         "--seconds", str(max(5, deadline - time.monotonic()))], deadline)
    if not complaint and transport != "sockets" and not any(
            result.get("fabric_bytes") for result in results):
        complaint = f"{world} ranks over {transport}: no byte crossed the fabric\n"
    if not complaint and reports_gpudirect(options, world, transport) != ("gpudirect" in transport):
        complaint = f"{world} ranks over {transport}: NCCL's log says otherwise of GPUDirect\n"
    if not complaint and transport in IN_SWITCHES:
        for rank in range(world):
            log = log_text(options, world, transport, rank)
            if not all(words in log for words in OFFLOADED) or NOT_OFFLOADED in log:
                complaint = (f"{world} ranks over {transport}: rank {rank}'s log knows "
                             "nothing of switches\n")
    if not complaint and transport == "refused" and NOT_OFFLOADED not in log_text(
            options, world, transport, 0):
        complaint = f"{world} ranks over {transport}: NCCL's log does not say so\n"
    return results, complaint


def log_text(options, world, transport, rank):
    log = pathlib.Path(options.work, f"{transport}-{world}", f"nccl-{rank}.log")
    return log.read_text(errors="replace") if log.exists() else ""


def reports_gpudirect(options, world, transport):
    """Returns whether NCCL says that rank 0 sends and receives by GPUDirect."""
    return "/GDRDMA" in log_text(options, world, transport, 0)


def train(options):
    """Returns lines about a training over each transport, and what went wrong."""
    losses, complaints = {}, []
    for transport in options.transports.split(","):
        results, complaint = run_script(
            TRAINING, 2, transport, pathlib.Path(options.work, f"{transport}-training"), [],
            time.monotonic() + TRAINING_SECONDS)
        if complaint or not results:
            complaints.append(complaint or f"training over {transport}: no losses\n")
            continue
        losses[transport] = results[0]["losses"]
        if losses[transport][-1] > losses[transport][0] / 10:
            complaints.append(
                f"training over {transport} did not converge: {losses[transport][::50]}\n")
    if len({tuple(values) for values in losses.values()}) > 1:
        complaints.append(f"trainings differ: {[values[::50] for values in losses.values()]}\n")
    lines = [f"| {transport} | {len(values)} | {values[0]:.6f} | {values[-1]:.6f} |"
             for transport, values in losses.items()]
    return ["## Training", "",
            "DistributedDataParallel on 2 ranks (`bench/nccl_ddp.py`), the mean loss of a step:",
            "", "| transport | steps | first | last |", "|---|---|---|---|", *lines, ""], complaints


def version_line(options):
    log = next((log for transport in ("gpudirect", "staged", "switches", "vendor")
                for log in pathlib.Path(options.work).glob(f"{transport}-*/nccl-0.log")), None)
    lines = log.read_text(errors="replace").splitlines() if log else []
    used = [line.split("NCCL INFO", 1)[-1].strip() for line in lines
            if "NET/IB : Using" in line or "NCCL version" in line or "Using network" in line
            or "GPU Direct RDMA" in line or any(words in line for words in OFFLOADED)]
    return list(dict.fromkeys(used))[:8]


def table(world, by_transport):
    """Returns a table of times; for each transport over softib also the bytes in a second, and how
    many times faster it is than the first transport (sockets, if they were measured)."""
    first = next(iter(by_transport))
    ours = [transport for transport in by_transport if transport != "sockets"]
    compared = [transport for transport in by_transport if transport != first]
    titles = [f"{TITLES[transport]}, ms" for transport in by_transport]
    titles += [f"{transport}, GB/s" for transport in ours]
    titles += [f"{transport}, times faster than {first}" for transport in compared]
    rows = [f"## {world} ranks", "", "| operation | bytes of a rank | " + " | ".join(titles) + " |",
            "|---" * (2 + len(titles)) + "|"]
    found = {(t, r["operation"], r["size"]): r["ms"] for t, results in by_transport.items()
             for r in results if "ms" in r}
    for operation, size in sorted({key[1:] for key in found},
                                  key=lambda k: (OPERATIONS.index(k[0]), k[1])):
        ms = {transport: found.get((transport, operation, size)) for transport in by_transport}
        cells = [f"{ms[transport]:.3f}" if ms[transport] else "–" for transport in by_transport]
        cells += [f"{size / ms[transport] / 1e6:.2f}" if ms[transport] else "–"
                  for transport in ours]
        cells += [f"{ms[first] / ms[transport]:.2f}" if ms[transport] and ms[first] else "–"
                  for transport in compared]
        rows.append(f"| {operation} | {size_name(size)} | " + " | ".join(cells) + " |")
    for transport in ours:
        crossed = sum(r.get("fabric_bytes", 0) for r in by_transport[transport])
        rows += ["", f"{crossed / 1e9:.1f} GB left the port of rank 0 ({TITLES[transport]})."]
    return [*rows, ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", default="2,4,8", help="numbers of ranks")
    parser.add_argument("--sizes", default=SIZES, help="bytes of a rank, with K, M, G")
    parser.add_argument("--operations", default=",".join(OPERATIONS))
    parser.add_argument("--transports", default=",".join(TABLE),
                        help=f"some of {','.join(TRANSPORTS)}")
    parser.add_argument("--no-training", dest="training", action="store_false",
                        help="leave out bench/nccl_ddp.py")
    parser.add_argument("--minutes", type=float, default=12, help="for all collectives together")
    parser.add_argument("--mps", default="unknown", help="whether ranks share the GPU by MPS")
    parser.add_argument("--work", required=True, help="directory for logs")
    parser.add_argument("--write", help="also write the table to this file")
    options = parser.parse_args()
    options.sizes = ",".join(str(bytes_of(size)) for size in options.sizes.split(","))
    worlds = [int(world) for world in options.worlds.split(",")]
    transports = options.transports.split(",")
    start, runs_left = time.monotonic(), len(worlds) * len(transports)
    lines, complaints = [], []
    for world in worlds:
        by_transport = {}
        for transport in transports:
            now = time.monotonic()
            share = (start + 60 * options.minutes - now) / runs_left
            by_transport[transport], complaint = run_ranks(world, transport, options, now + share)
            runs_left -= 1
            wrong = [r for r in by_transport[transport] if r.get("wrong")]
            complaints += [complaint] * bool(complaint) + [
                f"{world} ranks over {transport}: wrong data: {r}\n" for r in wrong]
            print(f"{world} ranks over {transport}: {len(by_transport[transport])} measured, "
                  f"{'FAILED' if complaint or wrong else 'all data right'}, "
                  f"{time.monotonic() - now:.0f} s", file=sys.stderr, flush=True)
        lines += table(world, by_transport)
    if options.training:
        training, wrong = train(options)
        lines += training
        complaints += wrong
    head = ["# NCCL over softib", "",
            f"Written by `bash bench/nccl.sh --transports {options.transports}`:",
            "all ranks on one GPU, each on a virtual host of its own, by way of the host's memory "
            "(staged) or from GPU to",
            "GPU (GPUDirect), in one run. Every result was compared with the expected one, "
            "in every rank.", "",
            *[f"    {line}" for line in version_line(options)], f"    MPS: {options.mps}", ""]
    text = "\n".join(head + lines)
    print(text)
    print("\n".join(complaints), file=sys.stderr)
    if options.write:
        pathlib.Path(options.write).write_text(text)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
