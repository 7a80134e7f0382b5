// SPDX-License-Identifier: BSD-2-Clause
// A program on the packet path whose carrier dies: every request that was posted comes back as
// flushed, once; asynchronous events tell of the device, its queue pairs and its shared receive
// queues; and objects that are made afterwards work, unless the daemon died as well.
//
//     carrier_test [daemon]
//
// Prints "waiting" when the test around it may kill the carrier, and "restored" at the end.
#include <poll.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "rig.h"

namespace faults {
namespace {

constexpr std::size_t kBytes = 64;
constexpr std::uint32_t kSends = 3;
constexpr std::uint32_t kReceives = 4;

enum Name : std::uint64_t { kDone = 100, kSend = 200, kReceive = 300, kLate = 400, kShared = 500 };

int post(ibv_qp* qp, std::uint64_t wr_id, void* at, std::uint32_t lkey, bool signaled) {
    ibv_sge sge{reinterpret_cast<std::uint64_t>(at), kBytes, lkey};
    ibv_send_wr wr{};
    wr.wr_id = wr_id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = signaled ? unsigned{IBV_SEND_SIGNALED} : 0U;
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(qp, &wr, &bad);
}

/// A shared receive queue, if one is wanted.
class SharedQueue {
  public:
    SharedQueue(Device& device, bool wanted) {
        ibv_srq_init_attr init{};
        init.attr.max_wr = 16;
        init.attr.max_sge = 1;
        srq_ = wanted ? ibv_create_srq(device.pd, &init) : nullptr;
        EXPECT(!wanted || srq_ != nullptr, "ibv_create_srq");
    }
    ~SharedQueue() { EXPECT(srq_ == nullptr || ibv_destroy_srq(srq_) == 0, "ibv_destroy_srq"); }
    SharedQueue(const SharedQueue&) = delete;
    SharedQueue& operator=(const SharedQueue&) = delete;
    ibv_srq* get() const { return srq_; }

  private:
    ibv_srq* srq_ = nullptr;
};

class Ends {
  public:
    explicit Ends(Device& device, bool shared = false)
        : device_(device), memory_(kBytes), srq_(device, shared) {
        mr_ = device.reg(memory_.data(), memory_.size());
        for (ibv_qp*& qp : qps_) {
            qp = device.make_qp({.srq = &qp == &qps_[1] ? srq_.get() : nullptr});
            to_init(qp);
        }
        to_rts(qps_[0], device.address(qps_[1], mr_));
        to_rts(qps_[1], device.address(qps_[0], mr_));
    }
    ~Ends() {
        for (ibv_qp* qp : qps_) {
            EXPECT(ibv_destroy_qp(qp) == 0, "ibv_destroy_qp");
        }
        device_.dereg(mr_);
    }
    Ends(const Ends&) = delete;
    Ends& operator=(const Ends&) = delete;

    void send(std::uint64_t wr_id, bool signaled = true) {
        EXPECT(post(qps_[0], wr_id, memory_.data(), mr_->lkey, signaled) == 0, "ibv_post_send");
    }
    /// Returns the queue pair of the sender (0) or the receiver (1).
    ibv_qp* qp(std::size_t end) { return qps_[end]; }
    void receive(std::size_t end, std::uint64_t wr_id) {
        if (end == 1 && srq_.get() != nullptr) {
            post_srq_recv(srq_.get(), wr_id, memory_.data(), kBytes, mr_->lkey);
        } else {
            post_recv(qps_[end], wr_id, memory_.data(), kBytes, mr_->lkey);
        }
    }
    /// Returns the receiver's shared receive queue; nullptr if it has none.
    ibv_srq* srq() const { return srq_.get(); }

  private:
    Device& device_;
    Memory memory_;
    SharedQueue srq_;
    ibv_mr* mr_ = nullptr;
    std::array<ibv_qp*, 2> qps_{};
};

/// Waits for this many completions. Returns their statuses by wr_id.
std::map<std::uint64_t, ibv_wc_status> collect(Device& device, std::size_t count) {
    std::map<std::uint64_t, ibv_wc_status> found;
    const Deadline deadline;
    while (found.size() < count) {
        std::array<ibv_wc, 1> wc;
        if (device.poll(wc) == 0) {
            EXPECT(!deadline.over(), "only " + std::to_string(found.size()) + " of " +
                                         std::to_string(count) + " completions came");
            device.wait_event(100);
            continue;
        }
        EXPECT(found.emplace(wc[0].wr_id, wc[0].status).second,
               "completed twice: " + std::to_string(wc[0].wr_id));
    }
    return found;
}

void expect_flushed(const std::map<std::uint64_t, ibv_wc_status>& found, std::uint64_t first,
                    std::uint32_t count) {
    for (std::uint64_t name = first; name < first + count; ++name) {
        const auto at = found.find(name);
        EXPECT(at != found.end() && at->second == IBV_WC_WR_FLUSH_ERR,
               "not flushed: " + std::to_string(name));
    }
}

/// Takes asynchronous events until one of this type has come. An event of a shared receive queue
/// must be of `srq`.
void await_event(Device& device, ibv_event_type wanted, std::multiset<ibv_event_type>& seen,
                 ibv_srq* srq = nullptr) {
    const Deadline deadline;
    while (!seen.contains(wanted)) {
        pollfd waiting{device.context->async_fd, POLLIN, 0};
        EXPECT(!deadline.over(), "no event " + std::string(ibv_event_type_str(wanted)));
        if (::poll(&waiting, 1, 100) == 0) {
            continue;
        }
        ibv_async_event event{};
        EXPECT(ibv_get_async_event(device.context, &event) == 0, "ibv_get_async_event");
        seen.insert(event.event_type);
        EXPECT(event.event_type != IBV_EVENT_SRQ_ERR || event.element.srq == srq,
               "SRQ_ERR of another queue");
        ibv_ack_async_event(&event);
    }
}

/// Sends one message and waits for both completions.
void exchange(Device& device, Ends& ends, std::uint64_t name) {
    ends.receive(1, name);
    ends.send(name + 1);
    for (const auto& [wr_id, status] : collect(device, 2)) {
        EXPECT(status == IBV_WC_SUCCESS, "failed: " + std::to_string(wr_id));
    }
}

/// Loses the carrier while requests are posted, and posts more after its end.
void lose(Device& device, Ends& ends) {
    exchange(device, ends, kDone);
    for (std::uint32_t i = 0; i < kReceives; ++i) {
        ends.receive(0, kReceive + i);
    }
    // The peer has posted no receive, so these sends wait for ever.
    for (std::uint32_t i = 0; i < kSends; ++i) {
        ends.send(kSend + i, i % 2 == 0);
    }
    std::puts("waiting");
    std::fflush(stdout);
    const auto found = collect(device, kSends + kReceives);
    expect_flushed(found, kSend, kSends);
    expect_flushed(found, kReceive, kReceives);
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    EXPECT(
        ibv_query_qp(ends.qp(0), &attr, IBV_QP_STATE, &init) == 0 && attr.qp_state == IBV_QPS_ERR,
        "the queue pair is not in ERR");
    ends.send(kLate, false);
    ends.receive(0, kLate + 1);
    expect_flushed(collect(device, 2), kLate, 2);
    attr.qp_state = IBV_QPS_ERR;
    EXPECT(ibv_modify_qp(ends.qp(0), &attr, IBV_QP_STATE) == 0, "to ERR once more");
    attr.qp_state = IBV_QPS_RESET;
    EXPECT(ibv_modify_qp(ends.qp(0), &attr, IBV_QP_STATE) == EIO, "to RESET without its adapter");
}

int run(bool daemon_dies) {
    Device device(64);
    std::multiset<ibv_event_type> events;
    {
        Ends ends(device);
        Ends shared(device, true);
        exchange(device, shared, kShared);
        lose(device, ends);
        await_event(device, IBV_EVENT_SRQ_ERR, events, shared.srq());
        await_event(device, IBV_EVENT_QP_FATAL, events, shared.srq());
        await_event(device, IBV_EVENT_QP_LAST_WQE_REACHED, events, shared.srq());
        EXPECT(events.count(IBV_EVENT_SRQ_ERR) == 1, "SRQ_ERR came more than once");
        if (!daemon_dies) {
            await_event(device, IBV_EVENT_DEVICE_FATAL, events);
            await_event(device, IBV_EVENT_PORT_ERR, events);
        }
    }
    if (!daemon_dies) {
        await_event(device, IBV_EVENT_PORT_ACTIVE, events);
        Ends ends(device);
        exchange(device, ends, kDone);
        Ends shared(device, true);
        exchange(device, shared, kShared);
    }
    std::puts("restored");
    return 0;
}

}  // namespace
}  // namespace faults

int main(int argc, char** argv) {
    faults::g_story = "carrier_test";
    return faults::run(argc > 1 && std::strcmp(argv[1], "daemon") == 0);
}
