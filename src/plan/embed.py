#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the tables of TOML files as C++, so that the planner has them without a file:

    embed.py models OUTPUT FILE...       models of transformers, in this order
    embed.py clusters OUTPUT FILE...     clusters
    embed.py prices OUTPUT FILE          prices
    embed.py gpus OUTPUT FILE            GPUs, with the NVLink and PCIe in which they are sold
    embed.py rates OUTPUT FILE...        rates of kernels
    embed.py steps OUTPUT FILE...        training steps that were measured
    embed.py errors OUTPUT FILE          what the planner misses of each by leave-one-out
    embed.py failures OUTPUT FILE        what interrupts training
    embed.py ratios OUTPUT FILE          pairs of measured steps
    embed.py validation OUTPUT FILE...   published numbers, as the function named as the first file
    embed.py program OUTPUT FILE         the program that measures kernels, as it is

Keys of models are the fields of plan::Model, those of clusters stand in CLUSTER_KEYS. spec/ reads
the same files, and its tests say that both read the same. Published numbers are for
docs/validation.md alone."""
import json
import pathlib
import string
import sys
import tomllib


def literal(value):
    """Returns a value of TOML as C++, whose strings have the quotes of JSON."""
    return json.dumps(value, ensure_ascii=False)


def model(table):
    return ["    {", "        Model& model = all.emplace_back();",
            *(f"        model.{key} = {literal(value)};" for key, value in table.items()),
            "    }"]


def vector(header, declaration, kind, lines):
    """Returns a file with one function, whose vector `all` of this kind the lines fill."""
    return [*(f'#include "{each}"' for each in header), "", "#include <vector>", "",
            "namespace softib::plan {", "", declaration + " {",
            f"    static const std::vector<{kind}> made = [] {{",
            f"    std::vector<{kind}> all;", *lines,
            "    return all;", "    }();", "    return made;", "}", "",
            "}  // namespace softib::plan"]


def models(tables):
    return vector(["plan/train/model.h"], "std::span<const Model> model_presets()", "Model",
                  [line for table in tables for line in model(table)])


def taper(text):
    return "{.down = %d, .up = %d}" % tuple(map(int, text.split(":")))


# The field of plan::Cluster that a key sets, and how its value is written in C++.
CLUSTER_KEYS = {
    "name": ("name", literal), "title": ("title", literal), "source": ("source", literal),
    "nodes": ("fabric.spec.hosts", literal), "gpus_per_node": ("gpus_per_node", literal),
    "nics_per_node": ("fabric.spec.hcas_per_host", literal),
    "node_power_w": ("node_power_w", literal),
    "nvlink.domain_gpus": ("nvlink.domain_gpus", literal),
    "fabric.topology": ("fabric.spec.shape", lambda name: f"*topo::parse_shape({literal(name)})"),
    "fabric.generation": ("fabric.spec.generation",
                          lambda name: f"*topo::parse_generation({literal(name)})"),
    "fabric.link_layer": ("fabric.link_layer", {"infiniband": "LinkLayer::kInfiniBand",
                                                "roce": "LinkLayer::kRoce"}.__getitem__),
    "fabric.sharp": ("fabric.sharp", literal), "fabric.radix": ("fabric.spec.radix", literal),
    "fabric.planes": ("fabric.planes", literal), "fabric.levels": ("fabric.spec.levels", literal),
    "fabric.hosts_per_switch": ("fabric.spec.hosts_per_switch", literal),
    "fabric.spine_oversubscription": ("fabric.spec.spine_oversubscription", taper),
}


def cluster(table):
    flat = {key: value for key, value in table.items() if not isinstance(value, dict)}
    for section, below in table.items():
        if isinstance(below, dict):
            flat |= {f"{section}.{key}": value for key, value in below.items()}
    gpu = literal(flat.pop("gpu"))
    lines = ["    {", f"        Cluster& cluster = all.emplace_back(made_of({gpu}));"]
    for key, value in flat.items():
        field, write = CLUSTER_KEYS[key]
        lines.append(f"        cluster.{field} = {write(value)};")
    return lines + ["    }"]


def clusters(tables):
    return vector(["core/topo/shape.h", "plan/cluster/presets.h"],
                  "const std::vector<Cluster>& preset_clusters()", "Cluster",
                  [line for table in tables for line in cluster(table)])


def prices(tables):
    rows = [f"        {{{literal(name)}, {low}, {high}, {literal(source)}}},"
            for table in tables for name, (low, high, source) in table.items()]
    return ['#include "plan/cluster/prices.h"', "", "namespace softib::plan {", "",
            "Prices default_prices() {", "    return {", *rows, "    };", "}", "",
            "}  // namespace softib::plan"]


def gpu(table):
    rate, link = table["tflops"], table["nvlink"]
    host = table.get("host_gbs", table["pcie_gbs"])
    peaks = ", ".join(f"{rate.get(name, 0)} * 1e12"
                      for name in ("fp32", "tf32", "fp16", "bf16", "fp8", "fp4"))
    return [f"        {{.gpu = {{.name = {literal(table['name'])},",
            f"                 .peak_flops = {{{peaks}}},",
            f"                 .memory_bytes = {table['memory_mib']}ULL << 20,",
            f"                 .memory_bytes_per_s = {table['memory_gbs']} * 1e9,",
            *(f"                 .{key} = {table[key]},"
              for key in ("sms", "compute_capability", "power_w")),
            f"                 .host_bytes_per_s = {host} * 1e9,",
            "                 },",
            f"         .nvlink = {{.domain_gpus = {link['domain_gpus']},",
            f"                    .bytes_per_s = {link['gbs']} * 1e9,",
            *(f"                    .{key} = {literal(link[key])},"
              for key in ("latency_us", "links", "nvls")),
            "                    },",
            f"         .pcie = {{.bytes_per_s = {table['pcie_gbs']} * 1e9, .latency_us = 0.35}}}},"]


def gpus(tables):
    return ['#include "plan/cluster/presets.h"', "", "namespace softib::plan {", "",
            "const std::vector<SoldGpu>& sold_gpus() {",
            "    static const std::vector<SoldGpu> all{",
            *(line for table in tables for each in table["gpu"] for line in gpu(each)),
            "    };", "    return all;", "}", "", "}  // namespace softib::plan"]


RECIPES = {"bf16": "kBf16", "fp16": "kFp16", "fp8": "kFp8", "fp8-block": "kFp8Block",
           "mxfp8": "kMxfp8", "nvfp4": "kNvfp4"}


def rates_of(table):
    lines = ["    {", "        Rates& rates = all.emplace_back();"]
    for key, value in table.items():
        if isinstance(value, dict):
            lines += [f"        rates.{key}[static_cast<std::size_t>(Recipe::{RECIPES[name]})] = "
                      f"{literal(each)};" for name, each in value.items()]
        else:
            lines.append(f"        rates.{key} = {literal(value)};")
    return lines + ["    }"]


def rates(tables):
    return vector(["plan/cluster/rates.h"], "std::span<const Rates> rates_presets()", "Rates",
                  [line for table in tables for line in rates_of(table)])


def camel(name):
    """Returns kFlashFp8 for flash-fp8."""
    return "k" + "".join(word.capitalize() for word in name.split("-"))


TEXT_FIELDS = ("id", "what", "source", "model", "cluster", "known_miss", "framework", "roce",
               "link_speed")
MEASURES = ("seconds", "tokens_per_gpu_s", "teraflops", "days")
ENUMS = {"precision": ("recipe", lambda name: f"Recipe::{RECIPES[name]}"),
         "recompute": ("recompute", lambda name: f"Recompute::k{name.capitalize()}"),
         "attention": ("attention", lambda name: "AttentionKernel::" + camel(name)),
         "cp_comm": ("cp_comm", {"p2p": "ContextExchange::kRing",
                                 "all-gather": "ContextExchange::kGather",
                                 "a2a": "ContextExchange::kAllToAll"}.__getitem__),
         "lora_targets": ("lora_targets", lambda name: "AdapterTargets::" + camel(name)),
         "tp_overlap": ("tp_overlap", lambda name: f"TensorOverlap::k{name.capitalize()}")}


def step(table, above):
    lines = ["    {", "        MeasuredStep& step = all.emplace_back();",
             "        step.given = {" + ", ".join(map(literal, above | table)) + "};"]
    for key, value in (above | table).items():
        if key in TEXT_FIELDS:
            lines.append(f"        step.{key} = {literal(value)};")
        elif key in MEASURES:
            lines.append(f"        step.measure = Measure::k{key.title().replace('_', '')};")
            lines.append(f"        step.value = {literal(value)};")
        elif key in ENUMS:
            field, write = ENUMS[key]
            lines.append(f"        step.mapping.{field} = {write(value)};")
            if key == "recompute":
                lines.append("        step.recompute_given = true;")
        else:
            lines.append(f"        step.mapping.{key} = {literal(value)};")
    return lines + ["    }"]


def steps(tables):
    return vector(["plan/train/measured.h"], "std::span<const MeasuredStep> measured_steps()",
                  "MeasuredStep",
                  [line for table in tables for row in table["step"]
                   for line in step(row, {key: value for key, value in table.items()
                                          if key != "step"})])


def errors(tables):
    rows = [f"        {{{literal(name)}, {error}}}," for table in tables
            for name, error in table.items()]
    return ['#include "plan/train/measured.h"', "", "namespace softib::plan {", "",
            "std::span<const KnownError> known_errors() {",
            "    static constexpr KnownError kErrors[] = {", *rows, "    };",
            "    return kErrors;", "}", "", "}  // namespace softib::plan"]


def failure(name, table):
    fields = {"of": lambda text: f"FailureOf::k{text.capitalize()}",
              "loses": lambda text: f"Loses::k{text.capitalize()}"}
    return [f"        {{.name = {literal(name)},",
            *(f"         .{key} = {fields.get(key, literal)(table[key])},"
              for key in ("of", "per_million_hours", "loses", "hangs", "planned", "replaced",
                          "source") if key in table), "        },"]


def failures(tables):
    lines = [line for table in tables for name, each in table.items() if isinstance(each, dict)
             for line in failure(name, each)]
    hours = [f"        .{key} = {table[key]}," for table in tables
             for key in ("reset_hours", "replace_hours")]
    return ['#include "plan/goodput/failures.h"', "", "namespace softib::plan {", "",
            "const Failures& default_failures() {", "    static const Failures all{", *hours,
            "        .kinds = {", *lines, "    }};", "    return all;", "}", "",
            "}  // namespace softib::plan"]


def ratios(tables):
    rows = [f"        {{{literal(row['what'])}, {literal(row['step'])}, {literal(row['over'])}}},"
            for table in tables for row in table["ratio"]]
    return ['#include "plan/train/measured.h"', "", "namespace softib::plan {", "",
            "std::span<const StepPair> step_pairs() {",
            "    static constexpr StepPair kPairs[] = {", *rows, "    };",
            "    return kPairs;", "}", "", "}  // namespace softib::plan"]


# Fields of plan::ValidationRow, in their order. Other keys of a row are for texts in braces.
VALIDATION_FIELDS = ["id", "claim", "parameters", "expected", "tolerance", "tolerance_up", "unit",
                     "source", "ours", "fitted", "known_miss", "note"]


def validation_row(values):
    """Returns a row as C++; `ours` and a text of `expected` are C++ already."""
    plain = {key: literal(value) if isinstance(value, bool) else value
             for key, value in values.items()}
    used = set(VALIDATION_FIELDS)
    fields = []
    for key in filter(values.__contains__, VALIDATION_FIELDS):
        value = values[key]
        if isinstance(value, str) and key != "note":
            used |= {name for _, name, _, _ in string.Formatter().parse(value)}
            value = value.format_map(plain)
        is_code = key == "ours" or (key == "expected" and isinstance(value, str))
        text = value if is_code else literal(value)
        fields.append(f".{key} = [] {{ return {text}; }}" if key == "ours" else f".{key} = {text}")
    if not used.issuperset(values):
        sys.exit(f"{values['id']}: {set(values) - used} is no field, and no text has it in braces")
    return "        {" + ", ".join(fields) + "},"


def validation(tables, files):
    path = pathlib.Path(files[0])
    rows = [validation_row({key: value for key, value in group.items() if key != "rows"} | row)
            for table in tables for group in table["group"] for row in group.get("rows", [{}])]
    return [f'#include "plan/{path.parent.name}/validation_numbers.h"',
            '#include "plan/validation.h"', "", "namespace softib::plan {", "",
            f"std::vector<ValidationRow> {path.stem}() {{", "    return {", *rows, "    };", "}",
            "", "}  // namespace softib::plan"]


def program(text):
    """Returns a program as C++: a literal for each line, since compilers bound their length."""
    rows = [f"        {literal(line)}" for line in text.splitlines(keepends=True)]
    return ['#include "plan/train/calibration.h"', "", "namespace softib::plan {", "",
            "std::string_view measuring_program() {", "    static constexpr char kText[] =", *rows,
            "        ;", "    return kText;", "}", "", "}  // namespace softib::plan"]


def lines_of(kind, files):
    if kind == "program":
        return program(pathlib.Path(files[0]).read_text())
    tables = [tomllib.loads(pathlib.Path(file).read_text()) for file in files]
    return (validation(tables, files) if kind == "validation" else
            {"models": models, "clusters": clusters, "prices": prices, "gpus": gpus,
             "rates": rates, "steps": steps, "errors": errors, "ratios": ratios,
             "failures": failures}[kind](tables))


def main():
    kind, output, *files = sys.argv[1:]
    text = "\n".join(["// Written by src/plan/embed.py.", *lines_of(kind, files), ""])
    pathlib.Path(output).write_text(text)


if __name__ == "__main__":
    main()
