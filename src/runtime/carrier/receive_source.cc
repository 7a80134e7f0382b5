// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/carrier/receive_source.h"

namespace softib::carrier {

std::uint32_t ReceiveSource::keep(const Token& token) {
    if (free_.empty()) {
        tokens_.push_back(token);
        return static_cast<std::uint32_t>(tokens_.size() - 1);
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    tokens_[index] = token;
    return index;
}

}  // namespace softib::carrier
