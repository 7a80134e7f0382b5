// SPDX-License-Identifier: BSD-2-Clause
// All to all: every process sends a message to every other and writes into its memory, and checks
// every byte that came. Rank 0 starts the others and distributes the addresses.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "rig.h"

namespace faults {
namespace {

constexpr std::uint32_t kBytes = 512;
constexpr std::uint64_t kSend = 1ULL << 32;

class Rank {
  public:
    Rank(std::uint32_t self, std::uint32_t ranks)
        : self_(self),
          ranks_(ranks),
          device_(static_cast<int>(4 * ranks)),
          received_(std::size_t{ranks} * kBytes),
          written_(std::size_t{ranks} * kBytes),
          source_(std::size_t{ranks} * kBytes) {
        received_mr_ = device_.reg(received_.data(), received_.size());
        written_mr_ = device_.reg(written_.data(), written_.size());
        source_mr_ = device_.reg(source_.data(), source_.size());
        for (std::uint32_t r = 0; r < ranks; ++r) {
            qps_.push_back(device_.make_qp({.send_wr = 4, .recv_wr = 2}));
            to_init(qps_[r]);
            post_recv(qps_[r], r, received_.data() + std::size_t{r} * kBytes, kBytes,
                      received_mr_->lkey);
            addresses_.push_back(device_.address(qps_[r], written_mr_));
        }
    }
    const std::vector<Address>& addresses() const { return addresses_; }

    /// Connects the queue pairs. `peers[r]` is the queue pair of rank r that belongs to this rank.
    void connect(const std::vector<Address>& peers) {
        peers_ = peers;
        for (std::uint32_t r = 0; r < ranks_; ++r) {
            to_rts(qps_[r], peers[r], {.timeout = 20, .retry_cnt = 7});
        }
    }

    void exchange() {
        for (std::uint32_t r = 0; r < ranks_; ++r) {
            std::byte* const from = source_.data() + std::size_t{r} * kBytes;
            fill_pattern(from, kBytes, message(self_, r));
            ibv_sge sge{reinterpret_cast<std::uint64_t>(from), kBytes, source_mr_->lkey};
            ibv_send_wr send{};
            send.wr_id = kSend;
            send.sg_list = &sge;
            send.num_sge = 1;
            send.opcode = IBV_WR_SEND;
            send.send_flags = IBV_SEND_SIGNALED;
            ibv_send_wr write = send;
            write.opcode = IBV_WR_RDMA_WRITE;
            write.wr.rdma.remote_addr = peers_[r].addr + std::uint64_t{self_} * kBytes;
            write.wr.rdma.rkey = peers_[r].rkey;
            write.next = &send;
            ibv_send_wr* bad = nullptr;
            EXPECT(ibv_post_send(qps_[r], &write, &bad) == 0, "ibv_post_send");
        }
        const Deadline deadline;
        std::uint32_t left = 3 * ranks_;
        while (left != 0) {
            std::array<ibv_wc, 16> done;
            const int n = device_.poll(done);
            for (int i = 0; i < n; ++i) {
                EXPECT(done[static_cast<std::size_t>(i)].status == IBV_WC_SUCCESS,
                       ibv_wc_status_str(done[static_cast<std::size_t>(i)].status));
                --left;
            }
            if (n == 0) {
                EXPECT(!deadline.over(), std::to_string(left) + " completions are missing");
                device_.wait_event(100);  // There are many more processes than cores.
            }
        }
    }

    void check() {
        for (std::uint32_t r = 0; r < ranks_; ++r) {
            for (Memory* memory : {&received_, &written_}) {
                EXPECT(first_wrong(memory->data() + std::size_t{r} * kBytes, kBytes,
                                   message(r, self_)) == SIZE_MAX,
                       "wrong bytes from rank " + std::to_string(r));
            }
        }
        received_.check_guards("received");
        written_.check_guards("written");
    }

  private:
    std::uint32_t message(std::uint32_t from, std::uint32_t to) const {
        return from * ranks_ + to + 1;
    }

    std::uint32_t self_;
    std::uint32_t ranks_;
    Device device_;
    Memory received_;
    Memory written_;
    Memory source_;
    ibv_mr* received_mr_ = nullptr;
    ibv_mr* written_mr_ = nullptr;
    ibv_mr* source_mr_ = nullptr;
    std::vector<ibv_qp*> qps_;
    std::vector<Address> addresses_;
    std::vector<Address> peers_;
};

/// Returns the addresses that rank `self` needs from the tables of all ranks.
std::vector<Address> column(const std::vector<std::vector<Address>>& tables, std::size_t self) {
    std::vector<Address> peers;
    for (const auto& table : tables) {
        peers.push_back(table[self]);
    }
    return peers;
}

int run_rank(std::uint32_t self, std::uint32_t ranks) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    g_story = "rank " + std::to_string(self);
    Rank rank(self, ranks);
    std::vector<Address> peers(ranks);
    char step = 0;
    if (!put_bytes(kChildFd, rank.addresses().data(), ranks * sizeof(Address)) ||
        !get_bytes(kChildFd, peers.data(), ranks * sizeof(Address))) {
        return 1;
    }
    rank.connect(peers);
    if (!put(kChildFd, 'c') || !get(kChildFd, step)) {
        return 1;
    }
    rank.exchange();
    if (!put(kChildFd, 'x') || !get(kChildFd, step)) {
        return 1;
    }
    rank.check();
    return 0;
}

int run_all(std::uint32_t ranks) {
    g_story = "rank 0";
    std::vector<Child> others;
    for (std::uint32_t r = 1; r < ranks; ++r) {
        others.push_back(start_child({"rank", std::to_string(r), std::to_string(ranks)},
                                     {{"SOFTIB_HOST", r % 2 == 0 ? "h0" : "h1"}}));
    }
    Rank rank(0, ranks);
    std::vector<std::vector<Address>> tables{rank.addresses()};
    for (const Child& child : others) {
        tables.emplace_back(ranks);
        EXPECT(get_bytes(child.fd, tables.back().data(), ranks * sizeof(Address)),
               "a rank is gone");
    }
    const auto all = [&](char expected, char next) {
        for (const Child& child : others) {
            char said = 0;
            EXPECT(get(child.fd, said) && said == expected, "a rank is gone");
        }
        for (const Child& child : others) {
            EXPECT(put(child.fd, next), "a rank is gone");
        }
    };
    for (std::size_t i = 0; i < others.size(); ++i) {
        EXPECT(put_bytes(others[i].fd, column(tables, i + 1).data(), ranks * sizeof(Address)),
               "a rank is gone");
    }
    rank.connect(column(tables, 0));
    all('c', 'x');
    rank.exchange();
    all('x', 'k');
    rank.check();
    for (Child& child : others) {
        const int status = end_child(child, 0);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a rank failed");
    }
    std::printf("%u processes, %u connections, every message and every write as it should be\n",
                ranks, ranks * (ranks + 1) / 2);
    return 0;
}

}  // namespace
}  // namespace faults

int main(int argc, char** argv) {
    const auto number = [&](int i) {
        return static_cast<std::uint32_t>(std::strtoul(argv[i], nullptr, 10));
    };
    if (argc == 4 && std::strcmp(argv[1], "rank") == 0) {
        return faults::run_rank(number(2), number(3));
    }
    return faults::run_all(argc > 1 ? number(1) : 8);
}
