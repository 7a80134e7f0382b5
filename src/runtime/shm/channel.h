// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Event channels: the file descriptors behind ibv_comp_channel and async_fd. Each is a FIFO in the
// owner's directory within the fabric's directory, so that any peer, even one in another PID
// namespace, can raise an event without the daemon. An event is one record of 16 bytes, which a
// FIFO never splits.

#include <cstdint>
#include <mutex>
#include <string>

#include "runtime/shm/arena.h"

namespace softib::shm {

/// An event in a channel.
struct ChannelEvent {
    std::uint64_t cookie;  ///< The owner's object that the event is about.
    /// Asynchronous event: its AsyncKind. Completion event: number of completions up to the one
    /// that raised it, inclusive; 0 with `port` 0: arming the queue raised it.
    std::uint32_t kind;
    /// Asynchronous event: the port. Completion event: number of completions consumed at that time.
    std::uint32_t port;
};
static_assert(sizeof(ChannelEvent) == 16);

/// Returns a process's directory, `<fabric_dir>/proc/<owner>-<instance>`.
std::string process_directory(const std::string& fabric_dir, const Arena& arena, Owner owner);

/// Makes a channel's FIFO. Returns a descriptor to read from (blocking, close-on-exec), or -1 with
/// errno.
int channel_create(const std::string& process_dir, std::uint32_t id);
void channel_remove(const std::string& process_dir, std::uint32_t id, int fd);

/// Writes events into channels of any process. Keeps their descriptors open for the next event.
class ChannelWriter {
  public:
    void init(const std::string& fabric_dir, const Arena* arena);
    ~ChannelWriter() { close_all(); }
    ChannelWriter() = default;
    ChannelWriter(const ChannelWriter&) = delete;
    ChannelWriter& operator=(const ChannelWriter&) = delete;

    /// Puts an event into a channel. Returns false if the channel is gone or full.
    bool signal(Owner owner, std::uint32_t id, const ChannelEvent& event) const;
    /// Puts an event into the asynchronous channels of all open contexts of an HCA, in all
    /// processes.
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
    /// Returns a descriptor to write to a channel, or -1 if the channel is gone.
    int writer(Owner owner, std::uint32_t id) const;

    mutable std::mutex mutex_;
    std::string fabric_dir_;
    const Arena* arena_ = nullptr;
    mutable Entry entries_[kEntries];
};

}  // namespace softib::shm
