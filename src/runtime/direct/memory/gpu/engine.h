// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Copies by the GPU. Each is over when the call returns: bytes are in place before any completion
// is written, which is also all that a read after a write (NCCL's flush) asks for.
//
// They go on streams in a context of our own. A kernel may be running that waits for the very bytes
// we copy, and in the program's context a copy can wait for that kernel: streams share the GPU's
// queues, and a thread that loads a kernel holds the context's lock until all others have ended.

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/direct/memory/gpu/driver.h"

namespace softib::live::gpu {

class Engine {
  public:
    explicit Engine(const Driver& driver) : driver_(driver) {}

    const Driver& driver() const { return driver_; }

    /// Whether an address is memory of a GPU that the host cannot address.
    bool is_gpu(Address at) const;
    /// This process's number for a device; -1: it does not see it.
    int device_with(const Uuid& uuid);
    /// The context that the driver's run-time library uses for a device; nullptr: none to be had.
    Context context_of(int device);
    /// Ours, to copy in: it reaches all memory of the device. nullptr: no room for another one.
    Context copier_of(int device);

    /// Pins memory of the host for copies in a context. It stays pinned; false: it is not.
    bool pin(Context context, void* at, std::size_t bytes);
    /// Copies between GPU and GPU or GPU and host. Returns false if the driver refused.
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
    template <typename Make>
    Context find_or_make(std::map<int, Context>& contexts, int device, Make&& make);
    Stream take_stream(Context context);

    const Driver& driver_;
    std::mutex mutex_;
    std::map<int, Context> contexts_;  ///< By device.
    std::map<int, Context> copiers_;
    std::map<Context, std::vector<Stream>> streams_;  ///< Not in use.
};

}  // namespace softib::live::gpu
