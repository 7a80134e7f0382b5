// SPDX-License-Identifier: BSD-2-Clause
// Verbs that the kernel can refuse, and that return an errno value. In rdma-core errno has that
// value too, because these verbs return what the system call returned.
#include <cerrno>

#include "verbs_rig.h"

namespace softib::test {
namespace {

/// Calls a verb that must fail. Returns whether it returned the error and left it in errno.
template <typename Verb>
testing::AssertionResult fails_with(int error, Verb&& verb) {
    errno = 0;
    const int returned = verb();
    const int left = errno;
    if (returned == error && left == error) {
        return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << "returned " << returned << ", errno " << left;
}

TEST(Errno, TellsWhatIsInUse) {
    QpOptions o;
    o.with_srq = true;
    End end(0, o);
    EXPECT_TRUE(fails_with(EBUSY, [&] { return ibv_dealloc_pd(end.pd.get()); }));
    EXPECT_TRUE(fails_with(EBUSY, [&] { return ibv_destroy_cq(end.send_cq.get()); }));
    EXPECT_TRUE(fails_with(EBUSY, [&] { return ibv_destroy_srq(end.srq.get()); }));
    ibv_alloc_dm_attr attr{};
    attr.length = kPage;
    const Owned<ibv_dm> dm(ibv_alloc_dm(end.context.get(), &attr));
    ASSERT_NE(dm, nullptr);
    const Owned<ibv_mr> mr(ibv_reg_dm_mr(end.pd.get(), dm.get(), 0, kPage,
                                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED));
    ASSERT_NE(mr, nullptr);
    EXPECT_TRUE(fails_with(EBUSY, [&] { return ibv_free_dm(dm.get()); }));
}

TEST(Errno, TellsOfATransitionThatIsNone) {
    End end(0);
    EXPECT_TRUE(fails_with(EINVAL, [&] { return to_state(end.qp.get(), IBV_QPS_RTS); }));
}

TEST(Errno, TellsOfWrongArguments) {
    QpOptions o;
    o.with_srq = true;
    End end(0, o);
    EXPECT_TRUE(fails_with(EINVAL, [&] { return ibv_resize_cq(end.send_cq.get(), 0); }));
    ibv_srq_attr attr{};
    EXPECT_TRUE(fails_with(EINVAL, [&] { return ibv_modify_srq(end.srq.get(), &attr, 1 << 20); }));
    ibv_port_attr port{};
    EXPECT_TRUE(fails_with(EINVAL, [&] { return ibv_query_port(end.context.get(), 9, &port); }));
    ibv_gid_entry entry{};
    EXPECT_TRUE(
        fails_with(EINVAL, [&] { return ibv_query_gid_ex(end.context.get(), 9, 0, &entry, 0); }));
    const ibv_gid gid = gid_of(end.context.get());
    EXPECT_TRUE(fails_with(EINVAL, [&] { return ibv_attach_mcast(end.qp.get(), &gid, 0xC001); }));
}

}  // namespace
}  // namespace softib::test
