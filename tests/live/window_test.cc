// SPDX-License-Identifier: BSD-2-Clause
// Memory windows: which memory they open, to which queue pairs, and until when.
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
                       ibv_mr* mr = nullptr, ibv_qp* by = nullptr) {
        const ibv_mw_bind_info info{mr != nullptr ? mr : b.region(), b.memory.address(offset),
                                    bytes, access};
        by = by != nullptr ? by : b.qp.get();
        if (mw->type == IBV_MW_TYPE_1) {
            ibv_mw_bind request{7, IBV_SEND_SIGNALED, info};
            EXPECT_EQ(ibv_bind_mw(by, mw.get(), &request), 0);
            rkey = mw->rkey;
        } else {
            rkey = ibv_inc_rkey(rkey != 0 ? rkey : mw->rkey);
            EXPECT_EQ(Send(IBV_WR_BIND_MW).bind(mw.get(), rkey, info).post(by), 0);
        }
        const ibv_wc wc = next(b.send_cq.get());
        EXPECT_TRUE(wc.status != IBV_WC_SUCCESS || wc.opcode == IBV_WC_BIND_MW);
        return wc.status;
    }
    ibv_wc_status invalidate(ibv_qp* by) {
        EXPECT_EQ(Send(IBV_WR_LOCAL_INV).invalidate(rkey).post(by), 0);
        return next(b.send_cq.get()).status;
    }
    /// Frees the window so that it can be bound; a window of type 1 always can be.
    void make_free() {
        if (mw->type == IBV_MW_TYPE_2) {
            EXPECT_EQ(invalidate(b.qp.get()), IBV_WC_SUCCESS);
        }
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

/// A further queue pair in the protection domain of `end`, connected to a peer of its own.
struct Another {
    explicit Another(const End& end) : qp(end.make_qp(end.options)) {
        const std::uint16_t lid = lid_of(end.context.get());
        EXPECT_EQ(to_init(qp.get(), end.options), 0);
        EXPECT_EQ(to_init(peer.qp.get(), peer.options), 0);
        EXPECT_EQ(to_rtr(qp.get(), end.options, peer.qp->qp_num, lid_of(peer.context.get())), 0);
        EXPECT_EQ(to_rtr(peer.qp.get(), peer.options, qp->qp_num, lid), 0);
        EXPECT_EQ(to_rts(qp.get(), end.options), 0);
        EXPECT_EQ(to_rts(peer.qp.get(), peer.options), 0);
    }
    ibv_wc_status write(std::uint64_t address, std::uint32_t key) {
        Send s(IBV_WR_RDMA_WRITE);
        s.from(peer.region(), 0, 64).at(address, key);
        EXPECT_EQ(s.post(peer.qp.get()), 0);
        return next(peer.send_cq.get()).status;
    }
    End peer{0};
    Owned<ibv_qp> qp;
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
    p.make_free();
    ASSERT_EQ(p.bind(5000, 1000, IBV_ACCESS_REMOTE_READ), IBV_WC_SUCCESS);
    const auto before = p.b.memory.copy();
    EXPECT_EQ(p.write(5000, 8, p.rkey), IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

TEST_P(Window, RebindingEndsTheOldKey) {
    WindowPair p(GetParam());
    const std::uint32_t old = p.rkey;
    p.make_free();
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
    p.make_free();
    const Owned<ibv_mr> plain(
        ibv_reg_mr(p.b.pd.get(), p.b.memory.data(), p.b.memory.size(), kAllAccess));
    EXPECT_EQ(p.bind(5000, 8, kWindowAccess, plain.get()), IBV_WC_MW_BIND_ERR);
}

TEST_P(Window, LiesInsideItsRegion) {
    WindowPair p(GetParam());
    p.make_free();
    EXPECT_EQ(p.bind(p.b.memory.size() - 10, 11), IBV_WC_MW_BIND_ERR);
}

// IBA vol. 1, C10-72: queue pair, window and region are of one domain.
TEST_P(Window, IsBoundByQueuePairsOfItsDomainOnly) {
    WindowPair p(GetParam());
    const Owned<ibv_pd> other(ibv_alloc_pd(p.b.context.get()));
    const Owned<ibv_mr> region(ibv_reg_mr(other.get(), p.b.memory.data(), p.b.memory.size(),
                                          kAllAccess | IBV_ACCESS_MW_BIND));
    p.mw.reset(ibv_alloc_mw(other.get(), GetParam()));
    p.rkey = 0;
    EXPECT_EQ(p.bind(5000, 8, kWindowAccess, region.get()), IBV_WC_MW_BIND_ERR);
    EXPECT_EQ(state_of(p.b.qp.get()), IBV_QPS_ERR);
    p.mw.reset();  // The window must be destroyed before its protection domain.
}

TEST_P(Window, CrossesPageEdgesOfAPartlySharedRegion) {
    WindowPair p(GetParam());
    p.make_free();
    const Owned<ibv_mr> odd(ibv_reg_mr(p.b.pd.get(), p.b.memory.data() + 77, 3 * kPage,
                                       kAllAccess | IBV_ACCESS_MW_BIND));
    ASSERT_EQ(p.bind(100, 2 * kPage, kWindowAccess, odd.get()), IBV_WC_SUCCESS);
    EXPECT_EQ(p.write(100, 2 * kPage, p.rkey), IBV_WC_SUCCESS);
    EXPECT_TRUE(same(p.b.memory.span(100, 2 * kPage), p.a.memory.span(0, 2 * kPage)));
    p.mw.reset();  // The window must be destroyed before its region.
}

TEST(WindowOne, BoundRegionStays) {
    WindowPair p(IBV_MW_TYPE_1);
    EXPECT_EQ(ibv_dereg_mr(p.b.region()), EBUSY);
}

TEST(WindowOne, ServesEveryQueuePairOfItsDomain) {
    WindowPair p(IBV_MW_TYPE_1);
    Another other(p.b);
    EXPECT_EQ(other.write(p.b.memory.address(5000), p.rkey), IBV_WC_SUCCESS);
}

// IBA vol. 1, 10.6.7.2: a bind of length 0 unbinds a window of type 1, and frees its region.
TEST(WindowOne, ZeroLengthBindCloses) {
    WindowPair p(IBV_MW_TYPE_1);
    const auto before = p.b.memory.copy();
    ASSERT_EQ(p.bind(5000, 0), IBV_WC_SUCCESS);
    EXPECT_EQ(p.write(5000, 8, p.rkey), IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(same(p.b.memory.copy(), before));
    EXPECT_EQ(ibv_dereg_mr(p.b.mr.release()), 0);
}

// IBA vol. 1, o10-36.2.2.
TEST(WindowOne, IsNotZeroBased) {
    WindowPair p(IBV_MW_TYPE_1);
    ibv_mw_bind request{
        7,
        IBV_SEND_SIGNALED,
        {p.b.region(), p.b.memory.address(), 8, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED}};
    errno = 0;
    EXPECT_EQ(ibv_bind_mw(p.b.qp.get(), p.mw.get(), &request), EINVAL);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(p.mw->rkey, p.rkey);
}

TEST(WindowOne, IsAsItWasAfterABindThatFailed) {
    WindowPair p(IBV_MW_TYPE_1);
    const std::uint32_t key = p.rkey;
    const Owned<ibv_mr> plain(
        ibv_reg_mr(p.b.pd.get(), p.b.memory.data(), p.b.memory.size(), kAllAccess));
    EXPECT_EQ(p.bind(0, 8, kWindowAccess, plain.get()), IBV_WC_MW_BIND_ERR);
    Another other(p.b);
    EXPECT_EQ(other.write(p.b.memory.address(5000), key), IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_dereg_mr(p.b.region()), EBUSY);
}

TEST(WindowTwo, ServesOnlyItsQueuePair) {
    WindowPair p(IBV_MW_TYPE_2);
    const auto before = p.b.memory.copy();
    Another other(p.b);
    EXPECT_EQ(other.write(p.b.memory.address(5000), p.rkey), IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

// IBA vol. 1, o10-37.2.30: the window must be free.
TEST(WindowTwo, BoundOneIsNotBoundAgain) {
    WindowPair p(IBV_MW_TYPE_2);
    const std::uint32_t key = p.rkey;
    Another other(p.b);
    EXPECT_EQ(p.bind(0, 8, kWindowAccess, nullptr, other.qp.get()), IBV_WC_MW_BIND_ERR);
    EXPECT_EQ(state_of(other.qp.get()), IBV_QPS_ERR);
    EXPECT_EQ(p.write(5000, 8, key), IBV_WC_SUCCESS) << "it is as it was";
    EXPECT_EQ(p.bind(0, 8), IBV_WC_MW_BIND_ERR) << "by its own queue pair";
}

TEST(WindowTwo, InvalidatedOneIsBoundByAnother) {
    WindowPair p(IBV_MW_TYPE_2);
    Another other(p.b);
    p.make_free();
    ASSERT_EQ(p.bind(0, 64, kWindowAccess, nullptr, other.qp.get()), IBV_WC_SUCCESS);
    EXPECT_EQ(other.write(p.b.memory.address(), p.rkey), IBV_WC_SUCCESS);
    EXPECT_EQ(p.write(0, 8, p.rkey), IBV_WC_REM_ACCESS_ERR);
}

// IBA vol. 1, 10.6.7.2: a window of type 2B belongs to its queue pair, which alone invalidates it.
TEST(WindowTwo, AnotherQueuePairDoesNotInvalidateIt) {
    WindowPair p(IBV_MW_TYPE_2);
    Another other(p.b);
    EXPECT_EQ(p.invalidate(other.qp.get()), IBV_WC_MW_BIND_ERR);
    EXPECT_EQ(p.write(5000, 8, p.rkey), IBV_WC_SUCCESS);
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

// IBA vol. 1, o10-37.2.40: a bind of length 0 invalidates windows of type 1 only.
TEST(WindowTwo, ZeroLengthBindIsAnError) {
    WindowPair p(IBV_MW_TYPE_2);
    p.make_free();
    EXPECT_EQ(p.bind(5000, 0), IBV_WC_MW_BIND_ERR);
}

}  // namespace
}  // namespace softib::test
