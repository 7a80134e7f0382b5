// SPDX-License-Identifier: BSD-2-Clause
#include "plan/trace/recorded.h"

#include <algorithm>
#include <map>

namespace softib::plan::trace {

namespace {

// Bytes of a RETH and of an AtomicETH, which stand for the requests; and of the result of an
// atomic.
constexpr std::uint64_t kReadRequestBytes = 16;
constexpr std::uint64_t kAtomicRequestBytes = 28;
constexpr std::uint64_t kAtomicResultBytes = 8;

/// An event at a rank: a send, an arrival, or the beginning or end of waiting.
struct Moment {
    enum class What : std::uint8_t { kSend, kArrival, kWait, kFound };
    std::uint64_t time_ns = 0;
    std::uint64_t cpu_ns = 0;  ///< CPU time of the process until then; 0 for an arrival.
    What what = What::kSend;
    Operation operation = {};
};

class RankBuilder {
  public:
    explicit RankBuilder(Program& program) : program_(program) {}

    void add(const Moment& moment) {
        if (moment.what == Moment::What::kArrival) {
            arrived_.push_back(program_.add(moment.operation));
            return;
        }
        if (!waiting_) {
            compute_until(moment);
        }
        since_ns_ = moment.time_ns;
        since_cpu_ns_ = moment.cpu_ns;
        waiting_ = moment.what == Moment::What::kWait;
        if (moment.what == Moment::What::kSend) {
            depend(program_.add(moment.operation));
            waits_ = Waits::kForStart;
        }
    }

  private:
    void depend(std::uint32_t operation) {
        if (before_ != kNone) {
            program_.depend(operation, before_, waits_);
        }
        for (const std::uint32_t each : arrived_) {
            program_.depend(operation, each);
        }
        arrived_.clear();
        before_ = operation;
    }
    void compute_until(const Moment& moment) {
        const std::uint64_t passed = std::min(
            moment.time_ns - since_ns_, moment.cpu_ns - std::min(moment.cpu_ns, since_cpu_ns_));
        if (passed != 0 && (before_ != kNone || !arrived_.empty())) {
            depend(program_.add({.compute_ps = passed * 1000}));
            waits_ = Waits::kForEnd;
        }
    }

    Program& program_;
    std::uint32_t before_ = kNone;  ///< Operation that the next one waits for.
    Waits waits_ = Waits::kForEnd;  ///< What the next one waits for in `before_`.
    std::vector<std::uint32_t> arrived_ = {};
    std::uint64_t since_ns_ = 0;
    std::uint64_t since_cpu_ns_ = 0;
    bool waiting_ = false;
};

class Recording {
  public:
    explicit Recording(std::vector<RecordedProcess> processes) : processes_(std::move(processes)) {}

    std::expected<Job, std::string> run() {
        std::ranges::stable_sort(processes_, [](const auto& a, const auto& b) {
            return a.rank != b.rank ? a.rank < b.rank : a.pid < b.pid;
        });
        keep_senders_and_receivers();
        if (processes_.empty()) {
            return std::unexpected("no process sent a message to another over InfiniBand verbs");
        }
        const auto ranks = static_cast<std::uint32_t>(processes_.size());
        job_.programs.resize(ranks);
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            job_.program_of.push_back(rank);
        }
        moments_.resize(ranks);
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            for (const RecordedEvent& event : processes_[rank].events) {
                add(rank, event);
            }
        }
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            std::ranges::stable_sort(moments_[rank], {}, &Moment::time_ns);
            RankBuilder builder(job_.programs[rank]);
            for (const Moment& moment : moments_[rank]) {
                builder.add(moment);
            }
        }
        return std::move(job_);
    }

  private:
    void find_owners() {
        owner_.clear();
        for (std::uint32_t i = 0; i < processes_.size(); ++i) {
            for (const RecordedEvent& event : processes_[i].events) {
                if (event.what == Recorded::kQueuePair) {
                    owner_[event.qpn] = i;
                }
            }
        }
    }
    bool leaves(const RecordedEvent& event) const {
        return (event.what == Recorded::kSent || event.what == Recorded::kRead ||
                event.what == Recorded::kAtomic) &&
               owner_.contains(event.remote_qpn);
    }
    void keep_senders_and_receivers() {
        find_owners();
        std::vector<bool> talks(processes_.size());
        for (std::uint32_t i = 0; i < processes_.size(); ++i) {
            for (const RecordedEvent& event : processes_[i].events) {
                if (leaves(event)) {
                    talks[i] = talks[owner_[event.remote_qpn]] = true;
                }
            }
        }
        std::vector<RecordedProcess> kept;
        for (std::uint32_t i = 0; i < processes_.size(); ++i) {
            if (talks[i]) {
                kept.push_back(std::move(processes_[i]));
            }
        }
        processes_ = std::move(kept);
        find_owners();
    }

    void add(std::uint32_t rank, const RecordedEvent& event) {
        if (event.what == Recorded::kWaits || event.what == Recorded::kFound) {
            const bool waits = event.what == Recorded::kWaits;
            moments_[rank].push_back({event.time_ns,
                                      event.cpu_ns,
                                      waits ? Moment::What::kWait : Moment::What::kFound,
                                      {}});
            return;
        }
        if (!leaves(event)) {
            return;
        }
        const std::uint32_t peer = owner_[event.remote_qpn];
        if (event.what == Recorded::kSent) {
            const std::uint32_t tag = next_tag_++;
            moments_[rank].push_back({event.time_ns, event.cpu_ns, Moment::What::kSend,
                                      message(Kind::kSend, peer, tag, event.bytes)});
            moments_[peer].push_back({event.time_ns, 0, Moment::What::kArrival,
                                      message(Kind::kRecv, rank, tag, event.bytes)});
            return;
        }
        const bool atomic = event.what == Recorded::kAtomic;
        fetch(rank, peer, event, atomic ? kAtomicRequestBytes : kReadRequestBytes,
              atomic ? kAtomicResultBytes : event.bytes);
    }

    /// Adds a request, and the message that the other HCA sends back without its process.
    void fetch(std::uint32_t rank, std::uint32_t peer, const RecordedEvent& event,
               std::uint64_t request_bytes, std::uint64_t bytes) {
        const std::uint32_t asks = next_tag_++;
        const std::uint32_t brings = next_tag_++;
        moments_[rank].push_back({event.time_ns, event.cpu_ns, Moment::What::kSend,
                                  message(Kind::kSend, peer, asks, request_bytes)});
        moments_[rank].push_back(
            {event.time_ns, 0, Moment::What::kArrival, message(Kind::kRecv, peer, brings, bytes)});
        Program& other = job_.programs[peer];
        const std::uint32_t asked = other.add(message(Kind::kRecv, rank, asks, request_bytes));
        const std::uint32_t answers = other.add(message(Kind::kSend, rank, brings, bytes));
        other.depend(answers, asked);
    }

    static Operation message(Kind kind, std::uint32_t peer, std::uint32_t tag,
                             std::uint64_t bytes) {
        return {.kind = kind, .peer = peer, .tag = tag, .bytes = bytes};
    }

    std::vector<RecordedProcess> processes_;
    Job job_ = {};
    std::map<std::uint32_t, std::uint32_t> owner_ = {};  ///< Process of each queue pair number.
    std::vector<std::vector<Moment>> moments_ = {};      ///< Moments of each rank.
    std::uint32_t next_tag_ = 0;
};

}  // namespace

std::expected<Job, std::string> job_of(std::vector<RecordedProcess> processes) {
    return Recording(std::move(processes)).run();
}

}  // namespace softib::plan::trace
