#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs one rank of a small training by DistributedDataParallel: a network learns a fixed function,
each rank from data of its own. Seeds are fixed, so that the losses do not depend on the transport
of the gradients."""
import argparse
import datetime
import json
import sys

import torch
import torch.distributed as dist

INPUTS, HIDDEN, BATCH = 32, 256, 512


def wanted(inputs):
    return torch.sin(inputs[:, :1]) + inputs[:, 1:2] * inputs[:, 2:3]


def train(rank, steps):
    """Returns the losses of all steps, averaged over the ranks."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(INPUTS, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, HIDDEN),
        torch.nn.Tanh(), torch.nn.Linear(HIDDEN, 1)).cuda()
    model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[0])
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    data = torch.Generator(device="cuda").manual_seed(100 + rank)
    losses = []
    for _ in range(steps):
        inputs = torch.randn(BATCH, INPUTS, device="cuda", generator=data)
        loss = torch.nn.functional.mse_loss(model(inputs), wanted(inputs))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        shared = loss.detach().clone()
        dist.all_reduce(shared)
        losses.append(shared / dist.get_world_size())
    return torch.stack(losses).tolist()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("rank", "world", "port"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--result", required=True)
    options = parser.parse_args()
    torch.use_deterministic_algorithms(True)
    torch.cuda.set_device(0)
    dist.init_process_group(
        "nccl", init_method=f"tcp://127.0.0.1:{options.port}", rank=options.rank,
        world_size=options.world, timeout=datetime.timedelta(seconds=120))
    losses = train(options.rank, options.steps)
    if options.rank == 0:
        with open(options.result, "w") as file:
            print(json.dumps({"losses": losses}), file=file)
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
