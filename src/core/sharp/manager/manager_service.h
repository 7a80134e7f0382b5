// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The aggregation manager on a port. The service reads the routed fabric from the SA and passes it
// to the manager: before a job starts, when the SA reports that a link or port has changed, and
// periodically while there are jobs. The daemon uses it, and so does the manager that is a program
// of its own (softib_am.cc), under any subnet manager.
//
// Sans-I/O: the caller moves packets, reassembles RMPP messages, and passes the time in.

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>

#include "core/mad/packet.h"
#include "core/mad/rmpp_endpoint.h"
#include "core/sharp/manager/manager.h"
#include "core/sharp/manager/subnet_reader.h"

namespace softib::sharp {

struct ServiceTiming {
    std::uint64_t period_ns = 10'000'000'000;  ///< The fabric is read again when this has passed.
    /// Time from a reading after a report, or one that failed, to the next: the subnet manager may
    /// still be changing the fabric.
    std::uint64_t settle_ns = 2'000'000'000;
    SubnetReader::Config reader{};
};

class ManagerService {
  public:
    explicit ManagerService(const ManagerConfig& config, const ServiceTiming& timing = {})
        : timing_(timing), manager_(config), reader_(timing.reader) {}

    Manager& manager() { return manager_; }
    const Manager& manager() const { return manager_; }

    /// Sets the LID of the SA: PortInfo:MasterSMLID of the port.
    void set_subnet_manager(Lid lid) { sa_ = lid; }
    /// Says that the fabric may have changed: the service reads it again if there are jobs, and
    /// otherwise before the next one starts.
    void note_change(std::uint64_t now_ns);
    /// Reads the fabric again if the last reading is old or failed. Must be called before a job
    /// starts.
    void freshen(std::uint64_t now_ns);
    /// Returns why the last reading of the fabric failed; empty if it did not.
    const std::string& trouble() const { return trouble_; }
    /// Returns how many times the fabric has been read.
    std::uint64_t readings() const { return readings_; }

    /// Handles a whole message that came to this port: an answer of a node or of the SA, or a
    /// report of the SA.
    void handle(const mad::RmppPeer& from, std::span<const std::uint8_t> message,
                std::uint64_t now_ns);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;
    /// Returns the next packet to send; the caller fills in the source LID, which is the port's.
    std::optional<mad::Packet> poll_transmit(std::uint64_t now_ns);

  private:
    void read(std::uint64_t now_ns);
    void take_result(std::uint64_t now_ns);
    void answer_report(const mad::RmppPeer& from, const wire::MadBytes& report);

    ServiceTiming timing_;
    Manager manager_;
    SubnetReader reader_;
    Lid sa_{};
    std::uint64_t due_ns_ = 0;  ///< When the fabric must be read again, if there are jobs then.
    bool settles_ = false;      ///< Whether another reading must follow this one soon.
    bool changed_ = false;      ///< Whether the fabric has changed since this reading began.
    std::string trouble_;
    std::uint64_t readings_ = 0;
    std::deque<mad::Packet> replies_;
};

}  // namespace softib::sharp
