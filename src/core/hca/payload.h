// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The payload of one packet as a list of pointers to its parts, so that bytes are copied only where
// they must be. A part without a pointer stands for bytes that do not exist: large simulations move
// lengths only.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/base/check.h"
#include "core/hca/vocabulary.h"

namespace softib::hca {

struct PayloadPart {
    const std::uint8_t* bytes;  ///< nullptr: the part is a length without bytes.
    std::uint32_t length;
};

class Payload {
  public:
    Payload() {}  // NOLINT: parts_ stays uninitialised; parts beyond count_ are never read.
    explicit Payload(std::span<const std::uint8_t> bytes) {
        add(bytes.data(), static_cast<std::uint32_t>(bytes.size()));
    }

    void add(const std::uint8_t* bytes, std::uint32_t length) {
        if (length != 0) {
            SOFTIB_CHECK(count_ < parts_.size());
            parts_[count_++] = {bytes, length};
            length_ += length;
        }
    }
    void clear() { count_ = length_ = 0; }

    std::uint32_t length() const { return length_; }
    std::span<const PayloadPart> parts() const { return std::span(parts_).first(count_); }
    /// Copies the payload to `out`. Returns false if a part of it has no bytes; `out` has zeros in
    /// its place.
    bool copy_to(std::span<std::uint8_t> out) const {
        bool whole = true;
        for (const PayloadPart& part : parts()) {
            if (part.bytes != nullptr) {
                std::memcpy(out.data(), part.bytes, part.length);
            } else {
                std::ranges::fill(out.first(part.length), std::uint8_t{0});
                whole = false;
            }
            out = out.subspan(part.length);
        }
        return whole;
    }

  private:
    std::array<PayloadPart, kSgesMax + 1> parts_;
    std::uint32_t count_ = 0;
    std::uint32_t length_ = 0;
};

}  // namespace softib::hca
