// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/channel.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace softib::shm {

namespace {

std::string fifo_path(const std::string& process_dir, std::uint32_t id) {
    return process_dir + "/c" + std::to_string(id);
}

}  // namespace

std::string process_directory(const std::string& fabric_dir, const Arena& arena, Owner owner) {
    return fabric_dir + "/proc/" + std::to_string(owner) + "-" +
           std::to_string(arena.proc(owner).instance);
}

int channel_create(const std::string& process_dir, std::uint32_t id) {
    const std::string path = fifo_path(process_dir, id);
    if (mkfifo(path.c_str(), 0600) != 0) {
        return -1;
    }
    // Opened for reading and writing, so that a read without a writer waits.
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        const int saved = errno;
        unlink(path.c_str());
        errno = saved;
    }
    return fd;
}

void channel_remove(const std::string& process_dir, std::uint32_t id, int fd) {
    unlink(fifo_path(process_dir, id).c_str());
    close(fd);
}

void ChannelWriter::init(const std::string& fabric_dir, const Arena* arena) {
    const std::lock_guard guard(mutex_);
    fabric_dir_ = fabric_dir;
    arena_ = arena;
}

int ChannelWriter::writer(Owner owner, std::uint32_t id) const {
    const std::uint64_t instance = arena_->proc(owner).instance;
    Entry& entry = entries_[(owner * 31U + id) % kEntries];
    if (entry.fd >= 0 && entry.owner == owner && entry.id == id && entry.instance == instance) {
        return entry.fd;
    }
    if (entry.fd >= 0) {
        close(entry.fd);
    }
    const std::string path = fifo_path(process_directory(fabric_dir_, *arena_, owner), id);
    // Opened for reading and writing: a write after the reader's death must not raise SIGPIPE.
    entry = Entry{owner, id, instance, open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC)};
    return entry.fd;
}

bool ChannelWriter::signal(Owner owner, std::uint32_t id, const ChannelEvent& event) const {
    const int saved = errno;
    const std::lock_guard guard(mutex_);
    const int fd = writer(owner, id);
    ssize_t written = -1;
    if (fd >= 0) {
        do {
            written = write(fd, &event, sizeof event);
        } while (written < 0 && errno == EINTR);
    }
    errno = saved;
    return written == sizeof event;
}

void ChannelWriter::signal_port(std::uint32_t hca, const ChannelEvent& event) {
    for (std::uint32_t p = 0; p < procs_used(*arena_); ++p) {
        const ProcSlot& slot = arena_->procs[p];
        if (slot.state.load(std::memory_order_acquire) != ProcState::kLive) {
            continue;
        }
        for (const auto& channel : slot.async_channels) {
            const std::uint32_t id = channel.channel.load(std::memory_order_acquire);
            if (id != 0 && channel.hca == hca) {
                signal(static_cast<Owner>(p + 1), id, event);
            }
        }
    }
}

void ChannelWriter::close_all() {
    const std::lock_guard guard(mutex_);
    for (Entry& entry : entries_) {
        if (entry.fd >= 0) {
            close(entry.fd);
        }
        entry = Entry{};
    }
}

}  // namespace softib::shm
