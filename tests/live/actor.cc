// SPDX-License-Identifier: BSD-2-Clause
#include "actor.h"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

extern char** environ;

namespace softib::test {

namespace {

constexpr std::uint32_t kQKey = 0x1234;

QpOptions actor_options(ibv_qp_type type) {
    QpOptions o;
    o.type = type;
    o.send_wr = o.recv_wr = 64;
    o.timeout = 22;
    o.retry_count = 7;
    o.qkey = kQKey;
    return o;
}

class RemoteActor : public Actor {
  public:
    RemoteActor(int socket, pid_t pid, std::span<std::byte> show)
        : socket_(socket), pid_(pid), show_(show) {}
    ~RemoteActor() override {
        run({.op = Command::kStop});
        close(socket_);
        int status = 0;
        EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
        EXPECT_EQ(status, 0) << "the actor's process failed";
        munmap(show_.data(), show_.size());
    }
    Reply run(const Command& command) override {
        Reply reply;
        if (::send(socket_, &command, sizeof command, MSG_NOSIGNAL) != sizeof command ||
            recv(socket_, &reply, sizeof reply, 0) != sizeof reply) {
            int status = 0;
            waitpid(pid_, &status, 0);
            // The test cannot go on without the actor.
            std::fprintf(stderr, "the actor's process ended with status %#x at command %u\n",
                         static_cast<unsigned>(status), static_cast<unsigned>(command.op));
            std::exit(1);
        }
        return reply;
    }
    std::span<const std::byte> shown() override { return show_; }

  private:
    int socket_;
    pid_t pid_;
    std::span<std::byte> show_;
};

std::span<std::byte> map_shared(int fd) {
    void* at = mmap(nullptr, kActorBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        std::abort();
    }
    return {static_cast<std::byte*>(at), kActorBytes};
}

/// Counts up words of the buffer, in a thread of the actor, and counts in `lost` the values that
/// something else changed.
void write_words(std::byte* base, std::uint64_t first, std::uint64_t step,
                 const std::atomic<bool>& stop, std::atomic<std::uint64_t>& lost) {
    std::vector<std::uint64_t> expected(kWordsWritten);
    std::vector<std::atomic_ref<std::uint64_t>> words;
    for (std::size_t i = 0; i < kWordsWritten; ++i) {
        words.emplace_back(*reinterpret_cast<std::uint64_t*>(base + first + i * step));
        expected[i] = words[i].load(std::memory_order_relaxed);
    }
    for (std::uint64_t round = 0; !stop.load(std::memory_order_relaxed); ++round) {
        for (std::size_t i = 0; i < kWordsWritten; ++i) {
            if (words[i].load(std::memory_order_relaxed) != expected[i]) {
                lost.fetch_add(1);
            }
            expected[i] = round << 8 | i;
            words[i].store(expected[i], std::memory_order_relaxed);
        }
    }
}

}  // namespace

LocalActor::~LocalActor() {
    stop_writers();
    qps_.clear();
    regions_.clear();
}

void LocalActor::start(unsigned host) {
    context_ = open_host(host);
    pd_.reset(ibv_alloc_pd(context_.get()));
    send_cq_.reset(ibv_create_cq(context_.get(), 4096, nullptr, nullptr, 0));
    recv_cq_.reset(ibv_create_cq(context_.get(), 4096, nullptr, nullptr, 0));
    memory_ = std::make_unique<Buffer>(kActorBytes);
    memory_->share(kSharedBegin, kSharedEnd - kSharedBegin);
}

Reply LocalActor::make_qp(ibv_qp_type type) {
    const QpOptions o = actor_options(type);
    ibv_qp_init_attr attr{};
    attr.send_cq = send_cq_.get();
    attr.recv_cq = recv_cq_.get();
    attr.cap = {o.send_wr, o.recv_wr, o.sges, o.sges, o.inline_bytes};
    attr.qp_type = type;
    ibv_qp* qp = qps_.emplace_back(ibv_create_qp(pd_.get(), &attr)).get();
    EXPECT_EQ(to_init(qp, o), 0);
    dest_lid_.push_back(0);
    return {{qps_.size() - 1, qp->qp_num, lid_of(context_.get())}};
}

void LocalActor::connect_to(ibv_qp* qp, std::uint32_t qpn, std::uint16_t lid) {
    const QpOptions o = actor_options(qp->qp_type);
    EXPECT_EQ(to_rtr(qp, o, qpn, lid), 0);
    EXPECT_EQ(to_rts(qp, o), 0);
}

Reply LocalActor::add_region(std::uint64_t offset, std::uint64_t bytes) {
    ibv_mr* mr = ibv_reg_mr(pd_.get(), memory_->data() + offset, bytes, kAllAccess);
    EXPECT_NE(mr, nullptr) << std::strerror(errno);
    regions_.emplace_back(mr);
    return {{regions_.size() - 1, mr->rkey, memory_->address(offset)}};
}

std::vector<ibv_sge> LocalActor::sges_of(const Command& c) const {
    std::vector<ibv_sge> out;
    for (std::uint32_t i = 0; i < c.sges; ++i) {
        out.push_back(
            {memory_->address(c.sge[i].offset), c.sge[i].bytes, regions_[c.sge[i].region]->lkey});
    }
    return out;
}

Reply LocalActor::send(const Command& c) {
    ibv_qp* qp = qps_[c.arg[0]].get();
    Send s(static_cast<ibv_wr_opcode>(c.arg[1]), static_cast<unsigned>(c.arg[2]));
    for (const ibv_sge& sge : sges_of(c)) {
        s.sge(sge.addr, sge.length, sge.lkey);
    }
    Owned<ibv_ah> ah;
    if (qp->qp_type == IBV_QPT_UD) {
        ibv_ah_attr attr{};
        attr.dlid = static_cast<std::uint16_t>(c.arg[4]);
        attr.port_num = 1;
        ah.reset(ibv_create_ah(pd_.get(), &attr));
        s.datagram(ah.get(), static_cast<std::uint32_t>(c.arg[3]), kQKey);
    } else {
        s.at(c.arg[3], static_cast<std::uint32_t>(c.arg[4]));
    }
    if (c.arg[1] == IBV_WR_ATOMIC_CMP_AND_SWP || c.arg[1] == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        s.atomic(c.arg[5], c.arg[6]);
    }
    s.imm(static_cast<std::uint32_t>(c.arg[7]));
    return {{static_cast<std::uint64_t>(s.post(qp))}};
}

Reply LocalActor::poll(ibv_cq* cq) {
    const ibv_wc wc = next(cq);
    return {{static_cast<std::uint64_t>(wc.status), wc.byte_len, wc.imm_data, wc.qp_num}};
}

void LocalActor::start_writers(std::uint64_t first, std::uint64_t step) {
    stop_writing_.store(false);
    writers_.emplace_back(
        [this, first, step] { write_words(memory_->data(), first, step, stop_writing_, lost_); });
}

std::uint64_t LocalActor::stop_writers() {
    stop_writing_.store(true);
    for (std::thread& writer : writers_) {
        writer.join();
    }
    writers_.clear();
    return lost_.exchange(0);
}

Reply LocalActor::run(const Command& c) {
    switch (c.op) {
        case Command::kStart:
            start(static_cast<unsigned>(c.arg[0]));
            break;
        case Command::kMakeQp:
            return make_qp(static_cast<ibv_qp_type>(c.arg[0]));
        case Command::kConnect:
            connect_to(qps_[c.arg[0]].get(), static_cast<std::uint32_t>(c.arg[1]),
                       static_cast<std::uint16_t>(c.arg[2]));
            break;
        case Command::kRegister:
            return add_region(c.arg[0], c.arg[1]);
        case Command::kDeregister:
            regions_[c.arg[0]].reset();
            break;
        case Command::kReceive:
            EXPECT_EQ(post_recv(qps_[c.arg[0]].get(), 0, sges_of(c)), 0);
            break;
        case Command::kSend:
            return send(c);
        case Command::kPoll:
            return poll(c.arg[0] == 0 ? send_cq_.get() : recv_cq_.get());
        case Command::kFill:
            memory_->fill(static_cast<std::uint8_t>(c.arg[0]));
            break;
        case Command::kShow:
            std::memcpy(show_.data(), memory_->data(), kActorBytes);
            break;
        case Command::kWrite:
            start_writers(c.arg[0], c.arg[1]);
            break;
        case Command::kCheck:
            return {{stop_writers()}};
        case Command::kStop:
            break;
    }
    return {};
}

std::unique_ptr<Actor> make_actor(unsigned host, bool remote) {
    const int shared = memfd_create("shown", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(shared, kActorBytes), 0);
    std::unique_ptr<Actor> actor;
    if (!remote) {
        actor = std::make_unique<LocalActor>(map_shared(shared));
    } else {
        int ends[2];
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        // Duplicates of the descriptors survive the exec, with the same numbers in the new process.
        const int inherited[] = {dup(ends[1]), dup(shared)};
        std::string socket_there = std::to_string(inherited[0]);
        std::string shared_there = std::to_string(inherited[1]);
        char program[] = "/proc/self/exe";
        char role[] = "--actor";
        char* argv[] = {program, role, socket_there.data(), shared_there.data(), nullptr};
        pid_t pid = 0;
        EXPECT_EQ(posix_spawn(&pid, program, nullptr, nullptr, argv, environ), 0);
        close(inherited[0]);
        close(inherited[1]);
        close(ends[1]);
        actor = std::make_unique<RemoteActor>(ends[0], pid, map_shared(shared));
    }
    close(shared);
    actor->run({.op = Command::kStart, .arg = {host}});
    return actor;
}

void run_if_actor(int argc, char** argv) {
    if (argc != 4 || std::strcmp(argv[1], "--actor") != 0) {
        return;
    }
    const int socket = std::atoi(argv[2]);
    {
        LocalActor actor(map_shared(std::atoi(argv[3])));
        Command command;
        while (recv(socket, &command, sizeof command, 0) == sizeof command) {
            const Reply reply = actor.run(command);
            if (::send(socket, &reply, sizeof reply, MSG_NOSIGNAL) != sizeof reply ||
                command.op == Command::kStop) {
                break;
            }
        }
    }
    std::exit(testing::Test::HasFailure() ? 1 : 0);
}

}  // namespace softib::test
