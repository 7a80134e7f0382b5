// SPDX-License-Identifier: BSD-2-Clause
#include "rig.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "runtime/shm/arena.h"
#include "runtime/shm/rpc.h"

namespace faults {

std::string g_story;

namespace {

constexpr std::size_t kGuardBytes = 4096 + 64;
constexpr std::byte kGuard{0xA7};

template <typename T>
T* need(T* object, const char* what) {
    EXPECT(object != nullptr, std::string(what) + ": " + std::strerror(errno));
    return object;
}

bool filled(const std::byte* begin, const std::byte* end) {
    return std::all_of(begin, end, [](std::byte b) { return b == kGuard; });
}

}  // namespace

void fail(const char* file, int line, const std::string& text) {
    std::fprintf(stderr, "%s:%d: %s [%s]\n", file, line, text.c_str(), g_story.c_str());
    std::fflush(nullptr);
    _exit(1);
}

Memory::Memory(std::size_t bytes) : bytes_(bytes) {
    mapped_ = (bytes + 2 * kGuardBytes + 4095) / 4096 * 4096;
    void* const at =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(at != MAP_FAILED, "no memory");
    mapping_ = static_cast<std::byte*>(at);
    std::fill_n(mapping_, mapped_, kGuard);
    inside_ = mapping_ + kGuardBytes;
    std::memset(inside_, 0, bytes_);
}

Memory::~Memory() {
    munmap(mapping_, mapped_);
}

void Memory::check_guards(const char* whose) const {
    EXPECT(filled(mapping_, inside_) && filled(inside_ + bytes_, mapping_ + mapped_),
           std::string("bytes outside the registered memory changed: ") + whose);
}

Device::Device(int cq_entries, int index) {
    int count = 0;
    ibv_device** const list = ibv_get_device_list(&count);
    EXPECT(list != nullptr && count > index, "no device");
    context = need(ibv_open_device(list[index]), "ibv_open_device");
    ibv_free_device_list(list);
    pd = need(ibv_alloc_pd(context), "ibv_alloc_pd");
    channel = need(ibv_create_comp_channel(context), "ibv_create_comp_channel");
    cq = need(ibv_create_cq(context, cq_entries, nullptr, channel, 0), "ibv_create_cq");
    EXPECT(ibv_req_notify_cq(cq, 0) == 0, "ibv_req_notify_cq");
    ibv_port_attr port{};
    EXPECT(ibv_query_port(context, 1, &port) == 0, "ibv_query_port");
    lid = port.lid;
    if (port.link_layer == IBV_LINK_LAYER_ETHERNET) {
        EXPECT(ibv_query_gid(context, 1, 0, &gid) == 0, "ibv_query_gid");
    }
}

Device::~Device() {
    for (ibv_mr* mr : regions_) {
        ibv_dereg_mr(mr);
    }
    ibv_destroy_cq(cq);
    ibv_destroy_comp_channel(channel);
    ibv_dealloc_pd(pd);
    ibv_close_device(context);
}

ibv_mr* Device::reg(void* at, std::size_t bytes) {
    regions_.push_back(need(ibv_reg_mr(pd, at, bytes,
                                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                           IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC),
                            "ibv_reg_mr"));
    return regions_.back();
}

void Device::dereg(ibv_mr* mr) {
    std::erase(regions_, mr);
    EXPECT(ibv_dereg_mr(mr) == 0, "ibv_dereg_mr");
}

ibv_qp* Device::make_qp(const Options& options) {
    ibv_qp_init_attr init{};
    init.send_cq = cq;
    init.recv_cq = cq;
    init.srq = options.srq;
    init.qp_type = options.type;
    init.cap = {options.send_wr, options.recv_wr, 4, 4, 64};
    return need(ibv_create_qp(pd, &init), "ibv_create_qp");
}

Address Device::address(ibv_qp* qp, const ibv_mr* mr) const {
    Address a;
    a.qpn = qp->qp_num;
    a.lid = lid;
    a.gid = gid;
    if (mr != nullptr) {
        a.rkey = mr->rkey;
        a.addr = reinterpret_cast<std::uint64_t>(mr->addr);
        a.bytes = mr->length;
    }
    return a;
}

int Device::poll(std::span<ibv_wc> out) {
    const int n = ibv_poll_cq(cq, static_cast<int>(out.size()), out.data());
    EXPECT(n >= 0, "ibv_poll_cq");
    return n;
}

bool Device::wait_event(int limit_ms) {
    pollfd waiting{channel->fd, POLLIN, 0};
    if (::poll(&waiting, 1, limit_ms) <= 0) {
        return false;
    }
    ibv_cq* which = nullptr;
    void* user = nullptr;
    EXPECT(ibv_get_cq_event(channel, &which, &user) == 0, "ibv_get_cq_event");
    ibv_ack_cq_events(which, 1);
    EXPECT(ibv_req_notify_cq(cq, 0) == 0, "ibv_req_notify_cq");
    return true;
}

void to_init(ibv_qp* qp) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    if (qp->qp_type == IBV_QPT_UD) {
        attr.qkey = kQKey;
        mask |= IBV_QP_QKEY;
    } else {
        attr.qp_access_flags =
            IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
        mask |= IBV_QP_ACCESS_FLAGS;
    }
    EXPECT(ibv_modify_qp(qp, &attr, mask) == 0, "to INIT");
}

void to_rts(ibv_qp* qp, const Address& peer, const Retry& retry) {
    const bool datagram = qp->qp_type == IBV_QPT_UD;
    const bool reliable = qp->qp_type == IBV_QPT_RC;
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTR;
    int mask = IBV_QP_STATE;
    if (!datagram) {
        attr.path_mtu = IBV_MTU_4096;
        attr.dest_qp_num = peer.qpn;
        attr.ah_attr.dlid = static_cast<std::uint16_t>(peer.lid);
        attr.ah_attr.port_num = 1;
        if (peer.gid.global.interface_id != 0) {
            attr.ah_attr.is_global = 1;
            attr.ah_attr.grh.dgid = peer.gid;
            attr.ah_attr.grh.hop_limit = 64;
        }
        mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    }
    if (reliable) {
        attr.max_dest_rd_atomic = 16;
        attr.min_rnr_timer = 1;
        mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    }
    EXPECT(ibv_modify_qp(qp, &attr, mask) == 0, "to RTR");
    attr.qp_state = IBV_QPS_RTS;
    mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (reliable) {
        attr.timeout = retry.timeout;
        attr.retry_cnt = retry.retry_cnt;
        attr.rnr_retry = retry.rnr_retry;
        attr.max_rd_atomic = 16;
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    }
    EXPECT(ibv_modify_qp(qp, &attr, mask) == 0, "to RTS");
}

ibv_ah* make_ah(ibv_pd* pd, std::uint16_t lid) {
    ibv_ah_attr attr{};
    attr.dlid = lid;
    attr.port_num = 1;
    return need(ibv_create_ah(pd, &attr), "ibv_create_ah");
}

void post_recv(ibv_qp* qp, std::uint64_t wr_id, const void* at, std::size_t bytes,
               std::uint32_t lkey) {
    ibv_sge sge{reinterpret_cast<std::uint64_t>(at), static_cast<std::uint32_t>(bytes), lkey};
    ibv_recv_wr wr{};
    wr.wr_id = wr_id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    EXPECT(ibv_post_recv(qp, &wr, &bad) == 0, "ibv_post_recv");
}

void post_srq_recv(ibv_srq* srq, std::uint64_t wr_id, const void* at, std::size_t bytes,
                   std::uint32_t lkey) {
    ibv_sge sge{reinterpret_cast<std::uint64_t>(at), static_cast<std::uint32_t>(bytes), lkey};
    ibv_recv_wr wr{};
    wr.wr_id = wr_id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    EXPECT(ibv_post_srq_recv(srq, &wr, &bad) == 0, "ibv_post_srq_recv");
}

bool put_bytes(int fd, const void* data, std::size_t bytes) {
    const auto* at = static_cast<const char*>(data);
    while (bytes != 0) {
        const ssize_t n = send(fd, at, bytes, MSG_NOSIGNAL);
        if (n <= 0) {
            if (n < 0 && errno == EINTR) {
                continue;
            }
            return false;
        }
        at += n;
        bytes -= static_cast<std::size_t>(n);
    }
    return true;
}

bool get_bytes(int fd, void* data, std::size_t bytes) {
    auto* at = static_cast<char*>(data);
    while (bytes != 0) {
        pollfd waiting{fd, POLLIN, 0};
        if (::poll(&waiting, 1, static_cast<int>(std::chrono::milliseconds(kHang).count())) == 0) {
            fail(__FILE__, __LINE__, "the other program does not answer");
        }
        const ssize_t n = read(fd, at, bytes);
        if (n <= 0) {
            if (n < 0 && errno == EINTR) {
                continue;
            }
            return false;
        }
        at += n;
        bytes -= static_cast<std::size_t>(n);
    }
    return true;
}

Child start_child(const std::vector<std::string>& args, const Variables& variables) {
    int ends[2];
    EXPECT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
    std::vector<std::string> words{"/proc/self/exe"};
    words.insert(words.end(), args.begin(), args.end());
    std::vector<char*> argv;
    for (std::string& word : words) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    std::vector<std::string> environment;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        const bool replaced = std::any_of(variables.begin(), variables.end(), [&](const auto& v) {
            return text.starts_with(v.first + "=");
        });
        if (!replaced) {
            environment.push_back(text);
        }
    }
    for (const auto& [name, value] : variables) {
        environment.push_back(name + "=" + value);
    }
    std::vector<char*> envp;
    for (std::string& entry : environment) {
        envp.push_back(entry.data());
    }
    envp.push_back(nullptr);
    // vfork, because a fork of a process with registered memory is a test of its own.
    const pid_t pid = vfork();
    EXPECT(pid >= 0, "vfork");
    if (pid == 0) {
        if (ends[1] == kChildFd) {
            fcntl(kChildFd, F_SETFD, 0);
        } else {
            dup2(ends[1], kChildFd);
        }
        execve(argv[0], argv.data(), envp.data());
        _exit(127);
    }
    close(ends[1]);
    return {pid, ends[0]};
}

int end_child(Child& child, int signal_number) {
    if (signal_number != 0) {
        kill(child.pid, signal_number);
    }
    int status = 0;
    const Deadline deadline;
    while (waitpid(child.pid, &status, WNOHANG) == 0) {
        EXPECT(!deadline.over(), "a child does not end");
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    close(child.fd);
    child = {};
    return status;
}

std::size_t attached_processes() {
    using namespace softib::shm;
    static const Arena arena = [] {
        const char* const dir = std::getenv("SOFTIB_DIR");
        EXPECT(dir != nullptr, "run this with softib exec");
        const int fd = rpc_connect(dir);
        Message message;
        request::OneFile told;
        EXPECT(fd >= 0 && rpc_ask(fd, request::Observe{}, message, told) == 0, "cannot observe");
        close(fd);
        return arena_map(told.file, false);
    }();
    EXPECT(arena.base != nullptr, "cannot map the arena");
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < softib::shm::procs_used(arena); ++i) {
        count += arena.procs[i].state.load() != ProcState::kFree ? 1U : 0U;
    }
    return count;
}

void wait_attached(std::size_t count) {
    const Deadline deadline;
    while (attached_processes() != count) {
        EXPECT(!deadline.over(),
               "the daemon has not noticed who is gone: " + std::to_string(attached_processes()) +
                   " processes, not " + std::to_string(count));
        std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
}

void fill_pattern(void* at, std::size_t bytes, std::uint32_t message) {
    auto* words = static_cast<std::uint64_t*>(at);
    for (std::size_t i = 0; i < bytes / 8; ++i) {
        words[i] = pattern(message, i);
    }
}

std::size_t first_wrong(const void* at, std::size_t bytes, std::uint32_t message) {
    const auto* words = static_cast<const std::uint64_t*>(at);
    for (std::size_t i = 0; i < bytes / 8; ++i) {
        if (words[i] != pattern(message, i)) {
            return i;
        }
    }
    return SIZE_MAX;
}

}  // namespace faults
