// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cerrno>

#include "runtime/shm/codec.h"
#include "runtime/shm/requests.h"

namespace softib::daemon {

/// The reply to a request, for its handler to fill in. It is encoded at once, so that the texts in
/// it need not outlive the handler.
template <typename Request>
class Answer {
  public:
    explicit Answer(shm::Message& message) : message_(message) {}

    /// Encodes the reply. Returns 0, or EMSGSIZE if it does not fit into a message.
    int operator()(const typename Request::Reply& reply) {
        if constexpr (shm::CarriesFile<typename Request::Reply>) {
            file_ = reply.file;
        }
        return encode(reply, message_) ? 0 : EMSGSIZE;
    }

    /// Returns the descriptor to send with the reply, or -1.
    int file() const { return file_; }

  private:
    shm::Message& message_;
    int file_ = -1;
};

}  // namespace softib::daemon
