// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Event channels: the file descriptors behind ibv_comp_channel and async_fd. Each is a FIFO in the
// owner's directory of the fabric, so that a peer that is not a relative, and may live in another
// PID namespace, can raise an event without the daemon. One event is one 16-byte record, which a
// FIFO keeps whole.

#include <cstdint>
#include <mutex>
#include <string>

#include "runtime/shm/arena.h"

namespace softib::live {

struct ChannelEvent {
    std::uint64_t cookie;
    std::uint32_t kind;  ///< AsyncKind. Completion events: behind the completion that raised it,
    std::uint32_t port;  ///< and how many were consumed then. Both 0: arming raised it.
};
static_assert(sizeof(ChannelEvent) == 16);

/// `<dir>/proc/<owner>-<instance>`
std::string process_directory(const std::string& fabric_dir, const Arena& arena, Owner owner);

/// Makes the FIFO and returns a descriptor that reads (blocking, close-on-exec), or -1 and errno.
int channel_create(const std::string& process_dir, std::uint32_t id);
void channel_remove(const std::string& process_dir, std::uint32_t id, int fd);

/// Writes ends of other processes' channels, opened once and kept.
class ChannelWriter {
  public:
    void init(const std::string& fabric_dir, const Arena* arena);
    ~ChannelWriter() { close_all(); }
    ChannelWriter() = default;
    ChannelWriter(const ChannelWriter&) = delete;
    ChannelWriter& operator=(const ChannelWriter&) = delete;

    /// Puts an event into a channel. Returns false if the channel is gone or full.
    bool signal(Owner owner, std::uint32_t id, const ChannelEvent& event);
    /// Tells every open context of this HCA, in every process.
    void signal_port(std::uint32_t hca, const ChannelEvent& event);
    void close_all();

  private:
    struct Entry {
        Owner owner = 0;
        std::uint32_t id = 0;
        std::uint64_t instance = 0;
        int fd = -1;
    };
    static constexpr std::uint32_t kEntries = 256;
    int writer(Owner owner, std::uint32_t id);

    std::mutex mutex_;
    std::string fabric_dir_;
    const Arena* arena_ = nullptr;
    Entry entries_[kEntries];
};

}  // namespace softib::live
