// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/acyclic.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/base/check.h"

namespace softib::routing {

AcyclicDependencies::AcyclicDependencies(const Graph& graph, std::uint8_t vls)
    : graph_(graph), vls_(vls), place_(graph.links().size() * vls), seen_(place_.size()) {
    std::size_t words = 0;
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        const std::size_t channels = std::size_t{graph.degree(sw)} * vls;
        base_.push_back(words);
        row_words_.push_back((channels + 63) / 64);
        words += channels * row_words_.back();
        tail_.insert(tail_.end(), graph.degree(sw), sw);
    }
    next_.assign(words, 0);
    previous_.assign(words, 0);
    refused_.assign(words, 0);
    std::iota(place_.begin(), place_.end(), 0U);
}

std::size_t AcyclicDependencies::in_place(std::uint32_t channel) const {
    const std::uint32_t back = graph_.reverse(link_of(channel));
    return std::size_t{back - graph_.first_link(head(channel))} * vls_ + channel % vls_;
}

std::size_t AcyclicDependencies::out_place(std::uint32_t channel) const {
    const std::uint32_t link = link_of(channel);
    return std::size_t{link - graph_.first_link(tail_[link])} * vls_ + channel % vls_;
}

AcyclicDependencies::Bit AcyclicDependencies::next_bit(std::uint32_t from, std::uint32_t to) const {
    const std::size_t bit = out_place(to);
    return {row(head(from), in_place(from)) + bit / 64, std::uint64_t{1} << bit % 64};
}

AcyclicDependencies::Bit AcyclicDependencies::previous_bit(std::uint32_t from,
                                                           std::uint32_t to) const {
    const std::size_t bit = in_place(from);
    return {row(head(from), out_place(to)) + bit / 64, std::uint64_t{1} << bit % 64};
}

bool AcyclicDependencies::has(std::uint32_t from, std::uint32_t to) const {
    const Bit bit = next_bit(from, to);
    return (next_[bit.word] & bit.mask) != 0;
}

void AcyclicDependencies::set(std::uint32_t from, std::uint32_t to) {
    const Bit next = next_bit(from, to);
    next_[next.word] |= next.mask;
    const Bit previous = previous_bit(from, to);
    previous_[previous.word] |= previous.mask;
}

void AcyclicDependencies::remove(std::uint32_t from, std::uint32_t to) {
    const Bit next = next_bit(from, to);
    next_[next.word] &= ~next.mask;
    const Bit previous = previous_bit(from, to);
    previous_[previous.word] &= ~previous.mask;
}

void AcyclicDependencies::for_each_next(std::uint32_t channel, auto visit) const {
    const std::uint32_t sw = head(channel);
    const std::size_t begin = row(sw, in_place(channel));
    const std::uint32_t first = graph_.first_link(sw) * vls_;
    for (std::size_t w = 0; w < row_words_[sw]; ++w) {
        for (std::uint64_t bits = next_[begin + w]; bits != 0; bits &= bits - 1) {
            visit(first + static_cast<std::uint32_t>(w * 64) +
                  static_cast<std::uint32_t>(std::countr_zero(bits)));
        }
    }
}

void AcyclicDependencies::for_each_previous(std::uint32_t channel, auto visit) const {
    const std::uint32_t sw = tail_[link_of(channel)];
    const std::size_t begin = row(sw, out_place(channel));
    const std::uint32_t first = graph_.first_link(sw);
    for (std::size_t w = 0; w < row_words_[sw]; ++w) {
        for (std::uint64_t bits = previous_[begin + w]; bits != 0; bits &= bits - 1) {
            const auto place = static_cast<std::uint32_t>(w * 64) +
                               static_cast<std::uint32_t>(std::countr_zero(bits));
            visit(graph_.reverse(first + place / vls_) * vls_ + place % vls_);
        }
    }
}

bool AcyclicDependencies::search_forward(std::uint32_t start, std::uint32_t target) {
    forward_.assign(1, start);
    seen_[start] = true;
    bool cycle = false;
    // forward_ is the result and also the queue of the search.
    for (std::size_t i = 0; i < forward_.size() && !cycle; ++i) {
        for_each_next(forward_[i], [&](std::uint32_t next) {
            cycle = cycle || next == target;
            if (!seen_[next] && place_[next] < place_[target]) {
                seen_[next] = true;
                forward_.push_back(next);
            }
        });
    }
    for (const std::uint32_t channel : forward_) {
        seen_[channel] = false;
    }
    return !cycle;
}

void AcyclicDependencies::search_backward(std::uint32_t start, std::uint32_t lowest) {
    backward_.assign(1, start);
    seen_[start] = true;
    for (std::size_t i = 0; i < backward_.size(); ++i) {
        for_each_previous(backward_[i], [&](std::uint32_t previous) {
            if (!seen_[previous] && place_[previous] > lowest) {
                seen_[previous] = true;
                backward_.push_back(previous);
            }
        });
    }
    for (const std::uint32_t channel : backward_) {
        seen_[channel] = false;
    }
}

/// Puts the channels of backward_ before those of forward_, within the places that both have now.
void AcyclicDependencies::reorder() {
    const auto by_place = [&](std::uint32_t a, std::uint32_t b) { return place_[a] < place_[b]; };
    std::sort(forward_.begin(), forward_.end(), by_place);
    std::sort(backward_.begin(), backward_.end(), by_place);
    backward_.insert(backward_.end(), forward_.begin(), forward_.end());
    free_places_.clear();
    for (const std::uint32_t channel : backward_) {
        free_places_.push_back(place_[channel]);
    }
    std::ranges::sort(free_places_);
    for (std::size_t i = 0; i < backward_.size(); ++i) {
        place_[backward_[i]] = free_places_[i];
    }
}

bool AcyclicDependencies::add(std::uint32_t from, std::uint32_t to) {
    if (from == to) {
        return false;
    }
    if (place_[from] > place_[to] && !has(from, to)) {
        if (!search_forward(to, from)) {
            return false;
        }
        search_backward(from, place_[to]);
        reorder();
    }
    set(from, to);
    return true;
}

bool AcyclicDependencies::add_for_good(std::uint32_t from, std::uint32_t to) {
    const Bit bit = next_bit(from, to);
    if ((next_[bit.word] & bit.mask) != 0) {
        return true;
    }
    if ((refused_[bit.word] & bit.mask) != 0) {
        return false;
    }
    const bool added = add(from, to);
    if (!added) {
        refused_[bit.word] |= bit.mask;
    }
    return added;
}

void AcyclicDependencies::load(const Dependencies& dependencies, std::uint8_t first_vl) {
    std::vector<std::uint32_t> waiting(place_.size());
    const auto for_each_edge = [&](std::uint32_t from, auto visit) {
        dependencies.for_each_next(
            {link_of(from), static_cast<std::uint8_t>(first_vl + from % vls_)}, [&](Channel to) {
                visit(channel(to.link, static_cast<std::uint8_t>(to.vl - first_vl)));
            });
    };
    for (std::uint32_t from = 0; from < place_.size(); ++from) {
        for_each_edge(from, [&](std::uint32_t to) {
            set(from, to);
            ++waiting[to];
        });
    }
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < place_.size(); ++i) {
        if (waiting[i] == 0) {
            order.push_back(i);
        }
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
        place_[order[i]] = static_cast<std::uint32_t>(i);
        for_each_next(order[i], [&](std::uint32_t to) {
            if (--waiting[to] == 0) {
                order.push_back(to);
            }
        });
    }
    SOFTIB_CHECK(order.size() == place_.size());
}

}  // namespace softib::routing
