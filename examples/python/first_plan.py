#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""From a question to an answer in Python: does adaptive routing pay on this fabric, which links are
to blame without it, and what does a cluster make of an all-reduce and of a training step?

Each part may be a cell of a notebook."""
import numpy

import softib

# %% A fabric: a fat tree of two levels for 64 hosts.
fabric = softib.Fabric("fat-tree", hosts=64, radix=16, levels=2, engine="ftree")
report = fabric.report()
print(f"{fabric}: {report['switches']} switches")

# %% The same random permutation with fixed routes and with adaptive ones.
traffic = {"pattern": "permutation", "size": "256KiB"}
fixed = softib.simulate(fabric, traffic, seed=7)
adaptive = softib.simulate(fabric, traffic, seed=7, adaptive=True)
print(f"fixed routes {fixed.gbps:.0f} Gb/s, adaptive {adaptive.gbps:.0f} Gb/s")

# %% Which messages wait: messages are columns of numbers.
slow = fixed.messages["completion_us"] > 1.5 * numpy.median(fixed.messages["completion_us"])
print(f"{slow.sum()} of {len(fixed.messages)} messages take over 1.5 times the median")
busiest = int(numpy.argmax(fixed.links["use"]))
use = fixed.links["use"][busiest]
print(f"busiest: {fixed.links.names[busiest]}, {100 * use:.0f} % of the time")
for sentence in fixed.congestion[:2]:
    print(sentence)

# %% Step by step: how much is delivered after each 5 us.
stepped = softib.Simulation(fabric, traffic, seed=7)
delivered = []
while not stepped.step(us=5):
    done = numpy.isfinite(stepped.messages["delivered_us"])
    delivered.append(int(stepped.messages["bytes"][done].sum()))
print("delivered after each 5 us:", delivered)

# %% The planner: an all-reduce over four DGX H100, and a step of a model.
times = softib.plan.collective("superpod-h100", nodes=4, sizes="1M:64M")
print("bus bandwidth, GB/s:", softib.plan.column(times.rows, "busbw_gbs").round(1))
step = softib.plan.train("llama3.1-8b", "superpod-h100", gpus=256, tp=2)
print(f"llama3.1-8b on 256 GPUs: {step.step_s:.2f} s a step, MFU {100 * step.mfu:.0f} %")
