// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A completion queue: a ring of completions, which can be armed to notify the program of the next
// completion, or of the next solicited one (IBA vol. 1, 11.4.2). A queue that has lost a completion
// stays in error, and the queue pairs that use it enter the error state (10.2.4).

#include <cstdint>
#include <optional>
#include <vector>

#include "core/hca/work_request.h"

namespace softib::hca {

enum class Arm : std::uint8_t { kNone, kSolicited, kAny };

/// A receiver of completions that takes the place of CompletionQueue. It defines the meaning of the
/// numbers of queues.
class CompletionSink {
  public:
    virtual ~CompletionSink() = default;
    virtual void complete(CqId cq, const Completion& completion, bool solicited) = 0;
};

class CompletionQueue {
  public:
    enum class Pushed : std::uint8_t { kQuietly, kNotify, kOverrun };

    explicit CompletionQueue(std::uint32_t entries) : ring_(entries) {}

    void arm(Arm arm) {
        if (arm > armed_) {
            armed_ = arm;
        }
    }
    /// Adds a completion. Returns whether it notifies the program, or has found no room. A
    /// completion with an error counts as solicited.
    Pushed push(const Completion& completion, bool solicited) {
        if (count_ == ring_.size()) {
            overrun_ = true;
            return Pushed::kOverrun;
        }
        ring_[(head_ + count_) % ring_.size()] = completion;
        ++count_;
        const bool urgent = solicited || completion.status != WcStatus::kSuccess;
        if (armed_ == Arm::kAny || (armed_ == Arm::kSolicited && urgent)) {
            armed_ = Arm::kNone;
            return Pushed::kNotify;
        }
        return Pushed::kQuietly;
    }
    std::optional<Completion> poll() {
        if (count_ == 0) {
            return std::nullopt;
        }
        const Completion completion = ring_[head_];
        head_ = (head_ + 1) % ring_.size();
        --count_;
        return completion;
    }
    /// Removes the completions of a queue pair that is reset.
    void purge(Qpn qpn) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < count_; ++i) {
            const Completion completion = ring_[(head_ + i) % ring_.size()];
            if (completion.qpn != qpn) {
                ring_[(head_ + kept++) % ring_.size()] = completion;
            }
        }
        count_ = kept;
    }
    std::size_t size() const { return count_; }
    bool overrun() const { return overrun_; }

  private:
    std::vector<Completion> ring_;
    std::size_t head_ = 0;
    std::size_t count_ = 0;
    Arm armed_ = Arm::kNone;
    bool overrun_ = false;
};

}  // namespace softib::hca
