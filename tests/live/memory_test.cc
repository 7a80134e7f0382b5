// SPDX-License-Identifier: BSD-2-Clause
// Regions, windows, device memory: where bytes arrive, and which requests are refused.
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "verbs_rig.h"

namespace softib::test {
namespace {

Owned<ibv_mr> reg(End& end, void* at, std::size_t bytes, unsigned access = kAllAccess) {
    return Owned<ibv_mr>(ibv_reg_mr(end.pd.get(), at, bytes, access));
}

ibv_wc_status write(Pair& p, std::uint64_t addr, std::uint32_t rkey, std::uint32_t bytes = 64) {
    Send s(IBV_WR_RDMA_WRITE);
    EXPECT_EQ(s.from(p.a.region(), 0, bytes).at(addr, rkey).post(p.a.qp.get()), 0);
    return next(p.a.send_cq.get()).status;
}

TEST(Region, IovaNamesTheBytes) {
    Pair p;
    Buffer memory(3 * kPage);
    const std::uint64_t iova = 0x7000'0000'0000;
    const Owned<ibv_mr> mr(
        ibv_reg_mr_iova(p.b.pd.get(), memory.data(), memory.size(), iova, kAllAccess));
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(write(p, iova + 5000, mr->rkey), IBV_WC_SUCCESS);
    EXPECT_TRUE(same(memory.span(5000, 64), p.a.memory.span(0, 64)));
    EXPECT_EQ(write(p, memory.address(), mr->rkey), IBV_WC_REM_ACCESS_ERR);
}

TEST(Region, ZeroBasedCountsFromItsStart) {
    Pair p;
    Buffer memory(2 * kPage);
    const auto mr = reg(p.b, memory.data() + 100, 5000, kAllAccess | IBV_ACCESS_ZERO_BASED);
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(write(p, 10, mr->rkey), IBV_WC_SUCCESS);
    EXPECT_TRUE(same(memory.span(110, 64), p.a.memory.span(0, 64)));
    EXPECT_EQ(write(p, 5000 - 63, mr->rkey), IBV_WC_REM_ACCESS_ERR);
}

TEST(Region, LocalWorkUsesIovaToo) {
    Pair p;
    Buffer memory(2 * kPage);
    const std::uint64_t iova = 0x1000;
    const Owned<ibv_mr> mr(
        ibv_reg_mr_iova(p.a.pd.get(), memory.data(), memory.size(), iova, kAllAccess));
    ASSERT_NE(mr, nullptr);
    Send s(IBV_WR_RDMA_WRITE);
    s.sge(iova + 77, 64, mr->lkey).to(p.b.region(), 0);
    ASSERT_EQ(s.post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(same(p.b.memory.span(0, 64), memory.span(77, 64)));
    Send r(IBV_WR_RDMA_READ);
    r.sge(iova + 4090, 64, mr->lkey).to(p.b.region(), 500);
    ASSERT_EQ(r.post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(same(memory.span(4090, 64), p.b.memory.span(500, 64)));
}

TEST(Region, LargeTransfersAreWhole) {
    setenv("SOFTIB_COPY_HELPERS", "2", 1);  // Two helper threads, also on a machine of few cores.
    Pair p;
    const std::uint32_t bytes = 4'000'037;
    Buffer source(bytes), sink(bytes), back(bytes);
    source.fill(5);
    const auto from = reg(p.a, source.data(), bytes);
    const auto to = reg(p.b, sink.data(), bytes);
    const auto home = reg(p.a, back.data(), bytes);
    Send w(IBV_WR_RDMA_WRITE);
    w.sge(source.address(), bytes, from->lkey).at(sink.address(), to->rkey);
    ASSERT_EQ(w.post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(same(sink.copy(), source.copy()));
    Send r(IBV_WR_RDMA_READ);
    r.sge(back.address(), bytes, home->lkey).at(sink.address(), to->rkey);
    ASSERT_EQ(r.post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(same(back.copy(), source.copy()));
}

TEST(Region, ContentsSurviveRegistration) {
    End end(0);
    Buffer memory(9 * kPage);
    memory.fill(77);
    const auto before = memory.copy();
    const auto whole = reg(end, memory.data(), memory.size());
    EXPECT_TRUE(same(memory.copy(), before));
    memory.fill(78);
    const auto changed = memory.copy();
    const auto part = reg(end, memory.data() + 100, 3 * kPage);
    EXPECT_TRUE(same(memory.copy(), changed));
}

TEST(Region, SameBufferTwiceIsOneMemory) {
    Pair p;
    const auto second = reg(p.b, p.b.memory.data(), p.b.memory.size());
    EXPECT_NE(second->rkey, p.b.mr->rkey);
    EXPECT_EQ(write(p, p.b.memory.address(), second->rkey), IBV_WC_SUCCESS);
    EXPECT_EQ(write(p, p.b.memory.address(8192), p.b.mr->rkey), IBV_WC_SUCCESS);
    EXPECT_TRUE(same(p.b.memory.span(0, 64), p.a.memory.span(0, 64)));
    EXPECT_TRUE(same(p.b.memory.span(8192, 64), p.a.memory.span(0, 64)));
}

TEST(Region, OverlappingPartialPagesShareTheirBytes) {
    Pair p;
    Buffer memory(6 * kPage);
    const auto small = reg(p.b, memory.data() + kPage + 100, 200);
    const auto large = reg(p.b, memory.data() + 50, 5 * kPage);
    const auto late = reg(p.b, memory.data() + kPage + 250, 3 * kPage + 1);
    EXPECT_EQ(write(p, memory.address(kPage + 120), small->rkey), IBV_WC_SUCCESS);
    EXPECT_TRUE(same(memory.span(kPage + 120, 64), p.a.memory.span(0, 64)));
    EXPECT_EQ(write(p, memory.address(kPage - 30), large->rkey), IBV_WC_SUCCESS);
    EXPECT_TRUE(same(memory.span(kPage - 30, 64), p.a.memory.span(0, 64)));
    EXPECT_EQ(write(p, memory.address(2 * kPage - 30), late->rkey), IBV_WC_SUCCESS);
    EXPECT_TRUE(same(memory.span(2 * kPage - 30, 64), p.a.memory.span(0, 64)));
    EXPECT_EQ(write(p, memory.address(5 * kPage - 30), large->rkey), IBV_WC_SUCCESS);
    EXPECT_TRUE(same(memory.span(5 * kPage - 30, 64), p.a.memory.span(0, 64)));
}

TEST(Region, KeysStayFreshOverManyRegistrations) {
    Pair p;
    Buffer memory(2 * kPage);
    std::uint32_t previous = 0;
    for (int i = 0; i < 600; ++i) {
        const auto mr = reg(p.b, memory.data(), memory.size());
        ASSERT_NE(mr, nullptr);
        ASSERT_NE(mr->rkey, 0U);
        ASSERT_NE(mr->rkey, previous);
        previous = mr->rkey;
        ASSERT_EQ(write(p, memory.address(), mr->rkey, 8), IBV_WC_SUCCESS);
    }
}

TEST(Region, MemoryMayBeUnmappedAfterDeregistration) {
    Pair p;
    for (int i = 0; i < 50; ++i) {
        Buffer memory(16 * kPage);
        const auto mr = reg(p.b, memory.data() + 1, memory.size() - 2);
        ASSERT_EQ(write(p, memory.address(5000), mr->rkey), IBV_WC_SUCCESS);
        ASSERT_TRUE(same(memory.span(5000, 64), p.a.memory.span(0, 64)));
    }
}

TEST(Region, HeapMemoryMayBeFreedAfterDeregistration) {
    Pair p;
    for (std::size_t bytes = 1; bytes < 300'000; bytes = bytes * 3 + 7) {
        auto heap = std::make_unique<std::byte[]>(bytes);
        const auto mr = reg(p.b, heap.get(), bytes);
        ASSERT_NE(mr, nullptr);
        ASSERT_EQ(write(p, reinterpret_cast<std::uint64_t>(heap.get()), mr->rkey, 1),
                  IBV_WC_SUCCESS);
        ASSERT_EQ(heap[0], p.a.memory.data()[0]);
    }
}

TEST(Region, StackMemory) {
    Pair p;
    alignas(4096) std::byte stack[5 * kPage]{};
    const auto mr = reg(p.b, stack, sizeof stack);
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(write(p, reinterpret_cast<std::uint64_t>(stack) + kPage - 1, mr->rkey),
              IBV_WC_SUCCESS);
    EXPECT_TRUE(same(std::span(stack).subspan(kPage - 1, 64), p.a.memory.span(0, 64)));
}

TEST(Region, SharedMapping) {
    Pair p;
    void* at = mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(at, MAP_FAILED);
    {
        const auto mr = reg(p.b, at, 2 * kPage);
        ASSERT_NE(mr, nullptr);
        EXPECT_EQ(write(p, reinterpret_cast<std::uint64_t>(at) + 4090, mr->rkey), IBV_WC_SUCCESS);
    }
    EXPECT_TRUE(same(std::span(static_cast<std::byte*>(at) + 4090, 64), p.a.memory.span(0, 64)));
    munmap(at, 2 * kPage);
}

TEST(Region, UnmappedAddressIsRefused) {
    End end(0);
    Buffer memory(4 * kPage);
    ASSERT_EQ(munmap(memory.data() + kPage, kPage), 0);
    EXPECT_EQ(reg(end, memory.data(), 4 * kPage), nullptr);
    EXPECT_EQ(errno, EFAULT);
    EXPECT_EQ(reg(end, memory.data() + kPage + 5, 10), nullptr);
    EXPECT_EQ(errno, EFAULT);
    EXPECT_NE(reg(end, memory.data(), kPage), nullptr);
}

TEST(Region, ReadOnlyMappingCannotBeWritten) {
    Pair p;
    Buffer memory(2 * kPage);
    const auto before = memory.copy();
    ASSERT_EQ(mprotect(memory.data(), memory.size(), PROT_READ), 0);
    EXPECT_EQ(reg(p.b, memory.data(), memory.size()), nullptr);
    EXPECT_EQ(errno, EFAULT);
    const auto mr = reg(p.b, memory.data(), memory.size(), IBV_ACCESS_REMOTE_READ);
    ASSERT_NE(mr, nullptr);
    EXPECT_NE(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kAllAccess),
              0);
    EXPECT_EQ(write(p, memory.address(), mr->rkey), IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(same(memory.copy(), before));
}

TEST(Region, ImpossibleRequestsAreRefused) {
    End end(0);
    EXPECT_EQ(reg(end, end.memory.data(), 8, IBV_ACCESS_REMOTE_WRITE), nullptr)
        << "remote write without local write";
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(reg(end, end.memory.data(), 8, IBV_ACCESS_REMOTE_ATOMIC), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(reg(end, end.memory.data(), SIZE_MAX - 100, IBV_ACCESS_LOCAL_WRITE), nullptr);
    EXPECT_EQ(ibv_reg_dmabuf_mr(end.pd.get(), 0, 8, 0, 0, 0), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
}

/// Transfers a message of 0 or more bytes between two regions, each from its start. Returns the
/// status of its completion.
ibv_wc_status transfer(Pair& p, ibv_wr_opcode opcode, const ibv_mr* from, const ibv_mr* to,
                       std::uint32_t bytes) {
    Send s(opcode);
    EXPECT_EQ(s.from(from, 0, bytes).to(to, 0).post(p.a.qp.get()), 0);
    return next(p.a.send_cq.get()).status;
}

// Linux registers whole pages, and at least one (ib_umem_get). The key of a request of 0 bytes is
// not checked (IBA vol. 1, 9.7.5.2.4).
TEST(Region, WithoutBytesTakesRequestsWithoutBytes) {
    const auto without_bytes = [](End& end) { return reg(end, end.memory.data() + 16, 0); };
    for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
        Pair p;
        const auto from = without_bytes(p.a);
        const auto to = without_bytes(p.b);
        ASSERT_NE(from, nullptr) << std::strerror(errno);
        ASSERT_NE(to, nullptr);
        EXPECT_EQ(from->length, 0U);
        EXPECT_EQ(transfer(p, opcode, from.get(), to.get(), 0), IBV_WC_SUCCESS);
        EXPECT_EQ(transfer(p, opcode, p.a.region(), to.get(), 1), IBV_WC_REM_ACCESS_ERR);
    }
    Pair p;
    const auto from = without_bytes(p.a);
    EXPECT_EQ(transfer(p, IBV_WR_RDMA_WRITE, from.get(), p.b.region(), 1), IBV_WC_LOC_PROT_ERR);
}

TEST(Region, WithoutBytesNeedsAPage) {
    End end(0);
    EXPECT_EQ(reg(end, end.memory.data(), 0), nullptr)
        << "the start of a page is in none before it";
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(reg(end, nullptr, 0), nullptr);
    EXPECT_EQ(errno, EINVAL);
    Buffer memory(2 * kPage);
    ASSERT_EQ(munmap(memory.data() + kPage, kPage), 0);
    EXPECT_EQ(reg(end, memory.data() + kPage + 16, 0), nullptr);
    EXPECT_EQ(errno, EFAULT);
}

TEST(Rereg, TranslationMovesTheRegionAndKeepsTheKey) {
    Pair p;
    Buffer other(3 * kPage);
    const auto before = p.b.memory.copy();
    const std::uint32_t key = p.b.mr->rkey;
    ASSERT_EQ(ibv_rereg_mr(p.b.mr.get(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
                           other.data() + 10, 2 * kPage, 0),
              0);
    EXPECT_EQ(p.b.mr->rkey, key);
    EXPECT_EQ(p.b.mr->addr, other.data() + 10);
    EXPECT_EQ(write(p, other.address(4000), key), IBV_WC_SUCCESS);
    EXPECT_TRUE(same(other.span(4000, 64), p.a.memory.span(0, 64)));
    EXPECT_EQ(write(p, p.b.memory.address(), key), IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

TEST(Rereg, AccessIsTakenAway) {
    Pair p;
    const auto before = p.b.memory.copy();
    ASSERT_EQ(ibv_rereg_mr(p.b.mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                           IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ),
              0);
    Send r(IBV_WR_RDMA_READ);
    ASSERT_EQ(r.from(p.a.region(), 0, 64).to(p.b.region(), 0).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_EQ(write(p, p.b.memory.address(), p.b.mr->rkey), IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

TEST(Rereg, DomainChanges) {
    Pair p;
    const Owned<ibv_pd> other(ibv_alloc_pd(p.b.context.get()));
    ASSERT_EQ(ibv_rereg_mr(p.b.mr.get(), IBV_REREG_MR_CHANGE_PD, other.get(), nullptr, 0, 0), 0);
    EXPECT_EQ(ibv_dealloc_pd(other.get()), EBUSY);
    EXPECT_EQ(write(p, p.b.memory.address(), p.b.mr->rkey), IBV_WC_REM_ACCESS_ERR);
    p.b.mr.reset();
}

TEST(NullRegion, SwallowsWhatIsReceived) {
    Pair p;
    const Owned<ibv_mr> null(ibv_alloc_null_mr(p.b.pd.get()));
    ASSERT_NE(null, nullptr);
    ASSERT_EQ(post_recv(p.b.qp.get(), 1, {{0x1234, 50, null->lkey}, sge_of(p.b.region(), 0, 50)}),
              0);
    ASSERT_EQ(Send(IBV_WR_SEND).from(p.a.region(), 0, 80).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.b.recv_cq.get()).byte_len, 80U);
    EXPECT_TRUE(same(p.b.memory.span(0, 30), p.a.memory.span(50, 30)));
}

TEST(NullRegion, SendsZeros) {
    Pair p;
    const Owned<ibv_mr> null(ibv_alloc_null_mr(p.a.pd.get()));
    Send s(IBV_WR_RDMA_WRITE);
    s.sge(0, 100, null->lkey).from(p.a.region(), 0, 20).to(p.b.region(), 8);
    ASSERT_EQ(s.post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(same(p.b.memory.span(8, 100), std::vector<std::byte>(100)));
    EXPECT_TRUE(same(p.b.memory.span(108, 20), p.a.memory.span(0, 20)));
}

/// Many times what the library copies zeros from, and no multiple of it.
constexpr std::uint32_t kManyZeros = (8 << 20) + 100;

TEST(NullRegion, WritesAsManyZerosAsAsked) {
    Pair p;
    const Owned<ibv_mr> null(ibv_alloc_null_mr(p.a.pd.get()));
    Buffer large(kManyZeros + kPage);
    large.fill(3);
    const Owned<ibv_mr> there(ibv_reg_mr(p.b.pd.get(), large.data(), large.size(), kAllAccess));
    ASSERT_NE(there, nullptr);
    const auto before = large.copy();
    Send s(IBV_WR_RDMA_WRITE);
    s.sge(0, kManyZeros, null->lkey).from(p.a.region(), 0, 20).to(there.get(), 8);
    ASSERT_EQ(s.post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(same(large.span(8, kManyZeros), std::vector<std::byte>(kManyZeros)));
    EXPECT_TRUE(same(large.span(8 + kManyZeros, 20), p.a.memory.span(0, 20)));
    EXPECT_TRUE(
        same(large.span(28 + kManyZeros, 1000), std::span(before).subspan(28 + kManyZeros, 1000)));
}

TEST(NullRegion, SendsAsManyZerosAsAsked) {
    Pair p;
    const Owned<ibv_mr> null(ibv_alloc_null_mr(p.a.pd.get()));
    Buffer large(kManyZeros + kPage);
    large.fill(3);
    const Owned<ibv_mr> there(ibv_reg_mr(p.b.pd.get(), large.data(), large.size(), kAllAccess));
    ASSERT_NE(there, nullptr);
    ASSERT_EQ(post_recv(p.b.qp.get(), 1,
                        {sge_of(p.b.region(), 0, 50), sge_of(there.get(), 0, kManyZeros)}),
              0);
    Send s(IBV_WR_SEND);
    s.sge(0, kManyZeros, null->lkey).from(p.a.region(), 0, 20);
    ASSERT_EQ(s.post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.b.recv_cq.get()).byte_len, kManyZeros + 20);
    EXPECT_TRUE(same(p.b.memory.span(0, 50), std::vector<std::byte>(50)));
    EXPECT_TRUE(same(large.span(0, kManyZeros - 50), std::vector<std::byte>(kManyZeros - 50)));
    EXPECT_TRUE(same(large.span(kManyZeros - 50, 20), p.a.memory.span(0, 20)));
}

TEST(DeviceMemory, IsReachedByOffset) {
    Pair p;
    ibv_alloc_dm_attr attr{};
    attr.length = 8192;
    const Owned<ibv_dm> dm(ibv_alloc_dm(p.b.context.get(), &attr));
    ASSERT_NE(dm, nullptr);
    std::vector<std::byte> data(8192, std::byte{0x11});
    ASSERT_EQ(ibv_memcpy_to_dm(dm.get(), 0, data.data(), data.size()), 0);
    EXPECT_NE(ibv_memcpy_to_dm(dm.get(), 1, data.data(), data.size()), 0);
    const Owned<ibv_mr> mr(
        ibv_reg_dm_mr(p.b.pd.get(), dm.get(), 4096, 1000, kAllAccess | IBV_ACCESS_ZERO_BASED));
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(ibv_free_dm(dm.get()), EBUSY);
    EXPECT_EQ(write(p, 936, mr->rkey), IBV_WC_SUCCESS);
    std::vector<std::byte> expected = data;
    std::copy_n(p.a.memory.data(), 64, expected.data() + 4096 + 936);
    ASSERT_EQ(ibv_memcpy_from_dm(data.data(), dm.get(), 0, data.size()), 0);
    EXPECT_TRUE(same(data, expected));
    EXPECT_EQ(write(p, 937, mr->rkey), IBV_WC_REM_ACCESS_ERR);
}

TEST(OnDemand, ExplicitRegionFollowsTheMapping) {
    Pair p;
    Buffer memory(4 * kPage);
    const auto mr = reg(p.b, memory.data(), memory.size(), kAllAccess | IBV_ACCESS_ON_DEMAND);
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(write(p, memory.address(4090), mr->rkey), IBV_WC_SUCCESS);
    EXPECT_TRUE(same(memory.span(4090, 64), p.a.memory.span(0, 64)));
    ASSERT_NE(mmap(memory.data(), memory.size(), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              MAP_FAILED);
    EXPECT_EQ(write(p, memory.address(100), mr->rkey), IBV_WC_SUCCESS);
    EXPECT_TRUE(same(memory.span(100, 64), p.a.memory.span(0, 64)));
}

TEST(OnDemand, ImplicitRegionIsTheWholeAddressSpace) {
    Pair p;
    const auto mr = reg(p.b, nullptr, SIZE_MAX, kAllAccess | IBV_ACCESS_ON_DEMAND);
    ASSERT_NE(mr, nullptr);
    Buffer late(2 * kPage);
    EXPECT_EQ(write(p, late.address(4000), mr->rkey), IBV_WC_SUCCESS);
    EXPECT_TRUE(same(late.span(4000, 64), p.a.memory.span(0, 64)));
}

}  // namespace
}  // namespace softib::test
