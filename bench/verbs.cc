// SPDX-License-Identifier: BSD-2-Clause
// Measures costs that perftest does not show, in one process that has the HCAs of two hosts
// (SOFTIB_HOST=h0,h1):
//
//   bench_verbs qps COUNT        nanoseconds per 8-byte write, round robin over COUNT connections,
//                                and bytes of memory per connected queue pair
//   bench_verbs writes COUNT     COUNT signaled 8-byte writes and polls: for counting instructions
//   bench_verbs sends COUNT      the same of sends, each with its receive request and both polls
//                                (both in device memory: valgrind lacks userfaultfd, without which
//                                a program's own pages are reached by the kernel's copies)
//   bench_verbs regions COUNT    COUNT regions of a page, every other page: seconds to touch these
//                                pages, to register and to deregister them, and microseconds to
//                                register one again, over the first 1,000

#include <infiniband/verbs.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

double now_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

template <typename T>
T* need(T* pointer, const char* what) {
    if (pointer == nullptr) {
        std::perror(what);
        std::exit(1);
    }
    return pointer;
}

void need(int error, const char* what) {
    if (error != 0) {
        std::fprintf(stderr, "%s: %s\n", what, std::strerror(error));
        std::exit(1);
    }
}

/// Returns the resident bytes of this process, private and shared.
long resident_bytes() {
    long size = 0;
    long resident = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr || std::fscanf(file, "%ld %ld", &size, &resident) != 2) {
        std::exit(1);
    }
    std::fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

struct Host {
    ibv_context* context;
    ibv_pd* pd;
    ibv_cq* cq;
    ibv_mr* mr;
    char* buffer = nullptr;
    ibv_port_attr port;

    Host(ibv_device* device, bool device_memory) {
        context = need(ibv_open_device(device), "ibv_open_device");
        pd = need(ibv_alloc_pd(context), "ibv_alloc_pd");
        cq = need(ibv_create_cq(context, 1024, nullptr, nullptr, 0), "ibv_create_cq");
        constexpr unsigned kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
        if (device_memory) {
            ibv_alloc_dm_attr attr{};
            attr.length = 4096;
            ibv_dm* const dm = need(ibv_alloc_dm(context, &attr), "ibv_alloc_dm");
            mr = need(ibv_reg_dm_mr(pd, dm, 0, 4096, kAccess | IBV_ACCESS_ZERO_BASED),
                      "ibv_reg_dm_mr");
        } else {
            buffer = static_cast<char*>(need(std::aligned_alloc(4096, 4096), "aligned_alloc"));
            std::memset(buffer, 0, 4096);
            mr = need(ibv_reg_mr(pd, buffer, 4096, kAccess), "ibv_reg_mr");
        }
        need(ibv_query_port(context, 1, &port), "ibv_query_port");
    }

    ibv_qp* make_qp() const {
        ibv_qp_init_attr init{};
        init.send_cq = cq;
        init.recv_cq = cq;
        init.qp_type = IBV_QPT_RC;
        init.cap = {.max_send_wr = 16,
                    .max_recv_wr = 1,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = 0};
        return need(ibv_create_qp(pd, &init), "ibv_create_qp");
    }
};

void connect(ibv_qp* qp, std::uint32_t dest_qpn, std::uint16_t dlid) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    need(ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
         "INIT");
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_4096;
    attr.dest_qp_num = dest_qpn;
    attr.ah_attr.dlid = dlid;
    attr.ah_attr.port_num = 1;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    need(ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                           IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
         "RTR");
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 14;
    attr.retry_cnt = 7;
    attr.rnr_retry = 7;
    attr.max_rd_atomic = 1;
    need(ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
         "RTS");
}

void poll_once(const Host& host) {
    ibv_wc wc{};
    int n = 0;
    while ((n = ibv_poll_cq(host.cq, 1, &wc)) == 0) {
    }
    if (n < 0 || wc.status != IBV_WC_SUCCESS) {
        std::fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
        std::exit(1);
    }
}

void write_once(const Host& from, const Host& to, ibv_qp* qp) {
    ibv_sge sge{reinterpret_cast<std::uintptr_t>(from.buffer), 8, from.mr->lkey};
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(to.buffer);
    wr.wr.rdma.rkey = to.mr->rkey;
    ibv_send_wr* bad = nullptr;
    need(ibv_post_send(qp, &wr, &bad), "ibv_post_send");
    poll_once(from);
}

void send_once(const Host& from, ibv_qp* sender, const Host& to, ibv_qp* receiver) {
    ibv_sge into{reinterpret_cast<std::uintptr_t>(to.buffer), 8, to.mr->lkey};
    ibv_recv_wr receive{};
    receive.sg_list = &into;
    receive.num_sge = 1;
    ibv_recv_wr* bad_receive = nullptr;
    need(ibv_post_recv(receiver, &receive, &bad_receive), "ibv_post_recv");
    ibv_sge sge{reinterpret_cast<std::uintptr_t>(from.buffer), 8, from.mr->lkey};
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    need(ibv_post_send(sender, &wr, &bad), "ibv_post_send");
    poll_once(from);
    poll_once(to);
}

void measure_regions(const Host& host, std::size_t count) {
    constexpr std::size_t kPage = 4096;
    constexpr std::size_t kAgain = 1000;
    char* const memory =
        static_cast<char*>(need(std::aligned_alloc(kPage, count * 2 * kPage), "aligned_alloc"));
    std::vector<ibv_mr*> regions(count);
    const auto add = [&](std::size_t i) {
        regions[i] = need(ibv_reg_mr(host.pd, memory + i * 2 * kPage, kPage,
                                     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
                          "ibv_reg_mr");
    };
    const auto remove = [&](std::size_t i) { need(ibv_dereg_mr(regions[i]), "ibv_dereg_mr"); };
    const auto seconds = [&](auto&& work, std::size_t times) {
        const double start = now_ns();
        for (std::size_t i = 0; i < times; ++i) {
            work(i);
        }
        return (now_ns() - start) * 1e-9;
    };
    const double touched = seconds([&](std::size_t i) { memory[i * 2 * kPage] = 1; }, count);
    const double added = seconds(add, count);
    const double removed = seconds(remove, count);
    const std::size_t again = count < kAgain ? count : kAgain;
    const double repeated = seconds(add, again) * 1e6 / static_cast<double>(again);
    seconds(remove, again);
    std::printf("%.3f %.3f %.3f %.2f\n", touched, added, removed, repeated);
}

}  // namespace

int main(int argc, char** argv) {
    const long count = argc == 3 ? std::atol(argv[2]) : 0;
    const bool many = argc == 3 && std::strcmp(argv[1], "qps") == 0;
    const bool regions = argc == 3 && std::strcmp(argv[1], "regions") == 0;
    const bool sends = argc == 3 && std::strcmp(argv[1], "sends") == 0;
    if (count <= 0 || (!many && !regions && !sends && std::strcmp(argv[1], "writes") != 0)) {
        std::fprintf(stderr, "usage: %s qps COUNT | writes COUNT | sends COUNT | regions COUNT\n",
                     argv[0]);
        return 2;
    }
    int devices = 0;
    ibv_device** list = need(ibv_get_device_list(&devices), "ibv_get_device_list");
    if (devices < 2) {
        std::fprintf(stderr, "needs the devices of two hosts: SOFTIB_HOST=h0,h1\n");
        return 1;
    }
    const bool device_memory = !many && !regions;
    const Host a(list[0], device_memory);
    const Host b(list[1], device_memory);
    if (regions) {
        measure_regions(a, static_cast<std::size_t>(count));
        return 0;
    }
    const long before = resident_bytes();
    std::vector<ibv_qp*> qps;
    ibv_qp* peer = nullptr;  // The last one's.
    for (long i = 0; i < (many ? count : 1); ++i) {
        ibv_qp* p = a.make_qp();
        ibv_qp* q = b.make_qp();
        connect(p, q->qp_num, b.port.lid);
        connect(q, p->qp_num, a.port.lid);
        qps.push_back(p);
        peer = q;
    }
    for (ibv_qp* qp : qps) {
        write_once(a, b, qp);
    }
    const long bytes = resident_bytes() - before;
    const long writes = many ? 2'000'000 : count;
    const double start = now_ns();
    for (long i = 0; i < writes; ++i) {
        if (sends) {
            send_once(a, qps.front(), b, peer);
            continue;
        }
        write_once(a, b, qps[static_cast<std::size_t>(i) % qps.size()]);
    }
    const double each = (now_ns() - start) / static_cast<double>(writes);
    std::printf("%.1f %.0f\n", each,
                static_cast<double>(bytes) / (2.0 * static_cast<double>(qps.size())));
    return 0;
}
