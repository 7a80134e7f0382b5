// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/timeline.h"

#include <fmt/format.h>

#include <iterator>

namespace softib::plan {

namespace {

enum class Row : std::uint8_t { kPasses = 0, kSends = 1, kData = 2 };

double micros(TimePs time) {
    return static_cast<double>(time) * 1e-6;
}

class TraceWriter {
  public:
    void name_stage(std::uint32_t stage) {
        line(fmt::format(
            R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"stage {}"}}}})", stage,
            stage));
        constexpr const char* kRows[] = {"passes", "sends", "gradients and parameters"};
        for (int row = 0; row < 3; ++row) {
            line(fmt::format(
                R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})",
                stage, row, kRows[row]));
        }
    }
    void span(std::uint32_t stage, Row row, const std::string& name, const char* category,
              TimePs start, TimePs end) {
        line(fmt::format(
            R"({{"ph":"X","name":"{}","cat":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f}}})",
            name, category, stage, static_cast<int>(row), micros(start), micros(end - start)));
    }
    std::string text() const {
        return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + lines_ + "\n]}\n";
    }

  private:
    void line(const std::string& event) { lines_ += (lines_.empty() ? "" : ",\n") + event; }
    std::string lines_;
};

}  // namespace

std::string chrome_trace(const Step& step) {
    TraceWriter writer;
    const auto stages = static_cast<std::uint32_t>(step.played.ends.size());
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
        writer.name_stage(stage);
    }
    for (const PassEvent& event : step.played.events) {
        writer.span(
            event.stage, Row::kPasses,
            fmt::format("{}{}.{}", event.forward ? 'F' : 'B', event.micro_batch, event.chunk),
            event.forward ? "forward" : "backward", event.start, event.end);
        if (event.sent != event.end) {
            writer.span(event.stage, Row::kSends,
                        fmt::format("send {}{}.{}", event.forward ? 'F' : 'B', event.micro_batch,
                                    event.chunk),
                        "send", event.end, event.sent);
        }
    }
    for (const SideEvent& event : step.side) {
        writer.span(event.stage, Row::kData, event.name, "data", event.start, event.end);
    }
    const auto end = static_cast<TimePs>(step.seconds * 1e12);
    const auto optimizer = static_cast<TimePs>(step.parts.optimizer * 1e12);
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
        writer.span(stage, Row::kPasses, "optimizer", "optimizer", end - optimizer, end);
    }
    return writer.text();
}

}  // namespace softib::plan
