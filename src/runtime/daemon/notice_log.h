// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The last notices of our subnet manager, numbered, for whoever asks by request::Notices. Old ones
// are forgotten: nobody who asks every few seconds misses one.

#include <cstdint>
#include <deque>
#include <string>

#include "core/sm/manager.h"
#include "runtime/shm/requests.h"

namespace softib::live {

class NoticeLog {
  public:
    static constexpr std::size_t kKept = 4096;

    void add(const sm::ManagerEvent& event, const sm::Manager& manager);
    /// Returns the first notices from this number on. Its texts are those of the log.
    request::Notices::Reply reply_from(std::uint64_t number) const;

  private:
    struct Entry {
        request::Notice notice;
        std::string text;
    };
    std::deque<Entry> entries_;
    std::uint64_t first_ = 1;  ///< Number of the oldest that is kept.
};

}  // namespace softib::live
