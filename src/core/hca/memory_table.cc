// SPDX-License-Identifier: BSD-2-Clause
#include "core/hca/memory_table.h"

#include <cstring>

#include "core/base/check.h"

namespace softib::hca {

namespace {

constexpr std::uint32_t kVariantBits = 8;

}  // namespace

MemoryTable::MemoryTable(std::uint32_t entries_max) : entries_(entries_max + 1) {
    SOFTIB_CHECK(entries_max < 1U << 24);
    free_.reserve(entries_max);
    for (std::uint32_t i = entries_max; i != 0; --i) {  // Entry 0 could have key 0, which is free.
        free_.push_back(i);
    }
}

MemoryTable::Entry* MemoryTable::allocate(KeyKind kind, Pd pd) {
    if (free_.empty()) {
        return nullptr;
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Entry& entry = entries_[index];
    const auto variant = static_cast<std::uint8_t>(entry.variant + 1);
    entry = {.key = index << kVariantBits | variant, .kind = kind, .pd = pd, .variant = variant};
    return &entry;
}

const MemoryTable::Entry* MemoryTable::find(std::uint32_t key) const {
    const std::uint32_t index = key >> kVariantBits;
    return key != 0 && index < entries_.size() && entries_[index].key == key ? &entries_[index]
                                                                             : nullptr;
}

MemoryTable::Entry* MemoryTable::find(std::uint32_t key) {
    return const_cast<Entry*>(static_cast<const MemoryTable*>(this)->find(key));
}

std::uint32_t MemoryTable::add_region(const Region& region) {
    Entry* entry = allocate(KeyKind::kRegion, region.pd);
    if (entry == nullptr) {
        return 0;
    }
    entry->access = region.access;
    entry->addr = region.addr;
    entry->length = region.length;
    entry->bytes = region.bytes;
    return entry->key;
}

std::uint32_t MemoryTable::add_window(Pd pd, KeyKind kind) {
    const Entry* entry = allocate(kind, pd);
    return entry != nullptr ? entry->key : 0;
}

void MemoryTable::remove(std::uint32_t key) {
    if (Entry* entry = find(key)) {
        entry->key = 0;
        free_.push_back(key >> kVariantBits);
    }
}

std::optional<Place> MemoryTable::range(const Entry& entry, std::uint64_t addr,
                                        std::uint32_t length) {
    const std::uint64_t offset = addr - entry.addr;
    if (offset > entry.length || length > entry.length - offset) {
        return std::nullopt;
    }
    return Place{.bytes = entry.bytes != nullptr ? entry.bytes + offset : nullptr};
}

std::optional<Place> MemoryTable::local(std::uint32_t lkey, Pd pd, std::uint64_t addr,
                                        std::uint32_t length, std::uint32_t access) const {
    const Entry* entry = find(lkey);
    if (entry == nullptr || is_window(entry->kind) || entry->pd != pd ||
        (entry->access & access) != access) {
        return std::nullopt;
    }
    return range(*entry, addr, length);
}

std::optional<Place> MemoryTable::remote(std::uint32_t rkey, Pd pd, Qpn at, std::uint64_t addr,
                                         std::uint32_t length, std::uint32_t access) const {
    const Entry* entry = find(rkey);
    if (entry == nullptr || entry->pd != pd || (entry->access & access) != access) {
        return std::nullopt;
    }
    if (is_window(entry->kind) && (find(entry->parent) == nullptr ||
                                   (entry->kind == KeyKind::kWindow2 && entry->qpn != at))) {
        return std::nullopt;
    }
    return range(*entry, addr, length);
}

bool MemoryTable::invalidate(std::uint32_t rkey, Pd pd, Qpn at) {
    Entry* entry = find(rkey);
    if (entry == nullptr || entry->kind != KeyKind::kWindow2 || entry->pd != pd ||
        entry->qpn != at) {
        return false;
    }
    entry->length = 0;
    entry->access = 0;
    return true;
}

/// Returns whether a window may be bound. Its kind must allow it (kind_allows_bind). Its region
/// must be of the same protection domain (IBA vol. 1, C10-72), allow windows (C10-73), and be
/// writable if the window is (C10-74).
bool MemoryTable::may_bind(const Entry& window, const BindRequest& request) const {
    if (!kind_allows_bind(window.kind, window.length != 0, request.access, request.length)) {
        return false;
    }
    if (request.length == 0) {
        return true;
    }
    const Entry* region = find(request.mr_lkey);
    const bool modifies = (request.access & (kRemoteWrite | kRemoteAtomic)) != 0;
    return region != nullptr && !is_window(region->kind) && region->pd == window.pd &&
           (region->access & kMwBind) != 0 && request.length <= kMessageBytesMax &&
           (!modifies || (region->access & kLocalWrite) != 0);
}

bool MemoryTable::bind(const BindRequest& request, Pd pd, Qpn by) {
    Entry* window = find(request.mw_key);
    if (window == nullptr || window->pd != pd ||
        request.new_key >> kVariantBits != request.mw_key >> kVariantBits ||
        !may_bind(*window, request)) {
        return false;
    }
    std::optional<Place> place;
    if (request.length != 0) {
        place =
            range(*find(request.mr_lkey), request.addr, static_cast<std::uint32_t>(request.length));
        if (!place) {
            return false;  // The window would reach beyond its region (C10-75).
        }
    }
    window->key = request.new_key;
    window->variant = static_cast<std::uint8_t>(request.new_key);
    window->access = place ? request.access & (kRemoteWrite | kRemoteRead | kRemoteAtomic) : 0;
    window->addr = (request.access & kZeroBased) != 0 ? 0 : request.addr;
    window->length = request.length;
    window->bytes = place ? place->bytes : nullptr;
    window->parent = request.mr_lkey;
    window->qpn = by;
    return true;
}

bool MemoryTable::write(Place to, const std::uint8_t* from, std::uint32_t length) {
    if (to.bytes != nullptr && from != nullptr) {
        std::memcpy(to.bytes, from, length);
    }
    return true;
}

std::optional<std::uint64_t> MemoryTable::execute(Place word, const AtomicOperands& operands) {
    if (word.bytes == nullptr) {
        return 0;
    }
    std::uint64_t before = 0;
    std::memcpy(&before, word.bytes, sizeof before);
    const std::uint64_t after = !operands.compare_swap           ? before + operands.compare_add
                                : before == operands.compare_add ? operands.swap
                                                                 : before;
    std::memcpy(word.bytes, &after, sizeof after);
    return before;
}

}  // namespace softib::hca
