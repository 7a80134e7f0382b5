// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Random operations between two HCAs, and a model of what they must do: every request completes
// exactly once and in order, every message is received exactly once and in order, every byte of
// both memories is what the model says, and nothing else has changed.

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "pair.h"

namespace softib::transport {

struct Outcome {
    std::string error;  ///< What went wrong; empty if all checks hold.
    std::uint64_t operations = 0;
    std::uint64_t packets = 0;
    std::uint64_t retransmits = 0;
    std::uint64_t not_ready = 0;
    std::uint64_t ended_ns = 0;
    bool exhausted = false;  ///< Retries were used up.
    bool ended_badly = false;
};

/// The zones in the memory of each end.
namespace zone {
inline constexpr std::uint32_t kLengthMax = 4096;
inline constexpr std::uint32_t kSlots = 16;
inline constexpr std::uint32_t kSource = 0;  ///< The bytes that are sent; they never change.
inline constexpr std::uint32_t kSourceBytes = 32 << 10;
/// The bytes that the peer reads; they never change.
inline constexpr std::uint32_t kRead = kSource + kSourceBytes;
inline constexpr std::uint32_t kReadBytes = 16 << 10;
inline constexpr std::uint32_t kWrite = kRead + kReadBytes;  ///< The zone that the peer writes.
inline constexpr std::uint32_t kWriteBytes = 16 << 10;
inline constexpr std::uint32_t kAtomic = kWrite + kWriteBytes;
inline constexpr std::uint32_t kAtomicWords = 8;
inline constexpr std::uint32_t kLanding = kAtomic + 64;  ///< A slot per READ or atomic.
inline constexpr std::uint32_t kReceive = kLanding + kSlots * kLengthMax;
inline constexpr std::uint32_t kReceiveSlotBytes = kLengthMax + 64;
inline constexpr std::uint32_t kBytes = kReceive + kSlots * kReceiveSlotBytes;
}  // namespace zone

/// RC or XRC in both directions at once. Some runs end with a request that must fail, others,
/// where most packets are lost, when retries are used up.
class ReliableWorkload {
  public:
    ReliableWorkload(const PairOptions& options, std::uint64_t seed, std::uint32_t operations);
    Outcome run();

  private:
    struct Op {
        std::uint64_t wr_id;
        WrOpcode opcode;
        bool signaled;
        WcStatus expected;
        std::uint32_t landing;           ///< The offset where the result of a READ or atomic goes.
        std::vector<std::uint8_t> data;  ///< The bytes that must be there.
    };
    struct Message {
        std::uint32_t source;
        std::uint32_t length;
        WrOpcode opcode;
        std::uint32_t immediate;
    };
    struct Side {
        std::deque<Op> posted;
        std::deque<Message> to_come;           ///< The messages that must still arrive at the peer.
        std::vector<std::uint8_t> peer_write;  ///< The model of the peer's zones.
        std::vector<std::uint64_t> peer_words;
        std::uint64_t next_wr = 1;
        std::uint64_t received = 0;
        std::uint64_t receives_posted = 0;
        std::uint32_t next_landing = 0;
        bool must_fence = false;
        bool exhausted = false;  ///< The connection has ended; its last messages may have arrived.
    };

    void fail(const std::string& what);
    bool failed() const { return !outcome_.error.empty(); }
    void post(int side);
    bool build(int side, WorkRequest& wr, Op& op);
    void build_send(int side, WorkRequest& wr, Op& op);
    void build_write(int side, WorkRequest& wr, Op& op);
    void build_read(int side, WorkRequest& wr, Op& op);
    void build_atomic(int side, WorkRequest& wr, Op& op);
    std::uint32_t random_length(std::uint32_t max);
    void split(int side, std::uint32_t offset, std::uint32_t length);
    void post_receives(int side);
    void check_completions(int side);
    void check_receives(int side);
    void check_op(int side, const Completion& done);
    void check_memory();
    void finish();
    void end_badly();
    void post_bad(int side);
    bool idle() const;
    bool ended() const { return sides_[0].exhausted || sides_[1].exhausted; }

    Prng prng_;
    Pair pair_;
    Side sides_[2];
    std::uint32_t left_;
    bool eager_receives_;
    bool may_exhaust_ = false;
    std::vector<Sge> sges_;
    Outcome outcome_;
};

PairOptions random_options(std::uint64_t seed, QpType type);

/// Runs UC or UD: each message that arrives was sent, whole; each that was not lost or doubled
/// arrives once.
Outcome run_unreliable(const PairOptions& options, std::uint64_t seed, std::uint32_t operations);

/// Runs writes over many connections between two HCAs, some of which lose their peer. Returns an
/// error, empty if all is well.
std::string run_many_connections(std::uint64_t seed);

}  // namespace softib::transport
