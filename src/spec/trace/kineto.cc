// SPDX-License-Identifier: BSD-2-Clause
// Reads traces of the PyTorch profiler (Kineto). Kernels and copies of a GPU stream run one after
// the other. If a kernel began after one of another stream had ended, while its own stream was
// idle, it waits for that one. The rest of the gap before it is computing of the host. NCCL's
// kernels are operations of their process group; in a trace without them, the calls
// (record_param_comms) are, on a stream of their own.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "spec/trace/file_rank.h"
#include "spec/trace/json_reader.h"

namespace softib::spec {

namespace {

using plan::trace::Collective;
using plan::trace::Job;
using plan::trace::Kind;
using plan::trace::kNone;
using plan::trace::Operation;
using plan::trace::Program;

constexpr double kKinetoUsMost = 1e12;
constexpr std::uint64_t kElementsMost = 1ULL << 44;

struct KinetoEvent {
    const TraceJson* json = nullptr;
    double start_us = 0;
    double end_us = 0;
    std::uint64_t stream = 0;
    bool communicates = false;
};

/// A process group that events name.
struct KinetoGroup {
    std::string name = {};
    std::vector<std::uint32_t> ranks = {};
};

std::uint64_t dtype_bytes(std::string_view dtype) {
    constexpr std::array<std::pair<std::string_view, std::uint64_t>, 16> kSizes{
        {{"Double", 8},
         {"Long", 8},
         {"ComplexFloat", 8},
         {"Float", 4},
         {"Int", 4},
         {"Half", 2},
         {"BFloat16", 2},
         {"Short", 2},
         {"Char", 1},
         {"Byte", 1},
         {"Bool", 1},
         {"Float8_e4m3fn", 1},
         {"Float8_e5m2", 1},
         {"fp32", 4},
         {"bf16", 2},
         {"fp16", 2}}};
    const auto found =
        std::ranges::find(kSizes, dtype, [](const auto& each) { return each.first; });
    return found == kSizes.end() ? 4 : found->second;
}

/// Returns the letters of a name in lower case, so that "_allgather_base" and "all_gather" begin
/// alike.
std::string plain_name(std::string_view text) {
    std::string plain;
    for (const char c : text) {
        if (c >= 'A' && c <= 'Z') {
            plain.push_back(static_cast<char>(c - 'A' + 'a'));
        } else if (c >= 'a' && c <= 'z') {
            plain.push_back(c);
        }
    }
    return plain;
}

/// Sets the kind of an operation from an event's collective name. Returns false if it is none that
/// exchanges data.
bool kind_in_name(std::string_view name, Operation& op) {
    const std::string plain = plain_name(name);
    constexpr std::array<std::pair<std::string_view, Collective>, 9> kNames{
        {{"allreduce", Collective::kAllReduce},
         {"allgather", Collective::kAllGather},
         {"reducescatter", Collective::kReduceScatter},
         {"alltoall", Collective::kAllToAll},
         {"broadcast", Collective::kBroadcast},
         {"barrier", Collective::kBarrier},
         {"reduce", Collective::kReduce},
         {"gather", Collective::kGather},
         {"scatter", Collective::kScatter}}};
    if (plain == "send" || plain == "recv") {
        op.kind = plain == "send" ? Kind::kSend : Kind::kRecv;
        return true;
    }
    for (const auto& [word, collective] : kNames) {
        if (plain.starts_with(word)) {
            op.kind = Kind::kCollective;
            op.collective = collective;
            return true;
        }
    }
    return false;
}

class KinetoRank {
  public:
    KinetoRank(Job& job, std::map<std::string, KinetoGroup>& groups, std::uint32_t world)
        : job_(job), groups_(groups), world_(world) {}

    /// Returns the program of a rank. The communicators of its operations are set afterwards:
    /// `uses` has the group of each operation.
    Program read(const TraceJson& json) {
        std::vector<KinetoEvent> events = events_of(json);
        std::ranges::stable_sort(events, {}, &KinetoEvent::start_us);
        for (const KinetoEvent& event : events) {
            add(event);
        }
        return std::move(program_);
    }
    const std::vector<std::pair<std::uint32_t, std::string>>& uses() const { return uses_; }

  private:
    struct Stream {
        std::uint32_t last = kNone;
        double end_us = 0;
    };

    static std::vector<KinetoEvent> events_of(const TraceJson& json) {
        std::vector<KinetoEvent> kernels;
        std::vector<KinetoEvent> calls;
        bool seen = false;
        constexpr std::uint64_t kCallStream = UINT64_MAX;
        for (const TraceJson& event : member(json, {"traceEvents"})) {
            const auto start = number_in(member(event, {"ts"}));
            const auto length = number_in(member(event, {"dur"}));
            if (!start || !length || *length > kKinetoUsMost || *start > 1e18) {
                continue;
            }
            const std::string category = text_in(member(event, {"cat"}));
            const TraceJson& args = member(event, {"args"});
            KinetoEvent each{.json = &event, .start_us = *start, .end_us = *start + *length};
            Operation op;
            each.communicates = kind_in_name(text_in(member(args, {"Collective name"})), op);
            if (category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset") {
                each.stream = whole_in(member(args, {"stream"})).value_or(0);
                seen = seen || each.communicates;
                kernels.push_back(each);
            } else if (each.communicates &&
                       text_in(member(event, {"name"})) == "record_param_comms") {
                each.stream = kCallStream;
                calls.push_back(each);
            }
        }
        if (!seen) {
            std::ranges::copy(calls, std::back_inserter(kernels));
        }
        return kernels;
    }

    void add(const KinetoEvent& event) {
        Operation op;
        op.name = job_.add_name(text_in(member(*event.json, {"name"})).substr(0, 80));
        if (event.communicates) {
            communicate(*event.json, op);
        } else {
            op.compute_ps = static_cast<plan::TimePs>((event.end_us - event.start_us) * 1e6);
            op.lane = lane_of(event.stream);
        }
        Stream& own = streams_[event.stream];
        std::vector<std::uint32_t> after;
        double ready_us = own.last == kNone ? first_us(event) : own.end_us;
        if (own.last != kNone) {
            after.push_back(own.last);
        }
        for (const auto& [number, other] : streams_) {
            if (number != event.stream && other.last != kNone && other.end_us <= event.start_us &&
                (own.last == kNone || other.end_us > own.end_us)) {
                after.push_back(other.last);
                ready_us = std::max(ready_us, other.end_us);
            }
        }
        const double gap_us = std::min(event.start_us - ready_us, kKinetoUsMost);
        if (gap_us > 0) {
            const std::uint32_t host = program_.add(
                {.lane = kHostLane, .compute_ps = static_cast<plan::TimePs>(gap_us * 1e6)});
            for (const std::uint32_t each : after) {
                program_.depend(host, each);
            }
            after = {host};
        }
        const std::uint32_t number = program_.add(op);
        for (const std::uint32_t each : after) {
            program_.depend(number, each);
        }
        own = {number, std::max(own.end_us, event.end_us)};
    }

    /// Returns the start of the trace, which is that of the first event it was called with.
    double first_us(const KinetoEvent& event) {
        if (begin_us_ < 0) {
            begin_us_ = event.start_us;
        }
        return begin_us_;
    }

    std::uint8_t lane_of(std::uint64_t stream) {
        const auto number = static_cast<std::uint8_t>(std::min<std::size_t>(lanes_.size(), 100));
        return lanes_.try_emplace(stream, number).first->second;
    }

    void communicate(const TraceJson& event, Operation& op) {
        const TraceJson& args = member(event, {"args"});
        kind_in_name(text_in(member(args, {"Collective name"})), op);
        const std::uint64_t size = dtype_bytes(text_in(member(args, {"dtype"})));
        const auto bytes = [&](const char* name) {
            return std::min(whole_in(member(args, {name})).value_or(0), kElementsMost) * size;
        };
        op.bytes = std::max(bytes("In msg nelems"), bytes("Out msg nelems"));
        KinetoGroup group = group_of(args);
        if (op.kind != Kind::kCollective) {
            const auto peer =
                whole_in(member(args, {op.kind == Kind::kSend ? "Dst Rank" : "Src Rank"}));
            op.peer =
                static_cast<std::uint32_t>(std::min<std::uint64_t>(peer.value_or(0), kNone - 1));
            return;
        }
        op.peer = 0;
        const auto root = whole_in(member(args, {"Root rank", "Src Rank"}));
        const auto found = std::ranges::find(group.ranks, root.value_or(UINT64_MAX));
        if (found != group.ranks.end()) {
            op.peer = static_cast<std::uint32_t>(found - group.ranks.begin());
        }
        if (op.collective == Collective::kAllToAll) {
            const auto splits = wholes_in(member(args, {"In split size"}));
            const std::uint64_t all =
                std::accumulate(splits.begin(), splits.end(), std::uint64_t{0});
            if (splits.size() == group.ranks.size() && all != 0 && all < kElementsMost) {
                op.splits = static_cast<std::uint32_t>(program_.splits.size());
                for (const std::uint64_t split : splits) {
                    program_.splits.push_back(bytes("In msg nelems") / all * split);
                }
            }
        }
        uses_.emplace_back(program_.next(), group.name);
        groups_.try_emplace(group.name, std::move(group));
    }

    KinetoGroup group_of(const TraceJson& args) const {
        KinetoGroup group{.name = text_in(member(args, {"Process Group Name"}))};
        const std::uint64_t size =
            std::min<std::uint64_t>(whole_in(member(args, {"Group size"})).value_or(0), world_);
        for (const std::uint64_t rank : wholes_in(member(args, {"Process Group Ranks"}))) {
            group.ranks.push_back(
                static_cast<std::uint32_t>(std::min<std::uint64_t>(rank, kNone - 1)));
        }
        if (size != 0 && group.ranks.size() != size) {
            // A long list of ranks is cut off in the trace; start and stride give all of them.
            const std::uint64_t first = whole_in(member(args, {"Global rank start"})).value_or(0);
            const std::uint64_t stride = whole_in(member(args, {"Global rank stride"})).value_or(1);
            group.ranks.clear();
            for (std::uint64_t i = 0; i < size; ++i) {
                const std::uint64_t rank = std::min<std::uint64_t>(first, kNone / 2) +
                                           i * std::min<std::uint64_t>(stride, 1U << 20);
                group.ranks.push_back(
                    static_cast<std::uint32_t>(std::min<std::uint64_t>(rank, kNone - 1)));
            }
        }
        return group;
    }

    static constexpr std::uint8_t kHostLane = 200;

    Job& job_;
    std::map<std::string, KinetoGroup>& groups_;
    std::uint32_t world_;
    Program program_ = {};
    std::map<std::uint64_t, Stream> streams_ = {};
    std::map<std::uint64_t, std::uint8_t> lanes_ = {};
    std::vector<std::pair<std::uint32_t, std::string>> uses_ = {};
    double begin_us_ = -1;
};

/// Returns groups that together have all ranks, with the same size and stride as this one; only
/// this one if there are none.
std::vector<std::vector<std::uint32_t>> groups_like(const std::vector<std::uint32_t>& group,
                                                    std::uint32_t world) {
    std::vector<std::vector<std::uint32_t>> all;
    const auto size = static_cast<std::uint32_t>(group.size());
    const std::uint32_t stride = size > 1 && group[1] > group[0] ? group[1] - group[0] : 1;
    for (std::uint32_t i = 0; i + 1 < size; ++i) {
        if (group[i + 1] != group[i] + stride) {
            return {group};
        }
    }
    const std::uint64_t block = std::uint64_t{size} * stride;
    if (size == 0 || world % block != 0) {
        return {group};
    }
    for (std::uint32_t first = 0; first < world; first += static_cast<std::uint32_t>(block)) {
        for (std::uint32_t offset = 0; offset < stride; ++offset) {
            std::vector<std::uint32_t>& made = all.emplace_back();
            for (std::uint32_t i = 0; i < size; ++i) {
                made.push_back(first + offset + i * stride);
            }
        }
    }
    return all;
}

}  // namespace

std::expected<Job, std::string> parse_kineto(std::span<const TraceText> files) {
    std::vector<TraceJson> traces;
    for (const TraceText& file : files) {
        auto json = parse_trace_json(file);
        if (!json) {
            return std::unexpected(json.error());
        }
        traces.push_back(*std::move(json));
    }
    const TraceJson& info = member(traces.front(), {"distributedInfo"});
    const std::uint64_t said = whole_in(member(info, {"world_size"})).value_or(files.size());
    const bool one_for_all = files.size() == 1 && said > 1;
    if (!one_for_all && said != files.size()) {
        return std::unexpected(
            fmt::format("{}: the job has {} ranks and there are {} files: give one for each rank, "
                        "or one alone that stands for all",
                        files.front().file, said, files.size()));
    }
    if (said > plan::trace::kRanksMax) {
        return std::unexpected(fmt::format("{}: {} ranks are too many", files.front().file, said));
    }
    const auto world = static_cast<std::uint32_t>(said);
    Job job;
    job.name = files.front().file;
    const auto ranks = file_ranks(files);
    if (!ranks) {
        return std::unexpected(ranks.error());
    }
    job.program_of.assign(world, 0);
    for (std::uint32_t i = 0; i < files.size() && !one_for_all; ++i) {
        job.program_of[(*ranks)[i]] = i;
    }
    std::map<std::string, KinetoGroup> groups;
    std::vector<std::vector<std::pair<std::uint32_t, std::string>>> uses;
    for (const TraceJson& trace : traces) {
        KinetoRank reader(job, groups, world);
        job.programs.push_back(reader.read(trace));
        uses.push_back(reader.uses());
    }
    std::map<std::string, std::uint32_t> numbers;
    for (const auto& [name, group] : groups) {
        numbers[name] =
            group.ranks.empty()
                ? job.add_world()
                : job.add_communicator("group " + name,
                                       one_for_all
                                           ? groups_like(group.ranks, world)
                                           : std::vector<std::vector<std::uint32_t>>{group.ranks});
    }
    if (groups.empty() && world > 1) {
        job.notes.emplace_back(
            "no event says what NCCL does: its kernels are computations. Profile with a PyTorch "
            "that writes 'Collective name'");
    }
    for (std::size_t i = 0; i < uses.size(); ++i) {
        for (const auto& [operation, name] : uses[i]) {
            job.programs[i].operations()[operation].communicator = numbers[name];
        }
    }
    return job;
}

}  // namespace softib::spec
