// SPDX-License-Identifier: BSD-2-Clause
// io_uring and aio on memory that is registered: the kernel moves data there when no thread of the
// program is in a call, and to pages that it has pinned.
//
// The order of these tests counts: the first one registers memory before the program has any ring.
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "verbs_rig.h"

namespace softib::test {
namespace {

constexpr std::size_t kBytes = 16 * kPage;
constexpr unsigned kEntries = 4;

struct Memory {
    Memory()
        : at(static_cast<char*>(
              mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        std::memset(at, 1, kBytes);
    }
    ~Memory() { munmap(at, kBytes); }
    bool all(char value) const {
        return std::all_of(at, at + kBytes, [=](char c) { return c == value; });
    }
    char* at;
};

/// A file with kBytes of one value.
struct File {
    File() : fd(memfd_create("file", 0)) {}
    ~File() { close(fd); }
    void fill(char value) const {
        const std::string bytes(kBytes, value);
        EXPECT_EQ(pwrite(fd, bytes.data(), kBytes, 0), static_cast<ssize_t>(kBytes));
    }
    int fd;
};

/// An io_uring with one request at a time.
class Ring {
  public:
    Ring() {
        io_uring_params params{};
        fd_ = static_cast<int>(syscall(SYS_io_uring_setup, kEntries, &params));
        if (fd_ < 0) {
            return;
        }
        const std::size_t bytes =
            std::max<std::size_t>(params.sq_off.array + params.sq_entries * sizeof(unsigned),
                                  params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
        auto* const rings = static_cast<char*>(map(bytes, IORING_OFF_SQ_RING));
        sqes_ = static_cast<io_uring_sqe*>(
            map(params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
        tail_ = reinterpret_cast<unsigned*>(rings + params.sq_off.tail);
        array_ = reinterpret_cast<unsigned*>(rings + params.sq_off.array);
        mask_ = params.sq_entries - 1;
        done_head_ = reinterpret_cast<unsigned*>(rings + params.cq_off.head);
        done_mask_ = params.cq_entries - 1;
        done_ = reinterpret_cast<io_uring_cqe*>(rings + params.cq_off.cqes);
    }
    ~Ring() {
        if (fd_ >= 0) {
            close(fd_);
        }
    }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    bool is_open() const { return fd_ >= 0; }

    /// Registers the memory as a fixed buffer, which pins it.
    bool fix(const Memory& memory) const {
        const iovec place{memory.at, kBytes};
        return syscall(SYS_io_uring_register, fd_, IORING_REGISTER_BUFFERS, &place, 1) == 0;
    }
    /// Returns the bytes read, or a negative errno value.
    int read(const File& file, const Memory& memory, bool fixed) {
        const unsigned tail = *tail_;
        io_uring_sqe& entry = sqes_[tail & mask_];
        std::memset(&entry, 0, sizeof entry);
        entry.opcode = fixed ? IORING_OP_READ_FIXED : IORING_OP_READ;
        entry.flags = IOSQE_ASYNC;  // A thread of the kernel executes the request.
        entry.fd = file.fd;
        entry.addr = reinterpret_cast<std::uintptr_t>(memory.at);
        entry.len = kBytes;
        array_[tail & mask_] = tail & mask_;
        std::atomic_ref(*tail_).store(tail + 1, std::memory_order_release);
        if (syscall(SYS_io_uring_enter, fd_, 1, 1, IORING_ENTER_GETEVENTS, nullptr, 0UL) != 1) {
            return -errno;
        }
        const unsigned head = *done_head_;
        const int result = done_[head & done_mask_].res;
        std::atomic_ref(*done_head_).store(head + 1, std::memory_order_release);
        return result;
    }

  private:
    void* map(std::size_t bytes, std::uint64_t what) const {
        void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                              fd_, static_cast<off_t>(what));
        EXPECT_NE(at, MAP_FAILED);
        return at;
    }

    int fd_ = -1;
    io_uring_sqe* sqes_ = nullptr;
    unsigned* tail_ = nullptr;
    unsigned* array_ = nullptr;
    unsigned mask_ = 0;
    unsigned* done_head_ = nullptr;
    unsigned done_mask_ = 0;
    io_uring_cqe* done_ = nullptr;
};

Owned<ibv_mr> reg(End& end, const Memory& memory) {
    return Owned<ibv_mr>(ibv_reg_mr(end.pd.get(), memory.at, kBytes, kAllAccess));
}

/// Returns what a peer reads from the memory.
std::string read_by_peer(Pair& p, const Memory& memory, const ibv_mr& mr) {
    Send s(IBV_WR_RDMA_READ);
    s.from(p.a.region(), 0, kPage).at(reinterpret_cast<std::uintptr_t>(memory.at), mr.rkey);
    EXPECT_EQ(s.post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    return {reinterpret_cast<const char*>(p.a.memory.data()), kPage};
}

TEST(AsyncIo, BuffersThatIoUringPinsWhileTheyAreRegisteredStayWhereTheyAre) {
    Pair p;
    const File file;
    const Memory memory;
    Owned<ibv_mr> mr = reg(p.b, memory);
    ASSERT_NE(mr, nullptr);
    Ring ring;
    if (!ring.is_open()) {
        GTEST_SKIP() << "no io_uring here: " << std::strerror(errno);
    }
    ASSERT_TRUE(ring.fix(memory)) << std::strerror(errno);
    file.fill('r');
    ASSERT_EQ(ring.read(file, memory, true), static_cast<int>(kBytes));
    EXPECT_TRUE(memory.all('r'));
    EXPECT_TRUE(read_by_peer(p, memory, *mr) == std::string(kPage, 'r'));
    mr.reset();
    file.fill('d');
    ASSERT_EQ(ring.read(file, memory, true), static_cast<int>(kBytes));
    EXPECT_TRUE(memory.all('d'));
    // Memory that is registered next is not affected either.
    const Memory other;
    mr = reg(p.b, other);
    ASSERT_NE(mr, nullptr);
    ASSERT_EQ(ring.read(file, memory, true), static_cast<int>(kBytes));
    EXPECT_TRUE(other.all(1));
    EXPECT_TRUE(read_by_peer(p, other, *mr) == std::string(kPage, 1));
}

TEST(AsyncIo, BuffersThatIoUringHasPinnedAreRegisteredWhereTheyAre) {
    Pair p;
    const File file;
    const Memory memory;
    Ring ring;
    if (!ring.is_open()) {
        GTEST_SKIP() << "no io_uring here: " << std::strerror(errno);
    }
    ASSERT_TRUE(ring.fix(memory)) << std::strerror(errno);
    const Owned<ibv_mr> mr = reg(p.b, memory);
    ASSERT_NE(mr, nullptr);
    file.fill('f');
    ASSERT_EQ(ring.read(file, memory, true), static_cast<int>(kBytes));
    EXPECT_TRUE(memory.all('f'));
    EXPECT_TRUE(read_by_peer(p, memory, *mr) == std::string(kPage, 'f'));
}

/// Registers memory many times while `read` reads a file into it, which must always succeed.
void register_meanwhile(const Memory& memory, const std::function<long()>& read) {
    End end(0);
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> good{0};
    std::atomic<std::uint64_t> bad{0};
    std::thread reader([&] {
        while (!stop.load()) {
            (read() == static_cast<long>(kBytes) ? good : bad).fetch_add(1);
        }
    });
    while (good.load() + bad.load() == 0) {
        std::this_thread::yield();
    }
    for (int round = 0; round < 200; ++round) {
        EXPECT_NE(reg(end, memory), nullptr);
    }
    stop.store(true);
    reader.join();
    EXPECT_EQ(bad.load(), 0U) << "of " << good.load();
}

TEST(AsyncIo, NoReadOfIoUringFailsWhileItsMemoryIsRegistered) {
    const File file;
    const Memory memory;
    file.fill('u');
    Ring ring;
    if (!ring.is_open()) {
        GTEST_SKIP() << "no io_uring here: " << std::strerror(errno);
    }
    register_meanwhile(memory, [&] { return ring.read(file, memory, false); });
    EXPECT_TRUE(memory.all('u'));
}

TEST(AsyncIo, NoReadOfAioFailsWhileItsMemoryIsRegistered) {
    const File file;
    const Memory memory;
    file.fill('a');
    aio_context_t context = 0;
    if (syscall(SYS_io_setup, 1, &context) != 0) {
        GTEST_SKIP() << "no aio here: " << std::strerror(errno);
    }
    register_meanwhile(memory, [&]() -> long {
        iocb request{};
        request.aio_fildes = static_cast<std::uint32_t>(file.fd);
        request.aio_lio_opcode = IOCB_CMD_PREAD;
        request.aio_buf = reinterpret_cast<std::uintptr_t>(memory.at);
        request.aio_nbytes = kBytes;
        iocb* list = &request;
        io_event event{};
        if (syscall(SYS_io_submit, context, 1, &list) != 1 ||
            syscall(SYS_io_getevents, context, 1, 1, &event, nullptr) != 1) {
            return -errno;
        }
        return static_cast<long>(event.res);
    });
    EXPECT_TRUE(memory.all('a'));
    syscall(SYS_io_destroy, context);
}

}  // namespace
}  // namespace softib::test
