// SPDX-License-Identifier: BSD-2-Clause
#include "core/link/arbiter.h"

namespace softib::link {

namespace {

constexpr std::uint32_t kHighLimitUnit = 4096;

}  // namespace

ArbitrationTable ArbitrationTable::equal(std::uint8_t data_vls) {
    ArbitrationTable table;
    table.low_count = data_vls;
    for (std::uint8_t vl = 0; vl < data_vls; ++vl) {
        table.low[vl] = {.vl = vl, .weight = 64};
    }
    return table;
}

std::uint16_t ArbitrationTable::lanes() const {
    std::uint32_t mask = 1U << kVl15;
    for (std::uint8_t i = 0; i < high_count; ++i) {
        mask |= (high[i].weight != 0 ? 1U : 0U) << high[i].vl;
    }
    for (std::uint8_t i = 0; i < low_count; ++i) {
        mask |= (low[i].weight != 0 ? 1U : 0U) << low[i].vl;
    }
    return static_cast<std::uint16_t>(mask);
}

bool Arbiter::find(const std::array<ArbitrationTable::Entry, ArbitrationTable::kEntriesMax>& list,
                   std::uint8_t count, std::uint16_t ready, Turn& turn) {
    if (count == 0) {
        return false;
    }
    if (turn.left != 0 && turn.entry < count && (ready >> list[turn.entry].vl & 1) != 0) {
        return true;
    }
    // A lane that has nothing to send loses what is left of its turn. The entry whose turn has
    // ended is tried too, as the last: it may be the only one that is ready.
    std::uint8_t entry = turn.entry < count ? turn.entry : std::uint8_t{0};
    for (std::uint8_t tried = 0; tried < count; ++tried) {
        entry = static_cast<std::uint8_t>(entry + 1 == count ? 0 : entry + 1);
        if (list[entry].weight != 0 && (ready >> list[entry].vl & 1) != 0) {
            turn = {.entry = entry, .left = list[entry].weight};
            return true;
        }
    }
    return false;
}

std::uint8_t Arbiter::choose(const ArbitrationTable& table, std::uint16_t ready) {
    if ((ready >> kVl15 & 1) != 0) {
        from_high_ = low_waits_ = false;
        return kVl15;
    }
    Turn high = high_;
    Turn low = low_;
    const bool high_ready = find(table.high, table.high_count, ready, high);
    const bool low_ready = find(table.low, table.low_count, ready, low);
    const bool high_spent =
        table.high_limit != kUnlimited &&
        (table.high_limit == 0 ? high_bytes_ > 0
                               : high_bytes_ >= table.high_limit * kHighLimitUnit);
    low_waits_ = low_ready;
    if (high_ready && !(low_ready && high_spent)) {
        from_high_ = true;
        high_ = high;
        return table.high[high.entry].vl;
    }
    from_high_ = false;
    if (!low_ready) {
        return kNoVl;
    }
    low_ = low;
    return table.low[low.entry].vl;
}

void Arbiter::charge(std::uint32_t bytes) {
    if (from_high_) {
        high_bytes_ = low_waits_ ? high_bytes_ + bytes : 0;
    } else if (low_waits_) {
        high_bytes_ = 0;
    } else {
        return;  // VL15.
    }
    Turn& turn = from_high_ ? high_ : low_;
    const std::uint16_t units = blocks_of(bytes);
    turn.left = static_cast<std::uint8_t>(units < turn.left ? turn.left - units : 0);
}

}  // namespace softib::link
