// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Places inside critical sections where a fault test parks a process before killing it. Present
// only in the libraries built for those tests; elsewhere they compile to nothing.

#include <cstdint>

namespace softib::live {

enum class ParkPoint : std::uint8_t {
    kNone,
    kCqBeforePublish,
    kCqAfterPublish,
    kSendBeforeCopy,
    kSendAfterCopy,
    kSendAfterCompletion,
    kSrqAfterTake,
    kWriteHalfDone,
    kRingLocked,
    kCqBeforeNotify,
    kCqNotifying,
    kSrqBeforeDelivered,
    kDatagramTaken,
    kDatagramCompleted,
    kServiceClaimed,
    kServicePosted,
    kServiceRunning,
    kSrqHeadMoved,
    kDatagramHeadMoved,
};

#ifdef SOFTIB_TEST_HOOKS
/// Parks the calling thread for good when SOFTIB_TEST_PARK names this point and its turn.
void park_point(ParkPoint point);
#else
inline void park_point(ParkPoint) {}
#endif

}  // namespace softib::live
