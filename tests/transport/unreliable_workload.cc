// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "workload.h"

namespace softib::transport {

namespace {

/// Messages one way, each numbered by its immediate. Connections also WRITE, with an immediate or
/// without. The arrival of a WRITE without one is not reported, but the bytes that it leaves must
/// have been sent to that place.
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
        const std::uint8_t* first = pair_.ends[1].at(zone::kWrite);
        before_.assign(first, first + zone::kWriteBytes);
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
        WrOpcode opcode;
        std::uint32_t slot = 0;  ///< The place that a WRITE goes to.
        std::uint32_t times = 0;
    };

    static constexpr std::uint32_t kWriteSlots = zone::kWriteBytes / zone::kLengthMax;

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
        constexpr std::array kOpcodes{WrOpcode::kSendImm, WrOpcode::kWriteImm, WrOpcode::kWrite};
        const WrOpcode opcode =
            datagram_ ? WrOpcode::kSendImm : kOpcodes[prng_.below(kOpcodes.size())];
        const auto slot = static_cast<std::uint32_t>(prng_.below(kWriteSlots));
        WorkRequest wr = pair_.request(0, opcode, source, length);
        wr.remote_addr = pair_.ends[1].addr(write_slot(slot));
        wr.imm_or_rkey = static_cast<std::uint32_t>(sent_.size());
        if (pair_.post(0, wr) == PostError::kOk) {
            sent_.push_back({source, length, opcode, slot});
        }
    }
    static std::uint32_t write_slot(std::uint32_t slot) {
        return zone::kWrite + slot * zone::kLengthMax;
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
        if (pair_.options.srq && !datagram_ && done.status == WcStatus::kRemInvReqErr &&
            done.wr_id == received_) {
            ++received_;  // A message lost a packet (IBA vol. 1, 9.9.6.3, class E).
            return;
        }
        const std::uint32_t number = done.imm_or_rkey;
        const bool known = number < sent_.size();
        const bool write = known && sent_[number].opcode == WrOpcode::kWriteImm;
        const WcOpcode opcode = write ? WcOpcode::kRecvRdmaWithImm : WcOpcode::kRecv;
        if (done.status != WcStatus::kSuccess || !known || done.opcode != opcode ||
            done.byte_len != sent_[number].length + skip_ || done.wr_id != received_ ||
            (datagram_ && done.src_qp != pair_.ends[0].qpn)) {
            outcome_.error = "a message that nobody sent";
            return;
        }
        // Other WRITEs may have changed the place by now; check_written() checks it.
        const std::uint8_t* source = pair_.ends[0].at(sent_[number].source);
        if (!write && !std::equal(source, source + sent_[number].length,
                                  pair_.ends[1].at(slot_of(done.wr_id)) + skip_)) {
            outcome_.error = fmt::format("message {} has other bytes", number);
        }
        ++sent_[number].times;
        ++received_;
    }
    /// Checks that every byte of a slot is as it was, or as one of the WRITEs to the slot left it;
    /// on a perfect channel, as the last one did.
    void check_written(bool perfect) {
        for (std::uint32_t slot = 0; slot < kWriteSlots && !datagram_; ++slot) {
            for (std::uint32_t at = 0; at < zone::kLengthMax; ++at) {
                const std::uint8_t byte = *pair_.ends[1].at(write_slot(slot) + at);
                if (!is_explained(slot, at, byte, perfect)) {
                    outcome_.error = fmt::format("slot {} has a strange byte at {}", slot, at);
                    return;
                }
            }
        }
    }
    bool is_explained(std::uint32_t slot, std::uint32_t at, std::uint8_t byte, bool perfect) {
        for (std::size_t i = sent_.size(); i-- > 0;) {
            const Sent& sent = sent_[i];
            if (sent.opcode == WrOpcode::kSendImm || sent.slot != slot || at >= sent.length) {
                continue;
            }
            if (*pair_.ends[0].at(sent.source + at) == byte) {
                return true;
            }
            if (perfect) {
                return false;
            }
        }
        return before_[slot * zone::kLengthMax + at] == byte;
    }
    void check_times() {
        const Knobs& k = pair_.options.knobs;
        const bool perfect = k.drop + k.duplicate + k.reorder + k.corrupt == 0;
        check_written(perfect);
        for (std::size_t i = 0; i < sent_.size() && outcome_.error.empty(); ++i) {
            const std::uint32_t expected = sent_[i].opcode == WrOpcode::kWrite ? 0 : 1;
            if ((perfect && sent_[i].times != expected) ||
                (k.duplicate == 0 && sent_[i].times > 1)) {
                outcome_.error = fmt::format("message {} came {} times", i, sent_[i].times);
            }
        }
    }

    Prng prng_;
    Pair pair_;
    bool datagram_;
    std::uint32_t skip_;
    std::vector<Sent> sent_;
    std::vector<std::uint8_t> before_;  ///< The memory before the WRITEs.
    std::uint64_t posted_ = 0;
    std::uint64_t received_ = 0;
    Outcome outcome_;
};

}  // namespace

Outcome run_unreliable(const PairOptions& options, std::uint64_t seed, std::uint32_t operations) {
    return UnreliableWorkload(options, seed).run(operations);
}

}  // namespace softib::transport
