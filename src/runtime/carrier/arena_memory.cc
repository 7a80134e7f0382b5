// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/carrier/arena_memory.h"

#include <algorithm>

#include "runtime/direct/memory/copy.h"
#include "runtime/direct/memory/remote.h"
#include "runtime/direct/window.h"

namespace softib::carrier {

using shm::MrShared;

namespace {

/// Room for all packets that may be gathered at the same time.
constexpr std::size_t kBounceBytes = 64 * 1024;

}  // namespace

ArenaMemory::ArenaMemory(direct::Process& process) : process_(process), bounce_(kBounceBytes) {}

hca::Place ArenaMemory::place(const MrShared& mr, std::uint64_t addr, std::uint32_t length) const {
    std::byte* bytes = mr.kind == hca::KeyKind::kNull
                           ? nullptr
                           : direct::shared_address(process_.self.arena, mr, addr, length);
    return {.bytes = reinterpret_cast<std::uint8_t*>(bytes),
            .entry = static_cast<std::uint32_t>(&mr - process_.self.arena.mrs),
            .at = addr};
}

std::optional<hca::Place> ArenaMemory::local(std::uint32_t lkey, hca::Pd pd, std::uint64_t addr,
                                             std::uint32_t length, std::uint32_t access) const {
    if (pd == kOwnPd) [[unlikely]] {
        return hca::Place{.bytes = reinterpret_cast<std::uint8_t*>(addr)};
    }
    const MrShared* mr =
        direct::find_key(process_.self.arena, lkey, pd.value, addr, length, access);
    if (mr == nullptr || hca::is_window(mr->kind)) {
        return std::nullopt;
    }
    return place(*mr, addr, length);
}

std::optional<hca::Place> ArenaMemory::remote(std::uint32_t rkey, hca::Pd pd, Qpn at,
                                              std::uint64_t addr, std::uint32_t length,
                                              std::uint32_t access) const {
    if (pd == kOwnPd) [[unlikely]] {
        return std::nullopt;
    }
    const MrShared* mr = direct::find_remote_key(process_.self.arena, rkey, pd.value, at.value,
                                                 addr, length, access);
    if (mr == nullptr) {
        return std::nullopt;
    }
    return place(*mr, addr, length);
}

bool ArenaMemory::invalidate(std::uint32_t rkey, hca::Pd pd, Qpn at) {
    return direct::invalidate_window(process_.self.arena, rkey, pd.value, at.value);
}

bool ArenaMemory::bind(const hca::BindRequest& request, hca::Pd pd, Qpn by) {
    const std::uint32_t window = request.new_key >> 8;
    const std::uint32_t region = request.mr_lkey;
    // The program that posted the request may have deallocated the window since.
    if (window >= shm::kMrsMax || region >= shm::kMrsMax ||
        process_.self.arena.mrs[window].key.load(std::memory_order_acquire) == 0) {
        return false;
    }
    return direct::bind_window(process_.self.arena,
                               {.mr_index = region,
                                .mw_index = window,
                                .new_rkey = request.new_key,
                                .access = request.access,
                                .address = request.addr,
                                .length = request.length},
                               pd.value, by.value);
}

std::optional<const std::uint8_t*> ArenaMemory::read(hca::Place from, std::uint32_t length) const {
    if (from.bytes != nullptr) [[likely]] {
        return from.bytes;
    }
    if (length > bounce_.size()) {
        return std::nullopt;
    }
    if (bounce_.size() - bounce_at_ < length) {
        bounce_at_ = 0;
    }
    std::uint8_t* to = bounce_.data() + bounce_at_;
    bounce_at_ += length;
    const MrShared& mr = entry(from);
    if (mr.kind == hca::KeyKind::kNull) {
        std::fill_n(to, length, std::uint8_t{0});
    } else if (!direct::remote_read_slow(process_, mr, from.at, to, length, false)) {
        return std::nullopt;
    }
    return to;
}

bool ArenaMemory::write(hca::Place to, const std::uint8_t* from, std::uint32_t length) {
    if (to.bytes != nullptr) [[likely]] {
        direct::copy_ordered(to.bytes, from, length);
        return true;
    }
    const MrShared& mr = entry(to);
    return mr.kind == hca::KeyKind::kNull ||
           direct::remote_write_slow(process_, mr, to.at, from, length, false);
}

std::optional<std::uint64_t> ArenaMemory::execute(hca::Place word,
                                                  const hca::AtomicOperands& operands) {
    if (word.bytes != nullptr) {
        return direct::execute_atomic(word.bytes, operands.compare_swap, operands.compare_add,
                                      operands.swap);
    }
    std::uint64_t original = 0;
    const MrShared& mr = entry(word);
    if (mr.kind != hca::KeyKind::kNull &&
        !direct::remote_atomic_slow(process_, mr, word.at, operands.compare_swap,
                                    operands.compare_add, operands.swap, original)) {
        return std::nullopt;
    }
    return original;
}

}  // namespace softib::carrier
