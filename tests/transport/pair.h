// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Two HCAs in virtual time with a channel between them that may lose, double, delay, exchange and
// corrupt packets. Probabilities are integers, per 10,000; one seed gives one run.

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <vector>

#include "core/base/prng.h"
#include "core/hca/hca.h"

namespace softib::transport {

using namespace softib::hca;  // NOLINT: the tests are about nothing else.

struct Knobs {
    std::uint32_t drop = 0;
    std::uint32_t duplicate = 0;
    std::uint32_t reorder = 0;  ///< Packets that are delayed by up to `delay_max_ns`.
    std::uint32_t corrupt = 0;
    std::uint64_t latency_ns = 1'000;
    std::uint64_t delay_max_ns = 20'000;
    std::uint64_t packet_ns = 100;  ///< Time between two packets of one sender.
    bool as_bytes = false;          ///< Packets travel as bytes with CRCs; otherwise decoded.
};

struct PairOptions {
    QpType type = QpType::kRc;  ///< With kXrcSend there is one connection each way.
    std::uint8_t mtu_code = 1;
    std::uint32_t window = kWindowPackets;
    std::uint8_t timeout = 6;
    std::uint8_t retry_cnt = 7;
    std::uint8_t rnr_retry = 7;
    std::uint8_t min_rnr_timer = 1;
    std::uint8_t rd_atomic = 4;
    std::uint32_t access = kRemoteWrite | kRemoteRead | kRemoteAtomic;
    std::uint32_t max_wr = 64;
    std::uint32_t sges = 4;
    std::uint32_t psn = 0;
    std::uint32_t memory_bytes = 1 << 16;
    bool srq = false;
    bool global = false;
    bool credits = true;
    bool without_bytes = false;  ///< Memory has no contents, and packets carry only lengths.
    Knobs knobs{};
    std::uint64_t seed = 1;
};

inline constexpr Pd kPd{7};
inline constexpr QKey kQKey{0x1234};
inline constexpr std::uint32_t kXrcd = 3;

/// One HCA with registered memory and a queue pair for each direction.
struct End {
    End(const PairOptions& options, int number);

    std::uint64_t addr(std::uint64_t offset) const { return base + offset; }
    Sge sge(std::uint64_t offset, std::uint32_t length) const {
        return {addr(offset), length, key};
    }
    std::uint8_t* at(std::uint64_t offset) { return bytes.data() + offset; }
    QpState state() const { return hca.query_qp(qpn)->state; }
    PostError receive(std::uint64_t wr_id, std::uint64_t offset, std::uint32_t length);

    Lid lid;
    Gid gid;
    std::uint64_t base;
    std::vector<std::uint8_t> bytes;
    MemoryTable memory;
    std::uint32_t key = 0;  ///< The key of all the memory, with all rights.
    Hca hca;
    CqId send_cq;
    CqId recv_cq;
    std::optional<SrqId> srq;
    Qpn qpn;       ///< The queue pair that sends.
    Qpn recv_qpn;  ///< The queue pair that receives; another one only with XRC.
};

struct Flight {
    int to = 0;
    wire::PacketHeaders headers;
    /// The payload, or the whole packet when it travels as bytes.
    std::vector<std::uint8_t> payload;
    std::uint32_t length = 0;  ///< Length of the payload, which may have no bytes.
};

class Pair {
  public:
    explicit Pair(const PairOptions& options = {});

    /// Moves the queue pairs of both sides from RESET to RTS.
    void connect();
    void to_init(int end);
    void to_rtr(int end);
    void to_rts(int end);

    /// Runs one moment: what is due arrives, times out or leaves. Returns false if nothing will
    /// happen any more.
    bool step();
    /// Runs until nothing happens any more; drive_while() as long as `more` returns true.
    void drive();
    void drive_while(const std::function<bool()>& more);
    /// Delivers a packet of the test's own to an end.
    void inject(int to, const wire::PacketHeaders& headers,
                std::span<const std::uint8_t> payload = {});

    /// Returns a signaled request from end `from` of `length` bytes at `offset` on both sides.
    WorkRequest request(int from, WrOpcode opcode, std::uint64_t offset, std::uint32_t length);
    PostError post(int from, const WorkRequest& wr);
    std::vector<Completion> completions(int end, bool receives = false);
    std::uint64_t count(int end, Counted what) const { return ends[end].hca.counter(what); }

    PairOptions options;
    End ends[2];
    std::uint64_t now_ns = 0;
    std::uint64_t packets = 0;
    std::uint64_t corrupted = 0;
    /// Called for each packet when it is sent. If it returns false, the packet is lost.
    std::function<bool(Flight&)> filter;

  private:
    struct Due {
        std::uint64_t at_ns;
        std::uint64_t order;
        std::size_t flight;
        friend bool operator>(const Due& a, const Due& b) {
            return a.at_ns != b.at_ns ? a.at_ns > b.at_ns : a.order > b.order;
        }
    };
    void send(int from, const Transmit& transmit);
    void launch(const Flight& flight);
    void arrive(std::size_t index);
    bool pump();
    std::size_t take_flight();

    Prng prng_;
    std::vector<Flight> flights_;
    std::vector<std::size_t> free_;
    std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
    std::uint64_t order_ = 0;
    std::uint64_t busy_until_ns_[2]{};
    bool hot_[2]{true, true};
    Transmit transmit_;
    Flight flight_;
    Sge sge_{};
};

}  // namespace softib::transport
