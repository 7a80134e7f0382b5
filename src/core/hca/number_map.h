// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A map from QPNs to indices. A QPN may be any number of 24 bits, so the map consists of pages,
// each of which is allocated when one of its numbers is first used. A look-up takes two loads.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace softib::hca {

class NumberMap {
  public:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    std::uint32_t find(std::uint32_t number) const {
        const std::size_t page = number / kPage;
        return page < pages_.size() && pages_[page] != nullptr ? (*pages_[page])[number % kPage]
                                                               : kNone;
    }
    void set(std::uint32_t number, std::uint32_t place) {
        const std::size_t page = number / kPage;
        if (page >= pages_.size()) {
            pages_.resize(page + 1);
        }
        if (pages_[page] == nullptr) {
            pages_[page] = std::make_unique<Page>();
            pages_[page]->fill(kNone);
        }
        (*pages_[page])[number % kPage] = place;
    }

  private:
    static constexpr std::uint32_t kPage = 256;
    using Page = std::array<std::uint32_t, kPage>;
    std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace softib::hca
