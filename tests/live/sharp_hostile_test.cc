// SPDX-License-Identifier: BSD-2-Clause
// A program sends wrong packets and class 0x0B MADs to a switch's aggregation node, while a job of
// two members reduces through it. Every element of every result of that job must be right, and the
// next job must work. On the packet path the packets reach the live carrier: datagrams, RC packets
// that a connection does not expect, and packets that the node takes for those of a second job (the
// bait), because the program has that job's LID and knows its PSN.
//
// SOFTIB_HOSTILE sets the number of packets and MADs; the long tests send a million.
#include <gtest/gtest.h>
#include <sched.h>
#include <sharp/api/sharp.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/base/prng.h"
#include "core/wire/sharp/sharp_data_header.h"
#include "runtime/sharp/group_memory.h"
#include "runtime/shm/program_place.h"
#include "runtime/shm/rpc.h"
#include "sharp_node.h"
#include "verbs_rig.h"
#include "view/sharp.h"

namespace softib::test {
namespace {

constexpr int kRanks = 2;
constexpr std::uint64_t kGoodJob = 501;
constexpr std::uint64_t kBaitJob = 502;
/// The first queue pairs of a node: two belong to the good job, the next one to the bait.
constexpr std::uint32_t kNodeQpns = 0x100;
constexpr std::uint32_t kBaitQpn = kNodeQpns + kRanks;
constexpr std::uint32_t kBatch = 64;
constexpr std::uint32_t kMtu = 1024;

/// Memory that the two members share with the test: messages of their out-of-band functions, and
/// their state.
struct Party {
    struct Message {
        std::atomic<std::uint32_t> said;
        char bytes[64];
    };
    Message messages[32][kRanks];
    std::atomic<std::uint32_t> stop;
    std::atomic<std::uint64_t> rounds[kRanks];
    std::atomic<int> failed[kRanks];  ///< An error of the interface, or 1 for a wrong result.
};

class PartyMember {
  public:
    PartyMember(Party& party, int rank) : party_(party), rank_(rank) {}

    void live() {
        sharp_coll_init_spec init{};
        init.job_id = kGoodJob;
        init.world_rank = rank_;
        init.world_size = kRanks;
        init.oob_colls = {spread, meet, collect};
        init.oob_ctx = this;
        init.config = sharp_coll_default_config;
        sharp_coll_context* context = nullptr;
        sharp_coll_comm_init_spec group{};
        group.rank = rank_;
        group.size = kRanks;
        group.oob_ctx = this;
        sharp_coll_comm* comm = nullptr;
        if (works(sharp_coll_init(&init, &context)) &&
            works(sharp_coll_comm_init(context, &group, &comm))) {
            while (reduce(comm)) {
            }
            works(sharp_coll_finalize(context));
        }
    }

  private:
    static int spread(void* self, void* buffer, int bytes, int root) {
        auto& me = *static_cast<PartyMember*>(self);
        me.talk(me.rank_ == root, root, buffer, bytes);
        ++me.calls_;
        return 0;
    }
    static int collect(void* self, int root, void* in, void* out, int bytes) {
        auto& me = *static_cast<PartyMember*>(self);
        me.talk(true, me.rank_, in, bytes);
        for (int from = 0; me.rank_ == root && from < kRanks; ++from) {
            me.talk(false, from, static_cast<char*>(out) + std::ptrdiff_t{from} * bytes, bytes);
        }
        ++me.calls_;
        return 0;
    }
    static int meet(void* self) {
        char byte = 0;
        char all[kRanks];
        collect(self, 0, &byte, all, 1);
        return spread(self, &byte, 1, 0);
    }

    void talk(bool says, int who, void* data, int bytes) {
        Party::Message& message = party_.messages[calls_][who];
        if (says) {
            std::memcpy(message.bytes, data, static_cast<std::size_t>(bytes));
            message.said.store(1, std::memory_order_release);
            return;
        }
        while (message.said.load(std::memory_order_acquire) == 0) {
            sched_yield();
        }
        std::memcpy(data, message.bytes, static_cast<std::size_t>(bytes));
    }

    bool works(int error) {
        if (error != SHARP_COLL_SUCCESS) {
            party_.failed[rank_].store(error);
        }
        return error == SHARP_COLL_SUCCESS;
    }

    /// Sums vectors of several sizes, the larger ones by streams. The first element says whether
    /// any member wants to stop, so that all stop at the same operation. Returns false then.
    bool reduce(sharp_coll_comm* comm) {
        constexpr std::size_t kSizes[] = {2, 300, 20'000};
        const std::uint64_t round = party_.rounds[rank_].load();
        const std::size_t count = kSizes[round % std::size(kSizes)];
        std::vector<std::uint32_t> in(count);
        std::vector<std::uint32_t> out(count);
        for (std::size_t i = 1; i < count; ++i) {
            in[i] = static_cast<std::uint32_t>(round + i * static_cast<std::size_t>(rank_ + 1));
        }
        in[0] = party_.stop.load();
        sharp_coll_reduce_spec spec{};
        spec.sbuf_desc.buffer = {in.data(), count * 4, nullptr};
        spec.rbuf_desc.buffer = {out.data(), count * 4, nullptr};
        spec.dtype = SHARP_DTYPE_UNSIGNED;
        spec.op = SHARP_OP_SUM;
        spec.length = count;
        if (!works(sharp_coll_do_allreduce(comm, &spec))) {
            return false;
        }
        for (std::size_t i = 1; i < count; ++i) {
            if (out[i] != static_cast<std::uint32_t>(2 * round + 3 * i)) {
                party_.failed[rank_].store(1);
                return false;
            }
        }
        party_.rounds[rank_].store(round + 1);
        return out[0] == 0;
    }

    Party& party_;
    int rank_;
    std::size_t calls_ = 0;
};

/// A job of this process alone. The test sends wrong packets that look as if they came over its
/// connection.
struct Bait {
    Bait() {
        sharp_coll_init_spec init{};
        init.job_id = kBaitJob;
        init.world_size = 1;
        init.config = sharp_coll_default_config;
        init.config.flags = SHARP_COLL_HIDE_ERRORS;
        EXPECT_EQ(sharp_coll_init(&init, &context), SHARP_COLL_SUCCESS);
        sharp_coll_comm_init_spec group{};
        group.size = 1;
        EXPECT_EQ(sharp_coll_comm_init(context, &group, &comm), SHARP_COLL_SUCCESS);
    }
    ~Bait() { EXPECT_EQ(sharp_coll_finalize(context), SHARP_COLL_SUCCESS); }
    Bait(const Bait&) = delete;
    Bait& operator=(const Bait&) = delete;

    sharp_coll_context* context = nullptr;
    sharp_coll_comm* comm = nullptr;
};

/// The numbers of a job that packets name.
struct JobNumbers {
    std::uint32_t job = 0;
    std::uint16_t tree = 0;
    std::uint32_t group = 0;
};

class Thrower {
  public:
    Thrower(AggregationNode& node, const JobNumbers& good, const JobNumbers& bait)
        : node_(node), good_(good), bait_(bait), next_psn_(bait.job) {
        ibv_ah_attr to{};
        to.dlid = node.lid();
        to.port_num = 1;
        to_node_.reset(ibv_create_ah(datagrams_.pd.get(), &to));
        to.dlid = lid_of(connected_.context.get());
        to_member_.reset(ibv_create_ah(datagrams_.pd.get(), &to));
        EXPECT_EQ(to_init(datagrams_.qp.get(), datagrams_.options), 0);
        EXPECT_EQ(to_rtr(datagrams_.qp.get(), datagrams_.options, 0, 0), 0);
        EXPECT_EQ(to_rts(datagrams_.qp.get(), datagrams_.options), 0);
    }

    /// Sends a batch of datagrams, RC packets or MADs. Returns their number.
    std::uint32_t any() {
        if (prng_.chance(1, 16)) {  // Rarely, because it takes long.
            return as_the_bait();
        }
        switch (prng_.below(3)) {
            case 0:
                return datagrams();
            case 1:
                return unexpected();
            default:
                return mads();
        }
    }
    /// Sends packets that the node takes for packets of the bait's connection, after those of the
    /// last time, which are repeated. No PSN may be missing: all packets leave before the first one
    /// is given up.
    std::uint32_t as_the_bait() {
        const std::uint32_t first = (next_psn_ - repeat_) & 0xFFFFFF;
        connect(kBaitQpn, first, kPatient);
        const std::uint32_t thrown = send(repeat_ + kBatch);
        next_psn_ = (next_psn_ + kBatch) & 0xFFFFFF;
        repeat_ = kBatch;
        taken_ += kBatch;
        return thrown;
    }
    std::uint64_t taken() const { return taken_; }
    /// Sends a message that is longer than any receive request.
    void too_long() {
        const std::uint32_t first = (next_psn_ - repeat_) & 0xFFFFFF;
        connect(kBaitQpn, first, kPatient);
        for (std::uint32_t i = 0; i <= repeat_; ++i) {
            const std::uint32_t bytes =
                i == repeat_ ? static_cast<std::uint32_t>(connected_.memory.size()) : 8;
            Send send(IBV_WR_SEND);
            EXPECT_EQ(send.from(connected_.region(), 0, bytes).post(connected_.qp.get()), 0);
        }
        poll_many(connected_.send_cq.get(), repeat_ + 1);
    }

  private:
    std::uint32_t number() { return static_cast<std::uint32_t>(prng_.next()); }

    /// Writes bytes that are no packet of SHARP, or a packet with something wrong or unusual.
    /// Returns its size.
    std::uint32_t write(std::byte* at) {
        const auto bytes = static_cast<std::uint32_t>(prng_.below(kMtu + 1));
        for (std::uint32_t i = 0; i < bytes; ++i) {
            at[i] = static_cast<std::byte>(number());
        }
        if (bytes < wire::SharpDataHeader::kBytes || prng_.chance(1, 4)) {
            return bytes;
        }
        const JobNumbers& job = prng_.chance(1, 2) ? bait_ : good_;
        wire::SharpDataHeader header{
            .kind = static_cast<wire::SharpDataHeader::Kind>(prng_.below(5)),
            .contributes = prng_.chance(3, 4),
            .wants_result = prng_.chance(1, 2),
            .streaming = prng_.chance(1, 4),
            .data_type = static_cast<std::uint8_t>(prng_.below(16)),
            .reduce_op = static_cast<std::uint8_t>(prng_.below(16)),
            .tree_id = prng_.chance(7, 8) ? job.tree : static_cast<std::uint16_t>(number()),
            .group_id = prng_.chance(7, 8) ? job.group : number() & 0xFFFFFF,
            .sequence = static_cast<std::uint32_t>(prng_.below(100)),
            .offset = prng_.chance(1, 2) ? 0 : prng_.next(),
            .length = prng_.chance(3, 4) ? bytes - 32 : number()};
        if (prng_.chance(1, 8)) {
            header.version = static_cast<std::uint8_t>(prng_.below(16));
        }
        wire::emit(header, std::span(reinterpret_cast<std::uint8_t*>(at), bytes));
        return bytes;
    }

    void connect(std::uint32_t qpn, std::uint32_t psn, std::uint8_t timeout) {
        ibv_qp* const qp = connected_.qp.get();
        EXPECT_EQ(to_state(qp, IBV_QPS_RESET), 0);
        EXPECT_EQ(to_init(qp, connected_.options), 0);
        EXPECT_EQ(to_rtr(qp, connected_.options, qpn, node_.lid()), 0);
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_RTS;
        attr.sq_psn = psn;
        attr.timeout = timeout;
        EXPECT_EQ(ibv_modify_qp(qp, &attr,
                                IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC),
                  0);
    }

    /// Sends `count` packets. All of them fail here, because the node sends its answers to the
    /// queue pair that it knows.
    std::uint32_t send(std::uint32_t count) {
        std::vector<ibv_sge> sges(count);
        std::vector<ibv_send_wr> wrs(count);
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::size_t at = std::size_t{i % kPlaces} * kMtu;
            const std::uint32_t bytes = write(connected_.memory.data() + at);
            sges[i] = sge_of(connected_.region(), at, bytes);
            wrs[i].next = i + 1 == count ? nullptr : &wrs[i + 1];
            wrs[i].sg_list = &sges[i];
            wrs[i].num_sge = 1;
            wrs[i].opcode = IBV_WR_SEND;
            wrs[i].send_flags = IBV_SEND_SIGNALED;
        }
        ibv_send_wr* bad = nullptr;
        EXPECT_EQ(ibv_post_send(connected_.qp.get(), wrs.data(), &bad), 0);
        poll_many(connected_.send_cq.get(), count);
        return count;
    }

    /// Sends packets to the good job's connections, with PSNs far behind or ahead of theirs.
    std::uint32_t unexpected() {
        const auto far = static_cast<std::uint32_t>((1U << 22) + prng_.below(1U << 21));
        const std::uint32_t psn = prng_.chance(1, 2) ? far : 0xFFFFFF - far;
        connect(kNodeQpns + static_cast<std::uint32_t>(prng_.below(8)), psn, kHasty);
        return send(kBatch);
    }

    /// Sends datagrams to queue pairs of nodes and members, which do not take datagrams.
    std::uint32_t datagrams() {
        for (std::uint32_t i = 0; i < kBatch; ++i) {
            const std::size_t at = std::size_t{i % kPlaces} * kMtu;
            const std::uint32_t bytes = write(datagrams_.memory.data() + at);
            const bool up = prng_.chance(1, 2);
            const auto few = static_cast<std::uint32_t>(prng_.below(8));
            Send send(IBV_WR_SEND);
            EXPECT_EQ(send.from(datagrams_.region(), at, bytes)
                          .datagram(up ? to_node_.get() : to_member_.get(),
                                    up ? kNodeQpns + few : sharp::kMemberQpnLast - few, number())
                          .post(datagrams_.qp.get()),
                      0);
        }
        poll_many(datagrams_.send_cq.get(), kBatch);
        return kBatch;
    }

    std::uint32_t mads() {
        using enum wire::SharpAttribute;
        constexpr std::array kAttributes{
            kClassPortInfo, kAmKeyInfo, kAnInfo, kQpAllocation,    kQpcConfig,          kTreeConfig,
            kQuotaConfig,   kGroupJoin, kJob,    kResourceCleanup, kPerformanceCounters};
        constexpr std::uint32_t kMads = 16;
        for (std::uint32_t i = 0; i < kMads; ++i) {
            wire::MadBytes mad{};
            for (std::uint8_t& byte : mad) {
                byte = prng_.chance(1, 2) ? static_cast<std::uint8_t>(number()) : 0;
            }
            const bool known = prng_.chance(7, 8);
            const wire::MadRepr header{
                .mgmt_class = wire::MgmtClass::kSharp,
                .class_version =
                    known ? wire::kSharpClassVersion : static_cast<std::uint8_t>(number()),
                .method = static_cast<wire::Method>(prng_.chance(3, 4) ? 1 + prng_.below(2)
                                                                       : prng_.below(256)),
                .transaction_id = prng_.next(),
                .attribute_id =
                    prng_.chance(7, 8)
                        ? static_cast<std::uint16_t>(kAttributes[prng_.below(kAttributes.size())])
                        : static_cast<std::uint16_t>(number()),
                .attribute_modifier = prng_.chance(1, 2) ? 0 : number()};
            header.emit(wire::Mad<std::uint8_t>(mad));
            node_.send(mad);
        }
        node_.forget_answers();
        return kMads;
    }

    static QpOptions datagram_options() {
        return {.type = IBV_QPT_UD, .send_wr = kBatch, .cqe = kBatch};
    }
    static QpOptions connected_options() {
        return {.send_wr = 2 * kBatch, .retry_count = 0, .cqe = 2 * kBatch};
    }
    // Local ACK timeouts of one try: 1 ms and 67 ms.
    static constexpr std::uint8_t kHasty = 8;
    static constexpr std::uint8_t kPatient = 14;
    static constexpr std::uint32_t kPlaces = 16;

    AggregationNode& node_;
    JobNumbers good_;
    JobNumbers bait_;
    std::uint32_t next_psn_;
    std::uint32_t repeat_ = 0;
    std::uint64_t taken_ = 0;  ///< Packets that the node has taken for packets of the bait.
    Prng prng_{16};
    End datagrams_{1, datagram_options()};
    End connected_{0, connected_options()};
    Owned<ibv_ah> to_node_;
    Owned<ibv_ah> to_member_;
};

class SharpHostile : public testing::Test {
  protected:
    void SetUp() override {
        void* const at =
            mmap(nullptr, sizeof(Party), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(at, MAP_FAILED);
        party_ = static_cast<Party*>(at);
        for (int rank = 0; rank < kRanks; ++rank) {
            const pid_t pid = fork();
            if (pid == 0) {
                setenv("SOFTIB_HOST", rank == 0 ? "h0" : "h1", 1);
                PartyMember(*party_, rank).live();
                _exit(0);
            }
            pids_.push_back(pid);
        }
    }
    void TearDown() override {
        party_->stop.store(1);
        for (const pid_t pid : pids_) {
            int status = 0;
            EXPECT_EQ(waitpid(pid, &status, 0), pid);
            EXPECT_EQ(status, 0);
        }
        munmap(party_, sizeof(Party));
    }

    bool is_well() const {
        return std::ranges::all_of(party_->failed, [](const auto& each) { return each == 0; });
    }
    /// Returns whether both members have done some more operations.
    bool goes_on() const {
        const auto end = std::chrono::steady_clock::now() + kLong;
        const std::uint64_t wanted[] = {party_->rounds[0] + 6, party_->rounds[1] + 6};
        while (is_well() && std::chrono::steady_clock::now() < end) {
            if (party_->rounds[0] >= wanted[0] && party_->rounds[1] >= wanted[1]) {
                return true;
            }
            std::this_thread::yield();
        }
        return false;
    }

    /// Returns whether the node has discarded most packets that it had taken for the bait's, and
    /// its HCA has discarded others. The carrier publishes its counts from time to time.
    static bool have_arrived(AggregationNode& node, const wire::SharpPerformanceCounters& before,
                             std::uint64_t taken) {
        const auto end = std::chrono::steady_clock::now() + kLong;
        while (std::chrono::steady_clock::now() < end) {
            const auto now = node.read();
            if (now.packet_discard_sharp >= before.packet_discard_sharp + taken / 2 &&
                now.packet_discard_transport >= before.packet_discard_transport + kBatch) {
                return true;
            }
        }
        return false;
    }

    static JobNumbers numbers_of(std::uint64_t key) {
        const int daemon = shm::rpc_connect(shm::program_place().dir);
        const auto told = view::ask_sharp(daemon);
        close(daemon);
        JobNumbers found;
        for (const view::SharpJob& job : told ? told->jobs : std::vector<view::SharpJob>{}) {
            if (std::stoull(job.key, nullptr, 0) == key && !job.groups.empty()) {
                found = {static_cast<std::uint32_t>(job.id), static_cast<std::uint16_t>(job.tree),
                         static_cast<std::uint32_t>(job.groups.front().id)};
            }
        }
        EXPECT_NE(found.job, 0U) << "no job " << key;
        return found;
    }

    Party* party_ = nullptr;
    std::vector<pid_t> pids_;
};

TEST_F(SharpHostile, PacketsAndMadsThatAreWrongChangeNoResult) {
    const char* const count = std::getenv("SOFTIB_HOSTILE");
    ASSERT_TRUE(goes_on()) << party_->failed[0] << ' ' << party_->failed[1];
    AggregationNode node;
    const auto before = node.read();
    {
        const Bait bait;
        Thrower thrower(node, numbers_of(kGoodJob), numbers_of(kBaitJob));
        thrower.as_the_bait();
        for (std::int64_t left = count == nullptr ? 5000 : std::atoll(count); left > 0;) {
            left -= thrower.any();
            ASSERT_TRUE(is_well()) << party_->failed[0] << ' ' << party_->failed[1];
        }
        EXPECT_TRUE(goes_on()) << party_->failed[0] << ' ' << party_->failed[1];
        EXPECT_TRUE(!on_packet_path() || have_arrived(node, before, thrower.taken()));
        thrower.too_long();
        EXPECT_TRUE(goes_on()) << party_->failed[0] << ' ' << party_->failed[1];
    }
    const Bait next;
    EXPECT_EQ(sharp_coll_do_barrier(next.comm), SHARP_COLL_SUCCESS);
    EXPECT_TRUE(goes_on());
}

}  // namespace
}  // namespace softib::test
