// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Large copies in pieces, which the calling thread and helper threads of this process copy. One
// core moves about 10 GB/s, and many programs have only one thread that sends (NCCL's proxy). The
// calling thread never waits for a helper to wake up: any thread that is awake takes the next
// piece. A helper spins for a moment in case another copy comes, then sleeps. The team does one
// copy at a time: a second thread that calls meanwhile copies alone.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <type_traits>

namespace softib::direct {

class CopyTeam {
  public:
    /// The most helpers: three were no faster than two for copies by a system call
    /// (docs/guide/nccl.md).
    static constexpr std::uint32_t kHelpersMax = 2;
    /// The smallest copy that is worth a second thread.
    static constexpr std::uint64_t kBytesMin = 128 * 1024;
    /// The smallest copy that is worth waking a helper that sleeps.
    static constexpr std::uint64_t kWakeBytesMin = 256 * 1024;
    static constexpr std::uint64_t kPieceBytes = 64 * 1024;
    /// The last bytes of a copy, which the calling thread copies when all others are in place.
    static constexpr std::uint64_t kTailBytes = 4096;

    /// Returns the number of helpers for each of `processes` processes on these cores. It leaves
    /// two cores to each process: a program that sends much has another thread that computes.
    static std::uint32_t helpers_for(std::uint32_t cores, std::uint32_t processes);

    /// Sets the number of helpers. Their threads are started when first needed, and never end.
    void set_helpers(std::uint32_t helpers);
    std::uint32_t helpers() const { return wanted_.load(std::memory_order_relaxed); }

    /// Calls copy(begin, end) for parts of [0, bytes) until all are copied, the last bytes after
    /// all others. `copy` returns 0 or an errno value. Returns 0, or the value of a part that
    /// failed.
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
    /// Takes and copies one piece. Returns false if none is left.
    bool take_piece();
    void start(std::uint32_t helpers);
    static void* helper_main(void* self);
    void helper_loop(std::uint32_t number);

    std::mutex mutex_;  ///< Held by the thread whose copy is under way.
    std::atomic<std::uint32_t> wanted_{0};
    std::atomic<std::uint32_t> started_{0};
    std::atomic<std::uint32_t> numbers_{0};

    // The copy under way: these four do not change until all of its pieces are done.
    std::uint64_t bytes_ = 0;
    std::uint32_t pieces_ = 0;
    Call call_ = nullptr;
    void* context_ = nullptr;

    /// The number of the copy (upper half), and how many of its pieces no thread has taken (lower
    /// half).
    alignas(64) std::atomic<std::uint64_t> open_{0};
    alignas(64) std::atomic<std::uint32_t> done_{0};
    std::atomic<int> error_{0};
    alignas(64) std::atomic<std::uint32_t> bell_{0};
    std::atomic<std::uint32_t> sleeping_{0};
};

}  // namespace softib::direct
