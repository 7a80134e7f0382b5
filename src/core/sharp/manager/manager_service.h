// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The aggregation manager on a port: the manager, and what it knows of the routed fabric, which it
// reads from the subnet administration (SA). It reads before a job starts, when the SA reports that
// a link or port has changed, and now and then while there are jobs. The same serves in the daemon
// and in a program of its own, under any subnet manager.
//
// Sans-I/O: its caller moves packets, puts together what RMPP cut, and tells it the time.

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
    std::uint64_t period_ns = 10'000'000'000;  ///< What is older is read again.
    /// After a report the subnet manager may still be at work: then once more.
    std::uint64_t settle_ns = 2'000'000'000;
    SubnetReader::Config reader{};
};

class ManagerService {
  public:
    explicit ManagerService(const ManagerConfig& config, const ServiceTiming& timing = {})
        : timing_(timing), manager_(config), reader_(timing.reader) {}

    Manager& manager() { return manager_; }
    const Manager& manager() const { return manager_; }

    /// PortInfo:MasterSMLID of the port.
    void set_subnet_manager(Lid lid) { sa_ = lid; }
    /// The fabric may be another now.
    void note_change(std::uint64_t now_ns);
    /// To be called before a job starts: what is known of the fabric may be old.
    void freshen(std::uint64_t now_ns);
    /// Why the fabric could not be read the last time; empty: it could.
    const std::string& trouble() const { return trouble_; }
    /// Counts the times that it was read.
    std::uint64_t readings() const { return readings_; }

    /// A whole message that came to this port: answers of both classes, reports of the SA.
    void handle(const mad::RmppPeer& from, std::span<const std::uint8_t> message,
                std::uint64_t now_ns);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;
    /// What to send from this port; its source LID is the port's own.
    std::optional<mad::Packet> poll_transmit(std::uint64_t now_ns);

  private:
    void read(std::uint64_t now_ns);
    void take_result(std::uint64_t now_ns);
    void answer_report(const mad::RmppPeer& from, const wire::MadBytes& report);

    ServiceTiming timing_;
    Manager manager_;
    SubnetReader reader_;
    Lid sa_{};
    std::uint64_t due_ns_ = 0;  ///< When the fabric is to be read, if anybody needs it.
    bool settles_ = false;      ///< After this reading another is due.
    bool changed_ = false;      ///< Since this reading began.
    std::string trouble_;
    std::uint64_t readings_ = 0;
    std::deque<mad::Packet> replies_;
};

}  // namespace softib::sharp
