// SPDX-License-Identifier: BSD-2-Clause
// Memory windows: what they open, for whom, and until when.
#include <cerrno>

#include "verbs_rig.h"

namespace softib::test {
namespace {

constexpr unsigned kWindowAccess = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

/// A pair whose end `b` has a window, bound to 1000 bytes at 5000 of its region.
struct WindowPair : Pair {
    explicit WindowPair(ibv_mw_type type) : mw(ibv_alloc_mw(b.pd.get(), type)) {
        EXPECT_NE(mw, nullptr);
        EXPECT_EQ(bind(5000, 1000), IBV_WC_SUCCESS);
    }
    ibv_wc_status bind(std::size_t offset, std::uint64_t bytes, unsigned access = kWindowAccess,
                       ibv_mr* mr = nullptr) {
        mr = mr != nullptr ? mr : b.region();
        const ibv_mw_bind_info info{mr, b.memory.address(offset), bytes, access};
        if (mw->type == IBV_MW_TYPE_1) {
            ibv_mw_bind request{7, IBV_SEND_SIGNALED, info};
            EXPECT_EQ(ibv_bind_mw(b.qp.get(), mw.get(), &request), 0);
            rkey = mw->rkey;
        } else {
            rkey = ibv_inc_rkey(rkey != 0 ? rkey : mw->rkey);
            EXPECT_EQ(Send(IBV_WR_BIND_MW).bind(mw.get(), rkey, info).post(b.qp.get()), 0);
        }
        const ibv_wc wc = next(b.send_cq.get());
        EXPECT_TRUE(wc.status != IBV_WC_SUCCESS || wc.opcode == IBV_WC_BIND_MW);
        return wc.status;
    }
    ibv_wc_status write(std::size_t offset, std::uint32_t bytes, std::uint32_t key) {
        Send s(IBV_WR_RDMA_WRITE);
        s.from(a.region(), 0, bytes).at(b.memory.address(offset), key);
        EXPECT_EQ(s.post(a.qp.get()), 0);
        return next(a.send_cq.get()).status;
    }
    Owned<ibv_mw> mw;
    std::uint32_t rkey = 0;
};

class Window : public testing::TestWithParam<ibv_mw_type> {};
INSTANTIATE_TEST_SUITE_P(Type, Window, testing::Values(IBV_MW_TYPE_1, IBV_MW_TYPE_2),
                         [](const auto& param_info) {
                             return param_info.param == IBV_MW_TYPE_1 ? "One" : "Two";
                         });

TEST_P(Window, OpensItsBytes) {
    WindowPair p(GetParam());
    EXPECT_EQ(p.write(5000, 1000, p.rkey), IBV_WC_SUCCESS);
    EXPECT_TRUE(same(p.b.memory.span(5000, 1000), p.a.memory.span(0, 1000)));
    Send r(IBV_WR_RDMA_READ);
    r.from(p.a.region(), 9000, 10).at(p.b.memory.address(5990), p.rkey);
    ASSERT_EQ(r.post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(same(p.a.memory.span(9000, 10), p.b.memory.span(5990, 10)));
}

TEST_P(Window, OpensNoByteBeforeIt) {
    WindowPair p(GetParam());
    const auto before = p.b.memory.copy();
    EXPECT_EQ(p.write(4999, 8, p.rkey), IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

TEST_P(Window, OpensNoByteBehindIt) {
    WindowPair p(GetParam());
    const auto before = p.b.memory.copy();
    EXPECT_EQ(p.write(5993, 8, p.rkey), IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

TEST_P(Window, GivesOnlyItsOwnRights) {
    WindowPair p(GetParam());
    ASSERT_EQ(p.bind(5000, 1000, IBV_ACCESS_REMOTE_READ), IBV_WC_SUCCESS);
    const auto before = p.b.memory.copy();
    EXPECT_EQ(p.write(5000, 8, p.rkey), IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

TEST_P(Window, RebindingEndsTheOldKey) {
    WindowPair p(GetParam());
    const std::uint32_t old = p.rkey;
    ASSERT_EQ(p.bind(100, 50), IBV_WC_SUCCESS);
    EXPECT_NE(p.rkey, old);
    EXPECT_EQ(p.write(100, 50, p.rkey), IBV_WC_SUCCESS);
    EXPECT_EQ(p.write(100, 8, old), IBV_WC_REM_ACCESS_ERR);
}

TEST_P(Window, EndsWithItsDeallocation) {
    WindowPair p(GetParam());
    const auto before = p.b.memory.copy();
    p.mw.reset();
    EXPECT_EQ(p.write(5000, 8, p.rkey), IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

TEST_P(Window, KeyIsNoLocalKey) {
    WindowPair p(GetParam());
    const auto before = p.a.memory.copy();
    Send s(IBV_WR_RDMA_WRITE);
    s.sge(p.b.memory.address(5000), 64, p.rkey).to(p.a.region(), 0);
    ASSERT_EQ(s.post(p.b.qp.get()), 0);
    EXPECT_EQ(next(p.b.send_cq.get()).status, IBV_WC_LOC_PROT_ERR);
    EXPECT_TRUE(same(p.a.memory.copy(), before));
}

TEST_P(Window, RegionMustAllowBinding) {
    WindowPair p(GetParam());
    const Owned<ibv_mr> plain(
        ibv_reg_mr(p.b.pd.get(), p.b.memory.data(), p.b.memory.size(), kAllAccess));
    EXPECT_EQ(p.bind(5000, 8, kWindowAccess, plain.get()), IBV_WC_MW_BIND_ERR);
}

TEST_P(Window, LiesInsideItsRegion) {
    WindowPair p(GetParam());
    EXPECT_EQ(p.bind(p.b.memory.size() - 10, 11), IBV_WC_MW_BIND_ERR);
}

TEST_P(Window, CrossesPageEdgesOfAPartlySharedRegion) {
    WindowPair p(GetParam());
    const Owned<ibv_mr> odd(ibv_reg_mr(p.b.pd.get(), p.b.memory.data() + 77, 3 * kPage,
                                       kAllAccess | IBV_ACCESS_MW_BIND));
    ASSERT_EQ(p.bind(100, 2 * kPage, kWindowAccess, odd.get()), IBV_WC_SUCCESS);
    EXPECT_EQ(p.write(100, 2 * kPage, p.rkey), IBV_WC_SUCCESS);
    EXPECT_TRUE(same(p.b.memory.span(100, 2 * kPage), p.a.memory.span(0, 2 * kPage)));
    p.mw.reset();  // Before its region.
}

TEST(WindowOne, BoundRegionStays) {
    WindowPair p(IBV_MW_TYPE_1);
    EXPECT_EQ(ibv_dereg_mr(p.b.region()), EBUSY);
}

TEST(WindowOne, ServesEveryQueuePairOfItsDomain) {
    WindowPair p(IBV_MW_TYPE_1);
    const auto other = p.b.make_qp(p.b.options);
    End c(0);
    ASSERT_EQ(to_init(other.get(), p.b.options), 0);
    ASSERT_EQ(to_init(c.qp.get(), c.options), 0);
    ASSERT_EQ(to_rtr(other.get(), p.b.options, c.qp->qp_num, lid_of(c.context.get())), 0);
    ASSERT_EQ(to_rtr(c.qp.get(), c.options, other->qp_num, lid_of(p.b.context.get())), 0);
    ASSERT_EQ(to_rts(c.qp.get(), c.options), 0);
    Send s(IBV_WR_RDMA_WRITE);
    s.from(c.region(), 0, 64).at(p.b.memory.address(5000), p.rkey);
    ASSERT_EQ(s.post(c.qp.get()), 0);
    EXPECT_EQ(next(c.send_cq.get()).status, IBV_WC_SUCCESS);
}

TEST(WindowTwo, ServesOnlyItsQueuePair) {
    WindowPair p(IBV_MW_TYPE_2);
    const auto before = p.b.memory.copy();
    const auto other = p.b.make_qp(p.b.options);
    End c(0);
    ASSERT_EQ(to_init(other.get(), p.b.options), 0);
    ASSERT_EQ(to_init(c.qp.get(), c.options), 0);
    ASSERT_EQ(to_rtr(other.get(), p.b.options, c.qp->qp_num, lid_of(c.context.get())), 0);
    ASSERT_EQ(to_rtr(c.qp.get(), c.options, other->qp_num, lid_of(p.b.context.get())), 0);
    ASSERT_EQ(to_rts(c.qp.get(), c.options), 0);
    Send s(IBV_WR_RDMA_WRITE);
    s.from(c.region(), 0, 64).at(p.b.memory.address(5000), p.rkey);
    ASSERT_EQ(s.post(c.qp.get()), 0);
    EXPECT_EQ(next(c.send_cq.get()).status, IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

TEST(WindowTwo, LocalInvalidateClosesIt) {
    WindowPair p(IBV_MW_TYPE_2);
    const auto before = p.b.memory.copy();
    ASSERT_EQ(Send(IBV_WR_LOCAL_INV).invalidate(p.rkey).post(p.b.qp.get()), 0);
    const ibv_wc wc = next(p.b.send_cq.get());
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.opcode, IBV_WC_LOCAL_INV);
    EXPECT_EQ(p.write(5000, 8, p.rkey), IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

TEST(WindowTwo, SendWithInvalidateClosesIt) {
    WindowPair p(IBV_MW_TYPE_2);
    ASSERT_EQ(p.b.receive(3, 0, 64), 0);
    Send s(IBV_WR_SEND_WITH_INV);
    ASSERT_EQ(s.from(p.a.region(), 0, 10).invalidate(p.rkey).post(p.a.qp.get()), 0);
    const ibv_wc got = next(p.b.recv_cq.get());
    EXPECT_EQ(got.status, IBV_WC_SUCCESS);
    EXPECT_NE(got.wc_flags & IBV_WC_WITH_INV, 0U);
    EXPECT_EQ(got.invalidated_rkey, p.rkey);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    const auto before = p.b.memory.copy();
    EXPECT_EQ(p.write(5000, 8, p.rkey), IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

// IBA vol. 1, 9.9.6.3, class J: the responder stops without a NAK, so its peer hears nothing.
TEST(WindowTwo, InvalidatingAnUnknownKeyIsNotAnswered) {
    WindowPair p(IBV_MW_TYPE_2);
    ASSERT_EQ(p.b.receive(3, 0, 64), 0);
    Send s(IBV_WR_SEND_WITH_INV);
    ASSERT_EQ(s.from(p.a.region(), 0, 10).invalidate(0xABCD00).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.b.recv_cq.get()).status, IBV_WC_LOC_ACCESS_ERR);
    EXPECT_EQ(state_of(p.b.qp.get()), IBV_QPS_ERR);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_RETRY_EXC_ERR);
}

TEST(WindowTwo, EndsWithItsRegion) {
    WindowPair p(IBV_MW_TYPE_2);
    const auto before = p.b.memory.copy();
    p.b.mr.reset();
    EXPECT_EQ(p.write(5000, 8, p.rkey), IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

TEST(WindowTwo, DoesNotFollowItsRegionElsewhere) {
    WindowPair p(IBV_MW_TYPE_2);
    Buffer other(4 * kPage);
    const auto before = p.b.memory.copy();
    const auto other_before = other.copy();
    ASSERT_EQ(ibv_rereg_mr(p.b.region(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, other.data(),
                           other.size(), 0),
              0);
    EXPECT_EQ(p.write(5000, 8, p.rkey), IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(same(p.b.memory.copy(), before));
    EXPECT_TRUE(same(other.copy(), other_before));
}

TEST(WindowTwo, ZeroLengthBindCloses) {
    WindowPair p(IBV_MW_TYPE_2);
    const auto before = p.b.memory.copy();
    ASSERT_EQ(p.bind(5000, 0), IBV_WC_SUCCESS);
    EXPECT_EQ(p.write(5000, 8, p.rkey), IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

}  // namespace
}  // namespace softib::test
