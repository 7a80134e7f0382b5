// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/memory/remote.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "runtime/direct/memory/bus_guard.h"
#include "runtime/direct/process.h"
#include "runtime/direct/service.h"
#include "runtime/shm/shm_lock.h"

namespace softib::direct {

namespace {

/// The part of a region from some address to the end of the shared extent there, or to the next
/// shared extent.
struct Stretch {
    std::byte* shared;  ///< Its place in the arena; nullptr if it is in no shared extent.
    std::uint64_t bytes;
};

Stretch stretch_at(const shm::Arena& arena, const shm::MrShared& mr, std::uint64_t addr,
                   std::uint64_t length) {
    std::uint64_t next = addr + length;
    const auto look = [&](const shm::Extent& extent) -> std::byte* {
        if (extent.begin == extent.end) {
            return nullptr;
        }
        if (addr >= extent.begin && addr < extent.end) {
            next = std::min(next, extent.end);
            return arena.base + extent.arena_off + (addr - extent.begin);
        }
        if (extent.begin > addr) {
            next = std::min(next, extent.begin);
        }
        return nullptr;
    };
    std::byte* shared = look({mr.ext_begin, mr.ext_end, mr.ext_off});
    const shm::Extent* extents = arena.at<shm::Extent>(mr.extents_off);
    for (std::uint32_t i = 0; i < mr.extents && shared == nullptr; ++i) {
        shared = look(extents[i]);
    }
    return {shared, next - addr};
}

/// Calls copy(begin, end) for [0, length); for parts of it, in several threads, if it is large.
/// Returns 0 or an errno value.
template <typename Copy>
int in_pieces(Process& process, std::uint64_t length, Copy&& copy) {
    if (length >= CopyTeam::kBytesMin) {
        process.memory.size_copy_team();
    }
    return process.memory.copy_team.run(length, copy);
}

bool by_helper(Process& process, shm::Owner owner, bool write, std::uint64_t va, char* data,
               std::uint64_t length) {
    while (length != 0) {
        const std::uint64_t n = std::min(length, kServiceBytesMax);
        if (!service_call(process, owner,
                          write ? shm::ServiceCall::kWrite : shm::ServiceCall::kRead, va, data, n,
                          nullptr, nullptr)) {
            return false;
        }
        va += n;
        data += n;
        length -= n;
    }
    return true;
}

/// Copies by a mapping of the owner's memory. Returns false if it cannot be mapped, or if its file
/// has been truncated.
bool by_mapping(Process& process, shm::Owner owner, const shm::PeerPiece& piece, bool write,
                std::uint64_t va, char* data, std::uint64_t length) {
    const Mappings::Use mapping = process.memory.shared_mappings->use(owner, piece);
    if (!mapping) {
        return false;
    }
    auto* const at = reinterpret_cast<char*>(mapping->base + (va - piece.base));
    char* const to = write ? at : data;
    const char* const from = write ? data : at;
    if (piece.kind != shm::PeerPiece::kNamedFile) {
        copy_addressed(process, to, from, length);
        return true;
    }
    // The owner's program may truncate the file.
    return in_pieces(process, length, [&](std::uint64_t begin, std::uint64_t end) {
               return copy_guarded(to + begin, from + begin, end - begin, at, length) ? 0 : EFAULT;
           }) == 0;
}

/// Copies by system call, or by the owner's helper thread. `va` is the owner's virtual address.
bool by_kernel(Process& process, const shm::MrShared& mr, bool write, std::uint64_t va, char* data,
               std::uint64_t length) {
    const shm::ProcSlot& slot = process.self.arena.proc(mr.owner);
    if (mr.rest_tier != shm::Tier::kHelper &&
        slot.pid_namespace == process.self.slot->pid_namespace) {
        // If the owner has ended, the kernel may have given its pid to another process.
        if (!owner_alive(process.self.arena, mr.owner)) {
            return false;
        }
        const auto pid = static_cast<pid_t>(slot.pid);
        const int error = in_pieces(process, length, [&](std::uint64_t begin, std::uint64_t end) {
            const iovec local{data + begin, end - begin};
            const iovec remote{reinterpret_cast<void*>(va + begin), end - begin};
            return copy_by_system(*process.self.slot, slot, end - begin, [&] {
                return write ? process_vm_writev(pid, &local, 1, &remote, 1, 0)
                             : process_vm_readv(pid, &local, 1, &remote, 1, 0);
            });
        });
        if (error == 0) {
            return true;
        }
        if (error == EFAULT || error == ESRCH) {
            errno = error;
            return false;
        }
    }
    return by_helper(process, mr.owner, write, va, data, length);
}

/// Returns the bytes from an address that is in no piece to the next piece, at most `length`.
std::uint64_t bytes_to_piece(const shm::Arena& arena, const shm::MrShared& mr, std::uint64_t va,
                             std::uint64_t length) {
    const auto* pieces = arena.at<const shm::PeerPiece>(mr.pieces_off);
    for (std::uint32_t i = 0; i < mr.pieces; ++i) {
        if (pieces[i].begin > va) {
            length = std::min(length, pieces[i].begin - va);
        }
    }
    return length;
}

/// Copies memory that is not in the arena. `va` is the owner's virtual address.
bool by_address(Process& process, const shm::MrShared& mr, bool write, std::uint64_t va, char* data,
                std::uint64_t length) {
    if (mr.owner == process.self.owner) {
        auto* at = reinterpret_cast<void*>(va);
        write ? copy_addressed(process, at, data, length)
              : copy_addressed(process, data, at, length);
        return true;
    }
    if (mr.rest_tier != shm::Tier::kMapped) {
        return by_kernel(process, mr, write, va, data, length);
    }
    while (length != 0) {
        const shm::PeerPiece* const piece = piece_at(process.self.arena, mr, va);
        const std::uint64_t n = piece != nullptr
                                    ? std::min(length, piece->end - va)
                                    : bytes_to_piece(process.self.arena, mr, va, length);
        if ((piece == nullptr || !by_mapping(process, mr.owner, *piece, write, va, data, n)) &&
            !by_kernel(process, mr, write, va, data, n)) {
            return false;
        }
        va += n;
        data += n;
        length -= n;
    }
    return true;
}

bool transfer(Process& process, const shm::MrShared& mr, bool write, std::uint64_t addr, char* data,
              std::uint64_t length) {
    while (length != 0) {
        const Stretch stretch = stretch_at(process.self.arena, mr, addr, length);
        if (stretch.shared != nullptr) {
            write ? copy_addressed(process, stretch.shared, data, stretch.bytes)
                  : copy_addressed(process, data, stretch.shared, stretch.bytes);
        } else if (!by_address(process, mr, write, addr + mr.va_delta, data, stretch.bytes)) {
            return false;
        }
        addr += stretch.bytes;
        data += stretch.bytes;
        length -= stretch.bytes;
    }
    return true;
}

}  // namespace

void copy_large(Process& process, void* to, const void* from, std::uint64_t length) {
    auto* d = static_cast<char*>(to);
    const auto* s = static_cast<const char*>(from);
    in_pieces(process, length, [&](std::uint64_t begin, std::uint64_t end) {
        copy_ordered(d + begin, s + begin, end - begin);
        return 0;
    });
}

bool remote_write_slow(Process& process, const shm::MrShared& mr, std::uint64_t addr,
                       const void* from, std::uint64_t length, bool from_gpu) {
    if (mr.kind == hca::KeyKind::kNull) {
        return true;
    }
    if (from_gpu || mr.rest_tier == shm::Tier::kGpu) {
        return process.memory.gpu.transfer(mr, true, addr, const_cast<void*>(from), from_gpu,
                                           length);
    }
    return transfer(process, mr, true, addr, static_cast<char*>(const_cast<void*>(from)), length);
}

bool remote_read_slow(Process& process, const shm::MrShared& mr, std::uint64_t addr, void* to,
                      std::uint64_t length, bool to_gpu) {
    if (to_gpu || mr.rest_tier == shm::Tier::kGpu) {
        return process.memory.gpu.transfer(mr, false, addr, to, to_gpu, length);
    }
    if (mr.kind == hca::KeyKind::kNull) {
        std::memset(to, 0, length);
        return true;
    }
    return transfer(process, mr, false, addr, static_cast<char*>(to), length);
}

bool owner_gone(const Attachment& self, shm::Owner owner) {
    if (!owner_alive(self.arena, owner)) {
        return true;
    }
    const shm::ProcSlot& slot = self.arena.proc(owner);
    if (slot.pid_namespace != self.slot->pid_namespace) {
        return false;
    }
    // The kernel frees a process's memory before it releases its locks. Nothing is mapped at
    // address 1, so a live process gives EFAULT.
    char byte = 0;
    iovec local{&byte, 1};
    iovec remote{reinterpret_cast<void*>(std::uintptr_t{1}), 1};
    return process_vm_readv(static_cast<pid_t>(slot.pid), &local, 1, &remote, 1, 0) < 0 &&
           errno == ESRCH;
}

// Not checked by the thread sanitizer, which does not see the order between the owner's threads and
// a peer in another process.
__attribute__((no_sanitize("thread"))) std::uint64_t execute_atomic(void* word, bool compare_swap,
                                                                    std::uint64_t compare_add,
                                                                    std::uint64_t swap) {
    auto* w = static_cast<std::uint64_t*>(word);
    if (!compare_swap) {
        return __atomic_fetch_add(w, compare_add, __ATOMIC_SEQ_CST);
    }
    std::uint64_t expected = compare_add;
    __atomic_compare_exchange_n(w, &expected, swap, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}

bool remote_atomic_slow(Process& process, const shm::MrShared& mr, std::uint64_t addr,
                        bool compare_swap, std::uint64_t compare_add, std::uint64_t swap,
                        std::uint64_t& original) {
    if (mr.rest_tier == shm::Tier::kGpu) {
        return process.memory.gpu.atomic(mr, addr, compare_swap, compare_add, swap, original);
    }
    const Stretch stretch = stretch_at(process.self.arena, mr, addr, 8);
    if (stretch.shared != nullptr && stretch.bytes == 8) {
        original = execute_atomic(stretch.shared, compare_swap, compare_add, swap);
        return true;
    }
    const std::uint64_t va = addr + mr.va_delta;
    if (mr.owner == process.self.owner) {
        original = execute_atomic(reinterpret_cast<void*>(va), compare_swap, compare_add, swap);
        return true;
    }
    if (const shm::PeerPiece* piece =
            mr.rest_tier == shm::Tier::kMapped ? piece_at(process.self.arena, mr, va) : nullptr) {
        if (const Mappings::Use mapping = process.memory.shared_mappings->use(mr.owner, *piece)) {
            void* const word = reinterpret_cast<void*>(mapping->base + (va - piece->base));
            const auto execute = [&] {
                original = execute_atomic(word, compare_swap, compare_add, swap);
            };
            if (piece->kind == shm::PeerPiece::kNamedFile) {
                return run_guarded(execute, word, sizeof original);
            }
            execute();
            return true;
        }
    }
    const std::uint64_t operand[2] = {compare_add, swap};
    return service_call(process, mr.owner,
                        compare_swap ? shm::ServiceCall::kCompareSwap : shm::ServiceCall::kFetchAdd,
                        va, nullptr, 0, operand, &original);
}

}  // namespace softib::direct
