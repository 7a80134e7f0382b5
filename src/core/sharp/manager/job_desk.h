// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Answers clients that ask an aggregation manager for jobs and groups by MADs, Set(SharpJob). A
// manager that is a program of its own needs it (softib_am.cc). A job belongs to the port that
// created it, and ends when that port has sent no request about it for kKeepAliveNs. A repeated
// request, whose first answer was lost, gets the same answer.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "core/mad/packet.h"
#include "core/mad/rmpp_endpoint.h"
#include "core/sharp/manager/manager_service.h"
#include "core/wire/sharp/sharp_job.h"

namespace softib::sharp {

class JobDesk {
  public:
    /// The longest time between two requests about a job; the job ends after it.
    static constexpr std::uint64_t kKeepAliveNs = 10'000'000'000;

    /// `service` must outlive the desk.
    explicit JobDesk(ManagerService& service) : service_(service) {}

    /// Returns whether a MAD is for the desk; all others are for the service.
    static bool takes(const wire::MadBytes& mad);
    void handle(const mad::RmppPeer& from, const wire::MadBytes& request, std::uint64_t now_ns);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;
    std::optional<mad::Packet> poll_transmit();

  private:
    struct Owned {
        Lid owner{};
        std::uint64_t heard_ns = 0;  ///< When the owner's last request came.
    };
    /// A request with its final answer, which a repeated request gets again.
    struct Done {
        Lid from{};
        wire::MadBytes request{};
        wire::MadBytes answer{};
    };
    static constexpr std::size_t kDoneMax = 256;
    static constexpr std::size_t kRepliesMax = 256;

    wire::SharpJob execute(Lid from, const wire::SharpJob& asked, std::uint64_t now_ns);
    wire::SharpJob create_job(Lid from, const wire::SharpJob& asked, std::uint64_t now_ns);
    wire::SharpJob start_job(const wire::SharpJob& asked, std::uint64_t now_ns);
    wire::SharpJob start_group(const wire::SharpJob& asked);
    wire::SharpJob ended(const wire::SharpJob& asked) const;
    wire::SharpJob lock_group(const wire::SharpJob& asked);
    const GroupState* group_of(const wire::SharpJob& asked) const;

    ManagerService& service_;
    std::map<JobId, Owned> jobs_;
    std::deque<Done> done_;  ///< The last kDoneMax final answers.
    std::deque<mad::Packet> replies_;
};

}  // namespace softib::sharp
