// SPDX-License-Identifier: BSD-2-Clause
#include "plan/trace/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "plan/collective/stage.h"
#include "plan/trace/group_work.h"

namespace softib::plan::trace {

namespace {

constexpr std::uint32_t kLanes = 16;  ///< Lanes that communicators take in turn.
constexpr double kMessageUs = 0.1;    ///< Default of PlayOptions::message_ps.

/// The first and the last of the operations that an operation has become.
struct Stand {
    std::uint32_t entry = 0;
    std::uint32_t exit = 0;
};

class Expansion {
  public:
    Expansion(const Job& job, const Cluster& cluster, std::span<const std::uint32_t> gpus,
              std::optional<Algorithm> algorithm)
        : job_(job),
          algorithm_(algorithm),
          places_(cluster),
          gpus_(gpus.begin(), gpus.end()),
          leaf_latency_us_(leaf_latency_us(cluster)) {
        made_.name = job.name;
        made_.names = job.names;
        made_.programs.resize(job.ranks());
        for (std::uint32_t rank = 0; rank < job.ranks(); ++rank) {
            made_.program_of.push_back(rank);
        }
        stands_.resize(job.ranks());
    }

    std::expected<Job, std::string> run() {
        for (std::uint32_t rank = 0; rank < job_.ranks(); ++rank) {
            copy(rank);
        }
        for (std::uint32_t c = 0; c < job_.communicators.size(); ++c) {
            for (std::uint32_t g = 0; g < job_.communicators[c].groups.size(); ++g) {
                if (auto done = expand_group(c, g); !done) {
                    return std::unexpected(done.error());
                }
            }
        }
        for (std::uint32_t rank = 0; rank < job_.ranks(); ++rank) {
            const std::vector<Stand>& stands = stands_[rank];
            for (const Edge& edge : job_.program(rank).edges()) {
                const Stand& on = stands[edge.dependency.on];
                const bool ends = edge.dependency.waits == Waits::kForEnd;
                made_.programs[rank].depend(stands[edge.operation].entry, ends ? on.exit : on.entry,
                                            edge.dependency.waits);
            }
        }
        return std::move(made_);
    }

  private:
    /// Copies the operations of a rank that are no collective ones.
    void copy(std::uint32_t rank) {
        const Program& old = job_.program(rank);
        for (const Operation& op : old.operations()) {
            Stand stand;
            if (op.kind != Kind::kCollective) {
                stand.entry = stand.exit = made_.programs[rank].add(op);
                lanes_ = std::max(lanes_, op.lane + 1U);
                if (op.kind != Kind::kCompute && op.tag != kAnyTag) {
                    next_tag_ = std::max(next_tag_, op.tag + 1);
                }
            }
            stands_[rank].push_back(stand);
        }
    }

    std::expected<void, std::string> expand_group(std::uint32_t c, std::uint32_t g) {
        const Communicator& comm = job_.communicators[c];
        const std::vector<std::uint32_t>& members = comm.groups[g];
        std::vector<std::vector<std::uint32_t>> calls;  // Operations of each member in order.
        for (const std::uint32_t rank : members) {
            std::vector<std::uint32_t>& mine = calls.emplace_back();
            const Program& program = job_.program(rank);
            for (const std::uint32_t i : sorted(program).value_or(std::vector<std::uint32_t>{})) {
                const Operation& op = program.operations()[i];
                if (op.kind == Kind::kCollective && op.communicator == c) {
                    mine.push_back(i);
                }
            }
            if (mine.size() != calls.front().size()) {
                return std::unexpected(
                    fmt::format("rank {} has {} operations in {} and rank {} has {}", members[0],
                                calls.front().size(), comm.name, rank, mine.size()));
            }
        }
        std::vector<std::uint32_t> gpus;
        for (const std::uint32_t rank : members) {
            gpus.push_back(gpus_[rank]);
        }
        const Group group(places_, std::move(gpus));
        std::vector<std::uint32_t> last(members.size(), kNone);
        lane_ = static_cast<std::uint8_t>(std::min(253U, lanes_ + c % kLanes));
        copy_lane_ = static_cast<std::uint8_t>(std::min(254U, lanes_ + kLanes + c % kLanes));
        for (std::size_t call = 0; call < calls.front().size(); ++call) {
            std::vector<std::uint32_t> operations;
            for (const auto& mine : calls) {
                operations.push_back(mine[call]);
            }
            expand_call(members, operations, group, last);
        }
        return {};
    }

    /// A collective operation of a group, while it becomes messages.
    struct Call {
        const std::vector<std::uint32_t>& members;
        /// Operation of each member that its messages wait for.
        std::vector<std::uint32_t> start = {};
        /// Messages of each member that no other message waits for.
        std::vector<std::vector<std::uint32_t>> open = {};
    };

    /// Turns one collective operation into messages. `last` has, for each member, the last
    /// operation that its previous collective operation has become; it is set to that of this one.
    void expand_call(const std::vector<std::uint32_t>& members,
                     const std::vector<std::uint32_t>& operations, const Group& group,
                     std::vector<std::uint32_t>& last) {
        GroupOperation operation = group_operation(job_, members, operations);
        if (algorithm_) {
            operation.algorithm = algorithm_;
        }
        const GroupWork work = group.work(operation);
        std::vector<std::uint32_t> entry(members.size());
        for (std::size_t m = 0; m < members.size(); ++m) {
            name_ = job_.program(members[m]).operations()[operations[m]].name;
            entry[m] = calculate(members[m], 0);
            if (last[m] != kNone) {
                made_.programs[members[m]].depend(entry[m], last[m]);
            }
        }
        Call call{.members = members, .start = entry, .open = {}};
        const GroupSteps steps = group.steps(operation, work);
        // Messages over NVLink make members wait for each other, so no others are needed.
        const std::uint32_t meetings = steps.inside ? 0 : meet_neighbours(members, call.start);
        call.open.resize(members.size());
        const double software_us = software_of(work, 2 * meetings);
        carry(call, steps, software_us);
        const double nvlink_us = steps.nvlink ? 0 : work.nvlink_us;
        const double beside_us =
            std::max(nvlink_us, work.fabric_us_min) + (work.rounds.empty() ? 0 : software_us);
        std::vector<std::uint32_t> exit(members.size());
        for (std::size_t m = 0; m < members.size(); ++m) {
            exit[m] = join(members[m], call.start[m], call.open[m]);
            copy_beside(members[m], beside_us, call.start[m], exit[m]);
        }
        if (!steps.inside) {
            meet_neighbours(members, exit);
        }
        for (std::size_t m = 0; m < members.size(); ++m) {
            stands_[members[m]][operations[m]] = {entry[m], exit[m]};
            last[m] = exit[m];
        }
    }

    /// Returns the software's time without the latency of the `meetings` messages of one byte,
    /// since NCCL's latencies include those of NVLink.
    double software_of(const GroupWork& work, std::uint32_t meetings) const {
        return std::max(
            work.software_us - meetings * (places_.cluster().nvlink.latency_us + kMessageUs), 0.0);
    }

    /// Adds a computation beside the messages, which lasts as long as NVLink or NCCL's protocol
    /// takes at least.
    void copy_beside(std::uint32_t rank, double us, std::uint32_t start, std::uint32_t exit) {
        const auto beside = static_cast<TimePs>(us * 1e6);
        if (beside != 0) {
            const std::uint32_t copies = made_.programs[rank].add(
                {.kind = Kind::kCompute, .lane = copy_lane_, .name = name_, .compute_ps = beside});
            made_.programs[rank].depend(copies, start);
            made_.programs[rank].depend(exit, copies);
        }
    }

    std::uint32_t calculate(std::uint32_t rank, TimePs time) {
        return made_.programs[rank].add(
            {.kind = Kind::kCompute, .lane = lane_, .name = name_, .compute_ps = time});
    }

    /// Adds a computation of this time that waits for the operations `behind`, or for `start` if
    /// there are none. Returns it.
    std::uint32_t join(std::uint32_t rank, std::uint32_t start,
                       const std::vector<std::uint32_t>& behind, TimePs time = 0) {
        const std::uint32_t joined = calculate(rank, time);
        for (const std::uint32_t each : behind) {
            made_.programs[rank].depend(joined, each);
        }
        if (behind.empty()) {
            made_.programs[rank].depend(joined, start);
        }
        return joined;
    }

    /// Adds messages by which the members of one node or NVLink domain wait for each other, since
    /// what arrives at the NIC of one GPU is for all of them. Returns how many of these messages
    /// wait one for the other.
    std::uint32_t meet_neighbours(const std::vector<std::uint32_t>& members,
                                  std::vector<std::uint32_t>& at) {
        const Cluster& cluster = places_.cluster();
        const std::uint32_t near = std::max(cluster.domain_gpus(), cluster.gpus_per_node);
        std::map<std::uint32_t, std::vector<std::size_t>> neighbours;
        for (std::size_t m = 0; m < members.size(); ++m) {
            neighbours[gpus_[members[m]] / near].push_back(m);
        }
        const std::uint32_t tag = next_tag_++;
        std::uint32_t most = 0;
        for (const auto& [place, some] : neighbours) {
            most = std::max(most, meet(members, some, tag, at));
        }
        return most;
    }

    /// Adds messages by which each of some members waits for all others: in each round it waits for
    /// a member that is twice as far away as in the last. Returns the number of rounds.
    std::uint32_t meet(const std::vector<std::uint32_t>& members,
                       const std::vector<std::size_t>& some, std::uint32_t tag,
                       std::vector<std::uint32_t>& at) {
        const std::size_t count = some.size();
        std::uint32_t rounds = 0;
        for (std::size_t distance = 1; distance < count; distance *= 2) {
            for (std::size_t i = 0; i < count; ++i) {
                const std::size_t m = some[i];
                const std::uint32_t to = members[some[(i + distance) % count]];
                const std::uint32_t from = members[some[(i + count - distance) % count]];
                const std::uint32_t send = add_send(members[m], to, tag, 1, at[m]);
                const std::uint32_t recv = add_recv(members[m], from, tag, 1, at[m]);
                at[m] = join(members[m], at[m], {send, recv});
            }
            ++rounds;
        }
        return rounds;
    }

    std::uint32_t add_send(std::uint32_t rank, std::uint32_t to, std::uint32_t tag,
                           std::uint64_t bytes, std::uint32_t behind) {
        const std::uint32_t made = made_.programs[rank].add(
            {.kind = Kind::kSend, .name = name_, .peer = to, .tag = tag, .bytes = bytes});
        made_.programs[rank].depend(made, behind);
        return made;
    }
    std::uint32_t add_recv(std::uint32_t rank, std::uint32_t from, std::uint32_t tag,
                           std::uint64_t bytes, std::uint32_t behind) {
        const std::uint32_t made = made_.programs[rank].add(
            {.kind = Kind::kRecv, .name = name_, .peer = from, .tag = tag, .bytes = bytes});
        made_.programs[rank].depend(made, behind);
        return made;
    }

    /// Adds the messages of all steps. The software's time, which includes a short path through the
    /// fabric, is spread over the steps that wait one for the other.
    void carry(Call& call, const GroupSteps& steps, double software_us) {
        const double way_us = steps.inside ? places_.cluster().nvlink.latency_us : leaf_latency_us_;
        const double hop_us = software_us / std::max(steps.hops, 1U) - way_us - kMessageUs;
        const auto hop = static_cast<TimePs>(std::max(hop_us, 0.0) * 1e6);
        if (steps.all.empty()) {
            for (std::size_t m = 0; m < call.members.size(); ++m) {
                call.start[m] = join(call.members[m], call.start[m], {},
                                     static_cast<TimePs>(software_us * 1e6));
            }
            return;
        }
        StepWriter writer(*this, call, steps, hop);
        for (std::uint32_t i = 0; i < steps.all.size(); ++i) {
            writer.add(i);
        }
        writer.finish();
    }

    /// Turns steps into operations, one after the other.
    class StepWriter {
      public:
        StepWriter(Expansion& expansion, Call& call, const GroupSteps& steps, TimePs hop)
            : expansion_(expansion),
              call_(call),
              steps_(steps),
              hop_(hop),
              sent_(steps.all.size(), kNone),
              came_(steps.all.size()),
              gates_(call.members.size()),
              waited_for_(steps.all.size()) {
            first_tag_ = expansion.next_tag_;
        }

        void add(std::uint32_t number) {
            const GroupStep& step = steps_.all[number];
            std::vector<std::uint32_t> before;
            for (const std::uint32_t each : step.after) {
                before.insert(before.end(), came_[each].begin(), came_[each].end());
                waited_for_[each].came = true;
            }
            if (step.from == step.to) {
                came_[number] = std::move(before);
                waited_for_[number].came = true;
                return;
            }
            const std::uint32_t from = call_.members[step.from];
            const std::uint32_t to = call_.members[step.to];
            const std::uint32_t tag = first_tag_ + turns_[{step.from, step.to}]++;
            expansion_.next_tag_ = std::max(expansion_.next_tag_, tag + 1);
            sent_[number] = send(step, from, to, tag, std::move(before));
            if (step.behind != kNoStep && sent_[step.behind] != kNone) {
                expansion_.made_.programs[from].depend(sent_[number], sent_[step.behind]);
                waited_for_[step.behind].sent = true;
            }
            came_[number] = {expansion_.add_recv(to, from, tag, step.bytes, call_.start[step.to])};
        }

        /// Collects the messages that no other waits for: they must end before the operation ends.
        void finish() {
            for (std::uint32_t i = 0; i < steps_.all.size(); ++i) {
                const GroupStep& step = steps_.all[i];
                if (sent_[i] != kNone && !waited_for_[i].sent) {
                    call_.open[step.from].push_back(sent_[i]);
                }
                if (sent_[i] != kNone && !waited_for_[i].came) {
                    call_.open[step.to].push_back(came_[i].front());
                }
            }
        }

      private:
        struct WaitedFor {
            bool sent = false;
            bool came = false;
        };

        /// Adds the send of a step. Steps of a member that wait for the same messages share one
        /// computation of the software.
        std::uint32_t send(const GroupStep& step, std::uint32_t from, std::uint32_t to,
                           std::uint32_t tag, std::vector<std::uint32_t> before) {
            const std::uint32_t start = call_.start[step.from];
            if (!step.leads || hop_ == 0) {
                const std::uint32_t made = expansion_.add_send(
                    from, to, tag, step.bytes, before.empty() ? start : before.front());
                for (std::size_t i = 1; i < before.size(); ++i) {
                    expansion_.made_.programs[from].depend(made, before[i]);
                }
                return made;
            }
            const auto [gate, added] = gates_[step.from].try_emplace(std::move(before), kNone);
            if (added) {
                gate->second = expansion_.join(from, start, gate->first, hop_);
            }
            return expansion_.add_send(from, to, tag, step.bytes, gate->second);
        }

        Expansion& expansion_;
        Call& call_;
        const GroupSteps& steps_;
        TimePs hop_;
        std::uint32_t first_tag_ = 0;
        std::vector<std::uint32_t> sent_;  ///< Send of each step; kNone: it has none.
        /// Receives that have ended when each step has arrived.
        std::vector<std::vector<std::uint32_t>> came_;
        /// Computation of the software for each member, by the receives that it waits for.
        std::vector<std::map<std::vector<std::uint32_t>, std::uint32_t>> gates_;
        std::vector<WaitedFor> waited_for_;
        std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> turns_ = {};
    };

    const Job& job_;
    std::optional<Algorithm> algorithm_;
    Places places_;
    std::vector<std::uint32_t> gpus_;
    double leaf_latency_us_;
    Job made_ = {};
    std::vector<std::vector<Stand>> stands_ = {};  ///< What each operation of each rank became.
    std::uint32_t lanes_ = 1;                      ///< Number of lanes of the original job.
    std::uint32_t next_tag_ = 1;
    std::uint8_t lane_ = 0;
    std::uint8_t copy_lane_ = 0;
    std::uint32_t name_ = 0;
};

}  // namespace

std::expected<Job, std::string> expand(const Job& job, const Cluster& cluster,
                                       std::span<const std::uint32_t> gpus,
                                       std::optional<Algorithm> algorithm) {
    return Expansion(job, cluster, gpus, algorithm).run();
}

}  // namespace softib::plan::trace
