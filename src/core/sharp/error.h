// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Errors of aggregation, numbered as in libsharp_coll's interface.

#include <cstdint>

namespace softib::sharp {

enum class Error : std::int32_t {
    kNone = 0,
    kFailed = -1,
    kNotSupported = -2,
    kNoMemory = -3,
    kGroupAlloc = -4,
    kConnectTree = -5,
    kGroupJoin = -6,
    kQuota = -7,
    kSession = -8,
    kDevice = -9,
    kInvalid = -10,
    kJobCreate = -11,
    kTreeInfo = -12,
    kNoTree = -13,
    kGroupId = -14,
    kOutOfBand = -15,
    kGroupMulticast = -16,
    kGroupTrim = -17,
    kLockFailed = -18,
    kLockDenied = -19,
    kNoResource = -20,
};

}  // namespace softib::sharp
