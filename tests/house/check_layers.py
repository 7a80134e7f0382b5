#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every include line names its layer; this compares it with the map of docs/MAP.md."""
import re
import sys
from pathlib import Path

# Folder -> folders it may include from (besides itself). The longest matching prefix counts.
CORE = ["core/base", "core/wire", "core/counters", "core/topo", "core/link", "core/switch",
        "core/hca", "core/mad", "core/agent", "core/cm", "core/router", "core/routing",
        "core/sharp", "core/sharp/manager", "core/sm", "core/trunk"]
ALLOWED = {
    "core/base": [],
    "core/wire": ["core/base"],
    "core/counters": ["core/base", "core/wire"],
    "core/topo": ["core/base"],
    "core/link": ["core/base", "core/topo"],
    "core/switch": ["core/base"],
    "core/router": ["core/base"],
    "core/hca": ["core/base", "core/wire"],
    "core/mad": ["core/base", "core/wire"],
    "core/agent": ["core/base", "core/wire", "core/counters", "core/topo", "core/link",
                   "core/switch", "core/mad", "core/sharp"],
    # Aggregation nodes, and the manager that gives jobs trees of them.
    "core/sharp": ["core/base", "core/wire"],
    "core/sharp/manager": ["core/base", "core/wire", "core/mad", "core/routing", "core/sharp"],
    "core/cm": ["core/base", "core/wire", "core/mad"],
    "core/trunk": ["core/base", "core/wire"],
    "core/routing": ["core/base", "core/topo"],
    "core/sm": ["core/base", "core/wire", "core/topo", "core/mad", "core/routing"],
    # The interface of all models of a fabric. All of net is as pure as the core.
    "net": ["core/link"],
    # A whole fabric that moves packets: what it is made of, the engine, its ends, its managers, all
    # of it as a value; tests of more than one of these.
    "net/plant": ["core/base", "core/counters", "core/topo", "core/link", "core/switch"],
    "net/engine": ["core/base", "core/counters", "core/topo", "core/link", "core/switch",
                   "core/router", "net/plant"],
    "net/hosts": ["core/base", "core/wire", "core/link", "core/hca", "net", "net/plant",
                  "net/engine"],
    "net/manage": ["core/base", "core/wire", "core/topo", "core/link", "core/switch", "core/agent",
                   "core/routing", "core/sm", "net/plant", "net/engine"],
    "net/sim": ["core/base", "core/topo", "core/router", "core/routing", "core/sm", "net",
                "net/plant", "net/engine", "net/hosts", "net/manage"],
    "net/tests": ["core/base", "core/wire", "core/link", "core/hca", "core/agent", "core/routing",
                  "net/plant", "net/engine", "net/hosts", "net/manage", "net/sim"],
    # Rates instead of packets.
    "net/flow": ["core/base", "core/link", "net", "net/plant", "net/engine", "net/sim",
                 "net/tests"],
    # SHARP in it, and its time.
    "net/sharp": ["core/base", "core/wire", "core/link", "core/hca", "core/mad", "core/sharp",
                  "core/sharp/manager", "core/routing", "core/topo", "net/plant", "net/engine",
                  "net/hosts", "net/sim"],
    "parallel": ["core/base", "core/topo", "net", "net/sim", "net/tests"],
    # Traffic, results and what follows from them; as pure as the core.
    "plan": ["core/base", "core/topo", "core/link", "core/switch", "core/routing",
             "core/sharp/manager", "net", "net/plant", "net/sim", "net/flow"],
    "spec/cluster": ["core/base", "core/topo", "plan", "spec", "spec/scenario"],
    "spec/model": ["core/base", "plan"],
    # gzip's format, for the server and for traces.
    "zip": [],
    "spec/trace": ["core/base", "plan", "zip"],
    "spec/scenario": ["core/base", "core/topo", "core/link", "core/hca", "net", "net/sim",
                      "net/flow", "plan", "spec"],
    "spec/train": ["core/base", "plan", "spec", "spec/cluster", "spec/model", "spec/scenario"],
    # Answers of the planner, computed and as JSON.
    "answer": ["core/base", "parallel", "plan", "spec/train"],
    "spec": ["core/base", "core/wire", "core/topo", "core/hca", "core/routing", "core/sm"],
    # Runs of the simulator, for commands and libraries.
    "run": ["answer", "core/base", "core/topo", "core/hca", "net", "net/sim", "net/sharp",
            "parallel", "plan", "spec", "spec/scenario"],
    # What processes share; what runs in programs; what runs in the daemon. The last two do not
    # include each other.
    "runtime/shm": ["core/base", "core/wire", "core/counters", "core/topo", "core/link",
                    "core/switch", "core/hca", "core/cm", "core/routing"],
    "runtime/direct": ["core/base", "core/wire", "core/hca", "runtime/shm"],
    # The memory of SHARP groups, between the daemon that makes it and the members that share it.
    "runtime/sharp": ["core/base", "core/wire", "core/hca", "core/sharp", "runtime/shm"],
    "runtime/daemon": CORE + ["spec", "runtime/shm", "runtime/sharp"],
    "runtime/carrier": ["core/base", "core/wire", "core/counters", "core/topo", "core/link",
                        "core/hca", "core/agent", "core/sharp", "core/trunk", "net/engine",
                        "net/hosts", "net/manage", "net/sharp", "spec", "runtime/shm",
                        "runtime/sharp", "runtime/direct", "runtime/daemon"],
    # Snapshots of a running fabric, for commands and the server.
    "view": ["core/base", "core/counters", "core/topo", "core/routing", "runtime/shm"],
    # A client of libibumad; a fabric over time; HTTP for it.
    "umad": ["core/base", "core/wire", "core/mad"],
    "telemetry": ["core/base", "core/wire", "core/counters", "core/topo", "runtime/shm", "view"],
    "telemetry/mad": ["core/base", "core/wire", "core/counters", "core/topo", "core/mad",
                      "core/agent", "core/sm", "telemetry", "umad"],
    "telemetry/export": ["core/base", "core/counters", "core/topo", "telemetry"],
    "telemetry/store": ["core/base", "core/counters", "core/topo", "telemetry"],
    "page": [],
    "server": ["core/base", "core/counters", "core/topo", "core/sm", "page", "runtime/shm", "view",
               "telemetry", "telemetry/export", "telemetry/store", "zip"],
    "abi/verbs": ["core/base", "core/topo", "core/hca", "runtime/shm", "runtime/direct"],
    "abi/rdmacm": ["core/base", "core/wire", "core/cm", "runtime/shm"],
    "abi/umad": ["core/base", "core/wire", "core/topo", "runtime/shm"],
    "abi/planner": ["answer", "core/base", "core/topo", "net", "plan", "run", "spec",
                    "spec/scenario"],
    "abi/sharp": ["core/base", "core/sharp", "runtime/shm", "runtime/direct", "runtime/sharp"],
    "abi/sysfs": ["core/base", "runtime/shm", "runtime/direct"],
    "abi/rspreload": ["abi/sysfs"],
    "abi/nccl": [],
    # The command, the programs that it starts, and what both need of a fabric. The first two do not
    # include each other.
    "app/fabric": ["core/base", "core/cm", "core/sm", "spec", "view", "runtime/shm",
                   "runtime/daemon"],
    "app/cli": ["answer", "core/base", "core/cm", "core/topo", "core/routing", "core/sm",
                "core/hca", "net", "net/sim", "net/sharp", "parallel", "plan", "run", "spec",
                "spec/cluster", "spec/model", "spec/scenario", "spec/trace", "spec/train",
                "telemetry", "view", "runtime/shm",
                "runtime/direct", "runtime/daemon", "app/fabric", "app/cli/sweep"],
    "app/cli/sweep": ["core/base", "plan", "run", "spec/scenario", "app/fabric", "app/cli"],
    "app/programs": ["core/base", "core/cm", "core/topo", "core/hca", "spec", "runtime/shm",
                     "runtime/daemon", "runtime/carrier", "app/fabric", "server", "telemetry",
                     "telemetry/export", "telemetry/mad", "telemetry/store"],
    "app/programs/port_program.cc": ["app/programs/port_program.h", "umad"],
    "app/programs/port_program.h": ["core/base", "umad"],
    "app/programs/softib_am.cc": ["core/base", "core/wire", "core/mad", "core/sharp",
                                  "core/sharp/manager", "umad", "app/programs/port_program.h"],
    "app/programs/softib_sm.cc": ["core/base", "core/wire", "core/mad", "core/routing", "core/sm",
                                  "umad", "app/programs/port_program.h"],
}

APP = ["app/fabric", "app/cli", "app/cli/sweep", "app/programs", "app/programs/port_program.cc",
       "app/programs/softib_am.cc", "app/programs/softib_sm.cc"]
RUNTIME = ["runtime/shm", "runtime/sharp", "runtime/direct", "runtime/daemon", "runtime/carrier"]
SYSTEM = RUNTIME + [
    "parallel", "run", "spec", "spec/cluster", "spec/model", "spec/scenario", "spec/trace",
    "spec/train",
    "answer", "view", "abi/verbs", "abi/rdmacm", "abi/umad", "abi/planner", "abi/sharp",
    "abi/sysfs", "abi/rspreload", "abi/nccl", "umad", "telemetry", "telemetry/export",
    "telemetry/mad", "telemetry/store",
    "server"] + APP

# Where third-party headers may appear.
RESTRICTED = {
    r"^nlohmann/": ["answer", "run", "view", "server", "spec/trace"] + APP,
    r"^toml\+\+|^toml\.hpp": ["spec", "spec/cluster", "spec/model", "spec/scenario", "spec/train",
                               "telemetry"],
    r"^httplib\.h|^openssl/": ["server"],
    r"^zlib\.h": ["zip"],
    r"^CLI/": ["app/cli"],
    r"^sqlite3\.h": ["app/cli/sweep", "telemetry/store"],
    r"^spdlog/": ["app/programs", "runtime/daemon"],
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


def check(source_root):
    complaints = []
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
                elif other != layer and other not in ALLOWED[layer]:
                    complaints.append(f"{where}: {layer} must not include {other} ({target})")
            else:
                for pattern, layers in RESTRICTED.items():
                    if (re.search(pattern, target) and layer not in layers
                            and not name.endswith("_test.cc")):
                        complaints.append(
                            f"{where}: <{target}> belongs in {', '.join(layers)} only")
    return complaints


def main():
    complaints = check(Path(sys.argv[1]) / "src")
    print("\n".join(complaints) or "every include keeps its layer")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
