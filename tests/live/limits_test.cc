// SPDX-License-Identifier: BSD-2-Clause
// The limits that ibv_query_device reports hold for an HCA, over all processes.
#include "runtime/shm/limits.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>
#include <thread>

#include "runtime/direct/process.h"
#include "runtime/shm/program_place.h"
#include "runtime/shm/rpc.h"
#include "verbs_rig.h"

namespace softib::test {
namespace {

using shm::ObjectKind;

/// Returns the fabric's memory, as another process sees it.
const shm::Arena& arena() {
    static const shm::ProgramPlace place = shm::program_place();
    static direct::Process* const process = direct::Process::attach(place.dir, place.hosts);
    EXPECT_NE(process, nullptr);
    return process->self.arena;
}

std::int64_t in_use(unsigned host, ObjectKind kind) {
    const shm::HcaRecord& hca = arena().hcas[arena().hosts[host].hca_first];
    return hca.objects[static_cast<std::size_t>(kind)].load();
}

/// Lowers a limit of the first host so that a given number of objects still fits; restores the
/// limit at its end.
class LowLimit {
  public:
    LowLimit(ObjectKind kind, std::uint32_t more)
        : limit_(arena().header->object_limits[static_cast<std::size_t>(kind)]),
          before_(limit_.load()) {
        limit_.store(static_cast<std::uint32_t>(in_use(0, kind)) + more);
    }
    ~LowLimit() { limit_.store(before_); }
    LowLimit(const LowLimit&) = delete;
    LowLimit& operator=(const LowLimit&) = delete;

  private:
    std::atomic<std::uint32_t>& limit_;
    std::uint32_t before_;
};

template <typename Object>
void expect_limit(ObjectKind kind, int ibv_device_attr::* advertised,
                  const std::function<Owned<Object>(const End&)>& make) {
    const End here(0);
    const End there(1);
    const std::int64_t before = in_use(0, kind);
    const LowLimit low(kind, 2);
    ibv_device_attr attr{};
    ASSERT_EQ(ibv_query_device(here.context.get(), &attr), 0);
    EXPECT_EQ(attr.*advertised, before + 2);
    {
        const Owned<Object> first = make(here);
        EXPECT_NE(first, nullptr);
        Owned<Object> second = make(here);
        EXPECT_NE(second, nullptr);
        errno = 0;
        EXPECT_EQ(make(here), nullptr);
        EXPECT_EQ(errno, ENOMEM);
        second.reset();
        EXPECT_NE(make(here), nullptr) << "what was given back can be had again";
        EXPECT_NE(make(there), nullptr) << "another HCA has room of its own";
    }
    EXPECT_EQ(in_use(0, kind), before);
}

TEST(Limits, ADeadProcessGivesBackWhatItHad) {
    const End end(0);
    const std::int64_t before = in_use(0, ObjectKind::kPd);
    int told[2];
    ASSERT_EQ(pipe(told), 0);
    const pid_t child = fork();
    if (child == 0) {
        int count = 0;
        ibv_device** const list = ibv_get_device_list(&count);
        ibv_context* const context = list != nullptr ? ibv_open_device(list[0]) : nullptr;
        char good = context != nullptr ? 1 : 0;
        for (int i = 0; i < 10 && good != 0; ++i) {
            good = ibv_alloc_pd(context) != nullptr ? 1 : 0;
        }
        static_cast<void>(!write(told[1], &good, 1));
        pause();
    }
    char good = 0;
    ASSERT_EQ(read(told[0], &good, 1), 1);
    ASSERT_EQ(good, 1);
    EXPECT_EQ(in_use(0, ObjectKind::kPd), before + 10);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(told[0]);
    close(told[1]);
    const auto limit = std::chrono::steady_clock::now() + kLong;
    // The objects of processes of earlier tests may be freed meanwhile too.
    while (in_use(0, ObjectKind::kPd) > before) {
        ASSERT_LT(std::chrono::steady_clock::now(), limit);
        std::this_thread::yield();
    }
}

TEST(Limits, QueuePairs) {
    expect_limit<ibv_qp>(ObjectKind::kQp, &ibv_device_attr::max_qp, [](const End& end) {
        ibv_qp_init_attr attr{};
        attr.send_cq = attr.recv_cq = end.send_cq.get();
        attr.cap = {1, 1, 1, 1, 0};
        attr.qp_type = IBV_QPT_RC;
        return Owned<ibv_qp>(ibv_create_qp(end.pd.get(), &attr));
    });
}

TEST(Limits, CompletionQueues) {
    expect_limit<ibv_cq>(ObjectKind::kCq, &ibv_device_attr::max_cq, [](const End& end) {
        return Owned<ibv_cq>(ibv_create_cq(end.context.get(), 4, nullptr, nullptr, 0));
    });
}

TEST(Limits, MemoryRegions) {
    expect_limit<ibv_mr>(ObjectKind::kMr, &ibv_device_attr::max_mr, [](const End& end) {
        return Owned<ibv_mr>(
            ibv_reg_mr(end.pd.get(), end.mr->addr, 64, unsigned{IBV_ACCESS_LOCAL_WRITE}));
    });
}

TEST(Limits, MemoryWindows) {
    expect_limit<ibv_mw>(ObjectKind::kMw, &ibv_device_attr::max_mw, [](const End& end) {
        return Owned<ibv_mw>(ibv_alloc_mw(end.pd.get(), IBV_MW_TYPE_2));
    });
}

TEST(Limits, ProtectionDomains) {
    expect_limit<ibv_pd>(ObjectKind::kPd, &ibv_device_attr::max_pd, [](const End& end) {
        return Owned<ibv_pd>(ibv_alloc_pd(end.context.get()));
    });
}

TEST(Limits, SharedReceiveQueues) {
    expect_limit<ibv_srq>(ObjectKind::kSrq, &ibv_device_attr::max_srq, [](const End& end) {
        ibv_srq_init_attr attr{};
        attr.attr = {4, 1, 0};
        return Owned<ibv_srq>(ibv_create_srq(end.pd.get(), &attr));
    });
}

TEST(Limits, AddressHandles) {
    expect_limit<ibv_ah>(ObjectKind::kAh, &ibv_device_attr::max_ah, [](const End& end) {
        ibv_ah_attr attr{};
        attr.dlid = 1;
        attr.port_num = 1;
        return Owned<ibv_ah>(ibv_create_ah(end.pd.get(), &attr));
    });
}

TEST(Limits, DeviceMemoryOfAllAllocationsTogether) {
    const End end(0);
    ibv_device_attr_ex attr{};
    ASSERT_EQ(ibv_query_device_ex(end.context.get(), nullptr, &attr), 0);
    ibv_alloc_dm_attr half{};
    half.length = attr.max_dm_size / 2;
    const Owned<ibv_dm> first(ibv_alloc_dm(end.context.get(), &half));
    Owned<ibv_dm> second(ibv_alloc_dm(end.context.get(), &half));
    ASSERT_NE(first, nullptr);
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(ibv_alloc_dm(end.context.get(), &half), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    second.reset();
    second.reset(ibv_alloc_dm(end.context.get(), &half));
    EXPECT_NE(second, nullptr);
}

/// A program can have as many protection domains as ibv_query_device says.
TEST(Limits, AllProtectionDomainsCanBeHad) {
    const auto context = open_host(0);
    ibv_device_attr attr{};
    ASSERT_EQ(ibv_query_device(context.get(), &attr), 0);
    std::vector<Owned<ibv_pd>> all;
    while (Owned<ibv_pd> pd{ibv_alloc_pd(context.get())}) {
        all.push_back(std::move(pd));
    }
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(all.size(), static_cast<std::size_t>(attr.max_pd));
}

TEST(Limits, DomainsOfLongAgoAreUsedAgain) {
    const auto context = open_host(0);
    for (int i = 0; i < 200'000; ++i) {
        ASSERT_NE(Owned<ibv_pd>(ibv_alloc_pd(context.get())), nullptr) << i;
    }
}

/// Attaches `count` times. Runs in a child process, which closes its own descriptors of the
/// fabric's memory.
int attach_many(std::size_t count) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    std::set<std::uint32_t> slots;
    for (std::size_t i = 0; i < count; ++i) {
        const int fd = shm::rpc_connect(std::getenv("SOFTIB_DIR"));
        shm::Message message;
        shm::request::Attach::Reply reply;
        if (fd < 0 || shm::rpc_ask(fd, shm::request::Attach{.hosts = "h0"}, message, reply) != 0) {
            return 1;
        }
        close(reply.file);
        slots.insert(reply.owner);
    }
    return slots.size() == count ? 0 : 2;
}

TEST(Limits, MoreThanAThousandProcessesOnAFabric) {
    const pid_t child = fork();
    if (child == 0) {
        _exit(attach_many(2000));
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace softib::test
