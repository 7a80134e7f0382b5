// SPDX-License-Identifier: BSD-2-Clause
// A peer writes to a few bytes of a page, which it reaches by system call, while another
// registration swaps that page for a shared one. The owner may not handle faults of the kernel, as
// no ordinary user may: still no write may fail or be lost.
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "rig.h"

namespace faults {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kOffset = 128;  // Offset, in their page, of the bytes that stay private.
constexpr int kRounds = 300;
constexpr std::uint64_t kWritesPerRound = 300;

void drop_ptrace_right() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2]{};
    EXPECT(syscall(SYS_capget, &header, data) == 0, "capget");
    data[0].effective &= ~(1U << CAP_SYS_PTRACE);
    EXPECT(syscall(SYS_capset, &header, data) == 0, "capset");
}

int run_writer() {
    Device device(64);
    Memory memory(8);
    ibv_mr* const mr = device.reg(memory.data(), memory.size());
    ibv_qp* const qp = device.make_qp({});
    to_init(qp);
    Address owner;
    if (!put(kChildFd, device.address(qp)) || !get(kChildFd, owner)) {
        return 1;
    }
    to_rts(qp, owner, {.timeout = 20, .retry_cnt = 7});
    std::uint64_t& value = *memory.at<std::uint64_t>(0);
    while (put(kChildFd, value) && get(kChildFd, owner)) {
        for (std::uint64_t i = 0; i < kWritesPerRound; ++i) {
            ++value;
            ibv_sge sge{reinterpret_cast<std::uint64_t>(memory.data()), 8, mr->lkey};
            ibv_send_wr wr{};
            wr.sg_list = &sge;
            wr.num_sge = 1;
            wr.opcode = IBV_WR_RDMA_WRITE;
            wr.send_flags = IBV_SEND_SIGNALED;
            wr.wr.rdma = {owner.addr, owner.rkey};
            ibv_send_wr* bad = nullptr;
            EXPECT(ibv_post_send(qp, &wr, &bad) == 0, "ibv_post_send");
            std::array<ibv_wc, 1> wc;
            while (device.poll(wc) == 0) {
            }
            EXPECT(wc[0].status == IBV_WC_SUCCESS, ibv_wc_status_str(wc[0].status));
        }
    }
    return 0;
}

int run_owner() {
    drop_ptrace_right();
    Device device(64);
    ibv_qp* const qp = device.make_qp({});
    to_init(qp);
    Child writer = start_child({"writer"}, {{"SOFTIB_HOST", "h1"}});
    Address peer;
    EXPECT(get(writer.fd, peer), "no writer");
    to_rts(qp, peer);
    EXPECT(put(writer.fd, device.address(qp)), "no writer");
    std::uint64_t written = 0;
    EXPECT(get(writer.fd, written), "no writer");
    Random random(5);
    for (int round = 0; round < kRounds; ++round) {
        g_story = "round " + std::to_string(round);
        void* const pages =
            mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT(pages != MAP_FAILED, "mmap");
        std::memset(pages, 0xA5, 2 * kPage);
        auto* const target = static_cast<std::byte*>(pages) + kOffset;
        ibv_mr* const small = device.reg(target, 64);
        EXPECT(put(writer.fd, device.address(qp, small)), "the writer is gone");
        const auto start = Clock::now();
        const auto pause = std::chrono::microseconds(random.below(200));
        while (Clock::now() - start < pause) {
        }
        ibv_mr* const whole = device.reg(pages, 2 * kPage);
        EXPECT(get(writer.fd, written), "the writer failed");
        std::uint64_t seen = 0;
        std::memcpy(&seen, target, sizeof seen);
        EXPECT(seen == written, "the last write is lost");
        device.dereg(whole);
        device.dereg(small);
        munmap(pages, 2 * kPage);
    }
    shutdown(writer.fd, SHUT_RDWR);
    end_child(writer, 0);
    std::printf("%d swaps under %llu writes\n", kRounds, static_cast<unsigned long long>(written));
    return 0;
}

}  // namespace
}  // namespace faults

int main(int argc, char** argv) {
    return argc > 1 && std::string(argv[1]) == "writer" ? faults::run_writer()
                                                        : faults::run_owner();
}
