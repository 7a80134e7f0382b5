// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/memory/mappings.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace softib::direct {

int take_descriptor(const shm::Arena& arena, shm::Owner owner, int fd) {
    const shm::ProcSlot& slot = arena.proc(owner);
    if (arena.self != 0 && slot.pid_namespace != arena.proc(arena.self).pid_namespace) {
        errno = ESRCH;  // In this process's PID namespace, the peer's pid is another process.
        return -1;
    }
    // By number, because the C library has wrappers only since version 2.36.
    const long process = syscall(SYS_pidfd_open, static_cast<pid_t>(slot.pid), 0);
    if (process < 0) {
        return -1;
    }
    const long taken = syscall(SYS_pidfd_getfd, process, fd, 0);
    const int error = errno;
    close(static_cast<int>(process));
    errno = error;
    return static_cast<int>(taken);
}

const shm::PeerPiece* piece_at(const shm::Arena& arena, const shm::MrShared& mr, std::uint64_t at) {
    const auto* pieces = arena.at<const shm::PeerPiece>(mr.pieces_off);
    for (std::uint32_t i = 0; i < mr.pieces; ++i) {
        if (at >= pieces[i].begin && at < pieces[i].end) {
            return &pieces[i];
        }
    }
    return nullptr;
}

bool Mappings::is_stale(const Name& name, const Mapping& mapping) const {
    const auto [owner, instance, number] = name;
    const shm::MrShared& region = arena_.mrs[mapping.region];
    return arena_.proc(owner).instance != instance || region.owner != owner ||
           region.key.load(std::memory_order_acquire) == 0 ||
           region.generation.load(std::memory_order_relaxed) != mapping.generation;
}

Mappings::Use Mappings::use(shm::Owner owner, const shm::PeerPiece& piece) {
    const std::lock_guard guard(mutex_);
    const Name name{owner, arena_.proc(owner).instance, piece.number};
    auto found = mappings_.find(name);
    if (found == mappings_.end()) {
        give_up_stale_locked();
        Mapping mapping{.region = piece.region, .generation = piece.generation, .kind = piece.kind};
        mapper_.make(owner, piece, mapping);
        found = mappings_.emplace(name, mapping).first;
        mapped_.fetch_add(1, std::memory_order_seq_cst);
    }
    Mapping& mapping = found->second;
    if (mapping.base == 0) {
        return {};
    }
    ++mapping.uses;
    return {*this, mapping};
}

void Mappings::release(Mapping& mapping) {
    const std::lock_guard guard(mutex_);
    if (--mapping.uses == 0 && mapping.stale) {
        give_up_stale_locked();
    }
}

void Mappings::give_up_stale() {
    const std::uint64_t now = arena_.header->pieces_generation.load(std::memory_order_seq_cst) +
                              arena_.header->death_generation.load(std::memory_order_seq_cst);
    if (mapped_.load(std::memory_order_relaxed) == 0 || now == seen_.load()) {
        return;
    }
    seen_.store(now);
    const std::lock_guard guard(mutex_);
    give_up_stale_locked();
}

void Mappings::give_up_stale_locked() {
    for (auto it = mappings_.begin(); it != mappings_.end();) {
        it->second.stale = is_stale(it->first, it->second);
        if (it->second.uses != 0 || !it->second.stale) {
            ++it;
            continue;
        }
        if (it->second.base != 0) {
            mapper_.unmake(it->second);
        }
        it = mappings_.erase(it);
        mapped_.fetch_sub(1, std::memory_order_seq_cst);
    }
}

}  // namespace softib::direct
