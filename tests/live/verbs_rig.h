// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What the tests of the live path share: verbs objects that free themselves, buffers with known
// contents, pairs of connected queue pairs, and waits that end. Only the public verbs are used.
//
// The process has the devices of two hosts: host 0 and host 1 below. An object must be declared
// after the objects that it is made of; the test fails if an object is destroyed while in use.

#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <sys/mman.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace softib::test {

using namespace std::chrono_literals;

/// A limit for waiting: longer than anything takes, also under a sanitizer on a busy machine.
inline constexpr std::chrono::milliseconds kLong = 30s;
inline constexpr std::size_t kPage = 4096;
inline constexpr std::uint32_t kGrh = 40;  ///< Room for a GRH before a datagram.
inline constexpr unsigned kAllAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

struct Release {
    void operator()(ibv_context* p) const { EXPECT_EQ(ibv_close_device(p), 0); }
    void operator()(ibv_pd* p) const { EXPECT_EQ(ibv_dealloc_pd(p), 0); }
    void operator()(ibv_mr* p) const { EXPECT_EQ(ibv_dereg_mr(p), 0); }
    void operator()(ibv_mw* p) const { EXPECT_EQ(ibv_dealloc_mw(p), 0); }
    void operator()(ibv_dm* p) const { EXPECT_EQ(ibv_free_dm(p), 0); }
    void operator()(ibv_comp_channel* p) const { EXPECT_EQ(ibv_destroy_comp_channel(p), 0); }
    void operator()(ibv_cq* p) const { EXPECT_EQ(ibv_destroy_cq(p), 0); }
    void operator()(ibv_qp* p) const { EXPECT_EQ(ibv_destroy_qp(p), 0); }
    void operator()(ibv_srq* p) const { EXPECT_EQ(ibv_destroy_srq(p), 0); }
    void operator()(ibv_xrcd* p) const { EXPECT_EQ(ibv_close_xrcd(p), 0); }
    void operator()(ibv_ah* p) const { EXPECT_EQ(ibv_destroy_ah(p), 0); }
};
template <typename T>
using Owned = std::unique_ptr<T, Release>;

Owned<ibv_context> open_host(unsigned host);

/// Private anonymous pages that contain nothing but the buffer.
class Buffer {
  public:
    explicit Buffer(std::size_t bytes = 4 * kPage);
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    std::byte* data() { return data_; }
    std::size_t size() const { return bytes_; }
    std::uint64_t address(std::size_t offset = 0) const {
        return reinterpret_cast<std::uint64_t>(data_) + offset;
    }
    std::span<std::byte> span(std::size_t offset, std::size_t bytes) {
        return {data_ + offset, bytes};
    }
    std::uint64_t& word(std::size_t offset) {
        return *reinterpret_cast<std::uint64_t*>(data_ + offset);
    }
    /// Fills the buffer with bytes that differ from byte to byte and from seed to seed.
    void fill(std::uint8_t seed);
    /// Makes whole pages memory that forked children would share (MAP_SHARED).
    void share(std::size_t offset, std::size_t bytes);
    std::vector<std::byte> copy() const { return {data_, data_ + bytes_}; }

  private:
    std::byte* data_;
    std::size_t bytes_;
};

/// Returns success if the two ranges are equal; otherwise the message says where they first differ.
testing::AssertionResult same(std::span<const std::byte> a, std::span<const std::byte> b);

// --- Waiting
// --------------------------------------------------------------------------------------

std::optional<ibv_wc> poll_one(ibv_cq* cq, std::chrono::milliseconds limit = kLong);
/// Returns the next completion. If none comes, the test fails and the completion has status
/// GENERAL_ERR.
ibv_wc next(ibv_cq* cq);
/// Returns `count` completions, or fewer if they do not come.
std::vector<ibv_wc> poll_many(ibv_cq* cq, std::size_t count);
bool empty(ibv_cq* cq);
bool readable(int fd, std::chrono::milliseconds limit = kLong);
/// Waits for a completion event, takes and acknowledges it. Returns false if none came.
bool take_event(ibv_comp_channel* channel, ibv_cq* expected);

struct AsyncEvent {
    ibv_event_type type;
    void* object;
};
std::optional<AsyncEvent> next_async(ibv_context* context, std::chrono::milliseconds limit = kLong);
/// Waits for this asynchronous event and skips others.
bool wait_async(ibv_context* context, ibv_event_type type, const void* object);

// --- Work requests
// --------------------------------------------------------------------------------

/// A send request in the making: Send(IBV_WR_SEND).id(1).from(mr, 0, 64).post(qp)
class Send {
  public:
    explicit Send(ibv_wr_opcode opcode, unsigned flags = IBV_SEND_SIGNALED) {
        wr_.opcode = opcode;
        wr_.send_flags = flags;
    }
    Send& id(std::uint64_t wr_id) {
        wr_.wr_id = wr_id;
        return *this;
    }
    Send& from(const ibv_mr* mr, std::size_t offset, std::uint32_t bytes) {
        return sge(reinterpret_cast<std::uint64_t>(mr->addr) + offset, bytes, mr->lkey);
    }
    Send& sge(std::uint64_t addr, std::uint32_t bytes, std::uint32_t lkey) {
        sges_.push_back({addr, bytes, lkey});
        return *this;
    }
    Send& to(const ibv_mr* mr, std::size_t offset) {
        return at(reinterpret_cast<std::uint64_t>(mr->addr) + offset, mr->rkey);
    }
    Send& at(std::uint64_t addr, std::uint32_t rkey);
    Send& atomic(std::uint64_t compare_add, std::uint64_t swap = 0) {
        wr_.wr.atomic.compare_add = compare_add;
        wr_.wr.atomic.swap = swap;
        return *this;
    }
    Send& imm(std::uint32_t network_order) {
        wr_.imm_data = network_order;
        return *this;
    }
    Send& invalidate(std::uint32_t rkey) {
        wr_.invalidate_rkey = rkey;
        return *this;
    }
    Send& datagram(ibv_ah* ah, std::uint32_t qpn, std::uint32_t qkey) {
        wr_.wr.ud = {ah, qpn, qkey};
        return *this;
    }
    Send& bind(ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info& info) {
        wr_.bind_mw.mw = mw;
        wr_.bind_mw.rkey = rkey;
        wr_.bind_mw.bind_info = info;
        return *this;
    }
    Send& srqn(std::uint32_t number) {
        wr_.qp_type.xrc.remote_srqn = number;
        return *this;
    }
    int post(ibv_qp* qp);

  private:
    ibv_send_wr wr_{};
    std::vector<ibv_sge> sges_;
};

int post_recv(ibv_qp* qp, std::uint64_t wr_id, std::vector<ibv_sge> sges);
int post_recv(ibv_srq* srq, std::uint64_t wr_id, std::vector<ibv_sge> sges);
ibv_sge sge_of(const ibv_mr* mr, std::size_t offset, std::uint32_t bytes);

// --- Queue pairs
// ----------------------------------------------------------------------------------

struct QpOptions {
    ibv_qp_type type = IBV_QPT_RC;
    std::uint32_t send_wr = 16;
    std::uint32_t recv_wr = 16;
    std::uint32_t sges = 4;
    std::uint32_t inline_bytes = 128;
    bool signal_all = false;
    unsigned access = kAllAccess;
    std::uint8_t timeout = 10;  ///< About 4 ms.
    std::uint8_t retry_count = 1;
    std::uint8_t rnr_retry = 7;
    std::uint8_t rnr_timer = 1;  ///< About 10 us.
    std::uint32_t qkey = 0x1234;
    std::uint16_t pkey_index = 0;
    bool with_channel = false;
    bool with_srq = false;
    int cqe = 64;
};

inline QpOptions with_channel() {
    QpOptions o;
    o.with_channel = true;
    return o;
}

int to_init(ibv_qp* qp, const QpOptions& options);
int to_rtr(ibv_qp* qp, const QpOptions& options, std::uint32_t dest_qpn, std::uint16_t dest_lid);
int to_rts(ibv_qp* qp, const QpOptions& options);
int to_state(ibv_qp* qp, ibv_qp_state state);
ibv_qp_state state_of(ibv_qp* qp);

std::uint16_t lid_of(ibv_context* context);
ibv_gid gid_of(ibv_context* context);
ibv_port_attr port_of(ibv_context* context);

/// One end of a connection with everything it needs: a context of its own (so that it sees only its
/// own events), a registered buffer, a queue pair in RESET.
struct End {
    explicit End(unsigned host, const QpOptions& options = {});

    ibv_mr* region() const { return mr.get(); }
    int receive(std::uint64_t wr_id, std::size_t offset, std::uint32_t bytes) {
        return post_recv(qp.get(), wr_id, {sge_of(mr.get(), offset, bytes)});
    }
    Owned<ibv_qp> make_qp(const QpOptions& o) const;

    QpOptions options;
    Owned<ibv_context> context;
    Owned<ibv_pd> pd;
    Owned<ibv_comp_channel> channel;
    Owned<ibv_cq> send_cq;
    Owned<ibv_cq> recv_cq;
    Owned<ibv_srq> srq;
    Buffer memory;
    Owned<ibv_mr> mr;
    Owned<ibv_qp> qp;
};

void connect(End& a, End& b);

/// Two connected ends on two hosts, with different contents in their buffers.
struct Pair {
    explicit Pair(const QpOptions& options = {}) : Pair(options, options) {}
    Pair(const QpOptions& options_a, const QpOptions& options_b);
    End a;
    End b;
};

/// Two UD ends in RTS, each with an address handle to the other.
struct DatagramPair {
    explicit DatagramPair(QpOptions options = {}, bool global = false);
    Send send(ibv_wr_opcode opcode = IBV_WR_SEND, unsigned flags = IBV_SEND_SIGNALED) {
        Send s(opcode, flags);
        s.datagram(to_b.get(), b.qp->qp_num, b.options.qkey);
        return s;
    }
    End a;
    End b;
    Owned<ibv_ah> to_b;
};

Owned<ibv_ah> make_ah(End& from, End& to, bool global);

/// Returns a counter of a host's port, by its file name in sysfs.
std::uint64_t counter(unsigned host, const std::string& name);
/// Waits until a counter has a value: on the packet path, that may be some time after the
/// completion.
testing::AssertionResult counts_to(unsigned host, const std::string& name, std::uint64_t value);

bool on_packet_path();
/// Waits until what was handed to the HCAs has arrived: on the packet path a completion may come
/// before that. Sends packets of its own behind it.
void let_arrive();
/// Changes an entry of a port's P_Key table, as a subnet manager does.
void set_pkey(unsigned host, unsigned index, std::uint16_t pkey);

}  // namespace softib::test
