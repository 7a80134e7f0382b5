#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures the management plane: routing and its quality, bring-up, repair, path queries.

OpenSM over ibsim is measured in the same run, for comparison. Writes
docs/performance-management.md."""
import argparse
import glob
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from run import machine_name

OPENSM_HOSTS = 2048
PATIENCE = 300
QUALITY_SEEDS = 5


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        raise RuntimeError(
            f"{' '.join(command)}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def rows(table):
    return [line.split() for line in table.splitlines()[1:]]


def opensm_over_ibsim(build, engine):
    """Returns CPU seconds and wall seconds of one OpenSM sweep of a fat tree; None if it is not
    installed."""
    library = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so") + glob.glob("/usr/lib/umad2sim/*.so")
    if not library or shutil.which("ibsim") is None or shutil.which("opensm") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        netlist = f"{folder}/net"
        run(f"{build}/bin/softib", "topo", "--topology", "fat-tree", "--hosts", str(OPENSM_HOSTS),
            "--radix", "64", "--levels", "2", "--generation", "HDR", "--ibsim", netlist)
        env = dict(os.environ, IBSIM_SOCKNAME=f"softib-bench-{os.getpid()}")
        simulator = subprocess.Popen(
            ["ibsim", "-s", "-n", "-N", "8192", "-S", "1024", "-P", "262144", netlist], cwd=folder,
            env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(2)
            first = next(line.split('"')[1] for line in Path(netlist).read_text().splitlines()
                         if line.startswith(("Hca", "Ca")))
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            start = time.monotonic()
            subprocess.run(["opensm", "-o", "-R", engine, "-f", f"{folder}/log"], cwd=folder,
                           capture_output=True, timeout=PATIENCE,
                           env=dict(env, LD_PRELOAD=library[0], SIM_HOST=first,
                                    OSM_CACHE_DIR=f"{folder}/", OSM_TMP_DIR=f"{folder}/"))
            wall = time.monotonic() - start
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if "SUBNET UP" not in Path(folder, "log").read_text(errors="replace"):
                return None
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall
        except subprocess.TimeoutExpired:
            return None
        finally:
            simulator.kill()
            simulator.wait()


def shift_contention(softib, env, *flags, ranks=None):
    """Returns the mean number of flows on the busiest link over all shifts, on one live fabric."""
    subprocess.run([softib, "up", "quality", *flags], check=True, capture_output=True, env=env,
                   timeout=PATIENCE)
    try:
        found = []
        order = next(iter(Path(env["SOFTIB_RUNTIME_DIR"]).glob("quality/sm/*ca-order*")), None)
        for more in ([], ["--ranks", str(order)] if order else None):
            if more is not None:
                result = subprocess.run(
                    [softib, "routes", "check", "-f", "quality", "--permutations", "--json", *more],
                    capture_output=True, text=True, env=env, timeout=PATIENCE)
                found.append(json.loads(result.stdout)["shifts"]["flows_mean"])
        return min(found)
    finally:
        subprocess.run([softib, "down", "quality"], check=True, capture_output=True, env=env,
                       timeout=PATIENCE)


def beside_opensm(build):
    """Returns (net, seed, ours, OpenSM's) for fat trees that lost cables, both routed by "ftree" on
    the live fabric. OpenSM gets the roots, without which it refuses such trees. Its figure is the
    better one of two orders of hosts: the one that it proposes, and ours."""
    if shutil.which("opensm") is None:
        return []
    found = []
    softib = os.path.abspath(f"{build}/bin/softib")
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, SOFTIB_RUNTIME_DIR=folder)
        for name, shape, top in (
                ("2 levels, 512 hosts, 5 % of cables lost", (512, 32, 2, 5), "spine"),
                ("3 levels, 432 hosts, 3 % of cables lost", (432, 12, 3, 3), "core")):
            for seed in range(1, QUALITY_SEEDS + 1):
                net, roots = f"{folder}/net", f"{folder}/roots"
                text = run(f"{build}/bench/bench_routing", "net", *map(str, shape), str(seed))
                Path(net).write_text(text)
                Path(roots).write_text("\n".join(
                    re.findall(rf'switchguid=(0x\w+)\S*\nSwitch\s+\d+ "{top}\d+"', text)) + "\n")
                ours = shift_contention(softib, env, "--from", net, "--engine", "ftree")
                theirs = shift_contention(softib, env, "--from", net, "--sm", "opensm", "--sm-args",
                                          f"-R ftree,no_fallback -a {roots}")
                found.append((name, seed, ours, theirs))
    return found


def on_real_clusters(build):
    """Returns (dump, flows with auto, OpenSM's best engine, its flows) for each dump in
    the directory that SOFTIB_TEST_DUMPS names, both on the live fabric."""
    folder = os.environ.get("SOFTIB_TEST_DUMPS")
    if shutil.which("opensm") is None or not folder:
        return []
    found = []
    softib = os.path.abspath(f"{build}/bin/softib")
    with tempfile.TemporaryDirectory() as runtime:
        env = dict(os.environ, SOFTIB_RUNTIME_DIR=runtime)
        for dump in sorted(Path(folder).iterdir()):
            ours = shift_contention(softib, env, "--from", str(dump))
            theirs = min((shift_contention(softib, env, "--from", str(dump), "--sm", "opensm",
                                           "--sm-args", f"-R {engine}"), engine)
                         for engine in ("minhop", "updn", "ftree", "dfsssp", "nue"))
            found.append((dump.name, ours, theirs[1], theirs[0]))
    return found


def goals(speed, quality, bring_up, repair, paths):
    """Returns (what, measured, goal, whether it is reached) for every figure that has a goal."""
    found = []

    def add(what, value, limit, unit, least=False):
        good = value >= limit if least else value <= limit
        sign = "≥" if least else "≤"
        found.append((what, f"{value:,.3g} {unit}" if value < 1000 else f"{value:,.0f} {unit}",
                      f"{sign} {limit:,} {unit}", good))

    # The name of a fabric has spaces in it, so columns are counted from the right.
    routed = {}
    for line in speed.splitlines()[1:]:
        match = re.match(r"(.+?) +(\d+) +(\d+)  (\S+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+)", line)
        name, hosts, _, engine, _, route, verify, shift = match.groups()
        routed.setdefault((name.strip(), int(hosts), engine), []).append(
            (float(route), float(verify), float(shift)))
    for hosts, limit in ((8192, 0.1), (24576, 0.6), (40960, 2)):
        for engine in ("ftree", "updn"):
            add(f"route {hosts:,} hosts, {engine}",
                routed["fat tree, 3 levels", hosts, engine][0][0], limit, "s")
    add("route 2,048 hosts, nue",
        max(r[0] for r in routed["fat tree, 2 levels", 2048, "nue"]), 0.3, "s")
    add("route torus 8x8x8, nue, any number of lanes",
        max(r[0] for r in routed["torus 8x8x8", 2048, "nue"]), 1, "s")
    add("verify 24,576 hosts",
        max(r[1] for e in ("ftree", "updn") for r in routed["fat tree, 3 levels", 24576, e]),
        1, "s")
    add("flows on the busiest link, shifts, 2 levels",
        routed["fat tree, 2 levels", 2048, "ftree"][0][2], 1, "")
    add("flows on the busiest link, shifts, 3 levels",
        routed["fat tree, 3 levels", 8192, "ftree"][0][2], 1, "")
    for line in quality.splitlines()[1:]:
        match = re.match(r"(\d) levels, (\d+) hosts +(\d+)% +\d+  (\S+) +([\d.]+)", line)
        levels, _, lost, engine, shift = match.groups()
        if engine == "ftree" and (levels, lost) in (("2", "5"), ("3", "3")):
            add(f"the same, {levels} levels, {lost} % of cables lost", float(shift),
                2.4 if levels == "2" else 3.43, "")
    for hosts, limit in ((2048, 1), (8192, 5), (24576, 25)):
        wall = next(float(row[4])
                    for row in rows(bring_up) if row[0] == str(hosts) and row[2] == "ftree")
        add(f"bring-up by SMPs, {hosts:,} hosts, wall", wall, limit, "s")
    add("one cable lost, 8,192 hosts, CPU until all is written",
        max(float(row[3]) for row in rows(repair)), 100, "ms")
    add("PathRecords per second of CPU", float(re.search(r": (\d+) per second", paths).group(1)),
        200000, "", least=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--write", help="also write the report to this file")
    arguments = parser.parse_args()
    bench = f"{arguments.build}/bench"
    tables = {what: run(f"{bench}/bench_routing", what) for what in ("speed", "quality")}
    tables |= {what: run(f"{bench}/bench_management", what)
               for what in ("bringup", "repair", "paths")}
    reached = goals(tables["speed"], tables["quality"], tables["bringup"], tables["repair"],
                    tables["paths"])
    pairs = beside_opensm(arguments.build)
    if pairs:
        worst = max(ours / theirs for _, _, ours, theirs in pairs)
        reached.append(("flows on the busiest link, cables lost: ours / OpenSM's ftree, "
                        "worst of the nets below",
                        f"{worst:.2f}", "≤ 1", worst <= 1))
    opensm = {engine: opensm_over_ibsim(arguments.build, engine)
              for engine in ("ftree", "updn", "minhop")}
    own = {row[2]: float(row[5]) for row in rows(tables["bringup"]) if row[0] == str(OPENSM_HOSTS)}
    lines = [
        "# Performance of the management plane", "",
        "Written by `make bench` (`bench/management.py`). One thread; CPU seconds where "
        "nothing else is said.",
        "Bring-up and repair are by MADs through the agents of all nodes, in one process.", "",
        f"Machine: {machine_name()}.", "",
        "| what | measured | goal | reached |", "|---|---|---|---|",
        *[f"| {what} | {value} | {goal} | {'yes' if good else '**no**'} |"
          for what, value, goal, good in reached],
        "", f"## OpenSM over ibsim, {OPENSM_HOSTS:,} hosts, in the same run", "",
        "| engine | OpenSM, CPU s of its process | wall s | ours, CPU s with all agents |",
        "|---|---|---|---|",
    ]
    for engine, measured in opensm.items():
        ours = f"{own[engine]:.2f}" if engine in own else ""
        lines.append(f"| {engine} | {measured[0]:.1f} | {measured[1]:.1f} | {ours} |" if measured
                     else f"| {engine} | not measured | | {ours} |")
    lines += ["",
              "## Shifts on trees that lost cables: our ftree and OpenSM's, live, in the same run",
              "", "Mean over all shifts of the flows on the busiest link.", "",
              "| tree | seed | ours | OpenSM |", "|---|---|---|---|"]
    lines += [f"| {name} | {seed} | {ours:.2f} | {theirs:.2f} |"
              for name, seed, ours, theirs in pairs]
    clusters = on_real_clusters(arguments.build)
    if clusters:
        lines += ["", "## Shifts on dumps of real clusters: auto and OpenSM's best engine, live",
                  "",
                  "Mean over all shifts of the flows on the busiest link.", "",
                  "| dump | ours | OpenSM | its engine |", "|---|---|---|---|"]
        lines += [f"| {name} | {ours:.2f} | {theirs:.2f} | {engine} |"
                  for name, ours, engine, theirs in clusters]
    for title, key in (("Routing", "speed"), ("Quality, cables lost", "quality"),
                       ("Bring-up", "bringup"), ("A cable is lost, and returns", "repair")):
        lines += ["", f"## {title}", "", "```", tables[key].rstrip(), "```"]
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.write:
        Path(arguments.write).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
