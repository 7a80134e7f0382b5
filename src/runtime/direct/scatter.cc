// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/scatter.h"

#include <algorithm>

#include "runtime/direct/memory/remote.h"
#include "runtime/direct/process.h"

namespace softib::live {

namespace {

constexpr std::uint64_t kZeroBytes = 64 * 1024;
alignas(64) constexpr char kZeros[kZeroBytes] = {};

}  // namespace

void Gather::add_zeros(std::uint64_t n) {
    while (n != 0 && count < kPartsMax) {
        const std::uint64_t part = std::min(n, kZeroBytes);
        add(kZeros, part);
        n -= part;
    }
}

WcStatus scatter_check(const Arena& arena, const TakenRecv& to, std::uint32_t pd,
                       std::uint64_t bytes) {
    if (!holds(to, bytes)) {
        return WcStatus::kLocLenErr;
    }
    for (std::uint32_t i = 0; i < to.num_sge && bytes != 0; ++i) {
        const Sge& sge = to.sges[i];
        const std::uint64_t n = std::min<std::uint64_t>(bytes, sge.length);
        if (n != 0 && find_key(arena, sge.lkey, pd, sge.addr, n, kLocalWrite) == nullptr) {
            return WcStatus::kLocProtErr;
        }
        bytes -= n;
    }
    return WcStatus::kSuccess;
}

bool scatter_copy(Process& process, const Gather& gather, const TakenRecv& to, std::uint32_t pd) {
    const Arena& arena = process.arena;
    std::uint32_t sge = 0;
    std::uint64_t filled = 0;  // Bytes of sges[sge] that are filled.
    for (std::uint32_t p = 0; p < gather.count; ++p) {
        const char* from = gather.parts[p].from;
        std::uint64_t left = gather.parts[p].bytes;
        while (left != 0) {
            if (sge == to.num_sge) {
                return false;
            }
            const Sge& s = to.sges[sge];
            const std::uint64_t n = std::min<std::uint64_t>(left, s.length - filled);
            if (n != 0) {
                const MrShared* mr = find_key(arena, s.lkey, pd, s.addr + filled, n, kLocalWrite);
                if (mr == nullptr || !remote_write(process, arena, *mr, s.addr + filled, from, n,
                                                   gather.parts[p].on_gpu)) {
                    return false;
                }
                from += n;
                left -= n;
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

}  // namespace softib::live
