// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The receive requests of one queue pair, or of several that share a receive queue, as a ring.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/hca/memory_table.h"
#include "core/hca/qp_state.h"
#include "core/hca/work_request.h"

namespace softib::hca {

/// A receive request that was taken from its queue, and that a message is received into.
struct TakenReceive {
    std::uint64_t wr_id;
    std::uint32_t num_sge;
    std::array<Sge, kSgesMax> sges;

    std::span<const Sge> places() const { return std::span(sges).first(num_sge); }
};

/// Returns the number of bytes that these places hold.
inline std::uint64_t room_in(std::span<const Sge> places) {
    std::uint64_t bytes = 0;
    for (const Sge& place : places) {
        bytes += place.length;
    }
    return bytes;
}

/// Returns whether a queue pair stops because one of its receive requests has completed with this
/// status. A message of an unreliable service that is too long does not stop it (IBA vol. 1,
/// 9.9.6.3, class E).
constexpr bool stops_receiving(QpType type, WcStatus status) {
    const bool unreliable = type == QpType::kUc || type == QpType::kUd;
    return status != WcStatus::kSuccess && !(unreliable && status == WcStatus::kLocLenErr);
}

class ReceiveQueue {
  public:
    ReceiveQueue(std::uint32_t requests_max, std::uint32_t sges_max)
        : requests_(requests_max),
          sges_(std::size_t{requests_max} * sges_max),
          sges_max_(sges_max) {}

    PostError post(std::uint64_t wr_id, std::span<const Sge> sges) {
        if (sges.size() > sges_max_) {
            return PostError::kInvalid;
        }
        if (count_ == requests_.size()) {
            return PostError::kFull;
        }
        const std::size_t slot = (head_ + count_++) % requests_.size();
        requests_[slot] = {wr_id, static_cast<std::uint32_t>(sges.size())};
        std::ranges::copy(sges, sges_.begin() + static_cast<std::ptrdiff_t>(slot * sges_max_));
        return PostError::kOk;
    }
    /// Takes the oldest request out of the queue. Returns false if there is none.
    bool take(TakenReceive& out) {
        const bool found = look(out);
        if (found) {
            drop();
        }
        return found;
    }
    /// Copies the oldest request, which stays in the queue. Returns false if there is none.
    bool look(TakenReceive& out) const {
        if (count_ == 0) {
            return false;
        }
        const Request& request = requests_[head_];
        out.wr_id = request.wr_id;
        out.num_sge = request.num_sge;
        std::copy_n(sges_.begin() + static_cast<std::ptrdiff_t>(head_ * sges_max_), request.num_sge,
                    out.sges.begin());
        return true;
    }
    /// Drops the oldest request; the queue must not be empty.
    void drop() {
        head_ = (head_ + 1) % requests_.size();
        --count_;
    }
    void clear() { head_ = count_ = 0; }
    std::uint32_t size() const { return static_cast<std::uint32_t>(count_); }

  private:
    struct Request {
        std::uint64_t wr_id;
        std::uint32_t num_sge;
    };
    std::vector<Request> requests_;
    std::vector<Sge> sges_;
    std::size_t sges_max_;
    std::size_t head_ = 0;
    std::size_t count_ = 0;
};

struct SharedReceiveQueue {
    ReceiveQueue queue;
    Pd pd{};
    std::uint32_t limit = 0;  ///< Fewer requests than this raise an event, once; 0: disarmed.
    std::uint32_t xrcd = 0;   ///< XRC domain; 0: not for XRC.
    CqId cq{};                ///< The completion queue of its requests, for XRC only.
};

}  // namespace softib::hca
