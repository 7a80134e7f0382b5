// SPDX-License-Identifier: BSD-2-Clause
// Verbs for programs in other languages (RoundTrip.java, round_trip.go): their memory is
// registered, written by an HCA, and deregistered. A failure ends the program.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../faults/rig.h"

namespace {

using faults::Device;

/// Two queue pairs of one HCA that are connected, and a source of bytes.
class RoundTrip {
  public:
    RoundTrip() : source_(kBytesMax) {
        from_ = device_.reg(source_.data(), source_.size());
        for (ibv_qp*& qp : qps_) {
            qp = device_.make_qp({});
            faults::to_init(qp);
        }
        faults::to_rts(qps_[0], device_.address(qps_[1]));
        faults::to_rts(qps_[1], device_.address(qps_[0]));
    }
    ibv_mr* begin(void* at, std::size_t bytes) { return device_.reg(at, bytes); }
    void write(const ibv_mr& mr, int value) {
        EXPECT(mr.length <= kBytesMax, "too much memory");
        std::memset(source_.data(), value, mr.length);
        ibv_sge sge{reinterpret_cast<std::uint64_t>(source_.data()),
                    static_cast<std::uint32_t>(mr.length), from_->lkey};
        ibv_send_wr wr{};
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_RDMA_WRITE;
        wr.send_flags = IBV_SEND_SIGNALED;
        wr.wr.rdma.remote_addr = reinterpret_cast<std::uint64_t>(mr.addr);
        wr.wr.rdma.rkey = mr.rkey;
        ibv_send_wr* bad = nullptr;
        EXPECT(ibv_post_send(qps_[0], &wr, &bad) == 0, "ibv_post_send");
        ibv_wc wc{};
        const faults::Deadline deadline;
        while (device_.poll({&wc, 1}) == 0) {
            EXPECT(!deadline.over(), "no completion");
        }
        EXPECT(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
    }
    void end(ibv_mr* mr) { device_.dereg(mr); }

  private:
    static constexpr std::size_t kBytesMax = std::size_t{1} << 20;
    Device device_{16};
    faults::Memory source_;
    ibv_mr* from_ = nullptr;
    ibv_qp* qps_[2]{};
};

RoundTrip& round_trip() {
    static auto* made = new RoundTrip;
    return *made;
}

ibv_mr* region(long long handle) {
    return reinterpret_cast<ibv_mr*>(handle);
}

}  // namespace

#pragma GCC visibility push(default)

extern "C" {

// The functions for Go, and for Java under names of its own. Java passes two pointers of its own
// first.

long long round_trip_begin(long long at, long long bytes) {
    return reinterpret_cast<long long>(
        round_trip().begin(reinterpret_cast<void*>(at), static_cast<std::size_t>(bytes)));
}
void round_trip_write(long long handle, int value) {
    round_trip().write(*region(handle), value);
}
void round_trip_end(long long handle) {
    round_trip().end(region(handle));
}

long long Java_RoundTrip_begin(void*, void*, long long at, long long bytes) {
    return round_trip_begin(at, bytes);
}
void Java_RoundTrip_write(void*, void*, long long handle, int value) {
    round_trip_write(handle, value);
}
void Java_RoundTrip_end(void*, void*, long long handle) {
    round_trip_end(handle);
}
}

#pragma GCC visibility pop
