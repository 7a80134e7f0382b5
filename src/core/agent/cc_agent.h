// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What an end port answers about congestion control (IBA vol. 1, annex A10): settings are kept and
// read back, the key that protects them is checked, and the log is empty, as nothing is congested.
// One agent per port of an adapter, one per switch.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/wire/ca_congestion_setting.h"
#include "core/wire/cc.h"
#include "core/wire/congestion_control_table.h"
#include "core/wire/congestion_key_info.h"
#include "core/wire/mad.h"
#include "core/wire/switch_congestion_setting.h"
#include "core/wire/switch_port_congestion_setting.h"

namespace softib::agent {

class CongestionAgent {
  public:
    /// Blocks of 64 entries in an adapter's table of delays.
    static constexpr std::uint8_t kTableBlocks = 2;

    /// An agent of a switch with so many ports, or of an adapter's port.
    static CongestionAgent of_switch(std::uint8_t ports);
    static CongestionAgent of_adapter();

    /// Nothing: not a request of this class, or one whose key is wrong. `now_ns` runs the lease of
    /// the key, and is the clock of the log.
    std::optional<wire::MadBytes> answer(const wire::MadBytes& request, std::uint64_t now_ns);

    /// Of a switch: what its manager wrote.
    const wire::SwitchCongestionSetting& marking() const { return switch_; }
    /// Of an adapter's port: the same.
    const wire::CaCongestionSetting& injection() const { return ca_; }
    std::span<const wire::CongestionControlTableEntry> delays() const { return delays_; }
    std::uint16_t ccti_limit() const { return ccti_limit_; }
    /// Counts what was written of these.
    std::uint32_t writes() const { return writes_; }

    friend bool operator==(const CongestionAgent&, const CongestionAgent&) = default;

  private:
    using Data = std::span<std::uint8_t, wire::kCcDataBytes>;

    bool key_allows(std::uint64_t cc_key, bool is_set, std::uint64_t now_ns);
    std::uint16_t dispatch(const wire::MadRepr& header, std::uint64_t cc_key, wire::MadBytes& mad,
                           std::uint64_t now_ns);
    void key_info(bool set, std::uint64_t cc_key, Data data);
    void log(std::span<std::uint8_t, wire::kCcLogBytes> data, std::uint64_t now_ns) const;
    void switch_setting(bool set, Data data);
    std::uint16_t switch_port_setting(bool set, std::uint32_t block, Data data);
    void ca_setting(bool set, Data data);
    std::uint16_t table(bool set, std::uint32_t block, Data data);

    bool is_switch_ = false;
    wire::CongestionKeyInfo key_;
    std::uint64_t lease_ends_ns_ = 0;  ///< 0: it does not run.
    // Of a switch.
    wire::SwitchCongestionSetting switch_;
    std::vector<wire::SwitchPortCongestionEntry> ports_;  ///< From port 0 on.
    // Of an adapter's port.
    wire::CaCongestionSetting ca_;
    std::vector<wire::CongestionControlTableEntry> delays_;
    std::uint16_t ccti_limit_ = 0;
    std::uint32_t writes_ = 0;
};

}  // namespace softib::agent
