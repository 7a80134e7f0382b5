// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Sends the manager's requests to agents along directed routes, at most a window of them at a time,
// repeats them when no answer comes, and gives up in the end. An answer comes back with the Purpose
// that the manager gave its request.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/sm/subnet.h"
#include "core/wire/mad/mad.h"
#include "core/wire/sm/smp.h"

namespace softib::sm {

/// The purpose of a request: what it reads or writes, and where.
struct Purpose {
    enum Kind : std::uint8_t {
        kNodeInfo,
        kNodeDescription,
        kSwitchInfo,
        kPortInfo,
        kPKeyTable,
        kSmInfo,
        kLightSweep,
        kSetPortInfo,
        kSetSwitchInfo,
        kSetLft,
        kSetMft,
        kSetPKeys,
        kSetGuids,
        kSetSlToVl,
        kSetVlArb,
        kAdaptiveInfo,
        kSetAdaptive,
    };
    Kind kind{};
    std::uint8_t port = 0;
    NodeIndex node = kNoNode;
    std::uint32_t index = 0;
};

struct SmpRequest {
    Purpose purpose;
    DirectedPath path;
    wire::Method method = wire::Method::kGet;
    wire::SmAttribute attribute{};
    std::uint32_t modifier = 0;
    std::array<std::uint8_t, wire::kSmpDataBytes> data{};
    std::uint8_t retries = UINT8_MAX;  ///< Most retries, if fewer than those of SmpClient::Limits.
};

struct SmpAnswer {
    Purpose purpose;
    bool lost = false;         ///< Whether no answer came; the fields below are empty then.
    std::uint16_t status = 0;  ///< MAD status.
    std::array<std::uint8_t, wire::kSmpDataBytes> data{};
};

class SmpClient {
  public:
    struct Limits {
        std::uint32_t window = 256;
        std::uint64_t timeout_ns = 200'000'000;
        std::uint8_t retries = 3;
    };
    explicit SmpClient(const Limits& limits) : limits_(limits), slots_(limits.window) {
        for (std::uint32_t i = limits.window; i-- > 0;) {
            free_.push_back(i);
        }
    }

    bool has_room() const { return !free_.empty(); }
    bool idle() const { return free_.size() == slots_.size() && resend_.empty(); }

    /// Starts a request and returns the MAD to send. Call it only if has_room().
    wire::MadBytes start(const SmpRequest& request, std::uint64_t mkey, std::uint64_t now_ns);
    /// Returns the answer that a MAD holds; std::nullopt if it answers no request of ours.
    std::optional<SmpAnswer> handle(const wire::MadBytes& mad);
    /// Finds the requests whose time is over, for poll_resend() and poll_lost().
    void handle_timeout(std::uint64_t now_ns);
    /// Returns the next MAD to send again; std::nullopt if there is none.
    std::optional<wire::MadBytes> poll_resend();
    /// Returns the next request that was given up, as a lost answer; std::nullopt if there is none.
    std::optional<SmpAnswer> poll_lost();
    std::uint64_t next_timeout_ns() const;
    void forget_all();

  private:
    struct Slot {
        Purpose purpose;
        wire::MadBytes mad{};
        std::uint64_t deadline_ns = 0;
        std::uint32_t use = 0;
        std::uint8_t tries_left = 0;
        bool busy = false;
    };

    Limits limits_;
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;
    std::deque<std::uint32_t> resend_;
    std::deque<SmpAnswer> lost_;
};

}  // namespace softib::sm
