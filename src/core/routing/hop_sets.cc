// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/hop_sets.h"

#include <algorithm>

#include "core/base/check.h"

namespace softib::routing {

namespace {

constexpr std::uint16_t kFree = UINT16_MAX;

/// Transposes a matrix of bits: bit j of word i becomes bit i of word j.
void transpose(std::array<std::uint64_t, 64>& words) {
    std::uint64_t mask = 0x00000000FFFFFFFF;
    for (unsigned width = 32; width != 0; width >>= 1, mask ^= mask << width) {
        for (unsigned i = 0; i < 64; i = ((i | width) + 1) & ~width) {
            const std::uint64_t swap = ((words[i] >> width) ^ words[i | width]) & mask;
            words[i] ^= swap << width;
            words[i | width] ^= swap;
        }
    }
}

std::size_t hash(const std::array<std::uint64_t, 4>& key) {
    std::uint64_t h = 0;
    for (const std::uint64_t word : key) {
        h = (h ^ word) * 0x9E3779B97F4A7C15;
        h ^= h >> 32;
    }
    return static_cast<std::size_t>(h);
}

}  // namespace

HopSets::HopSets(std::uint32_t switches)
    : switches_(switches), sets_(switches), set_of_(std::size_t{switches} * switches, 0) {
    for (Sets& sets : sets_) {
        sets.slots.assign(16, kFree);
        sets.keys.push_back({});
        sets.slots[hash({}) & 15] = 0;
    }
}

void HopSets::grow(Sets& sets) {
    const std::size_t size = sets.slots.size() * 2;
    sets.slots.assign(size, kFree);
    for (std::size_t i = 0; i < sets.keys.size(); ++i) {
        std::size_t slot = hash(sets.keys[i]) & (size - 1);
        while (sets.slots[slot] != kFree) {
            slot = (slot + 1) & (size - 1);
        }
        sets.slots[slot] = static_cast<std::uint16_t>(i);
    }
}

std::uint16_t HopSets::find_or_add(Sets& sets, const Key& key) {
    const std::size_t last = sets.slots.size() - 1;
    std::size_t slot = hash(key) & last;
    while (sets.slots[slot] != kFree) {
        if (sets.keys[sets.slots[slot]] == key) {
            return sets.slots[slot];
        }
        slot = (slot + 1) & last;
    }
    const auto number = static_cast<std::uint16_t>(sets.keys.size());
    SOFTIB_CHECK(number != kFree);
    sets.slots[slot] = number;
    sets.keys.push_back(key);
    for (std::size_t w = 0; w < key.size(); ++w) {
        for (std::uint64_t bits = key[w]; bits != 0; bits &= bits - 1) {
            sets.positions.push_back(static_cast<std::uint8_t>(
                w * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
        }
    }
    sets.first.push_back(static_cast<std::uint32_t>(sets.positions.size()));
    if (sets.keys.size() * 2 > sets.slots.size()) {
        grow(sets);
    }
    return number;
}

void HopSets::add(std::uint32_t sw, std::uint32_t first, std::span<const std::uint64_t> masks) {
    SOFTIB_CHECK(masks.size() <= 256);
    std::array<std::array<std::uint64_t, 64>, 4> words;
    const std::size_t blocks = (masks.size() + 63) / 64;
    for (std::size_t b = 0; b < blocks; ++b) {
        const std::span<const std::uint64_t> part =
            masks.subspan(b * 64, std::min<std::size_t>(64, masks.size() - b * 64));
        std::ranges::copy(part, words[b].begin());
        std::fill(words[b].begin() + static_cast<std::ptrdiff_t>(part.size()), words[b].end(), 0);
        transpose(words[b]);
    }
    const std::uint32_t count = std::min(kBatch, switches_ - first);
    std::uint16_t* const row = &set_of_[std::size_t{sw} * switches_ + first];
    Key previous{};
    std::uint16_t number = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        Key key{};
        for (std::size_t b = 0; b < blocks; ++b) {
            key[b] = words[b][i];
        }
        // Destinations next to each other mostly have the same set.
        if (key != previous) {
            number = find_or_add(sets_[sw], key);
            previous = key;
        }
        row[i] = number;
    }
}

PortGroups HopSets::port_groups(const Graph& graph, const Neighbours& neighbours) const {
    std::vector<std::uint32_t> first_group{0};
    std::vector<std::uint32_t> first_port{0};
    std::vector<std::uint8_t> ports;
    for (std::uint32_t sw = 0; sw < switches_; ++sw) {
        for (std::uint32_t set = 0; set < count(sw); ++set) {
            for (const std::uint8_t position : positions(sw, static_cast<std::uint16_t>(set))) {
                for (const std::uint32_t link : neighbours.links(neighbours.of(sw)[position])) {
                    ports.push_back(graph.links()[link].port);
                }
            }
            std::sort(ports.begin() + first_port.back(), ports.end());
            first_port.push_back(static_cast<std::uint32_t>(ports.size()));
        }
        first_group.push_back(static_cast<std::uint32_t>(first_port.size() - 1));
    }
    return PortGroups(std::move(first_group), std::move(first_port), std::move(ports), set_of_);
}

HopSets shortest_hops(const Graph& graph, const Neighbours& neighbours) {
    const std::uint32_t n = graph.switch_count();
    HopSets sets(n);
    std::vector<std::uint64_t> seen(n);
    std::vector<std::uint64_t> now(n);
    std::vector<std::uint64_t> next(n);
    std::vector<std::uint64_t> masks(neighbours.size());
    for (std::uint32_t first = 0; first < n; first += kBatch) {
        std::ranges::fill(seen, 0);
        std::ranges::fill(now, 0);
        std::ranges::fill(masks, 0);
        const std::uint32_t count = std::min(kBatch, n - first);
        const std::uint64_t all = count == 64 ? UINT64_MAX : (std::uint64_t{1} << count) - 1;
        for (std::uint32_t i = 0; i < count; ++i) {
            seen[first + i] = now[first + i] = std::uint64_t{1} << i;
        }
        for (bool found = true; found; now.swap(next)) {
            found = false;
            for (std::uint32_t sw = 0; sw < n; ++sw) {
                next[sw] = 0;
                if (seen[sw] == all) {
                    continue;
                }
                std::uint64_t reached = 0;
                for (const Neighbours::Neighbour& neighbour : neighbours.of(sw)) {
                    reached |= now[neighbour.peer];
                }
                reached &= ~seen[sw];
                if (reached == 0) {
                    continue;
                }
                std::uint32_t at = neighbours.first(sw);
                for (const Neighbours::Neighbour& neighbour : neighbours.of(sw)) {
                    masks[at++] |= reached & now[neighbour.peer];
                }
                next[sw] = reached;
                seen[sw] |= reached;
                found = true;
            }
        }
        for (std::uint32_t sw = 0; sw < n; ++sw) {
            sets.add(sw, first,
                     std::span(masks).subspan(neighbours.first(sw), neighbours.of(sw).size()));
        }
    }
    return sets;
}

}  // namespace softib::routing
