// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The data paths on which a program's requests can be executed. A fabric has one, so the library
// chooses once, when the program opens a context, and whatever a request passes is compiled for
// that path (the set_*_ops() of abi/verbs).
//
// A further data path is a struct like the two below, with a kind of queue pair (qp_base.h, which
// says what a kind must have), a kind of shared receive queue (recv_queue.h), and a case in
// with_data_path(). No request asks on which path it is. (Which memory peers may map is asked where
// memory is registered, memory/memory.cc.)

#include <concepts>

#include "runtime/direct/qp_direct.h"
#include "runtime/direct/qp_packet.h"
#include "runtime/shm/packet_queue.h"

namespace softib::direct {

template <typename Path>
concept DataPathKind = QpKind<typename Path::QueuePair> &&
                       std::derived_from<typename Path::SharedReceiveQueue, Srq> && requires {
                           // Another process must run before a request completes: a program that
                           // polls an empty completion queue for long yields its core.
                           { Path::kPollsYield } -> std::convertible_to<bool>;
                       };

/// The thread that posts a request executes it.
struct DirectPath {
    using QueuePair = DirectQp;
    using SharedReceiveQueue = Srq;
    static constexpr bool kPollsYield = false;
};
static_assert(DataPathKind<DirectPath>);

/// The carrier executes all requests, by packets.
struct PacketPath {
    using QueuePair = PacketQp;
    using SharedReceiveQueue = PacketSrq;
    static constexpr bool kPollsYield = true;
};
static_assert(DataPathKind<PacketPath>);

/// Calls fn(path) with the data path of a fabric, and returns what that returns.
template <typename Fn>
decltype(auto) with_data_path(const shm::Arena& arena, Fn&& fn) {
    return is_packet_path(arena) ? fn(PacketPath{}) : fn(DirectPath{});
}

}  // namespace softib::direct
