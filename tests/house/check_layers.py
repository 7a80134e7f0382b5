#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every include line names its layer; this compares it with the map of docs/MAP.md."""
import re
import sys
from pathlib import Path

# Folder -> folders it may include from (besides itself). The longest matching prefix counts.
ALLOWED = {
    "core/base": [],
    # The list of all formats, for tests and fuzzers; then formats by who reads them.
    "core/wire": ["core/base", "core/wire/format", "core/wire/packet", "core/wire/mad",
                  "core/wire/sm", "core/wire/sa", "core/wire/pm", "core/wire/cm", "core/wire/cc",
                  "core/wire/sharp"],
    "core/wire/format": ["core/base"],
    "core/wire/packet": ["core/base", "core/wire/format"],
    "core/wire/mad": ["core/base", "core/wire/format"],
    "core/wire/sm": ["core/base", "core/wire/format", "core/wire/mad"],
    "core/wire/sa": ["core/base", "core/wire/format", "core/wire/mad", "core/wire/sm"],
    "core/wire/pm": ["core/base", "core/wire/format", "core/wire/mad"],
    "core/wire/cm": ["core/base", "core/wire/format", "core/wire/mad"],
    "core/wire/cc": ["core/base", "core/wire/format", "core/wire/mad"],
    "core/wire/sharp": ["core/base", "core/wire/format", "core/wire/mad"],
    "core/counters": ["core/wire/pm"],
    "core/topo": ["core/base"],
    "core/link": ["core/base", "core/topo"],
    "core/switch": ["core/base"],
    "core/router": ["core/base"],
    "core/hca": ["core/base", "core/wire/packet"],
    "core/mad": ["core/base", "core/wire/format", "core/wire/mad", "core/wire/sm", "core/wire/sa"],
    "core/agent": ["core/base", "core/wire/format", "core/wire/packet", "core/wire/mad",
                   "core/wire/sm", "core/wire/pm", "core/wire/cc", "core/wire/sharp",
                   "core/counters", "core/topo", "core/link", "core/switch", "core/mad",
                   "core/sharp"],
    # Aggregation nodes, and the manager that gives jobs trees of them.
    "core/sharp": ["core/base", "core/wire/mad", "core/wire/sharp"],
    "core/sharp/manager": ["core/base", "core/wire/mad", "core/wire/sa", "core/wire/sharp",
                           "core/topo", "core/mad", "core/sharp", "core/routing"],
    "core/cm": ["core/base", "core/wire/format", "core/wire/sa", "core/wire/cm", "core/mad"],
    "core/trunk": ["core/base", "core/wire/format"],
    "core/routing": ["core/base", "core/topo"],
    "core/sm": ["core/base", "core/wire/format", "core/wire/mad", "core/wire/sm", "core/wire/sa",
                "core/topo", "core/mad", "core/routing"],
    # The interface of all models of a fabric. All of net is as pure as the core.
    "net": ["core/link"],
    # A whole fabric that moves packets: what it is made of, the engine, its ends, its managers, all
    # of it as a value; tests of more than one of these.
    "net/plant": ["core/base", "core/counters", "core/topo", "core/link", "core/switch"],
    "net/engine": ["core/base", "core/counters", "core/topo", "core/link", "core/switch",
                   "core/router", "net/plant"],
    "net/hosts": ["core/base", "core/wire/packet", "core/link", "core/hca", "net", "net/plant",
                  "net/engine"],
    "net/manage": ["core/base", "core/wire/format", "core/wire/mad", "core/wire/sm", "core/wire/cc",
                   "core/topo", "core/link", "core/switch", "core/agent", "core/routing", "core/sm",
                   "net/plant", "net/engine"],
    "net/sim": ["core/base", "core/topo", "core/router", "core/routing", "core/sm", "net",
                "net/plant", "net/engine", "net/hosts", "net/manage"],
    "net/tests": ["core/base", "core/wire/format", "core/wire/packet", "core/wire/pm",
                  "core/wire/cc", "core/topo", "core/link", "core/agent", "core/routing",
                  "net/engine", "net/hosts", "net/manage", "net/sim"],
    # Rates instead of packets.
    "net/flow": ["core/base", "core/topo", "core/link", "net", "net/plant", "net/engine", "net/sim",
                 "net/tests"],
    # SHARP in it, and its time.
    "net/sharp": ["core/base", "core/wire/packet", "core/wire/sharp", "core/topo", "core/link",
                  "core/hca", "core/mad", "core/sharp", "core/sharp/manager", "net/plant",
                  "net/hosts", "net/sim"],
    "parallel": ["core/base", "core/topo", "net/sim", "net/tests"],
    # Traffic, results and what follows from them; as pure as the core.
    "plan": ["core/base", "core/topo", "core/link", "core/sharp/manager", "net", "net/plant",
             "net/sim", "net/flow"],
    "spec/cluster": ["core/base", "core/topo", "plan", "spec/scenario", "spec"],
    "spec/model": ["core/base", "plan", "spec"],
    # gzip's format, for the server and for traces.
    "zip": [],
    "spec/trace": ["core/base", "plan", "spec", "zip"],
    "spec/measured": ["core/base", "plan"],
    "spec/scenario": ["core/topo", "core/link", "core/hca", "net", "net/sim", "net/flow", "plan",
                      "spec"],
    "spec/train": ["core/base", "plan", "spec/cluster", "spec/model", "spec/scenario", "spec"],
    # Answers of the planner, computed and as JSON.
    "answer": ["core/base", "core/topo", "parallel", "plan", "spec", "spec/cluster",
               "spec/measured", "spec/model", "spec/train"],
    "spec": ["core/base", "core/wire/packet", "core/topo", "core/hca", "core/routing", "core/sm"],
    # Runs of the simulator, for commands and libraries.
    "run": ["core/topo", "net", "net/sim", "net/sharp", "parallel", "plan", "spec/scenario",
            "answer", "spec"],
    # What processes share; what runs in programs; what runs in the daemon. The last two do not
    # include each other.
    "runtime/shm": ["core/base", "core/counters", "core/switch", "core/hca", "core/cm",
                    "core/routing"],
    "runtime/direct": ["core/base", "core/hca", "runtime/shm"],
    # The memory of SHARP groups, between the daemon that makes it and the members that share it.
    "runtime/sharp": ["core/wire/mad", "core/hca", "core/sharp", "runtime/shm"],
    "runtime/daemon": ["core/base", "core/wire/packet", "core/wire/mad", "core/wire/sm",
                       "core/wire/sa", "core/wire/sharp", "core/counters", "core/topo", "core/hca",
                       "core/mad", "core/agent", "core/sharp", "core/sharp/manager", "core/cm",
                       "core/trunk", "core/sm", "spec", "runtime/shm", "runtime/sharp"],
    "runtime/carrier": ["core/base", "core/wire/packet", "core/wire/mad", "core/counters",
                        "core/topo", "core/link", "core/hca", "core/agent", "core/sharp",
                        "core/trunk", "net/engine", "net/hosts", "net/manage", "net/sharp", "spec",
                        "runtime/shm", "runtime/direct", "runtime/sharp", "runtime/daemon"],
    # Snapshots of a running fabric, for commands and the server.
    "view": ["core/base", "core/counters", "core/topo", "core/routing", "runtime/shm"],
    # A client of libibumad; a fabric over time; HTTP for it.
    "umad": ["core/base", "core/wire/mad", "core/mad"],
    "telemetry": ["core/base", "core/wire/mad", "core/counters", "core/topo", "runtime/shm",
                  "view"],
    "telemetry/mad": ["core/wire/mad", "core/wire/sm", "core/wire/pm", "core/topo", "core/mad",
                      "core/agent", "core/sm", "umad", "telemetry"],
    "telemetry/export": ["core/topo", "telemetry"],
    "telemetry/store": ["telemetry"],
    "page": [],
    "server": ["core/base", "core/topo", "core/sm", "zip", "runtime/shm", "view", "telemetry",
               "telemetry/export", "telemetry/store", "page"],
    "abi/verbs": ["core/topo", "runtime/shm", "runtime/direct"],
    "abi/rdmacm": ["core/base", "core/wire/format", "core/wire/sa", "core/wire/cm", "core/cm",
                   "runtime/shm"],
    "abi/umad": ["core/wire/mad", "core/topo", "runtime/shm"],
    "abi/planner": ["plan", "spec/scenario", "answer", "run"],
    "abi/sharp": ["core/base", "core/sharp", "runtime/shm", "runtime/direct", "runtime/sharp"],
    "abi/sysfs": ["runtime/shm", "runtime/direct"],
    "abi/rspreload": ["abi/sysfs"],
    "abi/nccl": [],
    # The command, the programs that it starts, and what both need of a fabric. The first two do not
    # include each other.
    "app/fabric": ["core/cm", "spec", "runtime/shm", "runtime/daemon", "view"],
    "app/cli": ["core/base", "core/topo", "core/cm", "core/routing", "net", "parallel", "plan",
                "spec/cluster", "spec/trace", "spec/scenario", "spec/train", "answer", "spec",
                "run", "runtime/shm", "runtime/direct", "view", "telemetry", "telemetry/store",
                "app/fabric"],
    "app/programs": ["core/topo", "spec", "runtime/daemon", "runtime/carrier", "telemetry",
                     "telemetry/mad", "telemetry/export", "telemetry/store", "server",
                     "app/fabric"],
    "app/programs/port_program.cc": ["app/programs/port_program.h"],
    "app/programs/port_program.h": ["umad"],
    "app/programs/softib_am.cc": ["core/sharp/manager", "umad", "app/programs/port_program.h"],
    "app/programs/softib_sm.cc": ["core/routing", "core/sm", "umad", "app/programs/port_program.h"],
}

# Layers that may ask the operating system for something.
SYSTEM = ["runtime/shm", "runtime/sharp", "runtime/direct", "runtime/daemon", "runtime/carrier",
          "parallel", "run", "spec", "spec/scenario", "spec/trace", "spec/train", "answer", "view",
          "abi/verbs", "abi/rdmacm", "abi/umad", "abi/sharp", "abi/sysfs",
          "abi/rspreload", "abi/nccl", "umad", "telemetry", "telemetry/export", "server",
          "app/fabric", "app/cli", "app/programs", "app/programs/port_program.cc",
          "app/programs/softib_am.cc"]

# Where third-party headers may appear.
RESTRICTED = {
    r"^nlohmann/": ["answer", "run", "view", "server", "spec/measured", "spec/trace", "app/cli"],
    r"^toml\+\+|^toml\.hpp": ["spec", "spec/cluster", "spec/model", "spec/scenario", "spec/train",
                               "telemetry"],
    r"^httplib\.h|^openssl/": ["server"],
    r"^zlib\.h": ["zip"],
    r"^CLI/": ["app/cli"],
    r"^sqlite3\.h": ["telemetry/store"],
    r"^spdlog/": ["runtime/daemon"],
    r"^infiniband/": ["abi/verbs", "abi/rdmacm", "abi/umad", "abi/nccl", "umad"],
    r"^rdma/(?!rdma_netlink\.h)": ["abi/rdmacm", "abi/rspreload", "abi/verbs"],
    r"^(thread|mutex|shared_mutex|condition_variable|future|chrono|iostream|fstream|filesystem|"
    r"random)$": SYSTEM,
    r"^(unistd\.h|pthread\.h|time\.h|fcntl\.h|sys/(?!mman\.h).*|linux/.*|rdma/rdma_netlink\.h|"
    r"netinet/.*|arpa/.*)$": SYSTEM,
    r"^sys/mman\.h$": SYSTEM + ["net/plant"],
}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def layer_of(path):
    matches = [layer for layer in ALLOWED if path == layer or path.startswith(layer + "/")]
    return max(matches, key=len) if matches else None


def cycles():
    """One complaint for each cycle of layers that a depth-first walk closes."""
    complaints = []
    done = set()

    def visit(layer, path):
        if layer in path:
            cycle = path[path.index(layer):] + [layer]
            complaints.append(f"layers in a cycle: {' > '.join(cycle)}")
        elif layer not in done:
            for other in ALLOWED[layer]:
                visit(other, path + [layer])
            done.add(layer)

    for layer in ALLOWED:
        visit(layer, [])
    return complaints


def unused(used, used_headers):
    """One complaint for each permission that no file needs. SYSTEM is one permission."""
    for layer, others in ALLOWED.items():
        for other in others:
            if (layer, other) not in used:
                yield f"{layer} may include {other}, but does not: take that away"
    of_all = [pattern for pattern, layers in RESTRICTED.items() if set(SYSTEM) <= set(layers)]
    for layer in SYSTEM:
        if not used_headers.intersection((layer, pattern) for pattern in of_all):
            yield f"{layer} is in SYSTEM, but needs nothing of it: take it out"
    for pattern, layers in RESTRICTED.items():
        for layer in layers:
            of_system = pattern in of_all and layer in SYSTEM
            if not of_system and (layer, pattern) not in used_headers:
                yield f"{layer} may include <{pattern}>, but does not: take that away"


def check(source_root):
    complaints = cycles()
    used = set()
    used_headers = set()
    for path in sorted(source_root.rglob("*")):
        if path.suffix not in (".h", ".cc", ".c"):
            continue
        name = path.relative_to(source_root).as_posix()
        layer = layer_of(name)
        if layer is None:
            complaints.append(f"{name}: in no known layer; add its folder to ALLOWED")
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            kind, target = match.groups()
            where = f"{name}:{number}"
            if kind == '"':
                other = layer_of(target)
                if other is None:
                    complaints.append(f"{where}: \"{target}\" is not a path from src/")
                used.add((layer, other))
                if other is not None and other != layer and other not in ALLOWED[layer]:
                    complaints.append(f"{where}: {layer} must not include {other} ({target})")
            else:
                for pattern, layers in RESTRICTED.items():
                    if not re.search(pattern, target) or name.endswith("_test.cc"):
                        continue
                    used_headers.add((layer, pattern))
                    if layer not in layers:
                        complaints.append(
                            f"{where}: <{target}> belongs in {', '.join(layers)} only")
    return complaints + list(unused(used, used_headers))


def main():
    complaints = check(Path(sys.argv[1]) / "src")
    print("\n".join(complaints) or "every include keeps its layer")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
