// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The process of the kill loop that kills: it starts victims, talks to each, kills it, and checks
// what is left.

#include <array>
#include <cstdint>
#include <string>

#include "kill.h"

namespace faults {

/// What the command line says.
struct Settings {
    std::uint32_t kills = 150;
    std::uint32_t seed = 1;
    std::string scratch = "/tmp";
    int only_op = -1;
    int only_point = -1;  ///< With 0, peers are killed at random moments only.
    std::uint32_t first = 0;
};

/// The survivor of all victims, with the verbs objects that outlive them.
class Survivor {
  public:
    explicit Survivor(const Settings& settings);

    /// Kills one victim after another, and ends the program at the first check that fails.
    void run();

  private:
    struct Session;

    void start_buddy();
    void end_buddy();
    void kill_one(std::uint32_t number);
    Session open_session(std::uint32_t number);
    void traffic(Session& session, const std::string& park_file, bool parks);
    void settle(Session& session);
    void settle_datagrams(Session& session);
    void check_memory(const Session& session);
    void check_shared_queue();
    void close_session(Session& session);

    void post_shared(std::uint32_t slot);
    void post_own(Session& session, std::uint32_t slot);
    void top_up(Session& session);
    bool pump(Session* session);
    void wait_until(Session* session, const char* what, const auto& done);
    void handle(Session* session, const ibv_wc& wc);
    void handle_shared(Session* session, const ibv_wc& wc);
    void handle_own(Session& session, const ibv_wc& wc);
    void handle_send(Session& session, const ibv_wc& wc);
    void check_message(const void* at, std::uint32_t bytes, std::uint32_t message,
                       const char* whose);

    Settings settings_;
    Random random_;
    Device device_;
    Memory shared_memory_;
    Memory target_;
    Memory source_;
    Memory ring_;
    ibv_mr* shared_mr_ = nullptr;
    ibv_mr* target_mr_ = nullptr;
    ibv_mr* source_mr_ = nullptr;
    ibv_mr* ring_mr_ = nullptr;
    ibv_srq* srq_ = nullptr;
    std::array<bool, kSrqSlots> shared_posted_{};

    Child buddy_;
    ibv_qp* buddy_qp_ = nullptr;
    std::uint32_t buddy_received_ = 0;
    std::uint32_t buddy_sent_ = 0;
    bool buddy_busy_ = false;

    std::uint32_t probe_qpn_ = 0;
    std::uint32_t probed_ = 0;
    bool refill_shared_ = true;

    std::uint32_t at_random_ = 0;
    std::uint32_t while_starting_ = 0;
    std::uint32_t parked_ = 0;
};

}  // namespace faults
