#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A study in objects: which of five clusters of 256 GPUs trains Llama 3.1 70B, how sure is that,
and what would change it?

Nothing is written to a file, and no question starts a process. Each part may be a cell of a
notebook, where answers show themselves."""
import numpy

from softib import Answers, Cluster, Mapping, Model, plan

# %% The clusters differ from a preset in what keywords say; help(Cluster) tells all.
model = Model.preset("llama3.1-70b")
h100 = Cluster.preset("hgx-h100", nodes=32)
clusters = [
    h100.replace(name="H100"),
    h100.replace(name="H100, 4:1", topology="fat-tree", oversubscription="4:1"),
    h100.replace(name="H100, 2 NICs", nics_per_node=2),
    h100.replace(name="H200", gpu="H200"),
    Cluster.preset("hgx-b200", nodes=32, name="B200"),
]
print(model.name, f"{model.parameters:.3g} parameters,", h100.gpus, "GPUs")

# %% The quickest mapping on each. Answers of a sweep are rows of one table.
found = plan.sweep(plan.search, model=model, cluster=clusters, batch=1024, top=1, workers=1)
print(found)

# %% Its step: the time, the interval in which measured steps lie, days for 10^12 tokens.
mappings = [Mapping.of(each.best[0]) for each in found]
steps = Answers([plan.train(model, cluster, mapping, tokens="1T")
                 for cluster, mapping in zip(clusters, mappings)],
                [{"cluster": cluster.name, "network_usd": plan.show(cluster).cost["network_usd"][1]}
                 for cluster in clusters])
for row in steps.to_rows():
    print(f"{row['cluster']:13} {row['step_s']:5.2f} s ({row['interval.low_s']:.2f} to "
          f"{row['interval.high_s']:.2f})  {row['training.days']:5.1f} days  network up to "
          f"{row['network_usd'] / 1e6:.1f} M$")

# %% One answer in full, as `softib plan train` prints it.
print(steps[0])

# %% What would change it: one mapping that all have, over batches and clusters.
mapping = Mapping(tp=8, pp=2, micro_batch=1)
grid = plan.sweep(plan.train, model=model, mapping=mapping, batch=[256, 512, 1024, 2048],
                  cluster=clusters)
mfu = numpy.array([each.mfu for each in grid]).reshape(4, len(clusters))
print("MFU by batch:", *(f"{cluster.name} {column[0]:.3f} to {column[-1]:.3f};"
                         for cluster, column in zip(clusters, mfu.T)))

# %% The same as a DataFrame, where pandas is installed.
try:
    print(grid.to_frame().pivot(index="batch", columns="cluster", values="step_s").round(2))
except plan.Error as error:
    print(error)
