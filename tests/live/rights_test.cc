// SPDX-License-Identifier: BSD-2-Clause
// Requests that must be refused: each gets the status that the specification names, the port that
// refuses it counts the violation, and not one byte moves on either side.
#include <cerrno>

#include "verbs_rig.h"

namespace softib::test {
namespace {

enum class Op { kWrite, kWriteImm, kRead, kSwap, kAdd };
constexpr Op kOps[] = {Op::kWrite, Op::kWriteImm, Op::kRead, Op::kSwap, Op::kAdd};

std::string name_of(Op op) {
    constexpr const char* kNames[] = {"Write", "WriteImm", "Read", "Swap", "Add"};
    return kNames[static_cast<std::size_t>(op)];
}

unsigned right_of(Op op) {
    switch (op) {
        case Op::kWrite:
        case Op::kWriteImm:
            return IBV_ACCESS_REMOTE_WRITE;
        case Op::kRead:
            return IBV_ACCESS_REMOTE_READ;
        default:
            return IBV_ACCESS_REMOTE_ATOMIC;
    }
}

int post(End& a, Op op, std::uint64_t addr, std::uint32_t rkey, std::uint32_t bytes) {
    constexpr ibv_wr_opcode kOpcodes[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
                                          IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
                                          IBV_WR_ATOMIC_FETCH_AND_ADD};
    Send s(kOpcodes[static_cast<std::size_t>(op)]);
    s.from(a.region(), 256, bytes).at(addr, rkey);
    if (op == Op::kSwap || op == Op::kAdd) {
        s.atomic(1, 2);
    }
    return s.post(a.qp.get());
}

/// A copy of both memories, to check that they are as they were.
class Untouched {
  public:
    explicit Untouched(Pair& p) : p_(p), a_(p.a.memory.copy()), b_(p.b.memory.copy()) {}
    void check() const {
        EXPECT_TRUE(same(p_.a.memory.copy(), a_)) << "the requester's memory changed";
        EXPECT_TRUE(same(p_.b.memory.copy(), b_)) << "the responder's memory changed";
    }

  private:
    Pair& p_;
    std::vector<std::byte> a_;
    std::vector<std::byte> b_;
};

class Rights : public testing::TestWithParam<Op> {
  protected:
    static std::uint32_t bytes() { return GetParam() >= Op::kSwap ? 8 : 64; }

    /// Posts a request that must be refused with REM_ACCESS_ERR.
    static void expect_refused(Pair& p, std::uint64_t addr, std::uint32_t rkey, std::uint32_t n) {
        ASSERT_EQ(p.b.receive(5, 0, 8), 0);
        const Untouched untouched(p);
        const std::uint64_t counted = counter(1, "hw_counters/resp_remote_access_errors");
        ASSERT_EQ(post(p.a, GetParam(), addr, rkey, n), 0);
        EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_REM_ACCESS_ERR);
        EXPECT_EQ(next(p.b.recv_cq.get()).status, IBV_WC_WR_FLUSH_ERR) << "not consumed";
        EXPECT_EQ(counter(1, "hw_counters/resp_remote_access_errors"), counted + 1);
        EXPECT_EQ(counter(0, "hw_counters/resp_remote_access_errors"), 0U);
        EXPECT_EQ(state_of(p.a.qp.get()), IBV_QPS_ERR);
        EXPECT_EQ(state_of(p.b.qp.get()), IBV_QPS_ERR);
        EXPECT_TRUE(wait_async(p.b.context.get(), IBV_EVENT_QP_ACCESS_ERR, p.b.qp.get()));
        untouched.check();
    }
};

INSTANTIATE_TEST_SUITE_P(Op, Rights, testing::ValuesIn(kOps),
                         [](const auto& param_info) { return name_of(param_info.param); });

TEST_P(Rights, KeyThatNeverWas) {
    Pair p;
    expect_refused(p, p.b.memory.address(), 0xFFFFFF00, bytes());
}

TEST_P(Rights, KeyZero) {
    Pair p;
    expect_refused(p, p.b.memory.address(), 0, bytes());
}

TEST_P(Rights, KeyOfAnotherEntry) {
    Pair p;
    expect_refused(p, p.b.memory.address(), p.b.mr->rkey + 0x100, bytes());
}

TEST_P(Rights, KeyOfAnotherVariant) {
    Pair p;
    expect_refused(p, p.b.memory.address(), p.b.mr->rkey ^ 0x80, bytes());
}

TEST_P(Rights, KeyAfterDeregistration) {
    Pair p;
    Owned<ibv_mr> mr(ibv_reg_mr(p.b.pd.get(), p.b.memory.data(), p.b.memory.size(), kAllAccess));
    const std::uint32_t stale = mr->rkey;
    mr.reset();
    expect_refused(p, p.b.memory.address(), stale, bytes());
}

TEST_P(Rights, StaleKeyWhoseEntryIsInUseAgain) {
    Pair p;
    Owned<ibv_mr> mr(ibv_reg_mr(p.b.pd.get(), p.b.memory.data(), p.b.memory.size(), kAllAccess));
    const std::uint32_t stale = mr->rkey;
    std::vector<Owned<ibv_mr>> later;
    // Entries are reused in turn: the loop registers until the same entry is used again.
    for (int i = 0; i < 1000 && mr != nullptr; ++i) {
        mr.reset();
        Owned<ibv_mr> again(
            ibv_reg_mr(p.b.pd.get(), p.b.memory.data(), p.b.memory.size(), kAllAccess));
        ASSERT_NE(again->rkey, stale);
        if (again->rkey >> 8 != stale >> 8) {
            mr = std::move(again);
        } else {
            later.push_back(std::move(again));
        }
    }
    ASSERT_FALSE(later.empty()) << "the entry was never used again";
    expect_refused(p, p.b.memory.address(), stale, bytes());
}

TEST_P(Rights, KeyOfAnotherDomain) {
    Pair p;
    const Owned<ibv_pd> pd(ibv_alloc_pd(p.b.context.get()));
    const Owned<ibv_mr> mr(ibv_reg_mr(pd.get(), p.b.memory.data(), p.b.memory.size(), kAllAccess));
    expect_refused(p, p.b.memory.address(), mr->rkey, bytes());
}

TEST_P(Rights, RequestersOwnKey) {
    Pair p;
    expect_refused(p, p.a.memory.address(), p.a.mr->rkey, bytes());
}

TEST_P(Rights, OneUnitBeforeTheStart) {
    Pair p;
    const std::uint32_t step = bytes() == 8 ? 8 : 1;
    const Owned<ibv_mr> mr(ibv_reg_mr(p.b.pd.get(), p.b.memory.data() + kPage, kPage, kAllAccess));
    expect_refused(p, p.b.memory.address(kPage - step), mr->rkey, bytes());
}

TEST_P(Rights, OneUnitBehindTheEnd) {
    Pair p;
    const std::uint32_t step = bytes() == 8 ? 8 : 1;
    const Owned<ibv_mr> mr(ibv_reg_mr(p.b.pd.get(), p.b.memory.data() + kPage, kPage, kAllAccess));
    expect_refused(p, p.b.memory.address(2 * kPage - bytes() + step), mr->rkey, bytes());
}

TEST_P(Rights, JustBehindTheEnd) {
    Pair p;
    const Owned<ibv_mr> mr(
        ibv_reg_mr(p.b.pd.get(), p.b.memory.data() + 104, kPage + 1000, kAllAccess));
    expect_refused(p, p.b.memory.address(104 + kPage + 1000), mr->rkey, bytes());
}

TEST_P(Rights, AddressThatWrapsAround) {
    Pair p;
    expect_refused(p, UINT64_MAX - 7, p.b.mr->rkey, bytes());
}

TEST_P(Rights, WrapIntoARegionAtZero) {
    Pair p;
    const Owned<ibv_mr> mr(ibv_reg_mr(p.b.pd.get(), p.b.memory.data(), p.b.memory.size(),
                                      kAllAccess | IBV_ACCESS_ZERO_BASED));
    expect_refused(p, UINT64_MAX - 7, mr->rkey, bytes());
}

TEST_P(Rights, LengthBeyondEveryRegion) {
    if (bytes() == 8) {
        GTEST_SKIP() << "atomics have one length";
    }
    Pair p;
    const Owned<ibv_mr> small(ibv_reg_mr(p.b.pd.get(), p.b.memory.data(), 100, kAllAccess));
    expect_refused(p, p.b.memory.address(), small->rkey, 8192);
}

TEST_P(Rights, RegionWithoutTheRight) {
    Pair p;
    const unsigned others = kAllAccess & ~right_of(GetParam());
    const Owned<ibv_mr> mr(ibv_reg_mr(p.b.pd.get(), p.b.memory.data(), p.b.memory.size(), others));
    expect_refused(p, p.b.memory.address(), mr->rkey, bytes());
}

TEST_P(Rights, QueuePairWithoutTheRight) {
    QpOptions without;
    without.access = kAllAccess & ~right_of(GetParam());
    Pair p({}, without);
    expect_refused(p, p.b.memory.address(), p.b.mr->rkey, bytes());
}

TEST_P(Rights, ResponderInErrorDoesNotAnswer) {
    Pair p;
    ASSERT_EQ(to_state(p.b.qp.get(), IBV_QPS_ERR), 0);
    const Untouched untouched(p);
    ASSERT_EQ(post(p.a, GetParam(), p.b.memory.address(), p.b.mr->rkey, bytes()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_RETRY_EXC_ERR);
    untouched.check();
}

TEST_P(Rights, ResponderConnectedToSomebodyElseDoesNotAnswer) {
    if (on_packet_path()) {
        GTEST_SKIP() << "a packet of a connection says from which port it is, not from which pair";
    }
    Pair p;
    End c(0);
    ASSERT_EQ(to_init(c.qp.get(), c.options), 0);
    ASSERT_EQ(to_rtr(c.qp.get(), c.options, p.b.qp->qp_num, lid_of(p.b.context.get())), 0);
    ASSERT_EQ(to_rts(c.qp.get(), c.options), 0);
    const Untouched untouched(p);
    ASSERT_EQ(post(c, GetParam(), p.b.memory.address(), p.b.mr->rkey, bytes()), 0);
    EXPECT_EQ(next(c.send_cq.get()).status, IBV_WC_RETRY_EXC_ERR);
    EXPECT_EQ(state_of(p.b.qp.get()), IBV_QPS_RTS);
    untouched.check();
}

TEST_P(Rights, PartitionsThatDoNotMatchDoNotTalk) {
    set_pkey(0, 3, 0x8011);
    set_pkey(1, 3, 0x8012);
    QpOptions o;
    o.pkey_index = 3;
    Pair p(o);
    const Untouched untouched(p);
    const std::uint32_t counted = port_of(p.b.context.get()).bad_pkey_cntr;
    ASSERT_EQ(post(p.a, GetParam(), p.b.memory.address(), p.b.mr->rkey, bytes()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_RETRY_EXC_ERR);
    EXPECT_GT(port_of(p.b.context.get()).bad_pkey_cntr, counted);
    untouched.check();
}

TEST_P(Rights, LimitedMembersDoNotTalkToEachOther) {
    set_pkey(0, 4, 0x0021);
    set_pkey(1, 4, 0x0021);
    QpOptions o;
    o.pkey_index = 4;
    Pair p(o);
    const Untouched untouched(p);
    ASSERT_EQ(post(p.a, GetParam(), p.b.memory.address(), p.b.mr->rkey, bytes()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_RETRY_EXC_ERR);
    untouched.check();
}

TEST_P(Rights, LimitedMemberTalksToAFullOne) {
    set_pkey(0, 5, 0x0031);
    set_pkey(1, 5, 0x8031);
    QpOptions o;
    o.pkey_index = 5;
    Pair p(o);
    ASSERT_EQ(p.b.receive(1, 0, 8), 0);
    ASSERT_EQ(post(p.a, GetParam(), p.b.memory.address(), p.b.mr->rkey, bytes()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
}

TEST_P(Rights, PartitionTakenAwayEndsTheTalk) {
    set_pkey(0, 6, 0x8041);
    set_pkey(1, 6, 0x8041);
    QpOptions o;
    o.pkey_index = 6;
    Pair p(o);
    ASSERT_EQ(p.b.receive(1, 0, 8), 0);
    ASSERT_EQ(post(p.a, GetParam(), p.b.memory.address(), p.b.mr->rkey, bytes()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    set_pkey(1, 6, 0);
    const Untouched untouched(p);
    ASSERT_EQ(post(p.a, GetParam(), p.b.memory.address(), p.b.mr->rkey, bytes()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_RETRY_EXC_ERR);
    untouched.check();
}

// --- The requester's own memory
// -------------------------------------------------------------------

TEST(LocalRights, ReadIntoARegionWithoutLocalWrite) {
    Pair p;
    const Owned<ibv_mr> mr(ibv_reg_mr(p.a.pd.get(), p.a.memory.data(), p.a.memory.size(), 0));
    const Untouched untouched(p);
    Send s(IBV_WR_RDMA_READ);
    ASSERT_EQ(s.from(mr.get(), 0, 64).to(p.b.region(), 0).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_LOC_PROT_ERR);
    untouched.check();
}

TEST(LocalRights, AtomicResultIntoARegionWithoutLocalWrite) {
    Pair p;
    const Owned<ibv_mr> mr(ibv_reg_mr(p.a.pd.get(), p.a.memory.data(), p.a.memory.size(), 0));
    const Untouched untouched(p);
    Send s(IBV_WR_ATOMIC_FETCH_AND_ADD);
    ASSERT_EQ(s.from(mr.get(), 0, 8).to(p.b.region(), 0).atomic(1).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_LOC_PROT_ERR);
    untouched.check();
}

TEST(LocalRights, ReceiveIntoARegionWithoutLocalWrite) {
    Pair p;
    const Owned<ibv_mr> mr(ibv_reg_mr(p.b.pd.get(), p.b.memory.data(), p.b.memory.size(), 0));
    const Untouched untouched(p);
    ASSERT_EQ(post_recv(p.b.qp.get(), 1, {sge_of(mr.get(), 0, 64)}), 0);
    ASSERT_EQ(Send(IBV_WR_SEND).from(p.a.region(), 0, 64).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.b.recv_cq.get()).status, IBV_WC_LOC_PROT_ERR);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_REM_OP_ERR);
    untouched.check();
}

TEST(LocalRights, SendFromAnotherDomain) {
    Pair p;
    const Owned<ibv_pd> pd(ibv_alloc_pd(p.a.context.get()));
    const Owned<ibv_mr> mr(ibv_reg_mr(pd.get(), p.a.memory.data(), p.a.memory.size(), kAllAccess));
    const Untouched untouched(p);
    ASSERT_EQ(p.b.receive(1, 0, 64), 0);
    ASSERT_EQ(Send(IBV_WR_SEND).from(mr.get(), 0, 64).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_LOC_PROT_ERR);
    untouched.check();
}

TEST(LocalRights, SecondOfTwoBuffersBeyondItsRegion) {
    Pair p;
    const Untouched untouched(p);
    Send s(IBV_WR_RDMA_WRITE);
    s.from(p.a.region(), 0, 64).from(p.a.region(), p.a.memory.size() - 63, 64).to(p.b.region(), 0);
    ASSERT_EQ(s.post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_LOC_PROT_ERR);
    untouched.check();
}

TEST(LocalRights, SecondReceiveBufferBeyondItsRegion) {
    Pair p;
    const Untouched untouched(p);
    ASSERT_EQ(
        post_recv(p.b.qp.get(), 1,
                  {sge_of(p.b.region(), 0, 32), sge_of(p.b.region(), p.b.memory.size() - 8, 32)}),
        0);
    ASSERT_EQ(Send(IBV_WR_SEND).from(p.a.region(), 0, 64).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.b.recv_cq.get()).status, IBV_WC_LOC_PROT_ERR);
    untouched.check();
}

// --- Unreliable services: dropped, counted, unanswered
// --------------------------------------------

TEST(UcRights, WrongKeyIsDroppedAndCounted) {
    QpOptions o;
    o.type = IBV_QPT_UC;
    Pair p(o);
    const Untouched untouched(p);
    const std::uint64_t counted = counter(1, "hw_counters/resp_remote_access_errors");
    ASSERT_EQ(post(p.a, Op::kWrite, p.b.memory.address(), 0xFFFFFF00, 64), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_EQ(counter(1, "hw_counters/resp_remote_access_errors"), counted + 1);
    EXPECT_EQ(state_of(p.b.qp.get()), IBV_QPS_RTS);
    untouched.check();
}

TEST(UdRights, WrongPartitionIsDroppedAndCounted) {
    set_pkey(0, 7, 0x8051);
    set_pkey(1, 7, 0x8052);
    QpOptions o;
    o.pkey_index = 7;
    DatagramPair p(o);
    const auto before = p.b.memory.copy();
    const std::uint32_t counted = port_of(p.b.context.get()).bad_pkey_cntr;
    ASSERT_EQ(p.b.receive(1, 0, 200), 0);
    ASSERT_EQ(p.send().from(p.a.region(), 0, 64).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(empty(p.b.recv_cq.get()));
    EXPECT_EQ(port_of(p.b.context.get()).bad_pkey_cntr, counted + 1);
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

TEST(UdRights, QueuePairInInitTakesNothing) {
    DatagramPair p;
    ASSERT_EQ(to_state(p.b.qp.get(), IBV_QPS_RESET), 0);
    ASSERT_EQ(to_init(p.b.qp.get(), p.b.options), 0);
    const auto before = p.b.memory.copy();
    ASSERT_EQ(p.b.receive(1, 0, 200), 0);
    ASSERT_EQ(p.send().from(p.a.region(), 0, 64).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(empty(p.b.recv_cq.get()));
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

}  // namespace
}  // namespace softib::test
