# SPDX-License-Identifier: BSD-2-Clause
"""InfiniBand in software: simulate a fabric, plan a GPU cluster, bring a live fabric up.

    import softib

    fabric = softib.Fabric("fat-tree", hosts=128, radix=16)
    run = softib.simulate(fabric, {"pattern": "permutation", "size": "2MB"}, adaptive=True)
    print(run.gbps, run.messages["completion_us"].max())

    cluster = softib.Cluster.preset("hgx-h100", nodes=128)
    step = softib.plan.train("gpt3-175b", cluster, tp=8, pp=8)
    print(step, step.mfu)

    with softib.live(fabric) as live:
        print(live.exec("h0", "ibstat"))

Times are microseconds where a name ends in _us, and picoseconds of virtual time in _ps.
"""
from . import plan
from ._native import Error, command, version
from .answers import Answer, Answers
from .fabric import Fabric
from .live import Live, live
from .objects import Cluster, Mapping, Model
from .simulation import Simulation, ask, simulate

__version__ = version()
__all__ = ["Answer", "Answers", "Cluster", "Error", "Fabric", "Live", "Mapping", "Model",
           "Simulation", "ask", "command", "live", "plan", "simulate", "version"]
