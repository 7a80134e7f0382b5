// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The congestion notifications that an HCA sends and receives (IBA vol. 1, annex A10). An HCA
// answers a packet that a switch has marked (FECN) with BECN: in the acknowledgement that the
// sender asked for, else in a packet of its own, the CNP. On unreliable transports it is always a
// CNP. The caller of the HCA slows down the queue pair that BECN names. The lists of both are short
// and drop what does not fit: if one marked packet is not answered, the next one will be.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/ids.h"

namespace softib::hca {

/// A notification that a queue pair of this HCA causes congestion.
struct Becn {
    Qpn qpn{};
    std::uint8_t sl = 0;
    friend bool operator==(const Becn&, const Becn&) = default;
};

/// A CNP that a queue pair of this HCA must send. For a connection only `qpn` is used; the other
/// fields address the sender of a datagram.
struct Cnp {
    Qpn qpn{};
    Lid dlid{};
    Qpn dest_qp{};
    std::uint8_t sl = 0;
};

/// A queue of at most 32 values; those that do not fit are dropped.
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
