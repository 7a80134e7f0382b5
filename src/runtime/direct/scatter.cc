// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/scatter.h"

#include <algorithm>

#include "runtime/direct/memory/remote.h"
#include "runtime/direct/process.h"

namespace softib::direct {

namespace {

constexpr std::uint64_t kZeroBytes = 64 * 1024;
alignas(64) constexpr char kZeros[kZeroBytes] = {};

}  // namespace

void Gather::add_zeros(std::uint64_t n) {
    add(Part{.from = kZeros, .bytes = n, .on_gpu = false, .is_zeros = true});
}

bool write_part(Process& process, const Gather::Part& part, std::uint64_t offset, std::uint64_t n,
                const shm::MrShared& to, std::uint64_t addr) {
    if (!part.is_zeros) {
        return remote_write(process, process.self.arena, to, addr, part.from + offset, n,
                            part.on_gpu);
    }
    while (n != 0) {
        const std::uint64_t piece = std::min(n, kZeroBytes);
        if (!remote_write(process, process.self.arena, to, addr, part.from, piece)) {
            return false;
        }
        addr += piece;
        n -= piece;
    }
    return true;
}

hca::WcStatus scatter_check(const shm::Arena& arena, const shm::TakenRecv& to, std::uint32_t pd,
                            std::uint64_t bytes) {
    if (!holds(to, bytes)) {
        return hca::WcStatus::kLocLenErr;
    }
    for (std::uint32_t i = 0; i < to.num_sge && bytes != 0; ++i) {
        const hca::Sge& sge = to.sges[i];
        const std::uint64_t n = std::min<std::uint64_t>(bytes, sge.length);
        if (n != 0 && find_key(arena, sge.lkey, pd, sge.addr, n, hca::kLocalWrite) == nullptr) {
            return hca::WcStatus::kLocProtErr;
        }
        bytes -= n;
    }
    return hca::WcStatus::kSuccess;
}

bool scatter_copy(Process& process, const Gather& gather, const shm::TakenRecv& to,
                  std::uint32_t pd) {
    const shm::Arena& arena = process.self.arena;
    std::uint32_t sge = 0;
    std::uint64_t filled = 0;  // Bytes of sges[sge] that are filled.
    for (std::uint32_t p = 0; p < gather.count; ++p) {
        const Gather::Part& part = gather.parts[p];
        std::uint64_t moved = 0;
        while (moved != part.bytes) {
            if (sge == to.num_sge) {
                return false;
            }
            const hca::Sge& s = to.sges[sge];
            const std::uint64_t n = std::min<std::uint64_t>(part.bytes - moved, s.length - filled);
            if (n != 0) {
                const shm::MrShared* mr =
                    find_key(arena, s.lkey, pd, s.addr + filled, n, hca::kLocalWrite);
                if (mr == nullptr || !write_part(process, part, moved, n, *mr, s.addr + filled)) {
                    return false;
                }
                moved += n;
                filled += n;
            }
            if (filled == s.length) {
                ++sge;
                filled = 0;
            }
        }
    }
    return true;
}

}  // namespace softib::direct
