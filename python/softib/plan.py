# SPDX-License-Identifier: BSD-2-Clause
"""The planner: clusters, collectives, training steps.

A function is a subcommand of `softib plan`, and its keywords are the flags with '_' for '-'. A
cluster is a Cluster, the name of a preset, or a file; a model likewise."""
from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, TypeAlias, Union

import numpy

from . import _native, _toml
from ._keywords import given, keywords
from ._native import Error
from .answers import Answer, Answers, wrap
from .objects import Cluster, Mapping, Model, asked
from .sweep import sweep

__all__ = ["Answer", "Answers", "Cluster", "Error", "Mapping", "Model", "calibrate", "collective",
           "column", "compare", "expect", "goodput", "models", "presets", "search", "show", "sweep",
           "train"]

# Options that name a file which the command writes; the command alone answers those questions. All
# others are answered in this process.
WRITES = ("html", "trace", "export", "csv")

File: TypeAlias = Union[str, "os.PathLike[str]"]
ClusterLike: TypeAlias = Union[Cluster, File]
ModelLike: TypeAlias = Union[Model, File]
MappingLike: TypeAlias = Union[Mapping, Answer, dict[str, Any], None]
Sizes: TypeAlias = Union[str, int, Iterable[Union[str, int]]]


def column(rows: Iterable[Answer], name: str) -> Any:
    """Returns one key of all rows, as a NumPy array: column(collective(...).rows, "busbw_gbps")."""
    return numpy.array([row[name] for row in rows])


def _answer(what: str, arguments: dict[str, Any]) -> Any:
    """Returns the answer to a question: its name and the keywords of a function, as locals() has
    them. Those that are None were not said."""
    said = given(arguments)
    mapping = said.pop("mapping", None)
    if mapping is not None:
        if not isinstance(mapping, (Mapping, Answer, dict)):
            raise Error(f"mapping must be a Mapping or an answer that has one, not {mapping!r}")
        described = mapping if isinstance(mapping, Mapping) else Mapping.of(mapping)
        said = {**described.said(), **said}
    for name, value in said.items():
        for other, cls in (("cluster", Cluster), ("model", Model)):
            if name == other and not isinstance(value, (cls, str, os.PathLike)):
                raise Error(f"{name} must be a {cls.__name__}, a name or a file, not {value!r}")
        if isinstance(value, (Cluster, Model, os.PathLike)):
            said[name] = asked(value)
    if any(said.get(name) for name in WRITES):
        operands = [str(said.pop("what"))] if what == "compare" and "what" in said else []
        return wrap(_native.ask("plan", what, operands=operands, **said))
    return wrap(_native.answer(_toml.document({"ask": what, **said}, {}, {})))


@keywords
def presets() -> Answer:
    """Returns the built-in clusters and GPUs."""
    answer: Answer = _answer("presets", {})
    return answer


@keywords
def models() -> Answers:
    """Returns the models that are known by name."""
    answers: Answers = _answer("models", {})
    return answers


@keywords
def show(cluster: ClusterLike, *, nodes: int | None = None, planes: int | None = None,
         prices: File | None = None) -> Answer:
    """Returns what a cluster is made of: switches, cables, LIDs, power, cost.

    nodes: only the first nodes of it
    planes: that share each NIC
    prices: a file with prices (TOML)
    """
    answer: Answer = _answer("show", locals())
    return answer


@keywords
def collective(cluster: ClusterLike, op: str = "all-reduce", *, nodes: int | None = None,
               planes: int | None = None, sizes: Sizes | None = None,
               algorithms: str | Iterable[str] | None = None, algorithm: str | None = None,
               protocol: str | None = None, collnet: bool | None = None,
               channels: int | None = None, order: str | None = None,
               rails_crossed: bool | None = None, seed: int | None = None,
               model: str | None = None, stack: str | None = None, step_time: str | None = None,
               html: File | None = None, export: str | Iterable[str] | None = None) -> Answer:
    """Returns the times of a collective operation over sizes and algorithms.

    op: all-reduce, all-gather, reduce-scatter, broadcast, all-to-all or send-recv
    nodes: only the first nodes of the cluster
    planes: that share each NIC
    sizes: "8:1G" by powers of two, or a list of sizes
    algorithms: "nccl" for its choice, "all", or names as ["ring", "tree"]; algorithm: one name
    protocol: LL, LL128 or Simple; NCCL's choice unless said
    collnet: whether NCCL may let switches aggregate
    channels: NCCL's channels
    order: of ranks on nodes: topology or random, with its seed
    rails_crossed: whether messages arrive at the NIC of the next rail
    model: of the fabric: flow or packet
    stack: nccl or mpi; step_time: time that an MPI takes for a step beside the message, as "1us"
    html, export: files that are written
    """
    answer: Answer = _answer("collective", locals())
    return answer


@keywords
def expect(cluster: ClusterLike, log: File | Iterable[File] | None = None, *,
           text: str | None = None, nodes: int | None = None, per_node: int | None = None,
           benchmark: str | Iterable[str] | None = None, sizes: Sizes | None = None,
           algorithm: str | Iterable[str] | None = None,
           protocol: str | Iterable[str] | None = None, collnet: bool | None = None,
           channels: int | None = None) -> Answer:
    """Returns what benchmarks should give on a cluster, beside what they gave.

    log: what nccl-tests, OSU or perftest printed: a file, or a list of them; text: a log itself
    nodes, per_node: nodes of a run, and ranks of NCCL on each, where the log does not say
    benchmark: without a log: which; with one: what a table without a name is
    sizes: without a log: "8:1G" by powers of two, or a list of sizes
    algorithm, protocol: what NCCL_ALGO and NCCL_PROTO say
    collnet: whether NCCL may let switches aggregate
    channels: NCCL's channels
    """
    said = {name: value for name, value in locals().items() if name != "log"}
    if log is not None:
        files = [log] if isinstance(log, (str, os.PathLike)) else log
        said["logs"] = [os.fspath(each) for each in files]
    answer: Answer = _answer("expect", said)
    return answer


@keywords
def serve(model: ModelLike, cluster: ClusterLike, *, prefill: int | None = None,
          decode: int | None = None, prefill_tp: int | None = None, decode_tp: int | None = None,
          rate: float | str | None = None, prompt: int | str | None = None,
          answer: int | str | None = None, reuse: float | str | None = None,
          decode_reuse: float | str | None = None, stream: bool | None = None,
          precision: str | None = None, kv_precision: str | None = None,
          batch: int | None = None, rails: int | None = None, requests: int | None = None,
          seed: int | None = None, seeds: int | None = None, network: str | None = None,
          html: File | None = None) -> Answer:
    """Returns the times to tokens of a service by pools of prefill and decode nodes.

    prefill, decode: nodes of the pools; prefill_tp, decode_tp: GPUs of an instance
    rate: requests a second, at random times
    prompt, answer: tokens, as 4096, "uniform:LOW:HIGH", "exp:MEAN" or "lognormal:MEAN:SIGMA"
    reuse, decode_reuse: parts of a prompt whose KV cache the prefill and decode pools have
    stream: whether KV caches travel while the prompt is computed
    precision, kv_precision: of products and weights, and of KV caches
    batch: most answers that a decode instance computes at once
    rails: NICs of a node that carry KV caches; 1, 2, 4 and so on unless said
    requests: of a run; seed: of the first run; seeds: runs
    network: how KV caches move: flow or packet
    html: a file that is written
    """
    found: Answer = _answer("serve", locals())
    return found


@keywords
def compare(what: str | None = None, cluster: ClusterLike | None = None, *,
            nodes: int | None = None, model: str | None = None, size: str | int | None = None,
            prices: File | None = None, html: File | None = None, csv: File | None = None,
            train: ModelLike | None = None, vary: str | Iterable[str] | None = None,
            sort: str | None = None, mapping: MappingLike = None, gpus: int | None = None,
            tp: int | None = None, pp: int | None = None, interleave: int | None = None,
            cp: int | None = None, cp_comm: str | None = None, ep: int | None = None,
            etp: int | None = None, zero: int | None = None, hsdp: int | None = None,
            uneven: bool | None = None, batch: int | None = None, micro_batch: int | None = None,
            sequence: int | None = None, framework: str | None = None, lora: int | None = None,
            lora_targets: str | None = None, recompute: str | None = None,
            recompute_layers: int | None = None, offload_layers: int | None = None,
            offload_optimizer: bool | None = None, fp8_activations: bool | None = None,
            attention: str | None = None, precision: str | None = None,
            grad_bytes: int | None = None, param_bytes: int | None = None,
            tp_overlap: str | None = None, comm_sms: int | None = None,
            sequence_parallel: bool | None = None, no_sequence_parallel: bool | None = None,
            overlap_dp: bool | None = None, no_overlap_dp: bool | None = None,
            overlap_pp: bool | None = None, no_overlap_pp: bool | None = None,
            overlap_ep: bool | None = None, cuda_graphs: bool | None = None,
            rank_order: str | None = None, planes: int | None = None, rates: File | None = None,
            network: str | None = None, placement: str | None = None, seed: int | None = None,
            rails_crossed: bool | None = None, collnet: bool | None = None,
            tokens: str | float | None = None) -> Answer:
    """Returns networks for one cluster that differ in one thing, or with `train` steps of training
    a model on clusters that differ.

    what: oversubscription, topology, generation, link-layer, sharp, failed-spine or kv-cache; with
    train also planes, nvlink-domain or experts
    nodes: only the first nodes of the cluster
    model: of the fabric: flow or packet
    size: of what is sent, as "1GB"
    prices: a file with prices (TOML)
    train: a model; each row has the quickest mapping unless a degree is said
    vary: keys of the cluster or of training, or clusters, as ["generation=NDR,XDR", "tp=4,8"]
    sort: tokens (what 10^12 of them cost), step, mfu, price, power or none
    mapping and keywords of Mapping, planes, rates, network, placement, seed, rails_crossed,
    collnet, tokens: as in train()
    html, csv: files that are written
    """
    answer: Answer = _answer("compare", locals())
    return answer


@keywords
def train(model: ModelLike, cluster: ClusterLike, mapping: MappingLike = None, *,
          gpus: int | None = None, tp: int | None = None, pp: int | None = None,
          interleave: int | None = None, cp: int | None = None, cp_comm: str | None = None,
          ep: int | None = None, etp: int | None = None, zero: int | None = None,
          hsdp: int | None = None, uneven: bool | None = None, batch: int | None = None,
          micro_batch: int | None = None, sequence: int | None = None,
          framework: str | None = None, lora: int | None = None, lora_targets: str | None = None,
          recompute: str | None = None, recompute_layers: int | None = None,
          offload_layers: int | None = None, offload_optimizer: bool | None = None,
          fp8_activations: bool | None = None, attention: str | None = None,
          precision: str | None = None, grad_bytes: int | None = None,
          param_bytes: int | None = None, tp_overlap: str | None = None,
          comm_sms: int | None = None, sequence_parallel: bool | None = None,
          no_sequence_parallel: bool | None = None, overlap_dp: bool | None = None,
          no_overlap_dp: bool | None = None, overlap_pp: bool | None = None,
          no_overlap_pp: bool | None = None, overlap_ep: bool | None = None,
          cuda_graphs: bool | None = None, rank_order: str | None = None,
          planes: int | None = None, rates: File | None = None, network: str | None = None,
          placement: str | None = None, seed: int | None = None, rails_crossed: bool | None = None,
          collnet: bool | None = None, tokens: str | float | None = None,
          trace: File | None = None, export: str | Iterable[str] | None = None,
          export_layers: int | None = None, html: File | None = None) -> Answer:
    """Returns a training step: time, MFU, memory, and which part waits for which.

    mapping: a Mapping, or an answer that has one; keywords of Mapping may also stand here, and
    win over it. Without any degree the planner chooses the quickest mapping.
    planes: that share each NIC
    rates: a file with what kernels reach on the GPUs
    network: how exchanges are timed: analytic, flow or packet
    placement: of nodes on the fabric: topology or random, with its seed
    rails_crossed: whether messages arrive at the NIC of the next rail
    collnet: whether NCCL may let switches add up all-reduces
    tokens: also tell days and GPU-hours for them, as "15T"
    trace, export, html: files that are written; export_layers: layers whose exchanges are together
    """
    answer: Answer = _answer("train", locals())
    return answer


@keywords
def search(model: ModelLike, cluster: ClusterLike, mapping: MappingLike = None, *,
           gpus: int | None = None, tp: int | None = None, pp: int | None = None,
           interleave: int | None = None, cp: int | None = None, cp_comm: str | None = None,
           ep: int | None = None, etp: int | None = None, zero: int | None = None,
           hsdp: int | None = None, batch: int | None = None, micro_batch: int | None = None,
           sequence: int | None = None, framework: str | None = None, lora: int | None = None,
           lora_targets: str | None = None, recompute: str | None = None,
           recompute_layers: int | None = None, offload_layers: int | None = None,
           offload_optimizer: bool | None = None, fp8_activations: bool | None = None,
           attention: str | None = None, precision: str | None = None,
           grad_bytes: int | None = None, param_bytes: int | None = None,
           tp_overlap: str | None = None, comm_sms: int | None = None,
           sequence_parallel: bool | None = None, no_sequence_parallel: bool | None = None,
           overlap_dp: bool | None = None, no_overlap_dp: bool | None = None,
           overlap_pp: bool | None = None, no_overlap_pp: bool | None = None,
           overlap_ep: bool | None = None, cuda_graphs: bool | None = None,
           rank_order: str | None = None, planes: int | None = None, rates: File | None = None,
           network: str | None = None, placement: str | None = None, seed: int | None = None,
           rails_crossed: bool | None = None, collnet: bool | None = None, top: int | None = None,
           threads: int | None = None, html: File | None = None) -> Answer:
    """Returns the quickest mappings of a model onto a cluster: those in `best` go into train().

    mapping and keywords of Mapping: what all of them must have
    planes, rates, network, placement, seed, rails_crossed, collnet: as in train()
    top: how many mappings to return; threads: that try mappings
    html: a file that is written
    """
    answer: Answer = _answer("search", locals())
    return answer


@keywords
def goodput(model: ModelLike, cluster: ClusterLike, mapping: MappingLike = None, *,
            html: File | None = None, failures: File | None = None, detect: str | None = None,
            timeout: str | None = None, restart: str | None = None, checkpoint: str | None = None,
            checkpoint_every: str | None = None, checkpoint_size: str | int | None = None,
            storage: str | None = None, stall: str | None = None, failover: str | None = None,
            spares: int | None = None, weeks: int | None = None, runs: int | None = None,
            failure_seed: int | None = None, threads: int | None = None,
            prices: File | None = None, sort: str | None = None, gpus: int | None = None,
            tp: int | None = None, pp: int | None = None, interleave: int | None = None,
            cp: int | None = None, cp_comm: str | None = None, ep: int | None = None,
            etp: int | None = None, zero: int | None = None, hsdp: int | None = None,
            uneven: bool | None = None, batch: int | None = None, micro_batch: int | None = None,
            sequence: int | None = None, framework: str | None = None, lora: int | None = None,
            lora_targets: str | None = None, recompute: str | None = None,
            recompute_layers: int | None = None, offload_layers: int | None = None,
            offload_optimizer: bool | None = None, fp8_activations: bool | None = None,
            attention: str | None = None, precision: str | None = None,
            grad_bytes: int | None = None, param_bytes: int | None = None,
            tp_overlap: str | None = None, comm_sms: int | None = None,
            sequence_parallel: bool | None = None, no_sequence_parallel: bool | None = None,
            overlap_dp: bool | None = None, no_overlap_dp: bool | None = None,
            overlap_pp: bool | None = None, no_overlap_pp: bool | None = None,
            overlap_ep: bool | None = None, cuda_graphs: bool | None = None,
            rank_order: str | None = None, planes: int | None = None, rates: File | None = None,
            network: str | None = None, placement: str | None = None, seed: int | None = None,
            rails_crossed: bool | None = None, collnet: bool | None = None,
            tokens: str | float | None = None) -> Answer:
    """Returns how much of its time a job trains while parts of the cluster fail, what loses it, and
    what would help.

    mapping and keywords of Mapping, rates, network, placement, seed, rails_crossed, collnet: as in
    train()
    tokens: also tell days of training for them, as "15T"
    failures: a file with rates of failures (TOML)
    detect, timeout, restart: times as "10min", until a failure is noticed, until one is that hangs,
    and from there to the first step
    checkpoint: sync or async; checkpoint_every: a time; checkpoint_size: bytes of all GPUs
    storage: a rate as "2TB/s"; stall: stop of the job for an asynchronous checkpoint
    failover: of links: none, plane (of those of the cluster) or rail; spares: spare nodes
    weeks, runs, failure_seed: how long and how often it is played; threads: that play it
    prices: a file with prices (TOML); sort: what would help, by gain or by cost
    html: a file that is written
    """
    answer: Answer = _answer("goodput", locals())
    return answer


@keywords
def calibrate(measurements: File, *, cluster: ClusterLike | None = None) -> Answer:
    """Returns what kernels reach on a GPU, from a file that the program of `softib plan calibrate
    --program` wrote: `rates` is the text of a file for train(rates=).

    cluster: whose GPU it is, where the planner does not know it by name
    """
    answer: Answer = _answer("calibrate", locals())
    return answer
