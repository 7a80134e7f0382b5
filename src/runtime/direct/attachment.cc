// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/attachment.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/shm/grace.h"
#include "runtime/shm/thread.h"

namespace softib::direct {

namespace {

std::uint64_t pid_namespace() {
    struct stat st{};
    return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

}  // namespace

bool Attachment::join(const char* dir, const char* hosts) {
    if (dir == nullptr || hosts == nullptr || *dir == '\0' || std::strlen(hosts) >= shm::kTextMax) {
        errno = ENODEV;
        return false;
    }
    socket_ = shm::rpc_connect(dir);
    if (socket_ < 0) {
        return false;
    }
    shm::Message message;
    shm::request::Attach::Reply reply;
    int error = rpc_ask(socket_, shm::request::Attach{.hosts = hosts}, message, reply);
    if (error == 0) {
        arena = shm::arena_map(reply.file, true);
        error = arena.base == nullptr ? errno : 0;
    }
    if (error != 0 || reply.owner == 0 || reply.owner > shm::kProcsMax) {
        close(socket_);
        errno = error != 0 ? error : EPROTO;
        return false;
    }
    owner = static_cast<shm::Owner>(reply.owner);
    arena.self = owner;
    slot = &arena.proc(owner);
    lock_word = shm::lock_word(arena, owner);
    slot->page_swaps.store(0);  // The slot's last process may have died while it was odd.
    fabric_dir = dir;
    process_dir = process_directory(fabric_dir, arena, owner);
    directory_ = open(process_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    flock(directory_, LOCK_SH);
    devices.resize(shm::kDevicesPerProc);
    devices.resize(list_devices(arena, hosts, devices));
    channels.init(fabric_dir, &arena);
    hazard_fence = !shm::grace_register();
    if (!hazard_fence) {
        shm::FavouredLock::allow_favourites();
    }
    return true;
}

bool Attachment::go_live() {
    // Lets peers copy to and from this process's memory even if Yama restricts ptrace.
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    slot->pid = static_cast<std::uint32_t>(getpid());
    slot->pid_namespace = pid_namespace();
    if (!hold_life_lock(arena, owner)) {
        return false;
    }
    slot->state.store(shm::ProcState::kLive, std::memory_order_release);
    return true;
}

void Attachment::become_inherited() {
    inherited_.store(true, std::memory_order_relaxed);
    // The daemon takes the open connection as a sign that the parent lives: the child must not keep
    // it open.
    close(socket_);
    socket_ = -1;
    close(directory_);
    directory_ = -1;
}

void Attachment::remove_channel(std::uint32_t id, int fd) const {
    if (usable()) {
        shm::channel_remove(process_dir, id, fd);
    } else {
        close(fd);
    }
}

void Attachment::ring_mappers() const {
    arena.header->pieces_generation.fetch_add(1, std::memory_order_seq_cst);
    for (std::uint32_t p = 0; p < procs_used(arena); ++p) {
        if (arena.procs[p].peer_mappings.load(std::memory_order_seq_cst) != 0) {
            ring(static_cast<shm::Owner>(p + 1));
        }
    }
}

void Attachment::ring(shm::Owner target) const {
    if (target == 0 || target > shm::kProcsMax) {
        return;
    }
    shm::ProcSlot& other = arena.proc(target);
    other.attention.fetch_or(shm::kAttentionPeer, std::memory_order_release);
    other.doorbell.fetch_add(1, std::memory_order_seq_cst);
    if (other.helper_sleeping.load(std::memory_order_seq_cst) != 0) {
        shm::futex_wake(other.doorbell);
    }
}

}  // namespace softib::direct
