// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The newest notices of our subnet manager, with numbers, for clients that send request::Notices. A
// client that asks every few seconds gets each of them before it is forgotten.

#include <cstdint>
#include <deque>
#include <string>

#include "core/sm/manager.h"
#include "runtime/shm/requests.h"

namespace softib::daemon {

class NoticeLog {
  public:
    static constexpr std::size_t kKept = 4096;  ///< How many notices are kept.

    void add(const sm::ManagerEvent& event, const sm::Manager& manager);
    /// Returns the first notices from this number on. Their texts are views into the log.
    shm::request::Notices::Reply reply_from(std::uint64_t number) const;

  private:
    struct Entry {
        shm::request::Notice notice;
        std::string text;
    };
    std::deque<Entry> entries_;
    std::uint64_t first_ = 1;  ///< Number of the oldest notice that is kept.
};

}  // namespace softib::daemon
