// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Keeps the program's system calls away from memory whose pages are being moved. If the program has
// no privilege, a thread that touches such a page waits, but a system call fails with EFAULT. So
// each call that moves data announces its memory while it runs, and does not start while that
// memory is closed; libibverbs closes a range only if no call is under way there (memory_calls.h).
//
// A call costs two plain stores and a load. The thread that closes a range pays for their order, by
// a barrier on all threads (membarrier).

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

namespace softib::sysfs {

/// Announces the memory of a system call while it lives. The constructor waits if that memory is
/// closed.
class IoPass {
  public:
    IoPass(const void* memory, std::size_t length) {
        enter(reinterpret_cast<std::uintptr_t>(memory), length);
    }
    IoPass(const iovec* pieces, std::size_t count) {
        std::uint64_t begin = UINT64_MAX;
        std::uint64_t end = 0;
        add(pieces, count, begin, end);
        enter(begin, end > begin ? end - begin : 0);
    }
    explicit IoPass(const msghdr* message)
        : IoPass(message != nullptr ? message->msg_iov : nullptr,
                 message != nullptr ? message->msg_iovlen : 0) {}
    IoPass(const mmsghdr* messages, unsigned count) {
        std::uint64_t begin = UINT64_MAX;
        std::uint64_t end = 0;
        for (unsigned i = 0; messages != nullptr && i < count; ++i) {
            add(messages[i].msg_hdr.msg_iov, messages[i].msg_hdr.msg_iovlen, begin, end);
        }
        enter(begin, end > begin ? end - begin : 0);
    }
    ~IoPass() { leave(); }
    IoPass(const IoPass&) = delete;
    IoPass& operator=(const IoPass&) = delete;

  private:
    /// Widens [begin, end) so that it contains all pieces.
    static void add(const iovec* pieces, std::size_t count, std::uint64_t& begin,
                    std::uint64_t& end) {
        for (std::size_t i = 0; pieces != nullptr && i < count; ++i) {
            const auto at = reinterpret_cast<std::uintptr_t>(pieces[i].iov_base);
            if (pieces[i].iov_len != 0) {
                begin = begin < at ? begin : at;
                end = end > at + pieces[i].iov_len ? end : at + pieces[i].iov_len;
            }
        }
    }
    void enter(std::uint64_t begin, std::uint64_t length);
    void leave();

    void* record_ = nullptr;  ///< The thread's record; nullptr if the call has no memory.
};

}  // namespace softib::sysfs
