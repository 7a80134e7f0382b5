// SPDX-License-Identifier: BSD-2-Clause
// A pair plays ping-pong while the test around it does something to the fabric.
//
//     traffic poll|events|late-events|brief|then-sleep
//
// Prints "flowing" once messages flow. On SIGUSR1 it prints "still flowing" after the next hundred
// rounds, or how the traffic ended. On SIGUSR2 it kills its peer, waits for the error that must
// follow, and ends.
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

#include "rig.h"

namespace faults {
namespace {

constexpr std::uint32_t kBytes = 256;
constexpr int kRounds = 100;

std::atomic<bool> g_report{false};
std::atomic<bool> g_end{false};

class Player {
  public:
    Player() : device_(64), memory_(2 * kBytes) {
        mr_ = device_.reg(memory_.data(), memory_.size());
        qp_ = device_.make_qp({});
        to_init(qp_);
        receive();
    }
    Address address() const { return device_.address(qp_, mr_); }
    void connect(const Address& peer) { to_rts(qp_, peer, {.timeout = 12, .retry_cnt = 2}); }
    void sleep_on_events() { events_ = true; }

    void send(std::uint32_t message) {
        fill_pattern(memory_.data(), kBytes, message);
        ibv_sge sge{reinterpret_cast<std::uint64_t>(memory_.data()), kBytes, mr_->lkey};
        ibv_send_wr wr{};
        wr.wr_id = 1;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_SEND;
        wr.send_flags = IBV_SEND_SIGNALED;
        ibv_send_wr* bad = nullptr;
        EXPECT(ibv_post_send(qp_, &wr, &bad) == 0, "ibv_post_send");
        ++sends_;
    }
    void receive() { post_recv(qp_, 2, memory_.data() + kBytes, kBytes, mr_->lkey); }

    /// Waits for the completions of sends and, if asked, for a message. Returns the first status
    /// that is not success.
    ibv_wc_status wait(bool for_message) {
        const Deadline deadline;
        bool message = !for_message;
        while (sends_ != 0 || !message) {
            std::array<ibv_wc, 1> wc;
            if (device_.poll(wc) == 0) {
                EXPECT(!deadline.over(), "the ping-pong hangs");
                if (events_) {
                    device_.wait_event(20'000);
                }
                continue;
            }
            if (wc[0].status != IBV_WC_SUCCESS) {
                return wc[0].status;
            }
            (wc[0].wr_id == 1 ? sends_ : received_) += wc[0].wr_id == 1 ? UINT32_MAX : 1;
            message = message || wc[0].wr_id == 2;
        }
        return IBV_WC_SUCCESS;
    }
    const std::byte* received() { return memory_.data() + kBytes; }
    Device& device() { return device_; }

  private:
    Device device_;
    Memory memory_;
    ibv_mr* mr_ = nullptr;
    ibv_qp* qp_ = nullptr;
    bool events_ = false;
    std::uint32_t sends_ = 0;
    std::uint32_t received_ = 0;
};

/// Sleeps in a read of the channel until a signal comes, as an idle server does.
void sleep_for_good(Device& device, int fd) {
    pollfd waiting[2] = {{device.channel->fd, POLLIN, 0}, {fd, POLLIN, 0}};
    while (!g_end && waiting[1].revents == 0) {
        if (::poll(waiting, 2, -1) > 0 && waiting[0].revents != 0) {
            device.wait_event(0);
        }
    }
}

int run_peer(const std::string& mode) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGUSR1, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
    Player player;
    Address driver;
    if (!put(kChildFd, player.address()) || !get(kChildFd, driver)) {
        return 1;
    }
    player.connect(driver);
    if (mode == "events") {
        player.sleep_on_events();
    }
    const int limit = mode == "brief" || mode == "then-sleep" ? kRounds : INT32_MAX;
    if (!put(kChildFd, 'r')) {
        return 1;
    }
    for (int i = 1; i <= limit; ++i) {
        if (player.wait(true) != IBV_WC_SUCCESS) {
            return 1;
        }
        EXPECT(first_wrong(player.received(), kBytes, static_cast<std::uint32_t>(i)) == SIZE_MAX,
               "a ping is wrong");
        player.receive();
        player.send(static_cast<std::uint32_t>(i));
    }
    player.wait(false);
    if (mode == "then-sleep") {
        sleep_for_good(player.device(), kChildFd);
    }
    return 0;
}

int run_driver(const std::string& mode) {
    signal(SIGUSR1, [](int) { g_report = true; });
    signal(SIGUSR2, [](int) { g_end = true; });
    g_story = mode;
    Child peer = start_child({"peer", mode}, {{"SOFTIB_HOST", "h1"}});
    Player player;
    Address address;
    EXPECT(get(peer.fd, address) && put(peer.fd, player.address()), "no peer");
    player.connect(address);
    char ready = 0;
    EXPECT(get(peer.fd, ready), "no peer");
    if (mode == "events") {
        player.sleep_on_events();
    }
    const bool short_run = mode == "brief" || mode == "then-sleep";
    int report_at = INT32_MAX;
    int reports = 0;
    ibv_wc_status status = IBV_WC_SUCCESS;
    for (int i = 1; status == IBV_WC_SUCCESS && !(short_run && i > kRounds); ++i) {
        if (g_end && !short_run) {
            end_child(peer, SIGKILL);
            g_end = false;
            std::printf("peer killed after %d rounds\n", i);
        }
        if (g_report.exchange(false)) {
            report_at = i + kRounds;
            if (mode == "late-events" && ++reports == 2) {
                player.sleep_on_events();
            }
        }
        player.send(static_cast<std::uint32_t>(i));
        status = player.wait(peer.pid > 0);
        if (status == IBV_WC_SUCCESS && peer.pid > 0) {
            EXPECT(
                first_wrong(player.received(), kBytes, static_cast<std::uint32_t>(i)) == SIZE_MAX,
                "a pong is wrong");
            player.receive();
        }
        if (i == kRounds) {
            std::printf("flowing\n");
        } else if (i >= report_at) {
            std::printf("still flowing\n");
            report_at = INT32_MAX;
        }
        std::fflush(stdout);
    }
    if (mode == "then-sleep") {
        std::printf("asleep\n");
        std::fflush(stdout);
        sleep_for_good(player.device(), peer.fd);
    }
    if (!short_run) {
        std::printf("still here; the end: %s\n", ibv_wc_status_str(status));
    }
    if (peer.pid > 0) {
        end_child(peer, short_run && mode == "brief" ? 0 : SIGKILL);
    }
    return 0;
}

}  // namespace
}  // namespace faults

int main(int argc, char** argv) {
    if (argc > 2 && std::strcmp(argv[1], "peer") == 0) {
        return faults::run_peer(argv[2]);
    }
    return faults::run_driver(argc > 1 ? argv[1] : "brief");
}
