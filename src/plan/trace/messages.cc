// SPDX-License-Identifier: BSD-2-Clause
// Makes a job from the messages of a simulation.
#include <algorithm>
#include <vector>

#include "plan/trace/expand.h"

namespace softib::plan::trace {

Job job_of_messages(std::span<const MessageRecord> messages, std::uint32_t ends) {
    Job job;
    job.programs.resize(ends);
    for (std::uint32_t end = 0; end < ends; ++end) {
        job.program_of.push_back(end);
    }
    std::vector<std::uint32_t> order(messages.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return messages[i].started_at; });
    // The computation that the last message of each end port waits for, and when that was sent.
    std::vector<std::uint32_t> last(ends, kNone);
    std::vector<TimePs> sent_at(ends);
    for (const std::uint32_t i : order) {
        const MessageRecord& message = messages[i];
        Program& from = job.programs[message.from];
        std::uint32_t& before = last[message.from];
        const TimePs passed = message.started_at - sent_at[message.from];
        if (passed != 0) {
            const std::uint32_t wait = from.add({.compute_ps = passed});
            if (before != kNone) {
                from.depend(wait, before);
            }
            before = wait;
            sent_at[message.from] = message.started_at;
        }
        const std::uint32_t send =
            from.add({.kind = Kind::kSend, .peer = message.to, .tag = i, .bytes = message.bytes});
        if (before != kNone) {
            from.depend(send, before);
        }
        job.programs[message.to].add(
            {.kind = Kind::kRecv, .peer = message.from, .tag = i, .bytes = message.bytes});
    }
    return job;
}

}  // namespace softib::plan::trace
