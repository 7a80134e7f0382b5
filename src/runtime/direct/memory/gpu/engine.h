// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Copies by the GPU. A copy is over when the call returns: its bytes are in place before any
// completion is written, which is also all that a read after a write (NCCL's flush) needs.
//
// Copies run on streams in a context of our own, because a kernel of the program may be waiting for
// the very bytes that we copy. In the program's context, the copy could wait for that kernel:
// streams share the GPU's queues, and a thread that loads a kernel holds the lock of the context
// until all running kernels have ended.

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/direct/memory/gpu/driver.h"

namespace softib::direct::gpu {

class Engine {
  public:
    explicit Engine(const Driver& driver) : driver_(driver) {}

    const Driver& driver() const { return driver_; }

    /// Returns whether an address is memory of a GPU that the host cannot address.
    bool is_gpu(Address at) const;
    /// Returns this process's number for a device; -1 if the process does not see the device.
    int device_with(const Uuid& uuid);
    /// Returns a device's primary context, which the CUDA run-time library uses; nullptr if the
    /// driver refuses.
    Context context_of(int device);
    /// Returns our own context for copies, which reaches all memory of the device. Returns nullptr
    /// if it cannot be created.
    Context copier_of(int device);

    /// Pins memory of the host for good, for copies in a context. Returns false if it cannot.
    bool pin(Context context, void* at, std::size_t bytes);
    /// Copies between GPU and GPU or GPU and host. Returns false if the driver refused.
    bool copy(Context context, Address to, Address from, std::uint64_t bytes);

    /// Makes a context current in the calling thread while this object lives. Also relaxes the
    /// thread's capture mode, so that our calls do not invalidate a graph that the program is
    /// capturing in any thread. Converts to false if the driver refused.
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
    template <typename Make>
    Context find_or_make(std::map<int, Context>& contexts, int device, Make&& make);
    Stream take_stream(Context context);

    const Driver& driver_;
    std::mutex mutex_;
    std::map<int, Context> contexts_;                 ///< Primary contexts, by device.
    std::map<int, Context> copiers_;                  ///< Our contexts for copies, by device.
    std::map<Context, std::vector<Stream>> streams_;  ///< Streams that no copy is using.
};

}  // namespace softib::direct::gpu
