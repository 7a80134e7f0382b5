// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The congestion control agent of an end port (IBA vol. 1, annex A10). It keeps the settings that a
// manager writes and returns them, and checks the CC_Key that protects them. Its congestion log is
// always empty. Each HCA port has one agent, and so has each switch.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/wire/cc/ca_congestion_setting.h"
#include "core/wire/cc/cc.h"
#include "core/wire/cc/congestion_control_table.h"
#include "core/wire/cc/congestion_key_info.h"
#include "core/wire/cc/switch_congestion_setting.h"
#include "core/wire/cc/switch_port_congestion_setting.h"
#include "core/wire/mad/mad.h"

namespace softib::agent {

class CongestionAgent {
  public:
    /// Blocks of 64 entries in the CongestionControlTable of an HCA port.
    static constexpr std::uint8_t kTableBlocks = 2;

    /// Returns the agent of a switch with `ports` external ports.
    static CongestionAgent of_switch(std::uint8_t ports);
    /// Returns the agent of an HCA port.
    static CongestionAgent of_adapter();

    /// Returns the answer to a MAD; std::nullopt if the MAD is no Get or Set of this class, or is a
    /// Set with a wrong CC_Key. `now_ns` runs the lease of the CC_Key, and is the clock of the log.
    std::optional<wire::MadBytes> answer(const wire::MadBytes& request, std::uint64_t now_ns);

    /// The SwitchCongestionSetting that the manager wrote into a switch.
    const wire::SwitchCongestionSetting& marking() const { return switch_; }
    /// The entry of SwitchPortCongestionSetting that a switch has for one of its ports.
    const wire::SwitchPortCongestionEntry& port_marking(std::uint8_t port) const {
        return ports_[port];
    }
    /// The CACongestionSetting that the manager wrote into an HCA port.
    const wire::CaCongestionSetting& injection() const { return ca_; }
    /// The CongestionControlTable of an HCA port, entry by entry.
    std::span<const wire::CongestionControlTableEntry> delays() const { return delays_; }
    /// CCTI_Limit of an HCA port: the highest entry of delays() that flows use.
    std::uint16_t ccti_limit() const { return ccti_limit_; }
    /// The number of Sets that wrote one of the settings above.
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
    std::uint64_t lease_ends_ns_ = 0;  ///< End of the CC_Key lease; 0 if the lease does not run.
    // Settings of a switch.
    wire::SwitchCongestionSetting switch_;
    std::vector<wire::SwitchPortCongestionEntry> ports_;  ///< Settings by port number, from 0 on.
    // Settings of an HCA port.
    wire::CaCongestionSetting ca_;
    std::vector<wire::CongestionControlTableEntry> delays_;
    std::uint16_t ccti_limit_ = 0;
    std::uint32_t writes_ = 0;
};

}  // namespace softib::agent
