// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa/request_queue.h"

#include <utility>

namespace softib::sm {

bool SaRequestQueue::push(Request request) {
    const auto waiting = waiting_.find(request.from.lid.value);
    const std::size_t own = waiting == waiting_.end() ? 0 : waiting->second.size();
    if (size_ >= limits_.requests_max || own >= limits_.per_port_max) {
        return false;
    }
    if (own == 0) {
        turns_.push_back(request.from.lid);
    }
    waiting_[request.from.lid.value].push_back(std::move(request));
    ++size_;
    return true;
}

std::optional<SaRequestQueue::Request> SaRequestQueue::pop() {
    if (turns_.empty()) {
        return std::nullopt;
    }
    const Lid lid = turns_.front();
    turns_.pop_front();
    const auto waiting = waiting_.find(lid.value);
    Request request = std::move(waiting->second.front());
    waiting->second.pop_front();
    if (waiting->second.empty()) {
        waiting_.erase(waiting);
    } else {
        turns_.push_back(lid);
    }
    --size_;
    return request;
}

}  // namespace softib::sm
