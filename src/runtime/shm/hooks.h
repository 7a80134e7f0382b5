// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Park points: places inside critical sections where a fault test stops a process, in order to kill
// it there. They exist only in the libraries that are built for those tests; elsewhere they compile
// to nothing.

#include <cstdint>

namespace softib::shm {

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
    kSoleAdding,
    kCqEntryPublished,
};

#ifdef SOFTIB_TEST_HOOKS
/// Stops the calling thread forever if SOFTIB_TEST_PARK names this point and this passage of it
/// (hooks.cc).
void park_point(ParkPoint point);
#else
inline void park_point(ParkPoint) {}
#endif

}  // namespace softib::shm
