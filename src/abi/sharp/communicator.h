// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The objects behind libsharp_coll's handles: a context is this process's part of a job, a
// communicator its part of a group, a request one operation that is not complete.
//
// Thread rule: Context::mutex is held by whoever touches anything of the context, and given up
// between the polls of a wait.

#include <sharp/api/sharp.h>

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>

#include "abi/sharp/gpu_buffers.h"
#include "abi/sharp/operation.h"
#include "abi/sharp/session.h"
#include "abi/sharp/settings.h"
#include "runtime/sharp/turns.h"

struct sharp_coll_comm;

namespace softib::abi::sharp {

struct Request {
    sharp_coll_comm* comm = nullptr;
    Operation operation{};
    GpuBuffer gpu_in{};  ///< What stands for the operation's buffers if they are a GPU's.
    GpuBuffer gpu_out{};
    std::uint64_t first_turn = 0;
    std::uint64_t turns = 0;
    std::uint64_t entered = 0;
    std::uint64_t left = 0;
    Error error = Error::kNone;
    bool told = false;  ///< Of its error.
    bool abandoned =
        false;  ///< The program has freed it: it goes on, and is freed when it is done.

    live::Turn turn{};                      ///< The last that was looked at,
    std::uint64_t turn_index = UINT64_MAX;  ///< and which it is: a wait looks at the same again.

    bool complete() const { return left == turns; }
};

/// The program's functions for what must be agreed upon while a job or group is made.
struct OutOfBand {
    sharp_coll_out_of_band_colls colls{};
    void* context = nullptr;
    int rank = 0;
    int size = 1;

    /// Returns the first error that any member has; the same at all members.
    Error agree(Error mine) const;
    /// Gives all members what the first has.
    Error spread(void* data, std::size_t bytes) const;
};

}  // namespace softib::abi::sharp

struct sharp_coll_context {
    std::mutex mutex;
    softib::abi::sharp::Session session;
    softib::abi::sharp::Settings settings;
    sharp_coll_init_spec spec{};
    std::uint32_t job = 0;
    softib::live::SharpReply granted{};
    bool crowded = false;  ///< More members than processors.
    std::list<sharp_coll_comm*> comms;
};

struct sharp_coll_comm {
    sharp_coll_context* context = nullptr;
    std::uint32_t group = 0;
    int rank = 0;
    int size = 0;
    softib::live::Turns turns;
    std::uint64_t next_turn = 0;
    std::uint32_t refusal_seen = 0;                     ///< GroupHeader::lock_epoch.
    std::deque<softib::abi::sharp::Request*> active{};  ///< In the order of their turns.

    explicit sharp_coll_comm(softib::live::Turns mapped) : turns(std::move(mapped)) {}

    /// Takes the streaming locks, once for all members.
    softib::abi::sharp::Error lock();
    void begin(softib::abi::sharp::Request& request);
    /// Lets all requests go on as far as they can.
    void advance();
};
