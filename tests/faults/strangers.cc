// SPDX-License-Identifier: BSD-2-Clause
// Clients that misbehave: they die in a call to the daemon, send it garbage after attaching, or
// close their connection and live on. A pair that behaves well never notices.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <thread>

#include "rig.h"
#include "runtime/shm/rpc.h"

namespace faults {
namespace {

using namespace softib::shm;

constexpr std::uint32_t kBytes = 64 * 1024;

/// A bystander: one process with two queue pairs and a write that must arrive.
class Pair {
  public:
    Pair() : device_(64), memory_(2 * kBytes) {
        mr_ = device_.reg(memory_.data(), memory_.size());
        a_ = device_.make_qp({});
        b_ = device_.make_qp({});
        to_init(a_);
        to_init(b_);
        to_rts(a_, device_.address(b_));
        to_rts(b_, device_.address(a_));
    }
    void check() {
        fill_pattern(memory_.data(), kBytes, ++message_);
        ibv_sge sge{reinterpret_cast<std::uint64_t>(memory_.data()), kBytes, mr_->lkey};
        ibv_send_wr wr{};
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_RDMA_WRITE;
        wr.send_flags = IBV_SEND_SIGNALED;
        wr.wr.rdma.remote_addr = sge.addr + kBytes;
        wr.wr.rdma.rkey = mr_->rkey;
        ibv_send_wr* bad = nullptr;
        EXPECT(ibv_post_send(a_, &wr, &bad) == 0, "ibv_post_send");
        const Deadline deadline;
        std::array<ibv_wc, 1> wc;
        while (device_.poll(wc) == 0) {
            EXPECT(!deadline.over(), "the bystander hangs");
        }
        EXPECT(wc[0].status == IBV_WC_SUCCESS, ibv_wc_status_str(wc[0].status));
        EXPECT(first_wrong(memory_.data() + kBytes, kBytes, message_) == SIZE_MAX,
               "the bystander's bytes are wrong");
        memory_.check_guards("bystander");
    }
    Device& device() { return device_; }

  private:
    Device device_;
    Memory memory_;
    ibv_mr* mr_ = nullptr;
    ibv_qp* a_ = nullptr;
    ibv_qp* b_ = nullptr;
    std::uint32_t message_ = 0;
};

int attach_raw() {
    const int fd = softib::shm::rpc_connect(std::getenv("SOFTIB_DIR"));
    softib::shm::Message message;
    request::Attach::Reply reply;
    EXPECT(fd >= 0 && softib::shm::rpc_ask(fd, request::Attach{.hosts = "h1"}, message, reply) == 0,
           "cannot attach");
    close(reply.file);
    return fd;
}

/// Attaches, sends a request, and does not wait for the answer.
int run_caller() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int fd = attach_raw();
    softib::shm::Message message;
    softib::shm::to_message(
        request::SysfsRead{.host = "h1", .path = "/sys/class/infiniband/mlx5_0/node_guid"},
        message);
    if (!put(kChildFd, 'r')) {
        return 1;
    }
    for (;;) {
        softib::shm::rpc_send(fd, message, -1);
    }
}

/// Attaches properly, then closes every descriptor, and goes on as if nothing had happened.
int run_closer() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Pair pair;
    pair.check();
    for (int fd = 3; fd < 1024; ++fd) {
        if (fd != kChildFd) {
            close(fd);
        }
    }
    char go = 0;
    while (put(kChildFd, 'r') && get(kChildFd, go)) {
        for (int i = 0; i < 20; ++i) {
            pair.check();
        }
    }
    return 0;
}

void die_in_calls(Pair& bystander) {
    Random random(5);
    for (int i = 0; i < 30; ++i) {
        g_story = "caller " + std::to_string(i);
        Child caller = start_child({"caller"}, {});
        char ready = 0;
        EXPECT(get(caller.fd, ready), "no caller");
        std::this_thread::sleep_for(std::chrono::microseconds(random.below(1000)));
        end_child(caller, SIGKILL);
        bystander.check();
    }
    wait_attached(1);
}

/// Attaches and sends garbage. Maps no memory of the fabric.
int run_garbler() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Random random(6);
    char go = 0;
    while (get(kChildFd, go)) {
        const int fd = attach_raw();
        std::vector<char> garbage(random.below(9000) + 8);
        for (char& c : garbage) {
            c = static_cast<char>(random.next());
        }
        if (random.below(2) == 0) {
            // A correct head, followed by garbage. The request that ends the fabric is left out,
            // because the daemon would obey it.
            constexpr auto kLast = static_cast<std::uint32_t>(RequestId::kBadLink);
            std::uint32_t head[2] = {softib::shm::kProtocolVersion, 1 + random.below(kLast)};
            head[1] = head[1] == static_cast<std::uint32_t>(RequestId::kShutdown) ? 77 : head[1];
            std::memcpy(garbage.data(), head, sizeof head);
            if (garbage.size() >= softib::shm::kMessageHeadBytes) {
                // The body has the length that the head says, with any content.
                const auto bytes = static_cast<std::uint32_t>(garbage.size() - kMessageHeadBytes);
                std::memcpy(garbage.data() + offsetof(Message, body_bytes), &bytes, sizeof bytes);
            }
        }
        send(fd, garbage.data(), garbage.size(), MSG_NOSIGNAL);
        close(fd);
        if (!put(kChildFd, 'd')) {
            return 1;
        }
    }
    return 0;
}

void send_garbage(Pair& bystander) {
    Child garbler = start_child({"garbler"}, {});
    for (int i = 0; i < 200; ++i) {
        g_story = "garbage " + std::to_string(i);
        char done = 0;
        EXPECT(put(garbler.fd, 'g') && get(garbler.fd, done), "no garbler");
        if (i % 20 == 0) {
            bystander.check();
        }
    }
    wait_attached(1);
    bystander.check();
    end_child(garbler, SIGKILL);
}

void live_on(Pair& bystander) {
    g_story = "a client that closes its connection";
    Child closer = start_child({"closer"}, {{"SOFTIB_HOST", "h1"}});
    char ready = 0;
    EXPECT(get(closer.fd, ready), "no closer");
    for (int i = 0; i < 10; ++i) {
        // Newcomers must not get the resources that the closer still uses.
        Child newcomer = start_child({"closer"}, {{"SOFTIB_HOST", "h0"}});
        EXPECT(get(newcomer.fd, ready), "no newcomer");
        EXPECT(put(closer.fd, 'g') && put(newcomer.fd, 'g'), "somebody is gone");
        bystander.check();
        EXPECT(get(closer.fd, ready), "the one that closed its connection failed");
        EXPECT(get(newcomer.fd, ready), "the newcomer failed");
        end_child(newcomer, SIGKILL);
    }
    end_child(closer, SIGKILL);
    wait_attached(1);
    bystander.check();
}

int run_all() {
    Pair bystander;
    bystander.check();
    die_in_calls(bystander);
    send_garbage(bystander);
    live_on(bystander);
    std::printf("30 died in a call, 200 sent garbage, 11 closed their connection and lived on\n");
    return 0;
}

}  // namespace
}  // namespace faults

int main(int argc, char** argv) {
    const std::string role = argc > 1 ? argv[1] : "";
    if (role == "caller") {
        return faults::run_caller();
    }
    if (role == "garbler") {
        return faults::run_garbler();
    }
    if (role == "closer") {
        return faults::run_closer();
    }
    return faults::run_all();
}
