// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/timeline.h"

#include <fmt/format.h>

#include "plan/chrome_trace.h"

namespace softib::plan {

namespace {

enum Row : std::uint32_t { kPasses = 0, kSends = 1, kData = 2 };

}  // namespace

std::string chrome_trace(const Step& step) {
    ChromeTrace writer;
    const auto stages = static_cast<std::uint32_t>(step.played.ends.size());
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
        writer.name_process(stage, fmt::format("stage {}", stage));
        writer.name_row(stage, kPasses, "passes");
        writer.name_row(stage, kSends, "sends");
        writer.name_row(stage, kData, "gradients and parameters");
    }
    for (const PassEvent& event : step.played.events) {
        writer.span(
            event.stage, kPasses,
            fmt::format("{}{}.{}", event.forward ? 'F' : 'B', event.micro_batch, event.chunk),
            event.forward ? "forward" : "backward", event.start, event.end);
        if (event.sent != event.end) {
            writer.span(event.stage, kSends,
                        fmt::format("send {}{}.{}", event.forward ? 'F' : 'B', event.micro_batch,
                                    event.chunk),
                        "send", event.end, event.sent);
        }
    }
    for (const SideEvent& event : step.side) {
        const bool computes = event.work == SideWork::kOptimizer || event.work == SideWork::kHost;
        writer.span(event.stage, computes ? kPasses : kData, to_string(event.work),
                    computes ? to_string(event.work) : "data", event.start, event.end);
    }
    return writer.text();
}

}  // namespace softib::plan
