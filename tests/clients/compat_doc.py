# SPDX-License-Identifier: BSD-2-Clause
"""Writes docs/compat.md from the last results of the tests in this folder."""

import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import SOURCE, read_results

HEAD = """# What runs on softib

Written by `make compat` (`tests/clients`); do not edit. Every line is the result of a run: \
unmodified
programs of Debian 12, each pair between two hosts of one fabric.

"pass" means: both sides ended with status 0 and printed the iterations, bytes or sizes asked for.
The received bytes are checked by pyverbs, MPI and Gloo, one a page by the pingpongs with `-c`; this
perftest and ucx_perftest have no option to check them.
"""

NOT_RUN = """\
Not run: `ibv_rc_pingpong -t -e`. After an event it takes an empty completion queue for an error
(`poll CQ failed 2`), but the completion of its own send, which it has polled already, raised that
event. Here a send completes at once, so it fails every time; `-t` and `-e` alone pass.
"""


def escape(text):
    return text.replace("|", "\\|")


def cases_of(name):
    cases = read_results(name)
    if cases is None:
        raise SystemExit(f"no results of test_{name}.py: run it first")
    return cases


def groups(title, name):
    """Returns a row per group of cases."""
    cases = cases_of(name)
    titles = collections.defaultdict(list)
    for case in cases:
        mark = "" if case["result"] == "pass" else f" (**{case['result']}**)"
        titles[case["group"]].append(escape(case["title"]) + mark)
    passed = sum(case["result"] == "pass" for case in cases)
    lines = [f"## {title}", "", f"{passed} of {len(cases)} pass.", ""]
    lines += [f"- {group}: " + "; ".join(names) for group, names in titles.items()]
    return "\n".join(lines) + "\n"


def programs(title, name):
    """Returns a row per program and options, with a column per fabric."""
    cases = cases_of(name)
    fabrics = list(dict.fromkeys(case["group"] for case in cases))
    rows = collections.defaultdict(dict)
    for case in cases:
        rows[case["title"]][case["group"]] = case["result"]
    passed = sum(case["result"] == "pass" for case in cases)
    lines = [f"## {title}", "", f"{passed} of {len(cases)} runs pass.", ""]
    lines += ["| command | " + " | ".join(fabrics) + " |", "|---" * (len(fabrics) + 1) + "|"]
    for command, results in rows.items():
        cells = " | ".join(results.get(group, "") for group in fabrics)
        lines.append(f"| `{escape(command)}` | {cells} |")
    return "\n".join(lines) + "\n"


def pyverbs():
    cases = cases_of("pyverbs")
    counts = collections.Counter(case["result"] for case in cases)
    by_module = collections.defaultdict(collections.Counter)
    for case in cases:
        by_module[case["name"].split(".")[0]][case["result"]] += 1
    verdicts = [verdict for verdict in ("pass", "skip", "fail", "crash", "timeout")
                if counts[verdict]]
    lines = ["## pyverbs, the vendor-neutral cases", "",
             f"{counts['pass']} of {len(cases)} pass.", "",
             "| module | " + " | ".join(verdicts) + " |", "|---" * (len(verdicts) + 1) + "|"]
    for module, results in by_module.items():
        lines.append(f"| {module} | " + " | ".join(str(results[v] or "") for v in verdicts) + " |")
    lines += ["", "Cases that do not pass:", "", "| case | result | reason |", "|---|---|---|"]
    lines += [f"| {case['name']} | {case['result']} | {escape(case['reason'])} |"
              for case in cases if case["result"] != "pass"]
    return "\n".join(lines) + "\n"


def main():
    parts = [
        HEAD, pyverbs(), programs("ibverbs-utils", "ibv_utils"), programs("perftest", "perftest"),
        NOT_RUN, programs("Programs that connect by rdma_cm", "rdmacm"),
        programs("TCP programs over the fabric", "rsockets"), programs("libfabric", "libfabric"),
        groups("Storage by iSER: tgtd, libiscsi, QEMU", "storage"),
        groups("perftest to multicast groups", "multicast"),
        groups("infiniband-diags", "diags"),
        groups("infiniband-diags, whole outputs as in tests/clients/golden", "golden"),
        groups("rdma of iproute2", "rdma_tool"),
        groups("Congestion control tools", "congestion"),
        groups("OpenSM and osmtest", "opensm"), groups("Several subnet managers", "managers"),
        groups("ibdmchk on our routes", "ibdmchk"), groups("Partitions and QoS", "partitions"),
        groups("Alias GUIDs", "guids"), groups("M_Key protection", "mkey"),
        groups("ibsim on our netlists", "ibsim"),
        programs("UCX", "ucx"), groups("MPI over UCX", "mpi"), groups("Gloo over ibverbs", "gloo")]
    (SOURCE / "docs" / "compat.md").write_text("\n".join(parts))
    print("wrote docs/compat.md")


if __name__ == "__main__":
    main()
