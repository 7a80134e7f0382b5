// SPDX-License-Identifier: BSD-2-Clause
// System calls by instructions of the program's own, which the preloaded library does not see, on
// memory that is or was registered (Go's runtime calls the kernel in this way).
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "runtime/shm/kernel_call.h"
#include "verbs_rig.h"

#ifndef __x86_64__
#define SOFTIB_SKIP_ELSEWHERE GTEST_SKIP() << "kernel_call() is a library call here"
#else
#define SOFTIB_SKIP_ELSEWHERE static_cast<void>(0)
#endif

namespace softib::test {
namespace {

using shm::kernel_call;

constexpr std::size_t kRawBytes = 16 * kPage;
constexpr int kReadWrite = PROT_READ | PROT_WRITE;
constexpr int kPrivate = MAP_PRIVATE | MAP_ANONYMOUS;

class RawCalls : public ::testing::Test {
  protected:
    void SetUp() override {
        SOFTIB_SKIP_ELSEWHERE;
        at_ = static_cast<char*>(mmap(nullptr, kRawBytes, kReadWrite, kPrivate, -1, 0));
        ASSERT_NE(at_, MAP_FAILED);
        std::memset(at_, 'm', kRawBytes);
    }
    void TearDown() override { munmap(at_, kRawBytes); }
    Owned<ibv_mr> reg() {
        return Owned<ibv_mr>(ibv_reg_mr(pair_.b.pd.get(), at_, kRawBytes, kAllAccess));
    }
    long advise(int advice) { return kernel_call(SYS_madvise, at_, kRawBytes, advice); }
    bool all(char value) const {
        return std::all_of(at_, at_ + kRawBytes, [=](char c) { return c == value; });
    }
    /// Transfers one page between the peer and page `page` of the memory. Returns the status.
    ibv_wc_status transfer(ibv_wr_opcode opcode, const ibv_mr& mr, std::size_t page) {
        Send s(opcode);
        s.from(pair_.a.region(), 0, kPage)
            .at(reinterpret_cast<std::uintptr_t>(at_ + page * kPage), mr.rkey);
        EXPECT_EQ(s.post(pair_.a.qp.get()), 0);
        return next(pair_.a.send_cq.get()).status;
    }

    Pair pair_;
    char* at_ = nullptr;
};

TEST_F(RawCalls, AfterDeregistrationMemoryObeysThem) {
    ASSERT_NE(reg(), nullptr);
    EXPECT_EQ(advise(MADV_FREE), 0);
    std::memset(at_, 'a', kRawBytes);
    EXPECT_EQ(advise(MADV_DONTNEED), 0);
    EXPECT_TRUE(all(0));
    ASSERT_NE(reg(), nullptr);
    EXPECT_TRUE(all(0));
}

/// On hardware the program would see zeros and the HCA the old bytes.
TEST_F(RawCalls, DontneedWhileRegisteredLeavesProgramAndPeerWithTheSameBytes) {
    const Owned<ibv_mr> mr = reg();
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(advise(MADV_DONTNEED), 0);
    ASSERT_EQ(transfer(IBV_WR_RDMA_READ, *mr, 3), IBV_WC_SUCCESS);
    EXPECT_EQ(std::memcmp(pair_.a.memory.data(), at_ + 3 * kPage, kPage), 0);
    std::memset(pair_.a.memory.data(), 'p', kPage);
    ASSERT_EQ(transfer(IBV_WR_RDMA_WRITE, *mr, 5), IBV_WC_SUCCESS);
    EXPECT_EQ(std::memcmp(pair_.a.memory.data(), at_ + 5 * kPage, kPage), 0);
}

TEST_F(RawCalls, DeregistrationLeavesWhatTookThePlaceOfUnmappedMemory) {
    Owned<ibv_mr> mr = reg();
    ASSERT_NE(mr, nullptr);
    ASSERT_EQ(kernel_call(SYS_munmap, at_, kRawBytes / 2), 0);
    ASSERT_EQ(kernel_call(SYS_mmap, at_, kRawBytes / 2, kReadWrite, kPrivate | MAP_FIXED_NOREPLACE,
                          -1, 0),
              static_cast<long>(reinterpret_cast<std::intptr_t>(at_)));
    std::memset(at_, 'n', kRawBytes / 2);
    mr.reset();
    EXPECT_TRUE(std::all_of(at_, at_ + kRawBytes / 2, [](char c) { return c == 'n'; }));
    EXPECT_TRUE(std::all_of(at_ + kRawBytes / 2, at_ + kRawBytes, [](char c) { return c == 'm'; }));
    EXPECT_EQ(advise(MADV_DONTNEED), 0);
    EXPECT_TRUE(all(0));
}

/// The child shares registered pages (docs/guide/differences.md), and has a copy of all others.
TEST_F(RawCalls, ForkWhileRegisteredLeavesTheParentsRegionAlone) {
    std::vector<char> other(kPage, 'o');
    Owned<ibv_mr> mr = reg();
    ASSERT_NE(mr, nullptr);
    const long child = kernel_call(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        other[0] = 'c';
        kernel_call(SYS_exit_group, at_[0] == 'm' && at_[kRawBytes - 1] == 'm' ? 0 : 1);
    }
    ASSERT_GT(child, 0);
    int status = -1;
    ASSERT_EQ(waitpid(static_cast<pid_t>(child), &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(other[0], 'o');
    std::memset(pair_.a.memory.data(), 'p', kPage);
    ASSERT_EQ(transfer(IBV_WR_RDMA_WRITE, *mr, 0), IBV_WC_SUCCESS);
    EXPECT_EQ(at_[0], 'p');
    mr.reset();
    EXPECT_EQ(advise(MADV_DONTNEED), 0);
    EXPECT_TRUE(all(0));
}

}  // namespace
}  // namespace softib::test
