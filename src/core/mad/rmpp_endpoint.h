// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// One end of many RMPP transfers (IBA vol. 1, 13.6): whole messages in, whole messages out,
// segments and ACKs in between. The SA answers through an endpoint, and programs ask through one.
//
// A message whose RMPP header has the flag Active goes by RMPP; any other message is one MAD, which
// is sent and delivered as it is. The receiving endpoint delivers the message of a transfer once;
// the sending endpoint reports that it was sent, or why not.
//
// No peer can make an endpoint hold more than RmppLimits allow, whatever the peer sends.

#include <compare>
#include <cstdint>
#include <deque>
#include <expected>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/ids.h"
#include "core/mad/packet.h"
#include "core/mad/rmpp.h"

namespace softib::mad {

/// The other end of a transfer, and the packet fields that lead to it.
struct RmppPeer {
    Lid lid{};
    Qpn qp{1};
    PKey pkey = kPKeyDefaultFull;
    std::uint8_t sl = 0;
};

struct RmppLimits {
    std::uint32_t window_segments = 64;
    std::size_t message_bytes_max = std::size_t{64} << 20;
    std::size_t bytes_per_peer_max = std::size_t{256} << 20;
    std::uint32_t transfers_per_peer_max = 64;
    std::uint32_t transfers_max = 4096;
    std::uint32_t lingering_max = 4096;
    std::uint32_t replies_queued_max = 8192;  ///< Queued ACKs and ABORTs; further ones are lost.
    std::uint64_t linger_ns = 10'000'000'000;
    RmppTiming timing{};
};

struct RmppOutgoing {
    RmppPeer peer;
    wire::MadBytes mad;
};

/// Returns the packet that carries the MAD from QP1 to the peer.
Packet to_packet(const RmppOutgoing& outgoing);

struct RmppEvent {
    enum Kind : std::uint8_t {
        kReceived,
        kSent,  ///< The peer has the whole message. Not reported for messages without RMPP.
        kSendFailed,
        kReceiveFailed,  ///< A message came only in part: `message` is its header.
    };
    Kind kind{};
    RmppPeer peer{};
    std::vector<std::uint8_t> message{};
    wire::RmppStatus status = wire::RmppStatus::kNormal;
    std::uint64_t cookie = 0;  ///< The cookie that was given to send().
};

enum class RmppRefusal : std::uint8_t {
    kMalformed,   ///< The message is shorter than its header, or over 256 bytes without RMPP.
    kTooLong,     ///< The message has more than message_bytes_max bytes.
    kBusy,        ///< Too much is under way, with this peer or in all: try again later.
    kInProgress,  ///< A message with the same peer, transaction and method is being sent.
};
std::string_view to_string(RmppRefusal refusal);

class RmppEndpoint {
  public:
    explicit RmppEndpoint(const RmppLimits& limits = {}) : limits_(limits) {}

    /// Sends a message, with the timing of the limits unless `timing` is given. The cookie comes
    /// back in the event.
    std::expected<void, RmppRefusal> send(const RmppPeer& to, std::vector<std::uint8_t> message,
                                          std::uint64_t cookie, std::uint64_t now_ns);
    std::expected<void, RmppRefusal> send(const RmppPeer& to, std::vector<std::uint8_t> message,
                                          std::uint64_t cookie, std::uint64_t now_ns,
                                          const RmppTiming& timing);
    void handle_mad(const RmppPeer& from, const wire::MadBytes& mad, std::uint64_t now_ns);
    void handle_timeout(std::uint64_t now_ns);
    /// Returns when handle_timeout() must be called; UINT64_MAX if no timer runs.
    std::uint64_t next_timeout_ns() const;
    /// Forgets all transfers with a peer that is gone, without events.
    void forget(Lid lid);

    std::optional<RmppOutgoing> poll_transmit();
    std::optional<RmppEvent> poll_event();

    std::size_t transfers() const { return transfers_.size(); }
    std::size_t lingering() const { return lingering_.size(); }

  private:
    struct Key {
        Lid lid;
        Qpn qp;
        std::uint64_t transaction_id = 0;
        std::uint8_t mgmt_class = 0;
        std::uint8_t method = 0;  ///< Method of the DATA MADs.
        bool sending = false;
        friend auto operator<=>(const Key&, const Key&) = default;
    };
    struct Transfer {
        RmppPeer peer;
        std::variant<RmppSender, RmppReceiver> side;
        std::uint64_t cookie = 0;
        std::uint64_t deadline_ns = 0;
        std::size_t bytes = 0;  ///< Bytes that use_ counts for this transfer.
        bool queued = false;    ///< Whether its key is in ready_.
    };
    /// A message that was received and delivered: the ACK with which late duplicates of its
    /// segments are answered, and the window that its sender offers for the answer.
    struct Lingering {
        wire::MadBytes ack;
        std::uint64_t until_ns = 0;
        std::uint32_t reply_window = 1;
    };
    struct Use {
        std::uint32_t transfers = 0;
        std::size_t bytes = 0;
    };
    using Transfers = std::map<Key, Transfer>;

    static Key key_of(const RmppPeer& peer, const std::uint8_t* mad, bool sending);
    void handle_data(const RmppPeer& from, const wire::MadBytes& mad, std::uint64_t now_ns);
    void handle_ack(const RmppPeer& from, const wire::MadBytes& mad, std::uint64_t now_ns);
    void handle_end(const RmppPeer& from, const wire::MadBytes& mad);
    void start_receive(const Key& key, const RmppPeer& from, const wire::MadBytes& mad,
                       std::uint64_t now_ns);
    void continue_receive(Transfers::iterator at, const wire::MadBytes& mad, std::uint64_t now_ns);
    void refuse(const RmppPeer& from, const wire::MadBytes& mad, wire::RmppStatus status);

    Transfers::iterator add(const Key& key, Transfer transfer);
    void remove(Transfers::iterator at);
    void set_deadline(Transfers::iterator at, std::uint64_t deadline_ns);
    void set_bytes(Transfer& transfer, std::size_t bytes);
    void make_ready(Transfers::iterator at);
    bool has_room(const RmppPeer& peer, std::size_t bytes) const;
    void fail(Transfers::iterator at, wire::RmppStatus status, bool tell_peer);
    void finish_send(Transfers::iterator at);
    void linger(const Key& key, const wire::MadBytes& ack, std::uint64_t now_ns);
    void forget_oldest();
    void expect_answer(const RmppPeer& to, const std::uint8_t* request);
    void reply(const RmppPeer& to, const wire::MadBytes& mad);

    RmppLimits limits_;
    Transfers transfers_;
    std::map<Lid, Use> use_;
    std::set<std::pair<std::uint64_t, Key>> deadlines_;
    std::deque<Key> ready_;  ///< Transfers that have a segment to send, in the order of turns.
    std::deque<RmppOutgoing> replies_;
    std::map<Key, Lingering> lingering_;
    std::deque<std::pair<std::uint64_t, Key>> lingering_until_;
    std::deque<RmppEvent> events_;
};

}  // namespace softib::mad
