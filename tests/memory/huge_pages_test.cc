// SPDX-License-Identifier: BSD-2-Clause
// Memory in huge pages, both those that the kernel makes on request and those that were reserved,
// can be registered and keeps its content.
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "verbs_rig.h"

namespace softib::test {
namespace {

/// Memory that the kernel can keep in huge pages, filled; `how` is MAP_HUGETLB or 0.
struct HugeMemory {
    static constexpr std::size_t kHuge = std::size_t{2} << 20;
    static constexpr std::size_t kHugeBytes = 4 * kHuge;

    explicit HugeMemory(int how)
        : room(mmap(nullptr, kHugeBytes + kHuge, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | how, -1, 0)) {
        if (room == MAP_FAILED) {
            return;
        }
        at = reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(room) + kHuge - 1) / kHuge *
                                     kHuge);
        for (std::size_t i = 0; i < kHugeBytes; ++i) {
            at[i] = static_cast<char>(i % 251 + 1);
        }
    }
    ~HugeMemory() {
        if (at != nullptr) {
            munmap(room, kHugeBytes + kHuge);
        }
    }
    HugeMemory(const HugeMemory&) = delete;
    HugeMemory& operator=(const HugeMemory&) = delete;

    void* room;
    char* at = nullptr;
};

Owned<ibv_mr> register_huge(End& end, const HugeMemory& memory) {
    return Owned<ibv_mr>(ibv_reg_mr(end.pd.get(), memory.at, HugeMemory::kHugeBytes, kAllAccess));
}

bool write_to(Pair& p, const char* at, std::uint32_t rkey) {
    Send s(IBV_WR_RDMA_WRITE);
    s.from(p.a.region(), 0, 64).at(reinterpret_cast<std::uintptr_t>(at), rkey);
    EXPECT_EQ(s.post(p.a.qp.get()), 0);
    return next(p.a.send_cq.get()).status == IBV_WC_SUCCESS;
}

int collapse(const HugeMemory& memory) {
#ifndef MADV_COLLAPSE
    constexpr int MADV_COLLAPSE = 25;
#endif
    return madvise(memory.at, HugeMemory::kHugeBytes, MADV_COLLAPSE) == 0 ? 0 : errno;
}

TEST(HugePages, AreMadeBeforeDuringAndAfterRegistration) {
    Pair p;
    for (const int when : {0, 1, 2}) {
        const HugeMemory memory(0);
        const HugeMemory twin(0);
        ASSERT_NE(memory.at, nullptr);
        const int plain = collapse(twin);
        if (plain == EINVAL) {
            GTEST_SKIP() << "this kernel knows no MADV_COLLAPSE";
        }
        if (when == 0) {
            EXPECT_EQ(collapse(memory), plain);
        }
        auto mr = register_huge(p.b, memory);
        ASSERT_NE(mr, nullptr);
        if (when == 1) {
            EXPECT_EQ(collapse(memory), plain);
        }
        ASSERT_TRUE(write_to(p, memory.at + HugeMemory::kHuge + 4 * kPage, mr->rkey));
        std::memcpy(twin.at + HugeMemory::kHuge + 4 * kPage, p.a.memory.data(), 64);
        mr.reset();
        if (when == 2) {
            EXPECT_EQ(collapse(memory), plain);
        }
        EXPECT_EQ(std::memcmp(memory.at, twin.at, HugeMemory::kHugeBytes), 0) << when;
        ASSERT_EQ(madvise(memory.at, HugeMemory::kHugeBytes, MADV_DONTNEED), 0);
        EXPECT_EQ(memory.at[HugeMemory::kHuge], 0);
    }
}

TEST(HugePages, AreRegistered) {
    const HugeMemory memory(MAP_HUGETLB);
    const HugeMemory twin(MAP_HUGETLB);
    if (memory.at == nullptr || twin.at == nullptr) {
        GTEST_SKIP() << "no huge pages are reserved here: sysctl vm.nr_hugepages=16";
    }
    Pair p;
    auto mr = register_huge(p.b, memory);
    ASSERT_NE(mr, nullptr);
    ASSERT_TRUE(write_to(p, memory.at + HugeMemory::kHuge - 32, mr->rkey));
    std::memcpy(twin.at + HugeMemory::kHuge - 32, p.a.memory.data(), 64);
    EXPECT_EQ(std::memcmp(memory.at, twin.at, HugeMemory::kHugeBytes), 0);
    mr.reset();
    EXPECT_EQ(std::memcmp(memory.at, twin.at, HugeMemory::kHugeBytes), 0);
    ASSERT_EQ(madvise(memory.at, HugeMemory::kHuge, MADV_DONTNEED), 0);
    EXPECT_EQ(memory.at[0], 0);
    EXPECT_EQ(memory.at[HugeMemory::kHuge + 1], twin.at[HugeMemory::kHuge + 1]);
}

}  // namespace
}  // namespace softib::test
