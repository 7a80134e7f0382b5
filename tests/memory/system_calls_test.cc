// SPDX-License-Identifier: BSD-2-Clause
// System calls of other threads on memory while it is registered and deregistered: none fails. Run
// as an ordinary user too, for whom the kernel gives no help (vm.unprivileged_userfaultfd is 0).
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>

#include "verbs_rig.h"

namespace softib::test {
namespace {

constexpr std::size_t kBytes = 64 * kPage;

/// A system call on a page of the memory. Returns the number of bytes that it moved.
using Call = std::function<ssize_t(int fd, char* page)>;

ssize_t vector_read(int fd, char* page) {
    iovec pieces[2] = {{page, 100}, {page + 2000, 1000}};
    return preadv(fd, pieces, 2, 0) - 1100 + static_cast<ssize_t>(kPage);
}

const std::vector<Call>& calls() {
    static const std::vector<Call> all{
        [](int fd, char* page) { return pread(fd, page, kPage, 0); },
        [](int fd, char* page) { return pwrite(fd, page, kPage, 0); },
        vector_read,
        [](int fd, char* page) {
            return static_cast<ssize_t>(syscall(SYS_pread64, fd, page, kPage, off_t{0}));
        },
    };
    return all;
}

struct Memory {
    Memory()
        : at(static_cast<char*>(
              mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        std::memset(at, 1, kBytes);
    }
    ~Memory() { munmap(at, kBytes); }
    char* at;
};

TEST(SystemCalls, NoneFailsWhileItsMemoryIsRegistered) {
    End end(0);
    Memory memory;
    const int file = memfd_create("file", 0);
    ASSERT_EQ(ftruncate(file, 1 << 16), 0);
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> done{0};
    std::atomic<std::uint64_t> failed{0};
    std::thread caller([&] {
        std::size_t turn = 0;
        while (!stop.load(std::memory_order_relaxed)) {
            char* const page = memory.at + turn * 7 % 64 * kPage;
            const ssize_t moved = calls()[turn % calls().size()](file, page);
            (moved == static_cast<ssize_t>(kPage) ? done : failed).fetch_add(1);
            ++turn;
        }
    });
    while (done.load() + failed.load() == 0) {
        std::this_thread::yield();
    }
    for (int round = 0; round < 500; ++round) {
        const Owned<ibv_mr> mr(ibv_reg_mr(end.pd.get(), memory.at, kBytes, kAllAccess));
        ASSERT_NE(mr, nullptr);
    }
    stop.store(true);
    caller.join();
    close(file);
    EXPECT_EQ(failed.load(), 0U) << "of " << done.load();
}

/// The memory of a call that waits for data stays where it is; the region works nevertheless.
TEST(SystemCalls, OneThatWaitsIsNotDisturbed) {
    Pair p;
    Memory memory;
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    std::atomic<bool> started{false};
    ssize_t got = 0;
    std::thread waiter([&] {
        started.store(true);
        got = recv(ends[0], memory.at + kPage, kPage, MSG_WAITALL);
    });
    while (!started.load()) {
        std::this_thread::yield();
    }
    const Owned<ibv_mr> mr(ibv_reg_mr(p.b.pd.get(), memory.at, kBytes, kAllAccess));
    ASSERT_NE(mr, nullptr);
    Send s(IBV_WR_RDMA_WRITE);
    s.from(p.a.region(), 0, 64).at(reinterpret_cast<std::uintptr_t>(memory.at), mr->rkey);
    ASSERT_EQ(s.post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_EQ(std::memcmp(memory.at, p.a.memory.data(), 64), 0);
    const std::vector<char> sent(kPage, 's');
    ASSERT_EQ(send(ends[1], sent.data(), sent.size(), 0), static_cast<ssize_t>(kPage));
    waiter.join();
    EXPECT_EQ(got, static_cast<ssize_t>(kPage));
    EXPECT_EQ(std::memcmp(memory.at + kPage, sent.data(), kPage), 0);
    close(ends[0]);
    close(ends[1]);
}

}  // namespace
}  // namespace softib::test
