// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The state that all queue pairs of one HCA share (port, memory, completion queues, shared receive
// queues, events, counters), and the state that requester and responder of one queue pair share.

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/hca/completion_queue.h"
#include "core/hca/congestion.h"
#include "core/hca/memory_table.h"
#include "core/hca/payload.h"
#include "core/hca/qp_attr.h"
#include "core/hca/receive_queue.h"
#include "core/wire/packet.h"
#include "core/wire/roce.h"

namespace softib::hca {

inline constexpr std::uint64_t kNever = UINT64_MAX;
/// Unacknowledged packets of one queue pair, unless it asks for another number.
inline constexpr std::uint32_t kWindowPackets = 1024;
inline constexpr unsigned kServiceLevels = 16;
inline constexpr std::uint16_t kAllLevels = 0xFFFF;
inline constexpr std::uint32_t kAtomicBytes = 8;

struct Port {
    LinkLayer link_layer = LinkLayer::kInfiniBand;
    Lid lid{};
    std::uint8_t lmc = 0;
    std::uint32_t mtu_bytes = 4096;
    std::vector<PKey> pkeys{kPKeyDefaultFull};
    std::vector<Gid> gids{Gid{}};
};

/// Why a packet was not accepted, or what else is worth counting.
enum class Counted : std::uint8_t {
    kBadLid,  ///< Not for this port, or not from the peer.
    kBadGrh,  ///< Missing, not wanted, or of others.
    kNoQp,
    kWrongService,
    kWrongState,
    kBadPKey,    ///< The port's P_Key violations.
    kBadQKey,    ///< The port's Q_Key violations.
    kBadLength,  ///< More than the path MTU.
    kOutOfSequence,
    kDuplicate,
    kDuplicateUnknown,  ///< A READ or atomic that is not (or no longer) kept.
    kGhost,             ///< A response that nobody waits for.
    kBadResponse,
    kInvalidRequest,
    kAccessViolation,
    kOperationalError,
    kNotReady,
    kNobodyListens,  ///< A datagram without a receive request, a multicast without a member.
    kLostMessage,    ///< UC: given up because a packet is missing.
    kTimeout,
    kRetransmit,
    kCqOverrun,
    kEventLost,
    kBecn,  ///< A queue pair of ours was said to make congestion.
};
inline constexpr std::size_t kCountedKinds = static_cast<std::size_t>(Counted::kBecn) + 1;
std::string_view to_string(Counted counted);  ///< "bad P_Key"

struct Event {
    enum class Kind : std::uint8_t { kAsync, kCompletion } kind{};
    AsyncKind async{};
    std::uint32_t id = 0;  ///< QPN, number of the shared receive queue or of the completion queue.
    friend bool operator==(const Event&, const Event&) = default;
};

/// One packet to send. Lengths, padding and LNH are right; VL and check sums are the link's.
struct Transmit {
    wire::PacketHeaders headers;
    Payload payload;
    Qpn source{};  ///< The queue pair that sends it.
};

/// The packet's bytes, with check sums; its payload is gathered into place. Says how many.
std::expected<std::size_t, wire::PacketError> emit_packet(const Transmit& transmit,
                                                          std::span<std::uint8_t> out);

/// The same as the payload of a UDP datagram (RoCEv2).
std::expected<std::size_t, wire::PacketError> emit_roce(const Transmit& transmit,
                                                        const wire::RoceFields& fields,
                                                        std::span<std::uint8_t> out);

struct QpInit {
    QpType type = QpType::kRc;
    Pd pd{};
    CqId send_cq{};
    CqId recv_cq{};
    std::optional<SrqId> srq{};
    std::uint32_t max_send_wr = 0;
    std::uint32_t max_recv_wr = 0;
    std::uint32_t max_send_sge = 1;
    std::uint32_t max_recv_sge = 1;
    std::uint32_t max_inline = 0;
    bool signal_all = false;
    std::uint32_t xrcd = 0;
    std::uint32_t window_packets = kWindowPackets;
    bool end_to_end_credits = true;  ///< Heeds the credits of the peer's acknowledgements.
};

struct Context {
    explicit Context(Memory& m, CompletionSink* s = nullptr) : memory(m), sink(s) {}

    void complete(CqId cq, const Completion& completion, bool solicited);
    /// Takes out what belongs to a queue pair that is reset; a sink does so by itself.
    void purge(CqId cq, Qpn qpn) {
        if (sink == nullptr) {
            cqs[cq.value].purge(qpn);
        }
    }
    void raise(AsyncKind kind, std::uint32_t id);
    void count(Counted what) { ++counters[static_cast<std::size_t>(what)]; }
    /// Takes from a shared queue, and says so when few are left.
    bool take(SrqId id, TakenReceive& out);
    SharedReceiveQueue* srq(SrqId id) {
        return id.value < srqs.size() && srqs[id.value] ? &*srqs[id.value] : nullptr;
    }
    PKey pkey(std::uint16_t index) const {
        return index < port.pkeys.size() ? port.pkeys[index] : PKey{};
    }

    bool has_cq(CqId id) const { return sink != nullptr || id.value < cqs.size(); }

    Memory& memory;
    CompletionSink* sink;  ///< nullptr: completions wait in `cqs`.
    Port port;
    std::vector<CompletionQueue> cqs;
    std::vector<std::optional<SharedReceiveQueue>> srqs;
    std::vector<Event> events;  ///< A ring.
    std::size_t events_head = 0;
    std::size_t events_count = 0;
    std::array<std::uint64_t, kCountedKinds> counters{};
    bool cq_overrun = false;  ///< It has just overrun: its queue pairs must stop.
    ShortList<Cnp> cnps;
    ShortList<Becn> becns;
};

wire::Transport transport_of(QpType type);
/// From a responder to a requester.
bool is_response(wire::Operation operation);

struct QpCore {
    Context& context;
    QpInit init;
    Qpn qpn{};
    QpAttr attr{};
    QpState state = QpState::kReset;
    std::uint32_t mtu = 0;
    bool becn_due = false;  ///< In the next response.
    bool failed = false;    ///< It must enter the error state as soon as the call ends.
    std::optional<AsyncKind> failure_event{};

    wire::Transport transport() const { return transport_of(init.type); }
    void fail(std::optional<AsyncKind> event = std::nullopt) {
        failed = true;
        failure_event = event;
    }
    /// A packet to the peer of a connection, without extended headers.
    void begin(wire::PacketHeaders& headers, wire::Operation operation, Psn psn) const;
};

/// LRH and GRH by an address.
void set_address(wire::PacketHeaders& headers, const AddressVector& to, const Port& port);
/// The fields that follow from the opcode and the payload's length.
void set_lengths(wire::PacketHeaders& headers, std::uint32_t payload_bytes);
/// PSNs that a message takes; an empty one takes one too.
constexpr std::uint32_t packets_of(std::uint32_t length_bytes, std::uint32_t mtu) {
    return length_bytes == 0 ? 1 : (length_bytes - 1) / mtu + 1;
}

}  // namespace softib::hca
