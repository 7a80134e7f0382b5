// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Sorts records by 64-bit keys that differ in few bits, as the events of one bucket do. It is a
// radix sort: it takes the bits in which the keys differ, if these are at most 32, and distributes
// the records by seven of them at a time, from the lowest on. So no branch depends on how two keys
// compare, which a processor cannot foresee.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace softib::net {

/// Sorts records that have a `key`. Records with equal keys keep their order.
template <typename Record>
class KeySort {
  public:
    /// Appends `from`, sorted, to `to`.
    void append_sorted(const std::vector<Record>& from, std::vector<Record>& to) {
        if (from.size() <= kInsertionMax) {
            insert_each(from, to);
            return;
        }
        std::uint64_t differ = 0;
        for (const Record& record : from) {
            differ |= record.key ^ from.front().key;
        }
        const auto low_bits = static_cast<unsigned>(std::bit_width(differ & UINT32_MAX));
        const auto high_bits = static_cast<unsigned>(std::bit_width(differ >> 32));
        if (low_bits + high_bits <= 32) {
            distribute(from, low_bits, high_bits);
            for (const std::uint64_t item : items_) {
                to.push_back(from[item & UINT32_MAX]);
            }
            return;
        }
        const std::size_t begin = to.size();
        to.insert(to.end(), from.begin(), from.end());
        std::stable_sort(to.begin() + static_cast<std::ptrdiff_t>(begin), to.end(),
                         [](const Record& a, const Record& b) { return a.key < b.key; });
    }
    /// Frees the memory of the sorter.
    void give_back() { *this = {}; }

  private:
    static constexpr std::size_t kInsertionMax = 16;
    static constexpr unsigned kDigitBits = 7;
    static constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;

    static void insert_each(const std::vector<Record>& from, std::vector<Record>& to) {
        const std::size_t begin = to.size();
        for (const Record& record : from) {
            std::size_t at = to.size();
            to.push_back(record);
            for (; at > begin && record.key < to[at - 1].key; --at) {
                to[at] = to[at - 1];
            }
            to[at] = record;
        }
    }

    /// Sorts items_, one for each record: the bits that differ, and below them the record's place.
    void distribute(const std::vector<Record>& from, unsigned low_bits, unsigned high_bits) {
        items_.resize(from.size());
        others_.resize(from.size());
        const std::uint64_t low_mask = (std::uint64_t{1} << low_bits) - 1;
        const std::uint64_t high_mask = (std::uint64_t{1} << high_bits) - 1;
        for (std::size_t i = 0; i < from.size(); ++i) {
            const std::uint64_t key = from[i].key;
            items_[i] = ((key >> 32 & high_mask) << low_bits | (key & low_mask)) << 32 | i;
        }
        for (unsigned bit = 0; bit < low_bits + high_bits; bit += kDigitBits) {
            pass(32 + bit);
            items_.swap(others_);
        }
    }

    /// Distributes items_ into others_ by the digit at `shift`.
    void pass(unsigned shift) {
        std::array<std::uint32_t, kDigits> places{};
        for (const std::uint64_t item : items_) {
            ++places[item >> shift & (kDigits - 1)];
        }
        std::uint32_t before = 0;
        for (std::uint32_t& place : places) {
            before += std::exchange(place, before);
        }
        for (const std::uint64_t item : items_) {
            others_[places[item >> shift & (kDigits - 1)]++] = item;
        }
    }

    std::vector<std::uint64_t> items_;
    std::vector<std::uint64_t> others_;
};

}  // namespace softib::net
