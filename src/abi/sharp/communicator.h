// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The objects behind libsharp_coll's handles: a context is this process's part of a job, a
// communicator its part of a group, a request one operation that is not complete.
//
// Thread rule: a thread holds sharp_coll_context::mutex while it touches anything of the context.
// A thread that waits for an operation releases the mutex between its polls.

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
    GpuBuffer gpu_in{};            ///< Host memory in place of an input buffer on a GPU.
    GpuBuffer gpu_out{};           ///< Host memory in place of an output buffer on a GPU.
    std::uint64_t first_turn = 0;  ///< The communicator's number of the operation's first turn.
    std::uint64_t turns = 0;       ///< Number of turns of the operation.
    std::uint64_t entered = 0;     ///< How many turns this member has entered.
    std::uint64_t left = 0;        ///< How many turns this member has left.
    Error error = Error::kNone;
    bool told = false;  ///< Whether the error has been logged.
    /// Whether the program has freed the request. It goes on, and is deleted when it is done.
    bool abandoned = false;

    softib::sharp::Turn
        turn{};  ///< The turn with number turn_index, kept because waits poll the same one.
    std::uint64_t turn_index = UINT64_MAX;  ///< Number, in the operation, of the turn in `turn`.

    bool complete() const { return left == turns; }
};

/// The program's functions by which members agree while a job or group is made.
struct OutOfBand {
    sharp_coll_out_of_band_colls colls{};
    void* context = nullptr;
    int rank = 0;
    int size = 1;

    /// Returns the first error, by rank, that any member passes in; the same at all members.
    Error agree(Error mine) const;
    /// Copies the data of rank 0 to all members.
    Error spread(void* data, std::size_t bytes) const;
};

}  // namespace softib::abi::sharp

struct sharp_coll_context {
    std::mutex mutex;
    softib::abi::sharp::Session session;
    softib::abi::sharp::Settings settings;
    sharp_coll_init_spec spec{};
    std::uint32_t job = 0;
    softib::shm::SharpReply granted{};  ///< What the manager has given the job.
    bool crowded = false;               ///< Whether the job has more members than processors.
    std::list<sharp_coll_comm*> comms;
};

struct sharp_coll_comm {
    sharp_coll_context* context = nullptr;
    std::uint32_t group = 0;
    int rank = 0;
    int size = 0;
    softib::sharp::Turns turns;
    std::uint64_t next_turn = 0;
    std::uint32_t refusal_seen = 0;  ///< GroupHeader::lock_epoch of the last refusal seen here.
    std::deque<softib::abi::sharp::Request*> active{};  ///< Requests in the order of their turns.

    explicit sharp_coll_comm(softib::sharp::Turns mapped) : turns(std::move(mapped)) {}

    /// Takes the group's streaming locks. One member asks the manager for all members; the others
    /// wait for its answer. Returns kLockFailed if the manager refuses.
    softib::abi::sharp::Error lock();
    /// Gives a request its turns and begins it.
    void begin(softib::abi::sharp::Request& request);
    /// Advances all requests as far as possible.
    void advance();
};
