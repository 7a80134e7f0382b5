// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include "app/cli/plan/train_report.h"
#include "app/fabric/term.h"
#include "plan/units.h"

namespace softib::app::train {

namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

std::string share_text(double part) {
    return fmt::format("{:.1f} %", 100 * part);
}

std::string seconds_text(double seconds) {
    return plan::show_time(static_cast<plan::TimePs>(seconds * 1e12));
}

std::string bytes_text(double bytes) {
    return bytes <= 0 ? "-" : plan::show_size(static_cast<std::uint64_t>(bytes));
}

std::string billions_text(double count) {
    return count < 1e13 ? fmt::format("{:.4g} B", count / 1e9)
                        : fmt::format("{:.4g} T", count / 1e12);
}

/// Returns a number with its digits in groups: "1,234,567".
std::string grouped(double number) {
    std::string text = fmt::format("{:.0f}", number);
    for (std::size_t i = text.size(); i > 3;) {
        i -= 3;
        text.insert(i, ",");
    }
    return text;
}

std::uint32_t ranks_of(const plan::Mapping& mapping, plan::Dimension dimension) {
    switch (dimension) {
        case plan::Dimension::kTensor:
            return mapping.tp;
        case plan::Dimension::kContext:
            return mapping.cp;
        case plan::Dimension::kExpert:
            return mapping.ep;
        case plan::Dimension::kPipeline:
            return mapping.pp;
        case plan::Dimension::kData:
            break;
    }
    return mapping.replicas();
}

std::string notes_text(const std::vector<std::string>& notes) {
    std::string text = "\n";
    for (const std::string& note : notes) {
        text += "- " + note + "\n";
    }
    return text;
}

std::string table_text(const std::vector<std::string>& header, const Rows& rows) {
    Table table(header);
    for (const std::vector<std::string>& row : rows) {
        table.row(row);
    }
    return table.text();
}

}  // namespace

std::string summary(const Report& report) {
    const plan::Step& step = report.step;
    std::string text = fmt::format(
        "step {}, {} to {}   MFU {}   HFU {}   {:.0f} TFLOP/s a GPU   {} tokens/s   bubble {}",
        seconds_text(step.seconds), seconds_text(report.interval.low),
        seconds_text(report.interval.high), share_text(step.mfu), share_text(step.hfu),
        step.flops_per_gpu_s / 1e12, grouped(step.tokens_per_s), share_text(step.bubble_share));
    if (report.tokens > 0) {
        const plan::TrainingRun run = plan::run_for(step, report.mapping, report.tokens);
        text += fmt::format("\n{} tokens: {:.1f} days, {} GPU-hours, if nothing fails",
                            billions_text(report.tokens), run.days, grouped(run.gpu_hours));
    }
    return text;
}

Rows part_rows(const plan::Step& step) {
    Rows rows;
    const auto row = [&](const std::string& name, double seconds) {
        if (seconds > 0) {
            rows.push_back({name, seconds_text(seconds), share_text(seconds / step.seconds)});
        }
    };
    const plan::StepParts& parts = step.parts;
    row("matrix products", parts.matmul);
    row("attention", parts.attention);
    row("elementwise", parts.elementwise);
    row("waiting for hosts", parts.host);
    row("recomputation", parts.recompute);
    for (const plan::Dimension dimension : plan::kDimensions) {
        row(fmt::format("exposed {}", plan::to_string(dimension)),
            parts.exposed[static_cast<std::size_t>(dimension)]);
    }
    row("bubble", parts.bubble);
    row("optimizer", parts.optimizer);
    return rows;
}

Rows byte_rows(const Report& report) {
    Rows rows;
    for (const plan::Dimension dimension : plan::kDimensions) {
        const std::uint32_t ranks = ranks_of(report.mapping, dimension);
        if (ranks > 1) {
            const auto i = static_cast<std::size_t>(dimension);
            rows.push_back({plan::to_string(dimension), std::to_string(ranks),
                            seconds_text(report.step.parts.exposed[i]),
                            bytes_text(report.step.bytes[i].nvlink),
                            bytes_text(report.step.bytes[i].fabric)});
        }
    }
    return rows;
}

Rows memory_rows(const plan::MemoryUse& memory) {
    const auto row = [](const char* name, double bytes) {
        return std::vector<std::string>{name, fmt::format("{:.1f}", bytes / kGiB)};
    };
    return {row("weights", memory.weights),
            row("gradients", memory.gradients),
            row("optimizer", memory.optimizer),
            row("activations", memory.activations),
            row("working", memory.working),
            row("reserved", memory.reserved),
            {"all", fmt::format("{:.1f} of {:.1f}, on stage {}", memory.total() / kGiB,
                                memory.capacity / kGiB, memory.stage)}};
}

Rows choice_rows(const Report& report) {
    Rows rows;
    for (const plan::Choice& each : report.choices) {
        const bool framework = each.by == "framework" && report.framework != nullptr;
        rows.push_back(
            {each.what, each.value, std::string(framework ? report.framework->name : each.by)});
    }
    return rows;
}

std::string to_text(const Report& report) {
    std::string text = fmt::format(
        "{} ({} parameters) on {} {} of {}\n{}, batch {} of {} tokens\n\n",
        painted(report.model.name, Colour::kBold),
        billions_text(plan::total_parameters(report.model)), grouped(report.mapping.gpus),
        report.cluster.gpu.name, report.cluster.name, plan::describe(report.mapping),
        grouped(report.mapping.batch), grouped(report.mapping.sequence));
    text += painted(summary(report), Colour::kBold) + "\n\n" +
            table_text({"PART OF THE STEP", "TIME", "SHARE"}, part_rows(report.step));
    if (const Rows bytes = byte_rows(report); !bytes.empty()) {
        text += "\n" + table_text({"DIMENSION", "RANKS", "EXPOSED", "NVLINK", "FABRIC"}, bytes) +
                "bytes are what a GPU sends in a step\n";
    }
    return text + "\n" + table_text({"MEMORY OF A GPU", "GIB"}, memory_rows(report.step.memory)) +
           "\n" + table_text({"CHOICE", "VALUE", "BY"}, choice_rows(report)) +
           notes_text(report.notes);
}

std::string to_text(const Search& search) {
    const plan::SearchResult& result = search.result;
    std::string text = fmt::format("{} on {} {} of {}: {} of {} mappings fit; tried in {:.1f} s\n",
                                   painted(search.model.name, Colour::kBold), grouped(search.gpus),
                                   search.cluster.gpu.name, search.cluster.name,
                                   grouped(static_cast<double>(result.fitting)),
                                   grouped(static_cast<double>(result.mappings)), search.seconds);
    if (!result.best.empty()) {
        const plan::Mapping& first = result.best.front().mapping;
        text += fmt::format("a step is a batch of {} of {} tokens\n", grouped(first.batch),
                            grouped(first.sequence));
    }
    if (result.refined != 0) {
        text +=
            fmt::format("ranked by rates and latencies; the {} quickest again on the {} model\n",
                        result.refined, search.network);
    }
    if (result.open != 0) {
        text += fmt::format(
            "{} or more others may be quicker than the first: by rates and latencies alone they "
            "are; a larger --top tries more\n",
            grouped(static_cast<double>(result.open)));
    } else if (result.open_rows != 0) {
        text += fmt::format(
            "no other is quicker than the first, but {} or more others may be quicker than the "
            "last: a larger --top tries more\n",
            grouped(static_cast<double>(result.open_rows)));
    }
    if (result.stopped) {
        text += painted("stopped before the end: these are the best so far\n", Colour::kYellow);
    }
    Table table({"STEP", "MFU", "TP", "PP", "CHUNKS", "UNEVEN", "CP", "EP", "DP", "ZERO",
                 "MICRO-BATCH", "RECOMPUTE", "BUBBLE", "EXPOSED", "MEMORY"});
    for (const plan::Candidate& each : result.best) {
        const plan::Mapping& m = each.mapping;
        table.row({seconds_text(each.seconds), share_text(each.mfu), std::to_string(m.tp),
                   std::to_string(m.pp), std::to_string(m.interleave), m.uneven ? "yes" : "no",
                   std::to_string(m.cp), std::to_string(m.ep), std::to_string(m.dp()),
                   std::to_string(m.zero), std::to_string(m.micro_batch),
                   plan::to_string(m.recompute), share_text(each.bubble_share),
                   share_text(each.exposed_share),
                   fmt::format("{:.1f} GiB", each.memory_bytes / kGiB)});
    }
    return text + "\n" + table.text() + notes_text(search.notes);
}

std::string models_text() {
    Table table(
        {"MODEL", "PARAMETERS", "ACTIVE", "LAYERS", "HIDDEN", "HEADS", "SEQUENCE", "SOURCE"});
    for (const plan::Model& model : plan::model_presets()) {
        table.row({model.name, billions_text(plan::total_parameters(model)),
                   billions_text(plan::active_parameters(model)), std::to_string(model.layers),
                   std::to_string(model.hidden), std::to_string(model.heads),
                   std::to_string(model.sequence), model.source});
    }
    return table.text();
}

}  // namespace softib::app::train
