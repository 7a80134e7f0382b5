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
#include "core/wire/packet/packet.h"
#include "core/wire/packet/roce.h"

namespace softib::hca {

inline constexpr std::uint64_t kNever = UINT64_MAX;
/// The most unacknowledged packets of one queue pair, if QpInit does not give another number.
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

/// The counters of an HCA: why a packet was not accepted, and other events.
enum class Counted : std::uint8_t {
    kBadLid,  ///< The LIDs are not those of this port, or not those of the peer.
    kBadGrh,  ///< The GRH is missing, not expected, or has other GIDs.
    kNoQp,
    kWrongService,
    kWrongState,
    kBadPKey,    ///< The P_Key does not match; counts as a P_Key violation of the port.
    kBadQKey,    ///< The Q_Key does not match; counts as a Q_Key violation of the port.
    kBadLength,  ///< The payload is longer than the path MTU, or the opcode allows none.
    kOutOfSequence,
    kDuplicate,
    kDuplicateUnknown,  ///< A duplicate READ or atomic that the responder has no record of.
    kGhost,             ///< A response to nothing that is outstanding.
    kBadResponse,
    kInvalidRequest,
    kAccessViolation,
    kOperationalError,
    kNotReady,
    kNobodyListens,  ///< A datagram without a receive request, or a multicast without a member.
    kLostMessage,    ///< A UC message with a missing packet, or an unreliable one that is too long.
    kTimeout,
    kRetransmit,
    kCqOverrun,
    kEventLost,
    kBecn,  ///< A BECN or CNP came for one of the queue pairs.
};
inline constexpr std::size_t kCountedKinds = static_cast<std::size_t>(Counted::kBecn) + 1;
std::string_view to_string(Counted counted);  ///< Returns "bad P_Key", for example.

struct Event {
    enum class Kind : std::uint8_t { kAsync, kCompletion } kind{};
    AsyncKind async{};
    /// The QPN, or the number of the shared receive queue or completion queue.
    std::uint32_t id = 0;
    friend bool operator==(const Event&, const Event&) = default;
};

/// One packet to send. Its lengths, padding and LNH are set; the link sets the VL and the CRCs.
struct Transmit {
    wire::PacketHeaders headers;
    Payload payload;
    Qpn source{};  ///< The queue pair that sends it.
};

/// Writes the packet's bytes with payload and CRCs to `out`. Returns their number.
std::expected<std::size_t, wire::PacketError> emit_packet(const Transmit& transmit,
                                                          std::span<std::uint8_t> out);

/// Writes the packet as a RoCEv2 packet to `out`. Returns the number of bytes.
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
    /// The requester heeds the end-to-end credits in the peer's acknowledgements.
    bool end_to_end_credits = true;
};

struct Context {
    explicit Context(Memory& m, CompletionSink* s = nullptr) : memory(m), sink(s) {}

    void complete(CqId cq, const Completion& completion, bool solicited);
    /// Removes the completions of a queue pair that is reset. A sink must do so by itself.
    void purge(CqId cq, Qpn qpn) {
        if (sink == nullptr) {
            cqs[cq.value].purge(qpn);
        }
    }
    void raise(AsyncKind kind, std::uint32_t id);
    void count(Counted what) { ++counters[static_cast<std::size_t>(what)]; }
    /// Takes a request from a shared receive queue, and raises kSrqLimitReached if fewer than its
    /// limit are left. Returns false if there is none.
    bool take(SrqId id, TakenReceive& out);
    SharedReceiveQueue* srq(SrqId id) {
        return id.value < srqs.size() && srqs[id.value] ? &*srqs[id.value] : nullptr;
    }
    PKey pkey(std::uint16_t index) const {
        return index < port.pkeys.size() ? port.pkeys[index] : PKey{};
    }

    bool has_cq(CqId id) const { return sink != nullptr || id.value < cqs.size(); }

    Memory& memory;
    CompletionSink* sink;  ///< nullptr: completions go to `cqs`.
    Port port;
    std::vector<CompletionQueue> cqs;
    std::vector<std::optional<SharedReceiveQueue>> srqs;
    std::vector<Event> events;  ///< A ring.
    std::size_t events_head = 0;
    std::size_t events_count = 0;
    std::array<std::uint64_t, kCountedKinds> counters{};
    bool cq_overrun = false;  ///< A completion queue has just overrun: its queue pairs must stop.
    ShortList<Cnp> cnps;
    ShortList<Becn> becns;
};

wire::Transport transport_of(QpType type);
/// Returns whether a responder sends this operation to a requester.
bool is_response(wire::Operation operation);

struct QpCore {
    Context& context;
    QpInit init;
    Qpn qpn{};
    QpAttr attr{};
    QpState state = QpState::kReset;
    std::uint32_t mtu = 0;
    bool becn_due = false;  ///< The next response must carry BECN.
    bool failed = false;    ///< The queue pair must enter the error state when the call ends.
    std::optional<AsyncKind> failure_event{};

    wire::Transport transport() const { return transport_of(init.type); }
    void fail(std::optional<AsyncKind> event = std::nullopt) {
        failed = true;
        failure_event = event;
    }
    /// Sets the headers of a packet to the peer of a connection, except for the extended ones.
    void begin(wire::PacketHeaders& headers, wire::Operation operation, Psn psn) const;
};

/// Sets the LRH and GRH of a packet to an address.
void set_address(wire::PacketHeaders& headers, const AddressVector& to, const Port& port);
/// Sets the header fields that follow from the opcode and the length of the payload.
void set_lengths(wire::PacketHeaders& headers, std::uint32_t payload_bytes);
/// Returns the number of PSNs that a message takes; an empty message takes one.
constexpr std::uint32_t packets_of(std::uint32_t length_bytes, std::uint32_t mtu) {
    return length_bytes == 0 ? 1 : (length_bytes - 1) / mtu + 1;
}

}  // namespace softib::hca
