// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The congestion notices that an HCA sends and receives (IBA vol. 1, annex A10). A packet that a
// switch marked (FECN) is answered with BECN: in the acknowledgement that its sender asked for,
// else in a packet of its own, the CNP. Unreliable transports have only the latter. The driver of
// the HCA slows the named queue pair down. Both lists are short and drop what does not fit: if a
// marked packet goes unanswered, others follow.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/ids.h"

namespace softib::hca {

/// A queue pair of ours makes congestion.
struct Becn {
    Qpn qpn{};
    std::uint8_t sl = 0;
    friend bool operator==(const Becn&, const Becn&) = default;
};

/// A CNP that a queue pair of ours must send; a connection needs no more than its number.
struct Cnp {
    Qpn qpn{};
    Lid dlid{};
    Qpn dest_qp{};
    std::uint8_t sl = 0;
};

template <typename T>
class ShortList {
  public:
    void push(const T& value) {
        if (count_ < items_.size()) {
            items_[(head_ + count_++) % items_.size()] = value;
        }
    }
    const T* first() const { return count_ == 0 ? nullptr : &items_[head_]; }
    std::optional<T> pop() {
        if (count_ == 0) {
            return std::nullopt;
        }
        const T value = items_[head_];
        head_ = (head_ + 1) % items_.size();
        --count_;
        return value;
    }

  private:
    std::array<T, 32> items_{};
    std::size_t head_ = 0;
    std::size_t count_ = 0;
};

}  // namespace softib::hca
