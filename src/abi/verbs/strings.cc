// SPDX-License-Identifier: BSD-2-Clause
//
// Names of enumerators, and numbers of rates. Scripts search the output of programs for these
// words, so they are those of rdma-core's libibverbs.
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "abi/verbs/abi64.h"
#include "abi/verbs/entry.h"

namespace {

using Names = std::span<const char* const>;

constexpr const char* kUnknown = "unknown";

const char* name_of(Names names, int first, int value) noexcept {
    if (value < first || value - first >= static_cast<int>(names.size())) {
        return kUnknown;
    }
    return names[static_cast<std::size_t>(value - first)];
}

constexpr std::array kNodeTypes{
    "InfiniBand channel adapter",
    "InfiniBand switch",
    "InfiniBand router",
    "iWARP NIC",
    "usNIC",
    "usNIC UDP",
    "unspecified",
};
static_assert(IBV_NODE_CA + kNodeTypes.size() - 1 == IBV_NODE_UNSPECIFIED);

constexpr std::array kPortStates{
    "no state change (NOP)", "down", "init", "armed", "active", "active defer",
};
static_assert(kPortStates.size() - 1 == IBV_PORT_ACTIVE_DEFER);

constexpr std::array kEvents{
    "CQ error",
    "local work queue catastrophic error",
    "invalid request local work queue error",
    "local access violation work queue error",
    "communication established",
    "send queue drained",
    "path migrated",
    "path migration request error",
    "local catastrophic error",
    "port active",
    "port error",
    "LID change",
    "P_Key change",
    "SM change",
    "SRQ catastrophic error",
    "SRQ limit reached",
    "last WQE reached",
    "client reregistration",
    "GID table change",
    "WQ fatal",
    "Device link speed change",
};
static_assert(kEvents.size() - 1 == softib::abi::kEventDeviceSpeedChange);

constexpr std::array kWcStatuses{
    "success",
    "local length error",
    "local QP operation error",
    "local EE context operation error",
    "local protection error",
    "Work Request Flushed Error",
    "memory management operation error",
    "bad response error",
    "local access error",
    "remote invalid request error",
    "remote access error",
    "remote operation error",
    "transport retry counter exceeded",
    "RNR retry counter exceeded",
    "local RDD violation error",
    "remote invalid RD request",
    "aborted error",
    "invalid EE context number",
    "invalid EE context state",
    "fatal error",
    "response timeout error",
    "general error",
    "TM error",
    "TM software rendezvous",
};
static_assert(kWcStatuses.size() - 1 == IBV_WC_TM_RNDV_INCOMPLETE);

constexpr std::array kWrOpcodes{
    "rdma-write",
    "rdma-write-with-imm",
    "send",
    "send-with-imm",
    "rdma-read",
    "atomic-cmp-and-swp",
    "atomic-fetch-and-add",
    "local-inv",
    "bind-mw",
    "send-with-inv",
    "tso",
    "driver1",
    kUnknown,
    kUnknown,
    "flush",
    "atomic-write",
};
static_assert(kWrOpcodes.size() - 1 == softib::abi::kWrAtomicWrite);

// The `multiple` of a rate that is not a multiple of 2.5 Gb/s.
constexpr int kNoMultiple = -1;

struct Rate {
    ibv_rate rate;
    int multiple;
    int mbps;
};

constexpr std::array kRates{
    Rate{IBV_RATE_2_5_GBPS, 1, 2'500},
    Rate{IBV_RATE_5_GBPS, 2, 5'000},
    Rate{IBV_RATE_10_GBPS, 4, 10'000},
    Rate{IBV_RATE_20_GBPS, 8, 20'000},
    Rate{IBV_RATE_30_GBPS, 12, 30'000},
    Rate{IBV_RATE_40_GBPS, 16, 40'000},
    Rate{IBV_RATE_60_GBPS, 24, 60'000},
    Rate{IBV_RATE_80_GBPS, 32, 80'000},
    Rate{IBV_RATE_120_GBPS, 48, 120'000},
    Rate{IBV_RATE_14_GBPS, kNoMultiple, 14'062},
    Rate{IBV_RATE_56_GBPS, kNoMultiple, 56'250},
    Rate{IBV_RATE_112_GBPS, kNoMultiple, 112'500},
    Rate{IBV_RATE_168_GBPS, kNoMultiple, 168'750},
    Rate{IBV_RATE_25_GBPS, kNoMultiple, 25'781},
    Rate{IBV_RATE_100_GBPS, kNoMultiple, 103'125},
    Rate{IBV_RATE_200_GBPS, kNoMultiple, 206'250},
    Rate{IBV_RATE_300_GBPS, kNoMultiple, 309'375},
    Rate{IBV_RATE_28_GBPS, 11, 28'125},
    Rate{IBV_RATE_50_GBPS, 20, 53'125},
    Rate{IBV_RATE_400_GBPS, 160, 425'000},
    Rate{IBV_RATE_600_GBPS, 240, 637'500},
    Rate{IBV_RATE_800_GBPS, 320, 850'000},
    Rate{IBV_RATE_1200_GBPS, 480, 1'275'000},
    Rate{softib::abi::kRate1600, 640, 1'700'000},
};

template <class T>
const Rate* find_rate(T Rate::* field, T value) noexcept {
    const auto found = std::ranges::find(kRates, value, field);
    return found == kRates.end() ? nullptr : &*found;
}

}  // namespace

extern "C" {

const char* softib_ibv_node_type_str(ibv_node_type node_type) noexcept {
    return name_of(kNodeTypes, IBV_NODE_CA, node_type);
}

const char* softib_ibv_port_state_str(ibv_port_state port_state) noexcept {
    return name_of(kPortStates, 0, static_cast<int>(port_state));
}

const char* softib_ibv_event_type_str(ibv_event_type event) noexcept {
    return name_of(kEvents, 0, static_cast<int>(event));
}

const char* softib_ibv_wc_status_str(ibv_wc_status status) noexcept {
    return name_of(kWcStatuses, 0, static_cast<int>(status));
}

const char* softib_ibv_wr_opcode_str(ibv_wr_opcode opcode) noexcept {
    return name_of(kWrOpcodes, 0, static_cast<int>(opcode));
}

int softib_ibv_rate_to_mult(ibv_rate rate) noexcept {
    const Rate* entry = find_rate(&Rate::rate, rate);
    return entry == nullptr ? kNoMultiple : entry->multiple;
}

ibv_rate softib_mult_to_ibv_rate(int mult) noexcept {
    const Rate* entry = mult < 0 ? nullptr : find_rate(&Rate::multiple, mult);
    return entry == nullptr ? IBV_RATE_MAX : entry->rate;
}

int softib_ibv_rate_to_mbps(ibv_rate rate) noexcept {
    const Rate* entry = find_rate(&Rate::rate, rate);
    return entry == nullptr ? -1 : entry->mbps;
}

ibv_rate softib_mbps_to_ibv_rate(int mbps) noexcept {
    const Rate* entry = find_rate(&Rate::mbps, mbps);
    return entry == nullptr ? IBV_RATE_MAX : entry->rate;
}

}  // extern "C"
