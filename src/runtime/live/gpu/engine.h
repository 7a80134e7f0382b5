// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Copies by the GPU. Each is over when the call returns: bytes are in place before anybody hears
// of them, which is also all that a read after a write (NCCL's flush) asks for. Copies go on
// streams of our own, which wait for nothing that the program does, and run at the same time when
// several threads ask.

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/live/gpu/driver.h"

namespace softib::live::gpu {

class Engine {
  public:
    explicit Engine(const Driver& driver) : driver_(driver) {}

    const Driver& driver() const { return driver_; }

    /// This process's number for a device; -1: it does not see it.
    int device_with(const Uuid& uuid);
    /// The context that the driver's run-time library uses for a device; nullptr: none to be had.
    Context context_of(int device);

    /// Between GPU and GPU or GPU and host. False: the driver refused.
    bool copy(Context context, Address to, Address from, std::uint64_t bytes);

    /// Makes a context that of the calling thread, which may have another or none. A program may
    /// be recording work into a graph at the time, in any thread: ours is none of that, and must
    /// not spoil it.
    class Current {
      public:
        Current(const Driver& driver, Context context)
            : driver_(driver), entered_(context != nullptr && driver.context_push(context) == kOk) {
            if (entered_) {
                driver_.capture_mode(&mode_);
            }
        }
        ~Current() {
            Context left = nullptr;
            if (entered_) {
                driver_.capture_mode(&mode_);
                driver_.context_pop(&left);
            }
        }
        Current(const Current&) = delete;
        Current& operator=(const Current&) = delete;
        explicit operator bool() const { return entered_; }

      private:
        const Driver& driver_;
        bool entered_;
        int mode_ = kCaptureRelaxed;
    };

  private:
    Stream take_stream(Context context);

    const Driver& driver_;
    std::mutex mutex_;
    std::map<int, Context> contexts_;                 ///< By device.
    std::map<Context, std::vector<Stream>> streams_;  ///< Not in use.
};

}  // namespace softib::live::gpu
