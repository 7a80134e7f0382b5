// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>

#include "workload.h"

namespace softib::transport {

namespace {

/// Messages one way, each numbered by its immediate.
class UnreliableWorkload {
  public:
    UnreliableWorkload(const PairOptions& options, std::uint64_t seed)
        : prng_(seed),
          pair_(options),
          datagram_(options.type == QpType::kUd),
          skip_(datagram_ ? wire::Grh::kBytes : 0) {
        for (End& end : pair_.ends) {
            std::ranges::generate(end.bytes,
                                  [&] { return static_cast<std::uint8_t>(prng_.next()); });
        }
    }

    Outcome run(std::uint32_t operations) {
        while (sent_.size() < operations && outcome_.error.empty()) {
            post_receives();
            send_one();
            for (std::uint64_t i = prng_.below(20); i != 0 && pair_.step(); --i) {
            }
            poll();
        }
        pair_.drive();
        poll();
        check_times();
        outcome_.operations = sent_.size();
        outcome_.packets = pair_.packets;
        outcome_.ended_ns = pair_.now_ns;
        return outcome_;
    }

  private:
    struct Sent {
        std::uint32_t source;
        std::uint32_t length;
        std::uint32_t times = 0;
    };

    static std::uint32_t slot_of(std::uint64_t receive) {
        return zone::kReceive +
               static_cast<std::uint32_t>(receive % zone::kSlots) * zone::kReceiveSlotBytes;
    }
    void post_receives() {
        for (; posted_ - received_ < zone::kSlots; ++posted_) {
            pair_.ends[1].receive(posted_, slot_of(posted_), zone::kReceiveSlotBytes);
        }
    }
    void send_one() {
        const auto length = static_cast<std::uint32_t>(
            prng_.below(prng_.chance(3, 4) ? 128 : zone::kLengthMax + 1));
        const auto source = static_cast<std::uint32_t>(prng_.below(zone::kSourceBytes - length));
        WorkRequest wr = pair_.request(0, WrOpcode::kSendImm, source, length);
        wr.imm_or_rkey = static_cast<std::uint32_t>(sent_.size());
        if (pair_.post(0, wr) == PostError::kOk) {
            sent_.push_back({source, length});
        }
    }
    void poll() {
        for (const Completion& done : pair_.completions(0)) {
            if (done.status != WcStatus::kSuccess) {
                outcome_.error = "a request failed";
            }
        }
        for (const Completion& done : pair_.completions(1, true)) {
            check(done);
        }
    }
    void check(const Completion& done) {
        const std::uint32_t number = done.imm_or_rkey;
        if (done.status != WcStatus::kSuccess || number >= sent_.size() ||
            done.byte_len != sent_[number].length + skip_ || done.wr_id != received_ ||
            (datagram_ && done.src_qp != pair_.ends[0].qpn)) {
            outcome_.error = "a message that nobody sent";
            return;
        }
        const std::uint8_t* source = pair_.ends[0].at(sent_[number].source);
        if (!std::equal(source, source + sent_[number].length,
                        pair_.ends[1].at(slot_of(done.wr_id)) + skip_)) {
            outcome_.error = fmt::format("message {} has other bytes", number);
        }
        ++sent_[number].times;
        ++received_;
    }
    void check_times() {
        const Knobs& k = pair_.options.knobs;
        const bool perfect = k.drop + k.duplicate + k.reorder + k.corrupt == 0;
        for (std::size_t i = 0; i < sent_.size() && outcome_.error.empty(); ++i) {
            if ((perfect && sent_[i].times != 1) || (k.duplicate == 0 && sent_[i].times > 1)) {
                outcome_.error = fmt::format("message {} came {} times", i, sent_[i].times);
            }
        }
    }

    Prng prng_;
    Pair pair_;
    bool datagram_;
    std::uint32_t skip_;
    std::vector<Sent> sent_;
    std::uint64_t posted_ = 0;
    std::uint64_t received_ = 0;
    Outcome outcome_;
};

}  // namespace

Outcome run_unreliable(const PairOptions& options, std::uint64_t seed, std::uint32_t operations) {
    return UnreliableWorkload(options, seed).run(operations);
}

}  // namespace softib::transport
