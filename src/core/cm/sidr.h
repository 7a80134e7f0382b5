// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Looks up the queue pair of a datagram service: SIDR_REQ and SIDR_REP (IBA vol. 1, 12.11).

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "core/cm/commands.h"
#include "core/cm/deadlines.h"
#include "core/cm/route.h"
#include "core/mad/packet.h"
#include "core/wire/cm/cm_sidr_rep.h"
#include "core/wire/cm/cm_sidr_req.h"

namespace softib::cm {

inline constexpr std::size_t kSidrRequestsMax = 65536;

/// This host's number for a lookup that it sent or received. 0 names none.
using SidrId = std::uint32_t;

struct SidrEvent {
    enum Kind : std::uint8_t {
        kRequest,  ///< `request` came to `port`. Call answer().
        kAnswer,   ///< `answer` came to our request.
        kTimeout,  ///< No answer came to our request, or the program did not answer the peer's.
    };
    Kind kind{};
    SidrId lookup = 0;
    std::uint32_t port = 0;
    Lid from{};
    wire::CmSidrReq request{};
    wire::CmSidrRep answer{};
};

class Sidr {
  public:
    /// Sends a SIDR_REQ. Returns the lookup's number, or 0 if there are too many.
    SidrId ask(const Route& route, std::uint64_t service_id,
               const std::array<std::uint8_t, 216>& private_data, std::uint64_t now_ns);
    /// Sends a SIDR_REP, and keeps it for a while, since the peer may ask again. Returns 0, or
    /// EINVAL if no request of a peer waits for it.
    int answer(SidrId lookup, wire::CmSidrRep answer, std::uint64_t now_ns);
    /// Ends a lookup that its program does not want any more. A peer's request is rejected.
    void forget(SidrId lookup, std::uint64_t now_ns);

    void handle_mad(std::uint32_t port, const mad::Packet& packet, std::uint64_t now_ns);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const { return deadlines_.next_ns(); }
    std::optional<Outgoing> poll_transmit();
    std::optional<SidrEvent> poll_event();

  private:
    struct Lookup {
        bool ours = false;
        bool answered = false;
        std::uint8_t retries_left = 0;
        std::uint32_t port = 0;
        std::pair<Lid, std::uint32_t> asked_by{};  ///< LID and request ID of a peer's request.
        mad::Packet packet{};  ///< Our request, or the peer's request, or our answer to it.
    };

    SidrId add();
    void erase(SidrId id);
    void handle_req(std::uint32_t port, const mad::Packet& packet, std::uint64_t now_ns);
    void handle_rep(const mad::Packet& packet);

    SidrId last_ = 0;
    std::map<SidrId, Lookup> lookups_;
    std::map<std::pair<Lid, std::uint32_t>, SidrId> by_request_;
    Deadlines deadlines_;
    std::deque<Outgoing> out_;
    std::deque<SidrEvent> events_;
};

}  // namespace softib::cm
