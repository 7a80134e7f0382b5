// SPDX-License-Identifier: BSD-2-Clause
#include "verbs_rig.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "runtime/shm/rpc.h"

namespace softib::test {

Owned<ibv_context> open_host(unsigned host) {
    int count = 0;
    ibv_device** list = ibv_get_device_list(&count);
    ibv_context* context =
        list != nullptr && static_cast<int>(host) < count ? ibv_open_device(list[host]) : nullptr;
    if (list != nullptr) {
        ibv_free_device_list(list);
    }
    if (context == nullptr) {
        ADD_FAILURE() << "no device of host " << host << " (" << count << " devices)";
        std::abort();
    }
    return Owned<ibv_context>(context);
}

Buffer::Buffer(std::size_t bytes) : bytes_(bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    data_ = at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
    fill(0);
}

Buffer::~Buffer() {
    munmap(data_, bytes_);
}

void Buffer::share(std::size_t offset, std::size_t bytes) {
    EXPECT_NE(mmap(data_ + offset, bytes, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              MAP_FAILED);
}

void Buffer::fill(std::uint8_t seed) {
    for (std::size_t i = 0; i < bytes_; ++i) {
        data_[i] = static_cast<std::byte>(i * 7 + i / 251 + seed);
    }
}

testing::AssertionResult same(std::span<const std::byte> a, std::span<const std::byte> b) {
    if (a.size() != b.size()) {
        return testing::AssertionFailure() << a.size() << " bytes against " << b.size();
    }
    const auto [at_a, at_b] = std::mismatch(a.begin(), a.end(), b.begin());
    if (at_a == a.end()) {
        return testing::AssertionSuccess();
    }
    return testing::AssertionFailure()
           << "first difference at byte " << at_a - a.begin() << " of " << a.size() << ": "
           << static_cast<int>(*at_a) << " against " << static_cast<int>(*at_b);
}

std::optional<ibv_wc> poll_one(ibv_cq* cq, std::chrono::milliseconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    for (;;) {
        ibv_wc wc{};
        const int n = ibv_poll_cq(cq, 1, &wc);
        if (n != 0) {
            EXPECT_EQ(n, 1);
            EXPECT_EQ(wc.vendor_err, 0U);
            return wc;
        }
        if (std::chrono::steady_clock::now() > end) {
            return std::nullopt;
        }
        std::this_thread::yield();
    }
}

ibv_wc next(ibv_cq* cq) {
    if (const auto wc = poll_one(cq)) {
        return *wc;
    }
    ADD_FAILURE() << "no completion";
    ibv_wc none{};
    none.status = IBV_WC_GENERAL_ERR;
    return none;
}

std::vector<ibv_wc> poll_many(ibv_cq* cq, std::size_t count) {
    std::vector<ibv_wc> out;
    while (out.size() < count) {
        const auto wc = poll_one(cq);
        if (!wc) {
            ADD_FAILURE() << out.size() << " completions instead of " << count;
            break;
        }
        out.push_back(*wc);
    }
    return out;
}

bool empty(ibv_cq* cq) {
    ibv_wc wc{};
    return ibv_poll_cq(cq, 1, &wc) == 0;
}

bool readable(int fd, std::chrono::milliseconds limit) {
    pollfd p{fd, POLLIN, 0};
    return poll(&p, 1, static_cast<int>(limit.count())) == 1 && (p.revents & POLLIN) != 0;
}

bool take_event(ibv_comp_channel* channel, ibv_cq* expected) {
    if (!readable(channel->fd)) {
        return false;
    }
    ibv_cq* cq = nullptr;
    void* user = nullptr;
    if (ibv_get_cq_event(channel, &cq, &user) != 0) {
        return false;
    }
    ibv_ack_cq_events(cq, 1);
    return cq == expected;
}

std::optional<AsyncEvent> next_async(ibv_context* context, std::chrono::milliseconds limit) {
    ibv_async_event event{};
    if (!readable(context->async_fd, limit) || ibv_get_async_event(context, &event) != 0) {
        return std::nullopt;
    }
    const AsyncEvent out{event.event_type, event.element.qp};
    ibv_ack_async_event(&event);
    return out;
}

bool wait_async(ibv_context* context, ibv_event_type type, const void* object) {
    while (const auto event = next_async(context)) {
        if (event->type == type && event->object == object) {
            return true;
        }
    }
    return false;
}

Send& Send::at(std::uint64_t addr, std::uint32_t rkey) {
    if (wr_.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr_.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr_.wr.atomic.remote_addr = addr;
        wr_.wr.atomic.rkey = rkey;
    } else {
        wr_.wr.rdma.remote_addr = addr;
        wr_.wr.rdma.rkey = rkey;
    }
    return *this;
}

int Send::post(ibv_qp* qp) {
    wr_.sg_list = sges_.data();
    wr_.num_sge = static_cast<int>(sges_.size());
    ibv_send_wr* bad = nullptr;
    const int error = ibv_post_send(qp, &wr_, &bad);
    EXPECT_EQ(bad, error != 0 ? &wr_ : nullptr);
    return error;
}

int post_recv(ibv_qp* qp, std::uint64_t wr_id, std::vector<ibv_sge> sges) {
    ibv_recv_wr wr{wr_id, nullptr, sges.data(), static_cast<int>(sges.size())};
    ibv_recv_wr* bad = nullptr;
    const int error = ibv_post_recv(qp, &wr, &bad);
    EXPECT_EQ(bad, error != 0 ? &wr : nullptr);
    return error;
}

int post_recv(ibv_srq* srq, std::uint64_t wr_id, std::vector<ibv_sge> sges) {
    ibv_recv_wr wr{wr_id, nullptr, sges.data(), static_cast<int>(sges.size())};
    ibv_recv_wr* bad = nullptr;
    return ibv_post_srq_recv(srq, &wr, &bad);
}

ibv_sge sge_of(const ibv_mr* mr, std::size_t offset, std::uint32_t bytes) {
    return {reinterpret_cast<std::uint64_t>(mr->addr) + offset, bytes, mr->lkey};
}

int to_init(ibv_qp* qp, const QpOptions& options) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.pkey_index = options.pkey_index;
    attr.port_num = 1;
    attr.qkey = options.qkey;
    attr.qp_access_flags = options.access;
    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                             (qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

int to_rtr(ibv_qp* qp, const QpOptions& options, std::uint32_t dest_qpn, std::uint16_t dest_lid) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = dest_qpn;
    attr.max_dest_rd_atomic = 4;
    attr.min_rnr_timer = options.rnr_timer;
    attr.ah_attr.dlid = dest_lid;
    attr.ah_attr.port_num = 1;
    int mask = IBV_QP_STATE;
    if (qp->qp_type != IBV_QPT_UD) {
        mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
        if (qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_RECV) {
            mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
        }
    }
    return ibv_modify_qp(qp, &attr, mask);
}

int to_rts(ibv_qp* qp, const QpOptions& options) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = options.timeout;
    attr.retry_cnt = options.retry_count;
    attr.rnr_retry = options.rnr_retry;
    attr.max_rd_atomic = 4;
    int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_SEND) {
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    } else if (qp->qp_type == IBV_QPT_XRC_RECV) {
        mask |= IBV_QP_TIMEOUT;
    }
    return ibv_modify_qp(qp, &attr, mask);
}

int to_state(ibv_qp* qp, ibv_qp_state state) {
    ibv_qp_attr attr{};
    attr.qp_state = state;
    return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

ibv_qp_state state_of(ibv_qp* qp) {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    EXPECT_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
    return attr.qp_state;
}

ibv_port_attr port_of(ibv_context* context) {
    ibv_port_attr attr{};
    EXPECT_EQ(ibv_query_port(context, 1, &attr), 0);
    return attr;
}

std::uint16_t lid_of(ibv_context* context) {
    return port_of(context).lid;
}

ibv_gid gid_of(ibv_context* context) {
    ibv_gid gid{};
    EXPECT_EQ(ibv_query_gid(context, 1, 0, &gid), 0);
    return gid;
}

namespace {

Owned<ibv_srq> make_srq(ibv_pd* pd) {
    ibv_srq_init_attr attr{};
    attr.attr.max_wr = 32;
    attr.attr.max_sge = 4;
    return Owned<ibv_srq>(ibv_create_srq(pd, &attr));
}

template <typename Request>
void call(const Request& request, shm::Message& message, typename Request::Reply& reply) {
    const int fd = shm::rpc_connect(std::getenv("SOFTIB_DIR"));
    EXPECT_TRUE(fd >= 0 && shm::rpc_call(fd, request, message, reply)) << std::strerror(errno);
    close(fd);
    EXPECT_EQ(message.status, 0);
}

}  // namespace

End::End(unsigned host, const QpOptions& o)
    : options(o),
      context(open_host(host)),
      pd(ibv_alloc_pd(context.get())),
      channel(o.with_channel ? ibv_create_comp_channel(context.get()) : nullptr),
      send_cq(ibv_create_cq(context.get(), o.cqe, nullptr, channel.get(), 0)),
      recv_cq(ibv_create_cq(context.get(), o.cqe, nullptr, channel.get(), 0)),
      srq(o.with_srq ? make_srq(pd.get()) : nullptr),
      mr(ibv_reg_mr(pd.get(), memory.data(), memory.size(), kAllAccess | IBV_ACCESS_MW_BIND)),
      qp(make_qp(o)) {
    memory.fill(static_cast<std::uint8_t>(host * 100 + 1));
}

Owned<ibv_qp> End::make_qp(const QpOptions& o) const {
    ibv_qp_init_attr attr{};
    attr.send_cq = send_cq.get();
    attr.recv_cq = recv_cq.get();
    attr.srq = srq.get();
    attr.cap = {o.send_wr, o.recv_wr, o.sges, o.sges, o.inline_bytes};
    attr.qp_type = o.type;
    attr.sq_sig_all = o.signal_all ? 1 : 0;
    ibv_qp* made = ibv_create_qp(pd.get(), &attr);
    EXPECT_NE(made, nullptr) << std::strerror(errno);
    return Owned<ibv_qp>(made);
}

void connect(End& a, End& b) {
    ASSERT_EQ(to_init(a.qp.get(), a.options), 0);
    ASSERT_EQ(to_init(b.qp.get(), b.options), 0);
    ASSERT_EQ(to_rtr(a.qp.get(), a.options, b.qp->qp_num, lid_of(b.context.get())), 0);
    ASSERT_EQ(to_rtr(b.qp.get(), b.options, a.qp->qp_num, lid_of(a.context.get())), 0);
    ASSERT_EQ(to_rts(a.qp.get(), a.options), 0);
    ASSERT_EQ(to_rts(b.qp.get(), b.options), 0);
}

Pair::Pair(const QpOptions& options_a, const QpOptions& options_b)
    : a(0, options_a), b(1, options_b) {
    connect(a, b);
}

DatagramPair::DatagramPair(QpOptions options, bool global)
    : a(0, (options.type = IBV_QPT_UD, options)), b(1, options), to_b(make_ah(a, b, global)) {
    for (End* end : {&a, &b}) {
        EXPECT_EQ(to_init(end->qp.get(), end->options), 0);
        EXPECT_EQ(to_rtr(end->qp.get(), end->options, 0, 0), 0);
        EXPECT_EQ(to_rts(end->qp.get(), end->options), 0);
    }
}

Owned<ibv_ah> make_ah(End& from, End& to, bool global) {
    ibv_ah_attr attr{};
    attr.dlid = lid_of(to.context.get());
    attr.port_num = 1;
    if (global) {
        attr.is_global = 1;
        attr.grh.dgid = gid_of(to.context.get());
        attr.grh.hop_limit = 5;
        attr.grh.traffic_class = 0x12;
        attr.grh.flow_label = 0x34567;
    }
    return Owned<ibv_ah>(ibv_create_ah(from.pd.get(), &attr));
}

std::uint64_t counter(unsigned host, const std::string& name) {
    shm::Message message;
    shm::request::SysfsRead::Reply reply;
    const std::string host_name = "h" + std::to_string(host);
    // The devices of each host are counted from 0.
    const std::string path = "/sys/class/infiniband/mlx5_0/ports/1/" + name;
    call(shm::request::SysfsRead{.host = host_name, .path = path}, message, reply);
    return std::strtoull(std::string(reply.text).c_str(), nullptr, 10);
}

testing::AssertionResult counts_to(unsigned host, const std::string& name, std::uint64_t value) {
    const auto end = std::chrono::steady_clock::now() + kLong;
    std::uint64_t now = counter(host, name);
    while (now < value && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(1ms);
        now = counter(host, name);
    }
    return now == value ? testing::AssertionSuccess()
                        : testing::AssertionFailure() << name << " is " << now << ", not " << value;
}

bool on_packet_path() {
    const char* path = std::getenv("SOFTIB_TEST_DATA_PATH");
    return path != nullptr && std::string_view(path) == "packet";
}

void let_arrive() {
    if (!on_packet_path()) {
        return;
    }
    // These packets cannot overtake earlier ones, which use the same lane of the same cables.
    Pair last;
    for (auto [from, to] : {std::pair{&last.a, &last.b}, std::pair{&last.b, &last.a}}) {
        Send write(IBV_WR_RDMA_WRITE);
        EXPECT_EQ(write.from(from->region(), 0, 8).to(to->region(), 0).post(from->qp.get()), 0);
        EXPECT_EQ(next(from->send_cq.get()).status, IBV_WC_SUCCESS);
    }
}

void set_pkey(unsigned host, unsigned index, std::uint16_t pkey) {
    shm::Message message;
    shm::request::StatusOnly done;
    call(
        shm::request::SetPKey{
            .hca = host, .index = static_cast<std::uint16_t>(index), .pkey = PKey{pkey}},
        message, done);
}

}  // namespace softib::test
