// SPDX-License-Identifier: BSD-2-Clause
// A process with registered memory and open connections makes children of every kind: a child can
// do anything to its copy of the memory, and the parent's traffic never notices.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include "rig.h"

namespace faults {
namespace {

constexpr std::uint32_t kBytes = 4096;
constexpr std::size_t kQuietBytes = 1 << 20;
constexpr int kForks = 20;

/// Writes pattern after pattern into a partner and reads it back.
struct Loop {
    explicit Loop(Device& d) : device(d), memory(2 * kBytes) {
        mr = device.reg(memory.data(), memory.size());
        qp = device.make_qp({});
        to_init(qp);
    }
    void post(ibv_wr_opcode opcode, const Address& peer, std::size_t at) {
        ibv_sge sge{reinterpret_cast<std::uint64_t>(memory.data() + at), kBytes, mr->lkey};
        ibv_send_wr wr{};
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = opcode;
        wr.send_flags = IBV_SEND_SIGNALED;
        wr.wr.rdma.remote_addr = peer.addr;
        wr.wr.rdma.rkey = peer.rkey;
        ibv_send_wr* bad = nullptr;
        EXPECT(ibv_post_send(qp, &wr, &bad) == 0, "ibv_post_send");
        const Deadline deadline;
        std::array<ibv_wc, 1> wc;
        while (device.poll(wc) == 0) {
            EXPECT(!deadline.over(), "an operation hangs");
        }
        EXPECT(wc[0].status == IBV_WC_SUCCESS, ibv_wc_status_str(wc[0].status));
    }
    void round(const Address& peer, std::uint32_t message) {
        fill_pattern(memory.data(), kBytes, message);
        post(IBV_WR_RDMA_WRITE, peer, 0);
        std::memset(memory.data() + kBytes, 0, kBytes);
        post(IBV_WR_RDMA_READ, peer, kBytes);
        EXPECT(first_wrong(memory.data() + kBytes, kBytes, message) == SIZE_MAX,
               "wrong bytes came back");
    }
    Device& device;
    Memory memory;
    ibv_mr* mr = nullptr;
    ibv_qp* qp = nullptr;
};

int run_partner() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Device device(64);
    Loop loop(device);
    Address peer;
    if (!put(kChildFd, device.address(loop.qp, loop.mr)) || !get(kChildFd, peer)) {
        return 1;
    }
    to_rts(loop.qp, peer);
    char end = 0;
    EXPECT(put(kChildFd, 'r'), "no parent");
    get(kChildFd, end);
    return 0;
}

/// Runs in a child: it overwrites the inherited memory, and uses the fabric itself.
void be_child(int number, Memory& quiet, Device& inherited, const Loop& inherited_loop) {
    EXPECT(first_wrong(quiet.data(), quiet.size(), 77) == SIZE_MAX, "the child sees other bytes");
    std::memset(quiet.data(), 0xFF, quiet.size());
    if (number % 3 == 1) {
        // Objects that the parent opened do nothing here, and do not disturb the parent.
        ibv_send_wr wr{};
        wr.opcode = IBV_WR_SEND;
        ibv_send_wr* bad = nullptr;
        EXPECT(ibv_post_send(inherited_loop.qp, &wr, &bad) != 0,
               "a child posts on its parent's queue pair");
        ibv_destroy_qp(inherited_loop.qp);
        ibv_dealloc_pd(inherited.pd);
        ibv_destroy_cq(inherited.cq);
        ibv_destroy_comp_channel(inherited.channel);
    }
    if (number % 3 == 2) {
        Device own(64);
        Loop a(own);
        Loop b(own);
        to_rts(a.qp, own.address(b.qp));
        to_rts(b.qp, own.address(a.qp));
        for (std::uint32_t i = 1; i < 20; ++i) {
            a.round(own.address(b.qp, b.mr), i);
        }
    }
    _exit(0);
}

void expect_success(int status, const char* what) {
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0, std::string(what) + " failed");
}

int run_parent() {
    g_story = "parent";
    Child partner = start_child({"partner"}, {{"SOFTIB_HOST", "h1"}});
    Device device(64);
    Loop loop(device);
    Memory quiet(kQuietBytes);
    fill_pattern(quiet.data(), quiet.size(), 77);
    device.reg(quiet.data(), quiet.size());
    Address peer;
    EXPECT(get(partner.fd, peer) && put(partner.fd, device.address(loop.qp, loop.mr)),
           "no partner");
    to_rts(loop.qp, peer);
    char ready = 0;
    EXPECT(get(partner.fd, ready), "no partner");

    std::atomic<bool> end{false};
    std::atomic<std::uint32_t> rounds{0};
    std::thread traffic([&] {
        while (!end) {
            loop.round(peer, ++rounds);
        }
    });
    for (int i = 0; i < kForks; ++i) {
        g_story = "fork " + std::to_string(i);
        const std::uint32_t before = rounds;
        const pid_t pid = fork();
        EXPECT(pid >= 0, "fork");
        if (pid == 0) {
            be_child(i, quiet, device, loop);
        }
        Child child{pid, -1};
        expect_success(end_child(child, 0), "a child");
        EXPECT(first_wrong(quiet.data(), quiet.size(), 77) == SIZE_MAX,
               "a child wrote into its parent");
        const Deadline deadline;
        while (rounds < before + 3) {
            EXPECT(!deadline.over(), "the parent's traffic stopped");
            std::this_thread::yield();
        }
    }
    g_story = "other ways to start a program";
    expect_success(system("true"), "system");
    FILE* const pipe = popen("echo hello", "re");
    char line[16] = {};
    EXPECT(pipe != nullptr && fgets(line, sizeof line, pipe) != nullptr &&
               std::strcmp(line, "hello\n") == 0,
           "popen");
    expect_success(pclose(pipe), "pclose");
    pid_t spawned = 0;
    char name[] = "true";
    char* argv[] = {name, nullptr};
    EXPECT(posix_spawnp(&spawned, name, nullptr, nullptr, argv, environ) == 0, "posix_spawnp");
    int status = 0;
    EXPECT(waitpid(spawned, &status, 0) == spawned, "waitpid");
    expect_success(status, "posix_spawn");
    end = true;
    traffic.join();
    quiet.check_guards("quiet");
    EXPECT(put(partner.fd, 'e'), "no partner");
    expect_success(end_child(partner, 0), "the partner");
    std::printf("%d forks, %u rounds of traffic meanwhile\n", kForks, rounds.load());
    return 0;
}

}  // namespace
}  // namespace faults

int main(int argc, char**) {
    return argc > 1 ? faults::run_partner() : faults::run_parent();
}
