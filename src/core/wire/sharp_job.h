// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SharpJob: what those who act for the members of a job ask the aggregation manager for, and what
// it answers. How the vendor's library talks to its manager is not published: the attribute is
// ours.

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/layout.h"
#include "core/wire/sharp.h"

namespace softib::wire {

struct SharpJob {
    static constexpr std::size_t kBytes = 80;

    enum class Op : std::uint8_t {
        kKeepAlive = 0,  ///< The job is needed; the answer says whether it is well.
        kCreateJob = 1,  ///< Of `size` members.
        kJoinJob = 2,    ///< A member, by its rank.
        kStartJob = 3,
        kCreateGroup = 4,  ///< Of `size` members.
        kJoinGroup = 5,    ///< A member of the job, by its rank in the group.
        kStartGroup = 6,
        kLockGroup = 7,
        kEndGroup = 8,
        kEndJob = 9,
    };

    Op op{};
    bool pending = false;    ///< Answer: it is being done; ask again.
    bool streams = false;    ///< kCreateJob: wants a streaming tree. kStartJob's answer: has one.
    std::uint8_t error = 0;  ///< Answer: 0, or an error of sharp_coll.h without its sign.
    std::uint16_t tree = 0;  ///< kStartJob's answer, as the next two.
    Lid root{};              ///< LID of the tree's root,
    std::uint8_t depth = 0;  ///< and its depth.
    std::uint32_t job = 0;
    std::uint32_t group = 0;
    std::uint32_t size = 0;
    std::uint32_t rank = 0;
    std::uint32_t member = 0;  ///< kJoinGroup: its rank in the job.
    Lid lid{};                 ///< kJoinJob: the member's end of its connection.
    Qpn qpn{};
    std::uint64_t key = 0;  ///< The client's name of the job.
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
