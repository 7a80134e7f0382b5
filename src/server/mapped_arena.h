// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The arena of a fabric, mapped read-only for one request of a client.

#include <expected>
#include <string>

#include "runtime/shm/arena.h"
#include "server/connection.h"

namespace softib::server {

class MappedArena {
  public:
    /// Asks the daemon for its arena and maps it. The error is a sentence for the client.
    static std::expected<MappedArena, std::string> open(const Connection& daemon);
    MappedArena(MappedArena&& other) noexcept;
    MappedArena& operator=(MappedArena&&) = delete;
    ~MappedArena();

    const shm::Arena& operator*() const { return arena_; }
    const shm::Arena* operator->() const { return &arena_; }

  private:
    explicit MappedArena(const shm::Arena& arena) : arena_(arena) {}
    shm::Arena arena_;
};

}  // namespace softib::server
