// SPDX-License-Identifier: BSD-2-Clause
// GPU memory through the public verbs, with a libcuda that has no GPU: within one process, and with
// a second process. That is this program started with --peer; it maps GPU memory if it can, and its
// helper thread copies if not.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "core/base/test_effort.h"
#include "fake_cuda.h"
#include "verbs_rig.h"

namespace softib::test {
namespace {

constexpr std::uint32_t kBytes = 1 << 20;

/// Returns bytes that differ from byte to byte and from seed to seed.
std::vector<std::byte> contents(std::uint8_t seed, std::size_t bytes = kBytes) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        data[i] = static_cast<std::byte>(i * 7 + i / 251 + seed);
    }
    return data;
}

std::vector<std::byte> part(const std::vector<std::byte>& data, std::size_t offset,
                            std::size_t bytes) {
    const auto begin = data.begin() + static_cast<std::ptrdiff_t>(offset);
    return {begin, begin + static_cast<std::ptrdiff_t>(bytes)};
}

/// A registered buffer on the GPU.
struct GpuBuffer {
    GpuBuffer(ibv_pd* pd, FakeGpuMemory kind, std::size_t size = kBytes)
        : bytes(size),
          at(fake_gpu_allocate(kind, size)),
          mr(ibv_reg_mr(pd, reinterpret_cast<void*>(at), size, kAllAccess)) {}
    ~GpuBuffer() {
        mr.reset();
        fake_gpu_free(at);
    }
    void fill(std::uint8_t seed) { fake_gpu_put(at, contents(seed, bytes).data(), bytes); }
    std::vector<std::byte> copy() const {
        std::vector<std::byte> data(bytes);
        fake_gpu_get(data.data(), at, bytes);
        return data;
    }

    std::size_t bytes;
    std::uint64_t at;
    Owned<ibv_mr> mr;
};

ibv_wc_status run(Send& request, End& end) {
    EXPECT_EQ(request.post(end.qp.get()), 0);
    return next(end.send_cq.get()).status;
}

class OnGpu : public testing::TestWithParam<FakeGpuMemory> {
  protected:
    void SetUp() override {
        if (on_packet_path()) {
            GTEST_SKIP() << "the packet path has no GPU memory";
        }
    }
};

INSTANTIATE_TEST_SUITE_P(Gpu, OnGpu,
                         testing::Values(FakeGpuMemory::kAllocated, FakeGpuMemory::kMapped,
                                         FakeGpuMemory::kUnsharable));

TEST_P(OnGpu, WritesReadsAndSendsEndWhereTheyShould) {
    Pair p;
    GpuBuffer a(p.a.pd.get(), GetParam());
    GpuBuffer b(p.b.pd.get(), GetParam());
    ASSERT_NE(a.mr, nullptr);
    ASSERT_NE(b.mr, nullptr);
    a.fill(1);
    b.fill(2);
    Send write(IBV_WR_RDMA_WRITE);
    EXPECT_EQ(run(write.from(a.mr.get(), 0, kBytes).to(b.mr.get(), 0), p.a), IBV_WC_SUCCESS);
    EXPECT_TRUE(same(b.copy(), contents(1)));
    b.fill(3);
    Send read(IBV_WR_RDMA_READ);
    EXPECT_EQ(run(read.from(a.mr.get(), 0, kBytes).to(b.mr.get(), 0), p.a), IBV_WC_SUCCESS);
    EXPECT_TRUE(same(a.copy(), contents(3)));
    a.fill(4);
    ASSERT_EQ(
        post_recv(p.b.qp.get(), 1, {sge_of(b.mr.get(), 0, 1000), sge_of(p.b.region(), 0, 4096)}),
        0);
    Send send(IBV_WR_SEND);
    EXPECT_EQ(run(send.from(a.mr.get(), 500, 3000), p.a), IBV_WC_SUCCESS);
    EXPECT_EQ(next(p.b.recv_cq.get()).byte_len, 3000U);
    const auto sent = contents(4);
    EXPECT_TRUE(same(part(b.copy(), 0, 1000), part(sent, 500, 1000)));
    EXPECT_TRUE(same(p.b.memory.span(0, 2000), part(sent, 1500, 2000)));
}

TEST_P(OnGpu, HostAndGpuMix) {
    Pair p;
    GpuBuffer b(p.b.pd.get(), GetParam());
    b.fill(2);
    Send write(IBV_WR_RDMA_WRITE);
    EXPECT_EQ(run(write.from(p.a.region(), 10, 5000).to(b.mr.get(), 77), p.a), IBV_WC_SUCCESS);
    EXPECT_TRUE(same(part(b.copy(), 77, 5000), p.a.memory.span(10, 5000)));
    Send inlined(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
    char word[] = "from the request";
    inlined.sge(reinterpret_cast<std::uint64_t>(word), sizeof word, 0).to(b.mr.get(), 8);
    EXPECT_EQ(run(inlined, p.a), IBV_WC_SUCCESS);
    EXPECT_EQ(std::memcmp(b.copy().data() + 8, word, sizeof word), 0);
    // A READ after a WRITE, by which collective libraries make sure that the data have arrived.
    Send flush(IBV_WR_RDMA_READ);
    EXPECT_EQ(run(flush.from(p.a.region(), 0, 1).to(b.mr.get(), 8), p.a), IBV_WC_SUCCESS);
    EXPECT_EQ(p.a.memory.data()[0], std::byte{'f'});
}

TEST_P(OnGpu, AtomicsAddUp) {
    Pair p;
    GpuBuffer b(p.b.pd.get(), GetParam());
    std::uint64_t value = 40;
    fake_gpu_put(b.at + 16, &value, sizeof value);
    Send add(IBV_WR_ATOMIC_FETCH_AND_ADD);
    EXPECT_EQ(run(add.from(p.a.region(), 0, 8).to(b.mr.get(), 16).atomic(2), p.a), IBV_WC_SUCCESS);
    EXPECT_EQ(p.a.memory.word(0), 40U);
    Send swap(IBV_WR_ATOMIC_CMP_AND_SWP);
    EXPECT_EQ(run(swap.from(p.a.region(), 0, 8).to(b.mr.get(), 16).atomic(42, 7), p.a),
              IBV_WC_SUCCESS);
    EXPECT_EQ(p.a.memory.word(0), 42U);
    fake_gpu_get(&value, b.at + 16, sizeof value);
    EXPECT_EQ(value, 7U);
}

TEST_P(OnGpu, KeysAndBoundsCount) {
    Pair p;
    GpuBuffer b(p.b.pd.get(), GetParam());
    b.fill(2);
    Send beyond(IBV_WR_RDMA_WRITE);
    EXPECT_EQ(run(beyond.from(p.a.region(), 0, 64).to(b.mr.get(), kBytes - 63), p.a),
              IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(same(b.copy(), contents(2)));
}

TEST_P(OnGpu, ThreadsCopyAtTheSameTime) {
    const auto exchange = [kind = GetParam()](std::uint8_t number) {
        Pair p;
        GpuBuffer a(p.a.pd.get(), kind);
        GpuBuffer b(p.b.pd.get(), kind);
        for (int round = 0; round < effort(20, 5); ++round) {
            const auto seed = static_cast<std::uint8_t>(number * 50 + round);
            a.fill(seed);
            Send write(IBV_WR_RDMA_WRITE);
            EXPECT_EQ(run(write.from(a.mr.get(), 0, 10'000).to(b.mr.get(), 3), p.a),
                      IBV_WC_SUCCESS);
            EXPECT_TRUE(same(part(b.copy(), 3, 10'000), contents(seed, 10'000)));
        }
    };
    std::vector<std::thread> threads;
    for (std::uint8_t number = 0; number < 4; ++number) {
        threads.emplace_back(exchange, number);
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

TEST_P(OnGpu, RegistersByDmaBuf) {
    End end(0);
    const std::uint64_t at = fake_gpu_allocate(GetParam(), kBytes);
    const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    errno = 0;
    EXPECT_EQ(ibv_reg_dmabuf_mr(end.pd.get(), 0, 0, 0, -1, 0), nullptr);
    EXPECT_EQ(errno, EBADF);
    EXPECT_EQ(ibv_reg_dmabuf_mr(end.pd.get(), 0, kPage, end.memory.address(), fd, 0), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    const Owned<ibv_mr> mr(ibv_reg_dmabuf_mr(end.pd.get(), 0, kBytes, at, fd, kAllAccess));
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(mr->addr, reinterpret_cast<void*>(at));
    close(fd);
}

TEST_P(OnGpu, RegisteredAnewItIsElsewhere) {
    Pair p;
    GpuBuffer b(p.b.pd.get(), GetParam());
    GpuBuffer other(p.b.pd.get(), GetParam());
    other.fill(1);
    ASSERT_EQ(ibv_rereg_mr(b.mr.get(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
                           reinterpret_cast<void*>(other.at), kBytes, 0),
              0);
    Send write(IBV_WR_RDMA_WRITE);
    EXPECT_EQ(run(write.from(p.a.region(), 0, 64).at(other.at, b.mr->rkey), p.a), IBV_WC_SUCCESS);
    EXPECT_TRUE(same(part(other.copy(), 0, 64), p.a.memory.span(0, 64)));
}

TEST(PacketPath, RefusesMemoryOfAGpu) {
    if (!on_packet_path()) {
        GTEST_SKIP() << "a test of the packet path";
    }
    End end(0);
    const std::uint64_t at = fake_gpu_allocate(FakeGpuMemory::kAllocated, kBytes);
    errno = 0;
    EXPECT_EQ(ibv_reg_mr(end.pd.get(), reinterpret_cast<void*>(at), kBytes, kAllAccess), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    EXPECT_EQ(ibv_reg_dmabuf_mr(end.pd.get(), 0, kBytes, at, 0, kAllAccess), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    fake_gpu_free(at);
}

// --- Two processes ---------------------------------------------------------------------------

struct Address {
    std::uint32_t qpn;
    std::uint32_t rkey;
    std::uint64_t at;
    std::uint16_t lid;
};

enum class Order : std::uint32_t { kFill, kShow, kDeregister };
struct Command {
    Order order;
    std::uint8_t seed;
};

template <typename T>
bool get(int fd, T* data, std::size_t bytes = sizeof(T)) {
    for (std::size_t done = 0; done < bytes;) {
        const ssize_t n = read(fd, reinterpret_cast<char*>(data) + done, bytes - done);
        if (n <= 0) {
            return false;
        }
        done += static_cast<std::size_t>(n);
    }
    return true;
}

template <typename T>
void put(int fd, const T* data, std::size_t bytes = sizeof(T)) {
    EXPECT_EQ(write(fd, data, bytes), static_cast<ssize_t>(bytes));
}

void connect_to(End& end, const Address& peer) {
    ASSERT_EQ(to_init(end.qp.get(), end.options), 0);
    ASSERT_EQ(to_rtr(end.qp.get(), end.options, peer.qpn, peer.lid), 0);
    ASSERT_EQ(to_rts(end.qp.get(), end.options), 0);
}

/// Runs the other process: it has a registered buffer, and obeys orders from standard input.
int be_peer(FakeGpuMemory kind) {
    End end(1);
    GpuBuffer buffer(end.pd.get(), kind);
    const Address own{end.qp->qp_num, buffer.mr->rkey, buffer.at, lid_of(end.context.get())};
    put(STDOUT_FILENO, &own);
    Address peer{};
    if (!get(STDIN_FILENO, &peer)) {
        return 1;
    }
    connect_to(end, peer);
    const char ready = 1;
    put(STDOUT_FILENO, &ready);
    Command command{};
    while (get(STDIN_FILENO, &command)) {
        switch (command.order) {
            case Order::kFill:
                buffer.fill(command.seed);
                put(STDOUT_FILENO, &ready);
                break;
            case Order::kShow:
                put(STDOUT_FILENO, buffer.copy().data(), kBytes);
                break;
            case Order::kDeregister:
                buffer.mr.reset();
                put(STDOUT_FILENO, &ready);
                break;
        }
    }
    return 0;
}

class Peer {
  public:
    Peer(End& end, FakeGpuMemory kind, const char* device) {
        int to[2];
        int from[2];
        EXPECT_EQ(pipe2(to, O_CLOEXEC), 0);
        EXPECT_EQ(pipe2(from, O_CLOEXEC), 0);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
        std::string number = std::to_string(static_cast<unsigned>(kind));
        char program[] = "/proc/self/exe";
        char flag[] = "--peer";
        char* argv[] = {program, flag, number.data(), nullptr};
        setenv("FAKE_GPU_DEVICE", device, 1);
        EXPECT_EQ(posix_spawn(&pid_, program, &actions, nullptr, argv, environ), 0);
        unsetenv("FAKE_GPU_DEVICE");
        posix_spawn_file_actions_destroy(&actions);
        close(to[0]);
        close(from[1]);
        to_ = to[1];
        from_ = from[0];
        EXPECT_TRUE(test::get(from_, &address));
        const Address own{end.qp->qp_num, 0, 0, lid_of(end.context.get())};
        test::put(to_, &own);
        connect_to(end, address);
        answered();
    }
    ~Peer() {
        close(to_);
        close(from_);
        if (pid_ > 0) {
            waitpid(pid_, nullptr, 0);
        }
    }
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    void order(Order order, std::uint8_t seed = 0) {
        const Command command{order, seed};
        test::put(to_, &command);
        if (order != Order::kShow) {
            answered();
        }
    }
    std::vector<std::byte> show() {
        order(Order::kShow);
        std::vector<std::byte> data(kBytes);
        EXPECT_TRUE(test::get(from_, data.data(), data.size()));
        return data;
    }
    void kill() {
        ::kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }

    Address address{};

  private:
    void answered() {
        char ready = 0;
        EXPECT_TRUE(test::get(from_, &ready));
    }
    pid_t pid_ = 0;
    int to_ = -1;
    int from_ = -1;
};

bool comes_to(std::int64_t mappings) {
    for (std::chrono::milliseconds waited{}; waited < kLong; waited += 1ms) {
        if (fake_gpu_mappings() == mappings) {
            return true;
        }
        std::this_thread::sleep_for(1ms);
    }
    return false;
}

struct Far {
    FakeGpuMemory kind;
    const char* device;  ///< The peer's device; this process has device 1.
    bool mapped;
};

class FromAfar : public testing::TestWithParam<Far> {
  protected:
    void SetUp() override {
        if (on_packet_path()) {
            GTEST_SKIP() << "the packet path has no GPU memory";
        }
    }
};

INSTANTIATE_TEST_SUITE_P(Gpu, FromAfar,
                         testing::Values(Far{FakeGpuMemory::kAllocated, "1", true},
                                         Far{FakeGpuMemory::kMapped, "1", true},
                                         Far{FakeGpuMemory::kUnsharable, "1", false},
                                         Far{FakeGpuMemory::kMapped, "2", false}));

TEST_P(FromAfar, BytesGoThereAndBack) {
    End end(0);
    Peer peer(end, GetParam().kind, GetParam().device);
    GpuBuffer buffer(end.pd.get(), FakeGpuMemory::kMapped);
    for (std::uint8_t round = 0; round < 3; ++round) {
        buffer.fill(round);
        Send write(IBV_WR_RDMA_WRITE);
        write.from(buffer.mr.get(), 0, kBytes).at(peer.address.at, peer.address.rkey);
        ASSERT_EQ(run(write, end), IBV_WC_SUCCESS);
        EXPECT_TRUE(same(peer.show(), contents(round)));
        peer.order(Order::kFill, static_cast<std::uint8_t>(round + 100));
        Send read(IBV_WR_RDMA_READ);
        read.from(buffer.mr.get(), 0, kBytes).at(peer.address.at, peer.address.rkey);
        ASSERT_EQ(run(read, end), IBV_WC_SUCCESS);
        EXPECT_TRUE(same(buffer.copy(), contents(static_cast<std::uint8_t>(round + 100))));
    }
    EXPECT_EQ(fake_gpu_mappings(), GetParam().mapped ? 1 : 0);
    Send host(IBV_WR_RDMA_READ);
    ASSERT_EQ(run(host.from(end.region(), 0, 4096).at(peer.address.at + 5, peer.address.rkey), end),
              IBV_WC_SUCCESS);
    EXPECT_TRUE(same(end.memory.span(0, 4096), part(contents(102), 5, 4096)));
    Send add(IBV_WR_ATOMIC_FETCH_AND_ADD);
    add.from(end.region(), 0, 8).at(peer.address.at, peer.address.rkey).atomic(1);
    ASSERT_EQ(run(add, end), IBV_WC_SUCCESS);
    auto expected = contents(102);
    expected[0] = static_cast<std::byte>(static_cast<unsigned>(expected[0]) + 1);
    EXPECT_TRUE(same(peer.show(), expected));
    peer.order(Order::kDeregister);
    EXPECT_TRUE(comes_to(0)) << "what the peer deregistered is still mapped";
    Send late(IBV_WR_RDMA_READ);
    late.from(buffer.mr.get(), 0, 8).at(peer.address.at, peer.address.rkey);
    EXPECT_EQ(run(late, end), IBV_WC_REM_ACCESS_ERR);
}

TEST_P(FromAfar, WhenThePeerDiesNothingStaysMapped) {
    End end(0);
    Peer peer(end, GetParam().kind, GetParam().device);
    Send write(IBV_WR_RDMA_WRITE);
    ASSERT_EQ(run(write.from(end.region(), 0, 64).at(peer.address.at, peer.address.rkey), end),
              IBV_WC_SUCCESS);
    EXPECT_EQ(fake_gpu_mappings(), GetParam().mapped ? 1 : 0);
    peer.kill();
    EXPECT_TRUE(comes_to(0)) << "memory of a dead process is still mapped";
    Send late(IBV_WR_RDMA_WRITE);
    late.from(end.region(), 0, 64).at(peer.address.at, peer.address.rkey);
    EXPECT_EQ(run(late, end), IBV_WC_RETRY_EXC_ERR);
}

}  // namespace
}  // namespace softib::test

int main(int argc, char** argv) {
    if (argc == 3 && std::strcmp(argv[1], "--peer") == 0) {
        return softib::test::be_peer(static_cast<FakeGpuMemory>(std::atoi(argv[2])));
    }
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
