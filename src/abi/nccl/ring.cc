// SPDX-License-Identifier: BSD-2-Clause
#include "abi/nccl/ring.h"

#include <sched.h>

#include "abi/nccl/log.h"
#include "abi/nccl/net.h"

namespace softib::abi::nccl {

namespace {

constexpr int kRingTag = 0x0C011;

class RingDeadline {
  public:
    /// Returns false, with a line in the log, when the time is up.
    bool wait(const char* for_what) {
        if (std::chrono::steady_clock::now() > end_) {
            warn("gave up waiting for %s", for_what);
            return false;
        }
        sched_yield();
        return true;
    }

  private:
    std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + Ring::kPatience;
};

}  // namespace

Ring::~Ring() {
    net::close_connection(send_);
    net::close_connection(receive_);
}

Result Ring::connect(int device, void* const* handles, int ranks, int rank, void* listen_comm) {
    rank_ = rank;
    ranks_ = ranks;
    RingDeadline deadline;
    while (send_ == nullptr || receive_ == nullptr) {
        Result result = kSuccess;
        if (send_ == nullptr) {
            result = net::connect(device, handles[(rank + 1) % ranks], &send_);
        }
        if (result == kSuccess && receive_ == nullptr) {
            result = net::accept(listen_comm, &receive_);
        }
        if (result != kSuccess) {
            return result;
        }
        if (!deadline.wait("the ranks of a collective communicator to connect")) {
            return kSystemError;
        }
    }
    return kSuccess;
}

Result Ring::exchange(std::byte* out, std::byte* in, std::size_t bytes, void* out_region,
                      void* in_region) {
    void* sent = nullptr;
    void* received = nullptr;
    int send_done = 0;
    int receive_done = 0;
    int tag = kRingTag;
    void* to = in;
    RingDeadline deadline;
    while (send_done == 0 || receive_done == 0) {
        Result result = kSuccess;
        if (received == nullptr) {
            result = net::receive(receive_, 1, &to, &bytes, &tag, &in_region, nullptr, &received);
        } else if (receive_done == 0) {
            result = net::test(received, &receive_done, nullptr);
        }
        if (result == kSuccess && sent == nullptr) {
            result = net::send(send_, out, bytes, tag, out_region, nullptr, &sent);
        } else if (result == kSuccess && send_done == 0) {
            result = net::test(sent, &send_done, nullptr);
        }
        if (result != kSuccess) {
            return result;
        }
        if (!deadline.wait("a neighbour in the ring")) {
            return kRemoteError;
        }
    }
    return kSuccess;
}

Result Ring::all_gather(void* data, std::size_t bytes) {
    auto* const all = static_cast<std::byte*>(data);
    const std::size_t total = bytes * static_cast<std::size_t>(ranks_);
    void* out_region = nullptr;
    void* in_region = nullptr;
    Result result = net::register_memory(send_, data, total, kPointerHost, &out_region);
    if (result == kSuccess) {
        result = net::register_memory(receive_, data, total, kPointerHost, &in_region);
    }
    int mine = rank_;
    for (int step = 1; step < ranks_ && result == kSuccess; ++step) {
        const int theirs = (mine + ranks_ - 1) % ranks_;
        result =
            exchange(all + static_cast<std::size_t>(mine) * bytes,
                     all + static_cast<std::size_t>(theirs) * bytes, bytes, out_region, in_region);
        mine = theirs;
    }
    if (out_region != nullptr) {
        net::deregister(send_, out_region);
    }
    if (in_region != nullptr) {
        net::deregister(receive_, in_region);
    }
    return result;
}

}  // namespace softib::abi::nccl
