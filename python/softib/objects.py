# SPDX-License-Identifier: BSD-2-Clause
"""Clusters, models and mappings as objects, which every question to the planner takes.

An object has the keys that its maker said. It cannot be changed; replace() returns another one."""
from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any, TypeVar

from . import _native, _toml
from ._keywords import checked, unknown
from ._native import Error

Self = TypeVar("Self", bound="Described")


class Described:
    """What clusters, models and mappings have in common. A field that its maker did not say is
    None."""

    def said(self) -> dict[str, Any]:
        """Returns what was said: keyword -> value."""
        found = vars(self)
        return {name: found[name] for name in places(type(self)) if found[name] is not None}

    def replace(self: Self, **changes: Any) -> Self:
        """Returns a copy with changes. None takes away what was said."""
        return type(self)(**{**self.said(), **changes})

    def to_toml(self) -> str:
        """Returns the text of a file that says the same."""
        top: dict[str, Any] = {}
        tables: dict[str, dict[str, Any]] = {}
        where = places(type(self))
        for name, value in self.said().items():
            section, key = where[name]
            at = tables.setdefault(section, {}) if section else top
            at[key] = value
        return _toml.document(top, tables, {})

    @classmethod
    def from_toml(cls: type[Self], text: str) -> Self:
        """Returns the object that a TOML text describes."""
        return cls(**_keywords_of(cls, _toml.parse(text)))

    @classmethod
    def load(cls: type[Self], file: str | os.PathLike[str]) -> Self:
        """Returns the object that a TOML file describes."""
        try:
            with open(file, encoding="utf-8") as text:
                return cls.from_toml(text.read())
        except (OSError, UnicodeDecodeError) as error:
            raise Error(f"cannot read {file}: {error}") from error
        except Error as error:
            raise Error(f"{os.fspath(file)}: {error}") from error

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes a TOML file that says the same."""
        with open(file, "w", encoding="utf-8") as text:
            text.write(self.to_toml())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.said() == other.said()

    def __hash__(self) -> int:
        return hash((type(self), repr(self)))

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.said().items())
        return f"{type(self).__name__}({said})"

    def __str__(self) -> str:
        said = self.said()
        words = [str(said.pop(name)) for name in ("name", "base") if name in said][:1]
        if "name" in self.said():
            return words[0]
        words += [f"{name} {value}" for name, value in said.items()]
        return ", ".join(words) or type(self).__name__

    def _rows(self) -> Iterator[tuple[str, Any]]:
        yield from self.said().items()

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
                       f"<td>{html.escape(str(value))}</td></tr>" for name, value in self._rows())
        return f"<table><caption>{type(self).__name__}</caption>{rows}</table>"


class Known(Described):
    """A description whose base has what it does not say: the value of such a field is the base's,
    as the planner takes it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_whole", None)
        self.described()  # An error belongs to the line that made the object.

    def __getattribute__(self, name: str) -> Any:
        value = object.__getattribute__(self, name)
        if value is None and name in places(type(self)):
            return self.described().get(name)
        return value

    def described(self) -> dict[str, Any]:
        """Returns the values of all keywords, those of the base too."""
        whole = vars(self)["_whole"]
        if whole is None:
            ask = {"ask": "describe", type(self).__name__.lower(): asked(self)}
            try:
                answer = _native.answer(_toml.document(ask, {}, {}))
            except Error as error:
                place = r"^a (cluster|model) given as text(:\d+:\d+)?: "
                raise Error(re.sub(place, f"{type(self).__name__}: ", str(error))) from None
            whole = {name: (answer.get(section, {}) if section else answer).get(key)
                     for name, (section, key) in places(type(self)).items()}
            whole.update((name, value) for name, value in answer.items()
                         if name not in whole and not isinstance(value, dict))
            object.__setattr__(self, "_whole", whole)
        return dict(whole)

    def _rows(self) -> Iterator[tuple[str, Any]]:
        yield from ((name, value) for name, value in self.described().items()
                    if value not in (None, ""))


def _in(section: str, key: str = "") -> Any:
    """Returns a field that is a key of a section of the file."""
    return field(default=None, metadata={"section": section, "key": key})


_PLACES: dict[type, dict[str, tuple[str, str]]] = {}


def places(cls: type) -> dict[str, tuple[str, str]]:
    """Returns where each keyword of a class stands in its file: keyword -> (section, key)."""
    if cls not in _PLACES:
        _PLACES[cls] = {each.name: (each.metadata.get("section", ""),
                                    each.metadata.get("key") or each.name)
                        for each in fields(cls)}
    return _PLACES[cls]


def _keywords_of(cls: type, table: dict[str, Any]) -> dict[str, Any]:
    """Returns the keywords for what a TOML text says."""
    by_place = {place: name for name, place in places(cls).items()}
    sections = {section for section, _ in by_place if section}
    found = {}
    for key, value in table.items():
        inside = value if key in sections and isinstance(value, dict) else {key: value}
        section = key if inside is value else ""
        for each, of in inside.items():
            if (section, each) not in by_place:
                known = [name for at, name in by_place if at == section]
                where = f"[{section}]" if section else f"the file of a {cls.__name__.lower()}"
                raise unknown(each, known if section else [*known, *sections], where)
            found[by_place[section, each]] = of
    return found


def asked(of: Any) -> str:
    """Returns a cluster or a model as a question has it: a name, the name of a file, or TOML."""
    if not isinstance(of, Described):
        return str(os.fspath(of) if isinstance(of, os.PathLike) else of)
    said = of.said()
    if list(said) == ["base"]:
        return str(said["base"])
    text: str = of.to_toml()
    return text if "name" in said else _toml.document({"name": str(of)}, {}, {}) + text


def labels_of(values: list[Any]) -> list[Any]:
    """Returns what a table calls values that were asked with. Objects have a text: what they say
    differently, or their whole text."""
    objects = [value for value in values if isinstance(value, Described)]
    said = [each.said() for each in objects]
    keys = [key for key in dict.fromkeys(key for each in said for key in each)
            if len({repr(each.get(key)) for each in said}) > 1]

    def label(value: Any) -> Any:
        if not isinstance(value, Described) or "name" in value.said():
            return value if isinstance(value, (bool, int, float, type(None))) else str(value)
        differs = [str(value.said()[key]) if key == "base" else f"{key} {value.said()[key]}"
                   for key in keys if key in value.said()]
        return ", ".join(differs) or str(value)
    return [label(value) for value in values]


@checked
@dataclass(frozen=True, eq=False, repr=False)
class Cluster(Known):
    """A cluster of GPUs: a preset, and what differs from it. What is not said is the base's, and
    reading it tells the base's value.

    base: a preset, as "hgx-h100" or with its size, "superpod-h100:16"; hgx-h200:2 unless said
    nodes: number of nodes
    gpu: name of the GPU, as "B200": its rates, its NVLink and its PCIe
    name, title, source: what answers call the cluster, a line about it, where its figures are from
    gpus_per_node: GPUs of a node
    nics_per_node: network interfaces of a node
    node_power_w: most power of a node, W

    gpu_fp32, gpu_tf32, gpu_fp16, gpu_bf16, gpu_fp8, gpu_fp4: dense peak rate, TFLOP/s
    gpu_memory_gib: memory of a GPU, GiB
    gpu_memory_gbs: rate of its memory, GB/s
    gpu_sms: multiprocessors of a GPU
    gpu_power_w: most power of a GPU, W

    nvlink_domain_gpus: GPUs of one NVLink domain; 1: there is no NVLink
    nvlink_gbs: rate of a GPU's NVLinks in one direction, GB/s
    nvlink_latency_us: time from a store to its arrival, us
    nvlink_nvls: whether NVSwitches reduce and multicast

    pcie_gbs: rate between a GPU and its NIC in one direction, GB/s
    pcie_latency_us: time on PCIe one way, us

    topology: shape of the fabric, as "fat-tree", "rail-optimized", "dragonfly-plus"
    generation: speed of links, from SDR to GDR (10 to 1,600 Gb/s)
    link_layer: "infiniband" or "roce"
    oversubscription, spine_oversubscription: cables down for cables up of a leaf, of a spine: "2:1"
    radix: ports of a switch
    levels: levels of switches of a tree, 2 or 3
    dimensions: switches of each dimension of a torus or a HyperX, as [4, 4]
    hosts_per_switch: NICs at a switch
    groups, switches_per_group: groups of a dragonfly, and the switches of each
    subnets, routers: subnets, and routers between them
    planes: fabrics that share nothing; each NIC has a part of its rate in each
    failed_planes: planes that carry nothing
    engine: routing engine, as "auto" or "ftree"
    adaptive: whether switches choose among equal ports by load
    sharp: whether switches reduce (SHARP)
    mtu: bytes of payload of a packet
    cable_m: average length of a cable, m
    """

    base: str | None = None
    _: KW_ONLY
    nodes: int | None = None
    gpu: str | None = None
    name: str | None = None
    title: str | None = None
    source: str | None = None
    gpus_per_node: int | None = None
    nics_per_node: int | None = None
    node_power_w: float | None = None
    gpu_fp32: float | None = _in("gpu_rates", "fp32")
    gpu_tf32: float | None = _in("gpu_rates", "tf32")
    gpu_fp16: float | None = _in("gpu_rates", "fp16")
    gpu_bf16: float | None = _in("gpu_rates", "bf16")
    gpu_fp8: float | None = _in("gpu_rates", "fp8")
    gpu_fp4: float | None = _in("gpu_rates", "fp4")
    gpu_memory_gib: float | None = _in("gpu_rates", "memory_gib")
    gpu_memory_gbs: float | None = _in("gpu_rates", "memory_gbs")
    gpu_sms: int | None = _in("gpu_rates", "sms")
    gpu_power_w: float | None = _in("gpu_rates", "power_w")
    nvlink_domain_gpus: int | None = _in("nvlink", "domain_gpus")
    nvlink_gbs: float | None = _in("nvlink", "gbs")
    nvlink_latency_us: float | None = _in("nvlink", "latency_us")
    nvlink_nvls: bool | None = _in("nvlink", "nvls")
    pcie_gbs: float | None = _in("pcie", "gbs")
    pcie_latency_us: float | None = _in("pcie", "latency_us")
    topology: str | None = _in("fabric")
    generation: str | None = _in("fabric")
    link_layer: str | None = _in("fabric")
    oversubscription: str | None = _in("fabric")
    spine_oversubscription: str | None = _in("fabric")
    radix: int | None = _in("fabric")
    levels: int | None = _in("fabric")
    dimensions: list[int] | None = _in("fabric")
    hosts_per_switch: int | None = _in("fabric")
    groups: int | None = _in("fabric")
    switches_per_group: int | None = _in("fabric")
    subnets: int | None = _in("fabric")
    routers: int | None = _in("fabric")
    planes: int | None = _in("fabric")
    failed_planes: int | None = _in("fabric")
    engine: str | None = _in("fabric")
    adaptive: bool | None = _in("fabric")
    sharp: bool | None = _in("fabric")
    mtu: int | None = _in("fabric")
    cable_m: float | None = _in("fabric")

    @classmethod
    def preset(cls, preset: str, **changes: Any) -> Cluster:
        """Returns a preset of `plan.presets()`, with changes."""
        return cls(base=preset, **changes)

    @property
    def gpus(self) -> int:
        """The GPUs of all nodes."""
        return int(self.described()["gpus"])


@checked
@dataclass(frozen=True, eq=False, repr=False)
class Model(Known):
    """A transformer: a preset and what differs from it, or all hyper-parameters. What is not said
    is the base's, and reading it tells the base's value.

    base: a preset, as "llama3.1-70b"; none unless said
    name, title, source: what answers call the model, a line about it, where its figures are from
    layers: number of layers
    hidden: width of the hidden state
    heads: heads of queries
    kv_heads: heads of keys and values; as many as heads unless said
    head_dim: width of a head; hidden / heads unless said
    ffn: inner width of a dense layer's MLP
    vocabulary: number of tokens that there are
    sequence: tokens of one sample

    gated: whether an MLP has three matrices (SwiGLU) and not two
    biases: whether matrices have biases, and norms an offset
    learned_positions: whether positions are learned
    tied_embeddings: whether one matrix serves tokens in and logits out
    dropout: whether training drops values

    q_rank, kv_rank: width of the latents of queries, of keys and values (MLA); 0: none
    rope_dim: further width of a head of queries and keys, with positions (MLA)
    value_dim: width of a head of values (MLA)

    experts: experts of a layer; 0: every layer is dense
    top_k: experts that a token is sent to
    expert_ffn: inner width of an expert
    shared_experts: experts that every token passes as well
    dense_layers: number of first layers that have no experts
    nodes_per_token: most nodes that a token is sent to; 0: no limit
    """

    base: str | None = None
    _: KW_ONLY
    name: str | None = None
    title: str | None = None
    source: str | None = None
    layers: int | None = None
    hidden: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    ffn: int | None = None
    vocabulary: int | None = None
    sequence: int | None = None
    gated: bool | None = None
    biases: bool | None = None
    learned_positions: bool | None = None
    tied_embeddings: bool | None = None
    dropout: bool | None = None
    q_rank: int | None = None
    kv_rank: int | None = None
    rope_dim: int | None = None
    value_dim: int | None = None
    experts: int | None = None
    top_k: int | None = None
    expert_ffn: int | None = None
    shared_experts: int | None = None
    dense_layers: int | None = None
    nodes_per_token: int | None = None

    @classmethod
    def preset(cls, preset: str, **changes: Any) -> Model:
        """Returns a preset of `plan.models()`, with changes."""
        return cls(base=preset, **changes)

    @property
    def parameters(self) -> float:
        """The number of all parameters."""
        return float(self.described()["parameters"])

    @property
    def active_parameters(self) -> float:
        """The number of parameters that one token is computed with."""
        return float(self.described()["active_parameters"])


@checked
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Mapping(Described):
    """How a training job lies on GPUs, and what the framework does. What is not said has the
    planner's default; if no degree is said, the planner chooses the quickest mapping.

    gpus: GPUs of the job; all that the degrees divide unless said
    tp: ranks that divide each matrix (tensor parallelism)
    pp: pipeline stages
    interleave: chunks of layers of a stage (virtual pipeline)
    cp: parts of a sequence (context parallelism)
    cp_comm: how keys and values of other parts are reached: "p2p", "all-gather" or "a2a"
    ep: ranks that divide the experts (expert parallelism)
    etp: ranks that divide each expert
    zero: what replicas divide: 0 nothing, 1 optimizer, 2 gradients too, 3 all (FSDP)
    hsdp: ranks that divide it; groups of them are replicas
    uneven: True: stages may differ by a layer

    batch: sequences of a step; about 4 Mi tokens unless said
    micro_batch: sequences that a pipeline takes at once
    sequence: tokens of a sequence; the model's unless said

    framework: whose defaults hold: "megatron-lm", "megatron-bridge", "nemo" or "fsdp2"
    lora: rank of the adapters, which alone are trained
    lora_targets: matrices that have adapters: "all" or "attention"
    recompute: activations that are computed again: "none", "selective" or "full"
    recompute_layers: layers of a stage or chunk that full recomputation takes
    offload_layers: layers whose activations wait in the host's memory
    offload_optimizer: True: the host has the optimizer's state, and updates it
    fp8_activations: True: inputs of activation functions are kept in 8 bits
    attention: "flash", "flash-fp8" or "unfused"
    precision: recipe of matrix products: bf16, fp16, fp8, fp8-block, mxfp8 or nvfp4
    grad_bytes: bytes of a gradient, 2 or 4
    param_bytes: bytes of a parameter as it is held and gathered, 1 or 2
    tp_overlap: exchanges of tensor parallelism that are hidden: "none", "backward" or "all"
    comm_sms: multiprocessors of a GPU that only communicate
    sequence_parallel: True: what lies between matrices is divided, also if the framework would not
    no_sequence_parallel: True: what lies between matrices is kept whole
    overlap_dp: True: gradients and parameters travel while layers compute
    no_overlap_dp: True: they travel while nothing computes
    overlap_pp: True: stages compute while they send
    no_overlap_pp: True: stages wait while they send
    overlap_ep: True: another micro-batch hides the exchanges of experts
    cuda_graphs: True: hosts launch passes as a whole
    rank_order: ranks from neighbours to far: "tp-cp-dp-pp" or "tp-cp-pp-dp"
    """

    gpus: int | None = None
    tp: int | None = None
    pp: int | None = None
    interleave: int | None = None
    cp: int | None = None
    cp_comm: str | None = None
    ep: int | None = None
    etp: int | None = None
    zero: int | None = None
    hsdp: int | None = None
    uneven: bool | None = None
    batch: int | None = None
    micro_batch: int | None = None
    sequence: int | None = None
    framework: str | None = None
    lora: int | None = None
    lora_targets: str | None = None
    recompute: str | None = None
    recompute_layers: int | None = None
    offload_layers: int | None = None
    offload_optimizer: bool | None = None
    fp8_activations: bool | None = None
    attention: str | None = None
    precision: str | None = None
    grad_bytes: int | None = None
    param_bytes: int | None = None
    tp_overlap: str | None = None
    comm_sms: int | None = None
    sequence_parallel: bool | None = None
    no_sequence_parallel: bool | None = None
    overlap_dp: bool | None = None
    no_overlap_dp: bool | None = None
    overlap_pp: bool | None = None
    no_overlap_pp: bool | None = None
    overlap_ep: bool | None = None
    cuda_graphs: bool | None = None
    rank_order: str | None = None

    # What a mapping that nobody described would have. Saying it again may be refused as idle.
    _USUAL = {"interleave": 1, "zero": 1, "uneven": False, "attention": "flash",
              "precision": "bf16", "tp_overlap": "backward", "grad_bytes": 4, "param_bytes": 2,
              "comm_sms": 0, "overlap_ep": False, "cuda_graphs": False,
              "rank_order": "tp-cp-dp-pp", "no_sequence_parallel": False, "no_overlap_dp": False,
              "no_overlap_pp": False, "etp": 1, "cp_comm": "p2p", "lora": 0, "lora_targets": "all",
              "recompute_layers": 0, "offload_layers": 0, "offload_optimizer": False,
              "fp8_activations": False}

    @classmethod
    def of(cls, answer: Any) -> Mapping:
        """Returns the mapping of an answer: of train(...), of an entry of search(...).best."""
        told = dict(getattr(answer, "data", answer))
        told = told.get("mapping", told)
        for name in ("sequence_parallel", "overlap_dp", "overlap_pp"):
            if name in told:
                told[f"no_{name}"] = not told.pop(name)
        if told.get("hsdp") == told.get("dp", 0) * told.get("cp", 1):
            told.pop("hsdp", None)  # It has no replicas.
        return cls(**{name: told[name] for name in places(cls)
                      if name in told and told[name] != cls._USUAL.get(name)})
