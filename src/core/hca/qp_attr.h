// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The attributes that modifying a queue pair sets and querying it returns, with the numbers of
// ibv_qp_attr. The bits of a mask of attributes are in qp_state.h.

#include <cstdint>

#include "core/hca/qp_state.h"
#include "core/hca/vocabulary.h"

namespace softib::hca {

inline constexpr std::uint8_t kMtuCodeMin = 1;  ///< The code of 256 bytes.
inline constexpr std::uint8_t kMtuCodeMax = 5;  ///< The code of 4096 bytes.
inline constexpr std::uint8_t kRdAtomicMax = 16;

constexpr std::uint32_t mtu_bytes(std::uint8_t code) {
    return 128U << code;
}

struct QpAttr {
    QpState state = QpState::kReset;
    std::uint8_t path_mtu = 0;
    std::uint8_t path_mig_state = 0;
    std::uint32_t qkey = 0;
    std::uint32_t rq_psn = 0;
    std::uint32_t sq_psn = 0;
    std::uint32_t dest_qpn = 0;
    std::uint32_t access = 0;
    AddressVector av;
    std::uint8_t av_port = 0;
    std::uint8_t av_static_rate = 0;
    AddressVector alt_av;
    std::uint8_t alt_port = 0;
    std::uint16_t alt_pkey_index = 0;
    std::uint8_t alt_timeout = 0;
    std::uint16_t pkey_index = 0;
    std::uint8_t sq_async_notify = 0;
    std::uint8_t max_rd_atomic = 0;
    std::uint8_t max_dest_rd_atomic = 0;
    std::uint8_t min_rnr_timer = 0;
    std::uint8_t port = 0;
    std::uint8_t timeout = 0;
    std::uint8_t retry_cnt = 0;
    std::uint8_t rnr_retry = 0;
};

/// Returns the attributes that a queue pair of this type ignores. Programs pass the same attributes
/// to both ends of an XRC connection; as the kernel does, each end drops those it does not use.
std::uint32_t ignored_attributes(QpType type);

/// Returns whether every attribute of the mask has a valid value. `pkeys` is the size of the port's
/// P_Key table.
bool values_are_valid(const QpAttr& attr, std::uint32_t mask, std::uint32_t pkeys);

/// Copies the attributes of the mask; the state is left to the caller.
void apply_attributes(QpAttr& to, const QpAttr& from, std::uint32_t mask);

}  // namespace softib::hca
