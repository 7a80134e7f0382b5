// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SharpJob: the requests of the members of a job to the aggregation manager, and its answers. The
// protocol between the vendor's library and its manager is not published; this attribute is defined
// by softib.

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/sharp/sharp.h"

namespace softib::wire {

struct SharpJob {
    static constexpr std::size_t kBytes = 80;

    enum class Op : std::uint8_t {
        kKeepAlive = 0,  ///< Keeps the job; the answer says whether the job is intact.
        kCreateJob = 1,  ///< Creates a job of `size` members.
        kJoinJob = 2,    ///< Adds the member with this `rank` to the job.
        kStartJob = 3,
        kCreateGroup = 4,  ///< Creates a group of `size` members.
        kJoinGroup = 5,    ///< Adds a member of the job to the group, with this `rank` in it.
        kStartGroup = 6,
        kLockGroup = 7,
        kEndGroup = 8,
        kEndJob = 9,
    };

    Op op{};
    bool pending = false;  ///< Answer: the request is not finished yet; the client must ask again.
    /// kCreateJob: the job wants a streaming tree. Answer to kStartJob: the job has one.
    bool streams = false;
    std::uint8_t error = 0;  ///< Answer: 0, or an error of sharp_coll.h without its sign.
    std::uint16_t tree = 0;  ///< Answer to kStartJob: the tree's number.
    Lid root{};              ///< Answer to kStartJob: the LID of the tree's root.
    std::uint8_t depth = 0;  ///< Answer to kStartJob: the tree's depth.
    std::uint32_t job = 0;
    std::uint32_t group = 0;
    std::uint32_t size = 0;
    std::uint32_t rank = 0;
    std::uint32_t member = 0;  ///< kJoinGroup: the member's rank in the job.
    Lid lid{};                 ///< kJoinJob: the LID of the member's end of its connection.
    Qpn qpn{};                 ///< kJoinJob: the QPN of the member's end of its connection.
    std::uint64_t key = 0;     ///< The number by which the client knows the job.
    std::uint32_t osts = 0;
    std::uint32_t payload_bytes = 0;
    std::uint32_t groups = 0;

    static constexpr auto fields() {
        using T = SharpJob;
        return Fields{
            Field{&T::op, "Operation", sharp_bit(0, 31), 8},
            Field{&T::pending, "Pending", sharp_bit(0, 23), 1},
            Field{&T::streams, "Streams", sharp_bit(0, 22), 1},
            Field{&T::error, "Error", sharp_bit(0, 7), 8},
            Field{&T::tree, "TreeID", sharp_bit(1, 15), 16},
            Field{&T::root, "RootLID", sharp_bit(1, 31), 16},
            Field{&T::depth, "Depth", sharp_bit(2, 7), 8},
            Field{&T::lid, "MemberLID", sharp_bit(2, 31), 16},
            Field{&T::job, "JobID", sharp_bit(3, 31), 32},
            Field{&T::group, "GroupID", sharp_bit(4, 31), 32},
            Field{&T::size, "Size", sharp_bit(5, 31), 32},
            Field{&T::rank, "Rank", sharp_bit(6, 31), 32},
            Field{&T::member, "Member", sharp_bit(7, 31), 32},
            Field{&T::qpn, "MemberQPN", sharp_bit(8, 23), 24},
            Field{&T::key, "JobKey", sharp_bit(10, 31), 64}.hex(),
            Field{&T::osts, "OSTs", sharp_bit(12, 31), 32},
            Field{&T::payload_bytes, "PayloadBytes", sharp_bit(13, 31), 32},
            Field{&T::groups, "Groups", sharp_bit(14, 31), 32},
        };
    }
    friend bool operator==(const SharpJob&, const SharpJob&) = default;
};
static_assert(layout_is_sound<SharpJob>());

}  // namespace softib::wire
