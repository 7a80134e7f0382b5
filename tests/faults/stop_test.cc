// SPDX-License-Identifier: BSD-2-Clause
// A peer is stopped (SIGSTOP) at any instruction and continued later: processes that wait for it
// wait only that long, and everything that it was doing is completed.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>

#include "rig.h"

namespace faults {
namespace {

constexpr std::uint32_t kBytes = 2048;
constexpr std::uint32_t kSlots = 16;
constexpr int kStops = 30;

/// Sends numbered messages for ever.
int run_sender() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Device device(64);
    Memory memory(kBytes);
    ibv_mr* const mr = device.reg(memory.data(), memory.size());
    ibv_qp* const qp = device.make_qp({});
    to_init(qp);
    Address peer;
    if (!put(kChildFd, device.address(qp, mr)) || !get(kChildFd, peer)) {
        return 1;
    }
    to_rts(qp, peer, {.timeout = 20, .retry_cnt = 7});
    for (std::uint32_t message = 1;; ++message) {
        fill_pattern(memory.data(), kBytes, message);
        ibv_sge sge{reinterpret_cast<std::uint64_t>(memory.data()), kBytes, mr->lkey};
        ibv_send_wr wr{};
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_SEND;
        wr.send_flags = IBV_SEND_SIGNALED;
        ibv_send_wr* bad = nullptr;
        EXPECT(ibv_post_send(qp, &wr, &bad) == 0, "ibv_post_send");
        std::array<ibv_wc, 1> wc;
        while (device.poll(wc) == 0) {
        }
        EXPECT(wc[0].status == IBV_WC_SUCCESS, ibv_wc_status_str(wc[0].status));
    }
}

int run_all() {
    Random random(11);
    Device device(1024);
    Memory memory(std::size_t{kSlots} * kBytes);
    ibv_mr* const mr = device.reg(memory.data(), memory.size());
    Child sender = start_child({"sender"}, {{"SOFTIB_HOST", "h1"}});
    ibv_qp* const qp = device.make_qp({});
    to_init(qp);
    Address address;
    EXPECT(get(sender.fd, address), "no sender");
    to_rts(qp, address);
    for (std::uint32_t i = 0; i < kSlots; ++i) {
        post_recv(qp, i, memory.data() + std::size_t{i} * kBytes, kBytes, mr->lkey);
    }
    EXPECT(put(sender.fd, device.address(qp, mr)), "no sender");
    std::uint32_t received = 0;
    const auto pump = [&] {
        std::array<ibv_wc, kSlots> done;
        const int n = device.poll(done);
        for (int i = 0; i < n; ++i) {
            const ibv_wc& wc = done[static_cast<std::size_t>(i)];
            std::byte* const at = memory.data() + wc.wr_id * kBytes;
            EXPECT(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
            EXPECT(first_wrong(at, kBytes, ++received) == SIZE_MAX,
                   "a message is wrong or out of order");
            post_recv(qp, wc.wr_id, at, kBytes, mr->lkey);
        }
    };
    for (int i = 0; i < kStops; ++i) {
        g_story = "stop " + std::to_string(i);
        const auto moment = Clock::now() + std::chrono::microseconds(random.below(2000));
        while (Clock::now() < moment) {
            pump();
        }
        kill(sender.pid, SIGSTOP);
        pump();
        if (i % 10 == 9) {
            // A deregistration that waits for the stopped peer gives up after a while.
            Memory other(kBytes);
            ibv_mr* const short_lived = device.reg(other.data(), other.size());
            device.dereg(short_lived);
        }
        const std::uint32_t before = received;
        kill(sender.pid, SIGCONT);
        const Deadline deadline;
        while (received < before + 2 * kSlots) {
            EXPECT(!deadline.over(), "nothing comes any more");
            pump();
        }
    }
    memory.check_guards("receive ring");
    end_child(sender, SIGKILL);
    std::printf("%d stops, %u messages in order\n", kStops, received);
    return 0;
}

}  // namespace
}  // namespace faults

int main(int argc, char**) {
    return argc > 1 ? faults::run_sender() : faults::run_all();
}
