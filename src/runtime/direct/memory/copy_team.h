// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Large copies in pieces, by the thread that asks and by helpers of this process. One core moves
// about 10 GB/s, and a program's only sending thread is often all that moves (NCCL's proxy). The
// asking thread never waits for a helper to wake up: any thread that is awake takes the next piece.
// A helper looks out for another copy for a moment, then sleeps. One copy at a time: a second
// thread that asks meanwhile copies alone.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <type_traits>

namespace softib::live {

class CopyTeam {
  public:
    /// Three were no faster than two where the copy is a system call (docs/guide/nccl.md).
    static constexpr std::uint32_t kHelpersMax = 2;
    /// Smaller copies are not worth a second thread.
    static constexpr std::uint64_t kBytesMin = 128 * 1024;
    /// Smaller ones are not worth waking it.
    static constexpr std::uint64_t kWakeBytesMin = 256 * 1024;
    static constexpr std::uint64_t kPieceBytes = 64 * 1024;
    /// What the asking thread copies when everything else is in place.
    static constexpr std::uint64_t kTailBytes = 4096;

    /// How many helpers leave a core to each busy thread: a program that sends much has another
    /// thread that computes.
    static std::uint32_t helpers_for(std::uint32_t cores, std::uint32_t processes);

    /// Threads are started when first needed, and stay.
    void set_helpers(std::uint32_t helpers);
    std::uint32_t helpers() const { return wanted_.load(std::memory_order_relaxed); }

    /// Calls copy(begin, end) for parts of [0, bytes) until all are copied, the last bytes after
    /// all others. `copy` returns 0 or an errno value, and so does this: that of a part which went
    /// wrong.
    template <typename Copy>
    int run(std::uint64_t bytes, Copy&& copy) {
        if (bytes < kBytesMin || helpers() == 0 || !mutex_.try_lock()) {
            return copy(std::uint64_t{0}, bytes);
        }
        const auto call = [](void* context, std::uint64_t begin, std::uint64_t end) {
            return (*static_cast<std::remove_reference_t<Copy>*>(context))(begin, end);
        };
        const int error = share(bytes - kTailBytes, call, &copy);
        mutex_.unlock();
        return error != 0 ? error : copy(bytes - kTailBytes, bytes);
    }

  private:
    using Call = int (*)(void* context, std::uint64_t begin, std::uint64_t end);

    int share(std::uint64_t bytes, Call call, void* context);
    /// Takes and copies one piece; false when none is left.
    bool take_piece();
    void start(std::uint32_t helpers);
    static void* helper_main(void* self);
    void helper_loop(std::uint32_t number);

    std::mutex mutex_;  ///< Held by the thread that asks.
    std::atomic<std::uint32_t> wanted_{0};
    std::atomic<std::uint32_t> started_{0};
    std::atomic<std::uint32_t> numbers_{0};

    /// The copy under way. Does not change while one of its pieces is not done.
    std::uint64_t bytes_ = 0;
    std::uint32_t pieces_ = 0;
    Call call_ = nullptr;
    void* context_ = nullptr;

    /// The copy's number and, in the low half, how many of its pieces nobody has taken.
    alignas(64) std::atomic<std::uint64_t> open_{0};
    alignas(64) std::atomic<std::uint32_t> done_{0};
    std::atomic<int> error_{0};
    alignas(64) std::atomic<std::uint32_t> bell_{0};
    std::atomic<std::uint32_t> sleeping_{0};
};

}  // namespace softib::live
