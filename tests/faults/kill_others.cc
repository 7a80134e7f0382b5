// SPDX-License-Identifier: BSD-2-Clause
// The victim and the buddy of the kill loop.
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "kill.h"

namespace faults {

namespace {

/// Ends this process with the survivor, which alone needs it.
void die_with_survivor() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(120);
}

bool hung_up(int fd) {
    pollfd waiting{fd, 0, 0};
    return ::poll(&waiting, 1, 0) > 0;
}

/// Keeps a window of operations under way, for ever.
void send_for_ever(Device& device, ibv_qp* qp, const Plan& plan) {
    Memory memory(std::size_t{kWindow} * plan.bytes);
    ibv_mr* const mr = device.reg(memory.data(), memory.size());
    ibv_ah* const ah = plan.op == Op::kDatagram
                           ? make_ah(device.pd, static_cast<std::uint16_t>(plan.survivor.lid))
                           : nullptr;
    std::uint32_t message = 0;
    std::uint32_t under_way = 0;
    for (std::uint32_t round = 0;; ++round) {
        for (; under_way < kWindow; ++under_way) {
            ++message;
            std::byte* const from = memory.data() + std::size_t{message % kWindow} * plan.bytes;
            if (plan.op != Op::kRead && plan.op != Op::kAtomic) {
                fill_pattern(from, plan.bytes, message);
            }
            post_op(qp, plan.op, message, from, plan.bytes, mr->lkey, plan.survivor, ah);
        }
        std::array<ibv_wc, kWindow> done;
        const int n = device.poll(done);
        for (int i = 0; i < n; ++i) {
            EXPECT(done[static_cast<std::size_t>(i)].status == IBV_WC_SUCCESS,
                   "a victim's operation failed");
            --under_way;
        }
        if (n == 0 && round % 64 == 0 && hung_up(kChildFd)) {
            _exit(0);
        }
    }
}

/// Takes completions, for ever.
void receive_for_ever(Device& device, ibv_qp* qp, Memory& memory, const ibv_mr* mr) {
    for (;;) {
        std::array<ibv_wc, kRecvSlots> done;
        const int n = device.poll(done);
        for (int i = 0; i < n; ++i) {
            const ibv_wc& wc = done[static_cast<std::size_t>(i)];
            EXPECT(wc.status == IBV_WC_SUCCESS, "a victim's receive failed");
            post_recv(qp, wc.wr_id, memory.data() + wc.wr_id * (memory.size() / kRecvSlots),
                      memory.size() / kRecvSlots, mr->lkey);
        }
        if (n == 0) {
            // Waits for an event, as a program does that has nothing else to do; it spends half of
            // its time here.
            device.wait_event(1);
            if (hung_up(kChildFd)) {
                _exit(0);
            }
        }
    }
}

}  // namespace

void post_op(ibv_qp* qp, Op op, std::uint64_t wr_id, void* from, std::uint32_t bytes,
             std::uint32_t lkey, const Address& to, ibv_ah* ah) {
    const auto at = reinterpret_cast<std::uint64_t>(from);
    const std::uint32_t head = bytes / 2;
    // Two pieces make the library take its general path, with a park point between the pieces.
    ibv_sge sges[2] = {{at, head, lkey}, {at + head, bytes - head, lkey}};
    ibv_send_wr wr{};
    wr.wr_id = wr_id;
    wr.sg_list = sges;
    wr.num_sge = 2;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma.remote_addr = to.addr;
    wr.wr.rdma.rkey = to.rkey;
    switch (op) {
        case Op::kWrite:
            wr.opcode = IBV_WR_RDMA_WRITE;
            break;
        case Op::kWriteImm:
            wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
            wr.imm_data = static_cast<std::uint32_t>(wr_id);
            break;
        case Op::kRead:
            wr.opcode = IBV_WR_RDMA_READ;
            break;
        case Op::kAtomic:
            wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
            wr.num_sge = 1;
            sges[0].length = 8;
            wr.wr.atomic.remote_addr = to.addr;
            wr.wr.atomic.rkey = to.rkey;
            wr.wr.atomic.compare_add = 1;
            break;
        case Op::kDatagram:
            wr.opcode = IBV_WR_SEND;
            wr.wr.ud.ah = ah;
            wr.wr.ud.remote_qpn = to.qpn;
            wr.wr.ud.remote_qkey = kQKey;
            break;
        default:
            wr.opcode = IBV_WR_SEND;
            break;
    }
    ibv_send_wr* bad = nullptr;
    EXPECT(ibv_post_send(qp, &wr, &bad) == 0, "ibv_post_send");
}

int run_victim() {
    die_with_survivor();
    Plan plan{};
    if (!get(kChildFd, plan)) {
        return 0;
    }
    Device device(256);
    Memory memory(std::size_t{kRecvSlots} * (plan.bytes + kGrhBytes));
    ibv_mr* const mr = device.reg(memory.data(), memory.size());
    ibv_qp* const qp = device.make_qp({.type = plan.op == Op::kDatagram ? IBV_QPT_UD : IBV_QPT_RC});
    to_init(qp);
    if (plan.role == Role::kVictimReceives) {
        for (std::uint32_t i = 0; i < kRecvSlots; ++i) {
            post_recv(qp, i, memory.data() + i * (memory.size() / kRecvSlots),
                      memory.size() / kRecvSlots, mr->lkey);
        }
    }
    to_rts(qp, plan.survivor, {.timeout = 14, .retry_cnt = 7});
    char go = 0;
    if (!put(kChildFd, device.address(qp, mr)) || !get(kChildFd, go)) {
        return 0;
    }
    if (plan.role == Role::kVictimSends) {
        send_for_ever(device, qp, plan);
    }
    receive_for_ever(device, qp, memory, mr);
    return 0;
}

int run_buddy() {
    die_with_survivor();
    Address survivor;
    Device device(256);
    Memory memory(kSmallBytes);
    ibv_mr* const mr = device.reg(memory.data(), memory.size());
    ibv_qp* const qp = device.make_qp({});
    to_init(qp);
    if (!put(kChildFd, device.address(qp, mr)) || !get(kChildFd, survivor)) {
        return 1;
    }
    to_rts(qp, survivor, {.timeout = 18, .retry_cnt = 7});
    std::uint32_t message = 0;
    std::uint32_t count = 0;
    while (get(kChildFd, count)) {
        alarm(120);
        for (std::uint32_t i = 0; i < count; ++i) {
            fill_pattern(memory.data(), kSmallBytes, ++message);
            post_op(qp, Op::kSend, message, memory.data(), kSmallBytes, mr->lkey, survivor,
                    nullptr);
            const Deadline deadline;
            std::array<ibv_wc, 1> done;
            while (device.poll(done) == 0) {
                EXPECT(!deadline.over(), "the buddy's message hangs");
            }
            EXPECT(done[0].status == IBV_WC_SUCCESS && done[0].wr_id == message,
                   std::string("the buddy's message failed: ") + ibv_wc_status_str(done[0].status));
        }
        if (!put(kChildFd, message)) {
            return 1;
        }
    }
    return 0;
}

}  // namespace faults
