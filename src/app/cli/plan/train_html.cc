// SPDX-License-Identifier: BSD-2-Clause
// A training step as a page, with its timeline.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "app/cli/html_page.h"
#include "app/cli/plan/page.h"
#include "app/cli/plan/train_report.h"
#include "plan/units.h"

namespace softib::app::train {

namespace {

/// What a stage does in a piece of time.
enum class Doing : std::uint8_t { kNothing, kForward, kBackward, kOptimizer, kExchange };
constexpr const char* kDoingColours[] = {"#f6f8fa", "#1f6feb", "#1a7f37", "#9a6700", "#d1242f"};
constexpr const char* kDoingNames[] = {"waits", "forward", "backward", "optimizer",
                                       "gradients and parameters while nothing computes"};

constexpr std::size_t kPieces = 780;  ///< Pieces of a step, about as many as there are pixels.
constexpr double kLabel = 64;
constexpr double kRowHeight = 12;

/// Returns what each stage does in each piece of the step: what it does in the piece's middle.
std::vector<std::vector<Doing>> pieces_of(const plan::Step& step) {
    std::vector<std::vector<Doing>> rows(step.played.ends.size(),
                                         std::vector<Doing>(kPieces, Doing::kNothing));
    const double piece = step.seconds * 1e12 / kPieces;
    const auto fill = [&](std::size_t stage, double start, double end, Doing doing) {
        const auto first = static_cast<std::size_t>(std::max(0.0, start / piece + 0.5));
        for (std::size_t i = first; i < kPieces && (static_cast<double>(i) + 0.5) * piece <= end;
             ++i) {
            rows[stage][i] = doing;
        }
    };
    for (const plan::SideEvent& event : step.side) {  // Drawn first, so that computation covers it.
        fill(event.stage, static_cast<double>(event.start), static_cast<double>(event.end),
             event.work == plan::SideWork::kHost        ? Doing::kNothing
             : event.work == plan::SideWork::kOptimizer ? Doing::kOptimizer
                                                        : Doing::kExchange);
    }
    for (const plan::PassEvent& event : step.played.events) {
        fill(event.stage, static_cast<double>(event.start), static_cast<double>(event.end),
             event.forward ? Doing::kForward : Doing::kBackward);
    }
    return rows;
}

std::string timeline_picture(const plan::Step& step) {
    std::string out;
    const auto rows = pieces_of(step);
    const double wide = (kPictureWidth - kLabel - 4) / kPieces;
    for (std::size_t stage = 0; stage < rows.size(); ++stage) {
        const double y = 4 + kRowHeight * static_cast<double>(stage);
        out += fmt::format("<text x=\"2\" y=\"{:.0f}\">stage {}</text>\n", y + 10, stage);
        for (std::size_t first = 0; first < kPieces;) {
            std::size_t last = first + 1;
            while (last < kPieces && rows[stage][last] == rows[stage][first]) {
                ++last;
            }
            const auto doing = static_cast<std::size_t>(rows[stage][first]);
            out += fmt::format(
                "<rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\" "
                "fill=\"{}\"/>\n",
                kLabel + wide * static_cast<double>(first), y,
                wide * static_cast<double>(last - first), kRowHeight - 2, kDoingColours[doing]);
            first = last;
        }
    }
    const double base = 4 + kRowHeight * static_cast<double>(rows.size());
    out += axis_marks(kLabel, kPictureWidth - 4, base + 14, 5, [&](double part) {
        return part == 0 ? "0"
                         : plan::show_time(static_cast<plan::TimePs>(part * step.seconds * 1e12));
    });
    return picture(base + 20, out);
}

std::string legend() {
    std::string out;
    for (std::size_t i = 0; i < std::size(kDoingNames); ++i) {
        out += fmt::format(
            "<span style=\"display:inline-block;width:1em;height:1em;background:{};border:1px "
            "solid "
            "#d1d9e0;vertical-align:middle\"></span> {} &nbsp; ",
            kDoingColours[i], kDoingNames[i]);
    }
    return "<p>" + out + "</p>\n";
}

}  // namespace

std::string to_html(const Report& report) {
    std::string line = escaped(summary(report));  // Spaces align columns in text; a page has none.
    for (std::size_t gap = line.find("   "); gap != line.npos; gap = line.find("   ", gap)) {
        line.replace(gap, 3, " &middot; ");
    }
    const plan::Mapping& mapping = report.mapping;
    std::string body =
        fmt::format("<p>{}, batch {} of {} tokens.</p>\n<p><b>{}</b></p>\n",
                    escaped(plan::describe(mapping)), mapping.batch, mapping.sequence, line);
    body += "<h2>Parts of the step</h2>\n" +
            page_table({"part", "time", "share"}, part_rows(report.step));
    body += "<h2>Timeline</h2>\n" + legend() + timeline_picture(report.step);
    if (const Rows bytes = byte_rows(report); !bytes.empty()) {
        body += "<h2>Communication</h2>\n" +
                page_table({"dimension", "ranks", "exposed", "NVLink", "fabric"}, bytes) +
                "<p>The bytes are what a GPU sends in a step.</p>\n";
    }
    body +=
        "<h2>Memory of a GPU</h2>\n" + page_table({"part", "GiB"}, memory_rows(report.step.memory));
    body += "<h2>Choices</h2>\n" + page_table({"choice", "value", "by"}, choice_rows(report));
    for (const std::string& note : report.notes) {
        body += fmt::format("<p class=\"note\">{}</p>\n", escaped(note));
    }
    return page_head(fmt::format("{} on {} {} of {}", report.model.name, mapping.gpus,
                                 report.cluster.gpu.name, report.cluster.name)) +
           body + kPageFoot;
}

}  // namespace softib::app::train
