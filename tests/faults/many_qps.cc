// SPDX-License-Identifier: BSD-2-Clause
// Makes thousands of connections between two processes, sends a verified message on each in each
// direction, and measures the memory of a queue pair.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>

#include "rig.h"

namespace faults {
namespace {

constexpr std::uint32_t kBytes = 64;
constexpr std::uint64_t kSend = 1ULL << 32;

std::uint64_t resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    std::uint64_t size = 0;
    std::uint64_t resident = 0;
    statm >> size >> resident;
    return resident * 4096;
}

class Side {
  public:
    Side(std::uint32_t count, std::uint32_t tag)
        : count_(count),
          tag_(tag),
          device_(static_cast<int>(2 * count + 16)),
          received_(std::size_t{count} * kBytes),
          source_(std::size_t{count} * kBytes) {
        received_mr_ = device_.reg(received_.data(), received_.size());
        source_mr_ = device_.reg(source_.data(), source_.size());
        const std::uint64_t before = resident_bytes();
        for (std::uint32_t i = 0; i < count; ++i) {
            qps_.push_back(device_.make_qp({.send_wr = 16, .recv_wr = 16}));
            to_init(qps_[i]);
            post_recv(qps_[i], i, received_.data() + std::size_t{i} * kBytes, kBytes,
                      received_mr_->lkey);
            addresses_.push_back(device_.address(qps_[i]));
        }
        bytes_per_qp_ = (resident_bytes() - before) / count;
    }
    std::uint64_t bytes_per_qp() const { return bytes_per_qp_; }

    void connect(int fd) {
        std::vector<Address> peers(count_);
        const auto tell = [&] {
            EXPECT(put_bytes(fd, addresses_.data(), count_ * sizeof(Address)),
                   "the other side is gone");
        };
        // The sides take turns, because a socket does not hold that many bytes.
        if (tag_ == 0) {
            tell();
        }
        EXPECT(get_bytes(fd, peers.data(), count_ * sizeof(Address)), "the other side is gone");
        if (tag_ == 1) {
            tell();
        }
        for (std::uint32_t i = 0; i < count_; ++i) {
            to_rts(qps_[i], peers[i], {.timeout = 20, .retry_cnt = 7});
        }
        char ready = 'c';
        EXPECT(put(fd, ready) && get(fd, ready), "the other side is gone");
    }

    void exchange() {
        std::uint32_t sent = 0;
        std::uint32_t came = 0;
        std::uint32_t next = 0;
        const Deadline deadline;
        while (sent != count_ || came != count_) {
            for (std::uint32_t burst = 0; burst < 64 && next < count_; ++burst, ++next) {
                send(next);
            }
            std::array<ibv_wc, 64> done;
            const int n = device_.poll(done);
            for (int k = 0; k < n; ++k) {
                const ibv_wc& wc = done[static_cast<std::size_t>(k)];
                EXPECT(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
                if (wc.wr_id == kSend) {
                    ++sent;
                    continue;
                }
                ++came;
                EXPECT(wc.qp_num == qps_[wc.wr_id]->qp_num &&
                           first_wrong(received_.data() + wc.wr_id * kBytes, kBytes,
                                       2 * static_cast<std::uint32_t>(wc.wr_id) + 1 - tag_) ==
                               SIZE_MAX,
                       "a message went astray");
            }
            if (n == 0) {
                EXPECT(!deadline.over(), "messages are missing");
                device_.wait_event(1);
            }
        }
        received_.check_guards("received");
    }

    void destroy() {
        for (ibv_qp* qp : qps_) {
            EXPECT(ibv_destroy_qp(qp) == 0, "ibv_destroy_qp");
        }
    }

  private:
    void send(std::uint32_t i) {
        std::byte* const from = source_.data() + std::size_t{i} * kBytes;
        fill_pattern(from, kBytes, 2 * i + tag_);
        ibv_sge sge{reinterpret_cast<std::uint64_t>(from), kBytes, source_mr_->lkey};
        ibv_send_wr wr{};
        wr.wr_id = kSend;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_SEND;
        wr.send_flags = IBV_SEND_SIGNALED;
        ibv_send_wr* bad = nullptr;
        EXPECT(ibv_post_send(qps_[i], &wr, &bad) == 0, "ibv_post_send");
    }

    std::uint32_t count_;
    std::uint32_t tag_;  ///< The side of the connection: 0 or 1.
    Device device_;
    Memory received_;
    Memory source_;
    ibv_mr* received_mr_ = nullptr;
    ibv_mr* source_mr_ = nullptr;
    std::vector<ibv_qp*> qps_;
    std::vector<Address> addresses_;
    std::uint64_t bytes_per_qp_ = 0;
};

int run_other(std::uint32_t count) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    g_story = "other side";
    Side side(count, 1);
    side.connect(kChildFd);
    side.exchange();
    return 0;
}

int run_first(std::uint32_t count) {
    g_story = "first side";
    Child other = start_child({"other", std::to_string(count)}, {{"SOFTIB_HOST", "h1"}});
    Side side(count, 0);
    side.connect(other.fd);
    side.exchange();
    const int status = end_child(other, 0);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the other side failed");
    side.destroy();
    std::printf("%u connections, %u queue pairs, %llu bytes each with 16 + 16 requests\n", count,
                2 * count, static_cast<unsigned long long>(side.bytes_per_qp()));
    return 0;
}

}  // namespace
}  // namespace faults

int main(int argc, char** argv) {
    const auto number = [&](int i) {
        return static_cast<std::uint32_t>(std::strtoul(argv[i], nullptr, 10));
    };
    if (argc == 3 && std::strcmp(argv[1], "other") == 0) {
        return faults::run_other(number(2));
    }
    return faults::run_first(argc > 1 ? number(1) : 1000);
}
