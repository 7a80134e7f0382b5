// SPDX-License-Identifier: BSD-2-Clause
// A training step as a page, with its parts and its timeline; the mappings of a search as points.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "app/cli/html_page.h"
#include "app/cli/plan/fabric_html.h"
#include "app/cli/plan/page.h"
#include "app/cli/plan/train_report.h"
#include "plan/units.h"

namespace softib::app::train {

namespace {

constexpr double kUnits = 100'000;       ///< Units of time in which a step's events are drawn.
constexpr std::size_t kEvents = 24'000;  ///< The most events that are drawn one by one.

/// Something that a stage does, in units of the step.
struct Span {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::string name = {};
};

/// A kind of what stages do, as the page shows it.
struct Kind {
    const char* style;
    const char* what;
    bool below;  ///< Drawn below the passes: it goes on while the stage computes.
};
constexpr std::array kKinds{
    Kind{"fwd0", "forward pass", false},       Kind{"fwd1", "forward pass", false},
    Kind{"bwd0", "backward pass", false},      Kind{"bwd1", "backward pass", false},
    Kind{"opt", "optimizer", false},           Kind{"send", "sends to another stage", true},
    Kind{"par", "parameters", true},           Kind{"gra", "gradients", true},
    Kind{"emb", "embedding's gradients", true}};
enum KindIndex : std::uint8_t {
    kForward = 0,
    kBackward = 2,
    kOptimizer = 4,
    kSend = 5,
    kParameters = 6,
    kGradients = 7,
    kEmbedding = 8
};
using Lane = std::array<std::vector<Span>, kKinds.size()>;

KindIndex kind_of(plan::SideWork work) {
    switch (work) {
        case plan::SideWork::kParameters:
            return kParameters;
        case plan::SideWork::kGradients:
            return kGradients;
        case plan::SideWork::kEmbedding:
            return kEmbedding;
        case plan::SideWork::kOptimizer:
        case plan::SideWork::kHost:
            break;
    }
    return kOptimizer;
}

/// Returns a lane of at most `pieces` spans of the same length in a row: each is what the stage
/// does in its middle.
Lane sampled(const Lane& lane, std::size_t pieces) {
    Lane out;
    const double wide = kUnits / static_cast<double>(pieces);
    for (const bool below : {false, true}) {
        std::vector<std::size_t> doing(pieces, kKinds.size());
        for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
            if (kKinds[kind].below != below) {
                continue;
            }
            for (const Span& span : lane[kind]) {
                const double first = std::ceil(static_cast<double>(span.start) / wide - 0.5);
                for (auto i = static_cast<std::size_t>(std::max(0.0, first));
                     i < pieces &&
                     (static_cast<double>(i) + 0.5) * wide < static_cast<double>(span.end);
                     ++i) {
                    doing[i] = kind;
                }
            }
        }
        for (std::size_t first = 0, last = 0; first < pieces; first = last) {
            while (last < pieces && doing[last] == doing[first]) {
                ++last;
            }
            if (doing[first] < kKinds.size()) {
                out[doing[first]].push_back(
                    {static_cast<std::uint64_t>(static_cast<double>(first) * wide),
                     static_cast<std::uint64_t>(static_cast<double>(last) * wide)});
            }
        }
    }
    return out;
}

/// Returns what each stage does. Where there are too many events to draw, lanes are sampled.
std::vector<Lane> lanes_of(const plan::Step& step) {
    std::vector<Lane> lanes(step.played.ends.size());
    const bool many = step.played.events.size() > kEvents;
    const bool chunks =
        std::ranges::any_of(step.played.events, [](const auto& event) { return event.chunk > 0; });
    const auto unit = [&](plan::TimePs at) {
        return static_cast<std::uint64_t>(static_cast<double>(at) / (step.seconds * 1e12) * kUnits +
                                          0.5);
    };
    const auto add = [&](std::uint32_t stage, std::size_t kind, plan::TimePs start,
                         plan::TimePs end, std::string name) {
        if (unit(end) > unit(start)) {
            lanes[stage][kind].push_back({unit(start), unit(end), std::move(name)});
        }
    };
    for (const plan::PassEvent& event : step.played.events) {
        std::string name = chunks ? fmt::format("{}.{}", event.micro_batch, event.chunk)
                                  : std::to_string(event.micro_batch);
        const std::size_t kind = event.forward ? kForward : kBackward;
        add(event.stage, kind + (many ? 0 : event.micro_batch % 2), event.start, event.end, name);
        if (event.sent > event.end) {
            add(event.stage, kSend, event.end, event.sent, std::move(name));
        }
    }
    for (const plan::SideEvent& event : step.side) {
        if (event.work == plan::SideWork::kHost) {
            continue;  // The stage waits for its host.
        }
        add(event.stage, kind_of(event.work), event.start, event.end, "");
    }
    const std::size_t pieces = std::clamp<std::size_t>(kEvents / 2 / lanes.size(), 800, 3000);
    for (Lane& lane : lanes) {
        for (std::vector<Span>& spans : lane) {
            std::ranges::sort(spans, {}, &Span::start);
        }
        lane = many ? sampled(lane, pieces) : std::move(lane);
    }
    return lanes;
}

/// Returns the spans of one kind as a path of horizontal strokes. The script reads their times
/// from it.
std::string strokes_of(const std::vector<Span>& spans, const Kind& kind) {
    std::string path;
    std::string names;
    std::uint64_t at = 0;
    const int y = kind.below ? 17 : 7;
    for (const Span& span : spans) {
        const std::uint64_t start = std::max(span.start, at);
        if (span.end <= start) {
            continue;
        }
        path += path.empty() ? fmt::format("M{} {}h{}", start, y, span.end - start)
                             : fmt::format("m{} 0h{}", start - at, span.end - start);
        names += (names.empty() ? "" : " ") + span.name;
        at = span.end;
    }
    if (path.empty()) {
        return "";
    }
    const bool named = names.find_first_not_of(' ') != std::string::npos;
    return fmt::format("<path class=\"{}{}\" data-what=\"{}\"{} d=\"{}\"/>", kind.style,
                       kind.below ? " below" : "", kind.what,
                       named ? fmt::format(" data-n=\"{}\"", names) : "", path);
}

std::string legend_of(const std::vector<Lane>& lanes) {
    std::string out;
    for (std::size_t i = 0; i < kKinds.size(); ++i) {
        const bool used =
            std::ranges::any_of(lanes, [i](const Lane& lane) { return !lane[i].empty(); });
        const std::string style = std::string(kKinds[i].style).substr(0, i < 4 ? 3 : 4);
        if (used && i != kForward + 1 && i != kBackward + 1) {
            out += fmt::format("<li><i class=\"swatch {}\"></i>{}</li>\n", style, kKinds[i].what);
        }
    }
    return "<ul class=\"legend\">" + out +
           "<li><i class=\"swatch none\"></i>waits for other stages</li></ul>\n";
}

std::string timeline_picture(const plan::Step& step) {
    const std::vector<Lane> lanes = lanes_of(step);
    std::string out = legend_of(lanes) +
                      fmt::format(
                          "<figure class=\"timeline\" data-seconds=\"{:.9g}\" "
                          "data-units=\"{:.0f}\">\n",
                          step.seconds, kUnits) +
                      "<div class=\"tools\" hidden><button type=\"button\">Closer</button>"
                      "<button type=\"button\">Wider</button><button type=\"button\">All</button>"
                      "<span class=\"reading muted\" aria-live=\"polite\"></span></div>\n"
                      "<div class=\"lanes\" tabindex=\"0\" role=\"application\" "
                      "aria-label=\"Timeline of pipeline stages. Keys: plus and minus zoom, arrows "
                      "move, 0 shows all.\">\n";
    for (std::size_t stage = 0; stage < lanes.size(); ++stage) {
        out += fmt::format(
            "<div class=\"lane\" data-name=\"stage {0}\"><span><b>stage </b>{0}"
            "</span><div><svg viewBox=\"0 0 {1:.0f} 20\" "
            "preserveAspectRatio=\"none\" aria-hidden=\"true\">",
            stage, kUnits);
        for (std::size_t i = 0; i < kKinds.size(); ++i) {
            out += strokes_of(lanes[stage][i], kKinds[i]);
        }
        out += "</svg></div></div>\n";
    }
    out += "</div>\n<div class=\"times\">";
    constexpr int kMarks = 5;
    for (int i = 0; i < kMarks; ++i) {
        const double part = static_cast<double>(i) / (kMarks - 1);
        out += fmt::format("<span class=\"x{}\" style=\"left:{:.0f}%\">{}</span>",
                           i == kMarks - 1 ? " last" : "", 100 * part,
                           i == 0 ? "0" : seconds_text(part * step.seconds));
    }
    return out +
           "</div></figure>\n<p class=\"muted\">A row is a pipeline stage: passes above, what "
           "is sent meanwhile below. Numbers are micro-batches; where there are none, passes "
           "are too many to draw each. The wheel and the keys + and - zoom; dragging "
           "moves.</p>\n";
}

std::vector<Part> parts_of(const plan::Step& step) {
    const plan::StepParts& parts = step.parts;
    std::vector<Part> out{{"matrix products", parts.matmul, 0},
                          {"attention", parts.attention, 1},
                          {"elementwise", parts.elementwise, 2},
                          {"waiting for hosts", parts.host, 3},
                          {"recomputation", parts.recompute, 4}};
    constexpr std::array<std::size_t, plan::kDimensions.size()> kShades{5, 6, 7, 8, 9};
    for (const plan::Dimension dimension : plan::kDimensions) {
        const auto i = static_cast<std::size_t>(dimension);
        out.push_back(
            {fmt::format("exposed {}", plan::to_string(dimension)), parts.exposed[i], kShades[i]});
    }
    out.push_back({"optimizer", parts.optimizer, 11});
    out.push_back({"bubble", parts.bubble, 10});
    for (Part& part : out) {
        part.text = seconds_text(part.value);
    }
    return out;
}

std::string memory_bar(const plan::MemoryUse& memory) {
    std::vector<Part> parts{{"weights", memory.weights, 0},
                            {"gradients", memory.gradients, 9},
                            {"optimizer", memory.optimizer, 11},
                            {"activations", memory.activations, 1},
                            {"working", memory.working, 6},
                            {"reserved", memory.reserved, 3},
                            {"free", memory.capacity - memory.total(), 10}};
    for (Part& part : parts) {
        part.text = fmt::format("{:.1f} GiB", part.value / kGiB);
    }
    return stacked_bar(parts, {.value = std::max(memory.capacity, memory.total())});
}

std::vector<Tile> tiles_of(const Report& report) {
    const plan::Step& step = report.step;
    std::vector<Tile> all{
        {"Step", seconds_text(step.seconds),
         fmt::format("{} to {}", seconds_text(report.interval.low),
                     seconds_text(report.interval.high))},
        {"MFU", share_text(step.mfu),
         fmt::format("{:.0f} TFLOP/s a GPU", step.flops_per_gpu_s / 1e12)},
        {"Tokens a second",
         step.tokens_per_s < 1e6 ? fmt::format("{:.4g} k", step.tokens_per_s / 1e3)
                                 : fmt::format("{:.4g} M", step.tokens_per_s / 1e6),
         fmt::format("{:.0f} a GPU", step.tokens_per_s / report.mapping.gpus)},
        {"Bubble", share_text(step.bubble_share), "of the pipeline's time"},
        {"Memory", fmt::format("{:.0f} GiB", step.memory.total() / kGiB),
         fmt::format("of {:.0f} GiB, stage {}", step.memory.capacity / kGiB, step.memory.stage)}};
    if (report.tokens > 0) {
        const plan::TrainingRun run = plan::run_for(step, report.mapping, report.tokens);
        all.push_back({fmt::format("{:.4g} T tokens", report.tokens / 1e12),
                       fmt::format("{:.1f} days", run.days),
                       fmt::format("{:.4g} M GPU-hours", run.gpu_hours / 1e6)});
    }
    return all;
}

std::string candidate_text(const plan::Candidate& each) {
    return fmt::format("{}; MFU {}, bubble {}, exposed {}", seconds_text(each.seconds),
                       share_text(each.mfu), share_text(each.bubble_share),
                       share_text(each.exposed_share));
}

}  // namespace

std::string to_html(const Report& report, const std::optional<plan::FabricLoad>& load) {
    const plan::Mapping& mapping = report.mapping;
    const plan::Step& step = report.step;
    std::string body = page_head(fmt::format("{} on {} {} of {}", report.model.name, mapping.gpus,
                                             report.cluster.gpu.name, report.cluster.name),
                                 fmt::format("{}, batch {} of {} tokens", plan::describe(mapping),
                                             mapping.batch, mapping.sequence)) +
                       tiles(tiles_of(report));
    body += panel("Where the time of a step goes",
                  stacked_bar(parts_of(step),
                              {.value = step.seconds,
                               .low = report.interval.low,
                               .high = report.interval.high,
                               .text = fmt::format("4 of 5 measured steps of this kind: {} to {}",
                                                   seconds_text(report.interval.low),
                                                   seconds_text(report.interval.high))}) +
                      "<details><summary>As a table</summary>\n" +
                      page_table({"part", "time", "share"}, part_rows(step)) + "</details>\n");
    body += panel("Timeline", timeline_picture(step));
    std::string network = load ? fabric_picture(*load) : "";
    if (const Rows bytes = byte_rows(report); !bytes.empty()) {
        network += "<h3>What a GPU sends in a step</h3>\n" +
                   page_table({"dimension", "ranks", "exposed", "NVLink", "fabric"}, bytes);
    }
    if (!network.empty()) {
        body += panel(load ? "The fabric, and how busy a step keeps it" : "Communication", network);
    }
    body += panel("Memory of a GPU",
                  memory_bar(step.memory) + "<details><summary>As a table</summary>\n" +
                      page_table({"part", "GiB"}, memory_rows(step.memory)) + "</details>\n");
    body += panel("Choices", page_table({"choice", "value", "by"}, choice_rows(report)));
    return body + notes_html("What the figures stand on", report.notes) + page_foot();
}

std::string to_html(const Search& search) {
    std::vector<ScatterPoint> points;
    std::vector<Cells> rows;
    for (const plan::Candidate& each : search.result.best) {
        points.push_back({.x = each.seconds,
                          .y = each.memory_bytes / kGiB,
                          .name = plan::describe(each.mapping),
                          .tag = fmt::format("tp {} pp {} cp {} dp {}", each.mapping.tp,
                                             each.mapping.pp, each.mapping.cp, each.mapping.dp()),
                          .detail = candidate_text(each)});
        rows.push_back({plan::describe(each.mapping), seconds_text(each.seconds),
                        share_text(each.mfu), share_text(each.bubble_share),
                        share_text(each.exposed_share),
                        fmt::format("{:.1f}", each.memory_bytes / kGiB)});
    }
    std::string body = page_head(
        fmt::format("Mappings of {} onto {} {} of {}", search.model.name, search.gpus,
                    search.cluster.gpu.name, search.cluster.name),
        fmt::format("{} mappings divide model, batch and GPUs, {} fit in memory; the {} quickest",
                    search.result.mappings, search.result.fitting, search.result.best.size()));
    if (!points.empty()) {
        const plan::Candidate& best = search.result.best.front();
        body += tiles({{"Quickest step", seconds_text(best.seconds), plan::describe(best.mapping)},
                       {"MFU", share_text(best.mfu), "of the quickest"},
                       {"Memory", fmt::format("{:.0f} GiB", best.memory_bytes / kGiB),
                        "of a GPU, of the quickest"}});
    }
    body += panel("Memory against the time of a step",
                  scatter_plot(points, {.x_name = "seconds of a step", .y_name = "GiB of a GPU"}) +
                      "<p class=\"muted\">Green: no other mapping here is quicker with as little "
                      "memory (the Pareto front). Point at one, or go to it with the Tab key, to "
                      "see which it is.</p>\n");
    body += panel("The quickest mappings",
                  page_table({"mapping", "step", "MFU", "bubble", "exposed", "GiB"}, rows));
    return body + notes_html("What the figures stand on", search.notes) + page_foot();
}

}  // namespace softib::app::train
