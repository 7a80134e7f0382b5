// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// CongestionLog: the flows that met congestion, with one format for switches and one for HCAs (IBA
// vol. 1, annex A10).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

enum class CongestionLogType : std::uint8_t { kSwitch = 1, kChannelAdapter = 2 };

struct SwitchCongestionLogEvent {
    static constexpr std::size_t kBytes = 12;

    Lid slid{};
    Lid dlid{};
    std::uint8_t sl = 0;
    std::uint32_t timestamp = 0;

    static constexpr auto fields() {
        using T = SwitchCongestionLogEvent;
        return Fields{
            Field{&T::slid, "SLID", 0, 16},
            Field{&T::dlid, "DLID", 16, 16},
            Field{&T::sl, "SL", 32, 4},
            Field{&T::timestamp, "Timestamp", 64, 32},
        };
    }
    friend bool operator==(const SwitchCongestionLogEvent&,
                           const SwitchCongestionLogEvent&) = default;
};
static_assert(layout_is_sound<SwitchCongestionLogEvent>());

struct SwitchCongestionLog {
    static constexpr std::size_t kBytes = 220;

    CongestionLogType log_type = CongestionLogType::kSwitch;
    std::uint8_t congestion_flags = 0;
    std::uint16_t log_events_counter = 0;
    std::uint32_t current_time_stamp = 0;
    std::array<std::uint8_t, 32> port_map{};
    std::array<SwitchCongestionLogEvent, 15> log_event{};

    static constexpr auto fields() {
        using T = SwitchCongestionLog;
        return Fields{
            Field{&T::log_type, "LogType", 0, 8},
            Field{&T::congestion_flags, "CongestionFlags", 8, 8}.hex(),
            Field{&T::log_events_counter, "LogEventsCounter", 16, 16},
            Field{&T::current_time_stamp, "CurrentTimeStamp", 32, 32},
            Field{&T::port_map, "PortMap", 64, 8}.hex(),
            Field{&T::log_event, "LogEvent", 320, 96},
        };
    }
    friend bool operator==(const SwitchCongestionLog&, const SwitchCongestionLog&) = default;
};
static_assert(layout_is_sound<SwitchCongestionLog>());

struct CaCongestionLogEvent {
    static constexpr std::size_t kBytes = 16;

    Qpn local_qp{};
    std::uint8_t sl = 0;
    std::uint8_t service_type = 0;
    Qpn remote_qp_number{};
    Lid local_lid{};
    Lid remote_lid{};
    std::uint32_t timestamp = 0;

    static constexpr auto fields() {
        using T = CaCongestionLogEvent;
        return Fields{
            Field{&T::local_qp, "Local_QP_CN_Entry", 0, 24},
            Field{&T::sl, "SL_CN_Entry", 24, 4},
            Field{&T::service_type, "Service_Type_CN_Entry", 28, 4},
            Field{&T::remote_qp_number, "Remote_QP_Number_CN_Entry", 32, 24},
            Field{&T::local_lid, "Local_LID_CN", 64, 16},
            Field{&T::remote_lid, "Remote_LID_CN_Entry", 80, 16},
            Field{&T::timestamp, "Timestamp_CN_Entry", 96, 32},
        };
    }
    friend bool operator==(const CaCongestionLogEvent&, const CaCongestionLogEvent&) = default;
};
static_assert(layout_is_sound<CaCongestionLogEvent>());

struct CaCongestionLog {
    static constexpr std::size_t kBytes = 220;

    CongestionLogType log_type = CongestionLogType::kChannelAdapter;
    std::uint8_t congestion_flags = 0;
    std::uint16_t threshold_event_counter = 0;
    std::uint16_t threshold_congestion_event_map = 0;
    std::uint32_t current_time_stamp = 0;
    std::array<CaCongestionLogEvent, 13> log_event{};

    static constexpr auto fields() {
        using T = CaCongestionLog;
        return Fields{
            Field{&T::log_type, "LogType", 0, 8},
            Field{&T::congestion_flags, "CongestionFlags", 8, 8}.hex(),
            Field{&T::threshold_event_counter, "ThresholdEventCounter", 16, 16},
            Field{&T::threshold_congestion_event_map, "ThresholdCongestionEventMap", 32, 16}.hex(),
            Field{&T::current_time_stamp, "CurrentTimeStamp", 64, 32},
            Field{&T::log_event, "LogEvent", 96, 128},
        };
    }
    friend bool operator==(const CaCongestionLog&, const CaCongestionLog&) = default;
};
static_assert(layout_is_sound<CaCongestionLog>());

}  // namespace softib::wire
