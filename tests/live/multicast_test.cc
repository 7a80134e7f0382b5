// SPDX-License-Identifier: BSD-2-Clause
// Multicast: a port that has joined a group at the SA is in the switches' tables, and packets go by
// these tables. A queue pair that is attached gets a copy where packets arrive.
#include <infiniband/umad.h>

#include <cstring>

#include "core/wire/sa/mc_member_record.h"
#include "core/wire/sa/sa.h"
#include "verbs_rig.h"

namespace softib::test {
namespace {

namespace mc = wire::mc_member;

constexpr std::uint8_t kSubnAdm = 0x03;
constexpr int kQKeyServices = static_cast<int>(0x80010000);
constexpr int kPatienceMs = 10'000;

/// The membership of a port, requested as programs do: by a MAD from the port's own umad port.
class Membership {
  public:
    Membership(unsigned host, ibv_context* context, const ibv_gid& mgid) : context_(context) {
        umad_init();
        port_ = umad_open_port(("mlx5_" + std::to_string(host)).c_str(), 1);
        agent_ = umad_register(port_, kSubnAdm, wire::kSaClassVersion, 0, nullptr);
        const ibv_gid own = gid_of(context);
        std::memcpy(record_.mgid.bytes.data(), mgid.raw, sizeof mgid.raw);
        std::memcpy(record_.port_gid.bytes.data(), own.raw, sizeof own.raw);
        record_.pkey = kPKeyDefaultFull;
        record_.join_state = wire::kJoinFullMember;
        record_ = ask(wire::Method::kSet);
    }
    ~Membership() {
        leave();
        umad_close_port(port_);
    }
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;

    std::uint16_t mlid() const { return record_.mlid.value; }
    void leave() {
        if (joined_) {
            joined_ = false;
            ask(wire::Method::kDelete);
        }
    }

  private:
    wire::McMemberRecord ask(wire::Method method) {
        wire::MadBytes mad{};
        const wire::Mad<std::uint8_t> header(mad);
        header.set_base_version(wire::kMadBaseVersion);
        header.set_mgmt_class(wire::MgmtClass::kSubnAdm);
        header.set_class_version(wire::kSaClassVersion);
        header.set_method(method);
        header.set_attribute_id(static_cast<std::uint16_t>(wire::SaAttribute::kMcMemberRecord));
        header.set_transaction_id(1);
        const wire::Sa<std::uint8_t> sa(mad);
        sa.set_header({.component_mask = mc::kMgid | mc::kPortGid | mc::kJoinState | mc::kQKey |
                                         mc::kPKey | mc::kSl | mc::kFlowLabel | mc::kTClass});
        wire::emit(record_, sa.data().first<wire::McMemberRecord::kBytes>());
        std::vector<std::uint8_t> room(umad_size() + mad.size());
        std::memcpy(umad_get_mad(room.data()), mad.data(), mad.size());
        umad_set_addr(room.data(), port_of(context_).sm_lid, 1, 0, kQKeyServices);
        int length = static_cast<int>(mad.size());
        EXPECT_EQ(umad_send(port_, agent_, room.data(), length, kPatienceMs, 0), 0);
        EXPECT_GE(umad_recv(port_, room.data(), &length, 2 * kPatienceMs), 0);
        EXPECT_EQ(umad_status(room.data()), 0);
        std::memcpy(mad.data(), umad_get_mad(room.data()), mad.size());
        EXPECT_EQ(header.status(), 0);
        return wire::parse<wire::McMemberRecord>(sa.data().first<wire::McMemberRecord::kBytes>());
    }

    ibv_context* context_;
    int port_ = -1;
    int agent_ = -1;
    wire::McMemberRecord record_;
    bool joined_ = true;
};

ibv_gid group_gid() {
    ibv_gid gid{};
    gid.raw[0] = 0xFF;
    gid.raw[1] = 0x12;
    gid.raw[15] = 0x42;
    return gid;
}

constexpr std::uint16_t kNobodysLid = 0xC123;

Owned<ibv_ah> handle(End& from, const ibv_gid& gid, std::uint16_t lid) {
    ibv_ah_attr attr{};
    attr.dlid = lid;
    attr.port_num = 1;
    attr.is_global = 1;
    attr.grh.dgid = gid;
    return Owned<ibv_ah>(ibv_create_ah(from.pd.get(), &attr));
}

/// Both ends of two pairs, some attached to one group: p.a and q.a are on host 0, the others on
/// host 1.
struct Party {
    DatagramPair p;
    DatagramPair q;
    ibv_gid gid = group_gid();
    std::vector<std::pair<ibv_qp*, std::uint16_t>> attached;

    Party() {
        for (End* end : {&p.a, &p.b, &q.a, &q.b}) {
            EXPECT_EQ(end->receive(1, 8192, 200), 0);
            EXPECT_EQ(end->receive(2, 12288, 200), 0);
        }
    }
    ~Party() {
        for (const auto& [qp, lid] : attached) {
            EXPECT_EQ(ibv_detach_mcast(qp, &gid, lid), 0);
        }
    }
    void attach(std::uint16_t lid, std::initializer_list<End*> ends) {
        for (End* end : ends) {
            ASSERT_EQ(ibv_attach_mcast(end->qp.get(), &gid, lid), 0);
            attached.emplace_back(end->qp.get(), lid);
        }
    }
    void detach_all() {
        for (const auto& [qp, lid] : attached) {
            EXPECT_EQ(ibv_detach_mcast(qp, &gid, lid), 0);
        }
        attached.clear();
    }
    void send(ibv_ah* ah) {
        Send s(IBV_WR_SEND);
        s.from(p.a.region(), 0, 50).datagram(ah, 0xFFFFFF, p.a.options.qkey);
        ASSERT_EQ(s.post(p.a.qp.get()), 0);
        EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    }
    void expect_one_copy(End& end) {
        const ibv_wc got = next(end.recv_cq.get());
        EXPECT_EQ(got.src_qp, p.a.qp->qp_num);
        EXPECT_TRUE(same(end.memory.span(8192 + kGrh, 50), p.a.memory.span(0, 50)));
        EXPECT_TRUE(empty(end.recv_cq.get()));
    }
};

TEST(Multicast, EveryMemberGetsOneCopyAndTheSenderNone) {
    Party party;
    const Membership here(0, party.p.a.context.get(), party.gid);
    const Membership there(1, party.p.b.context.get(), party.gid);
    ASSERT_EQ(here.mlid(), there.mlid());
    party.attach(here.mlid(), {&party.p.a, &party.p.b, &party.q.b});
    const auto ah = handle(party.p.a, party.gid, here.mlid());
    party.send(ah.get());
    party.expect_one_copy(party.p.b);
    party.expect_one_copy(party.q.b);
    EXPECT_TRUE(empty(party.p.a.recv_cq.get()));
    EXPECT_TRUE(empty(party.q.a.recv_cq.get())) << "never attached";
    party.detach_all();
    party.send(ah.get());
    EXPECT_TRUE(empty(party.p.b.recv_cq.get())) << "a former member hears nothing";
}

TEST(Multicast, WithoutAJoinOnlyTheSendersOwnAdapterHears) {
    Party party;
    party.attach(kNobodysLid, {&party.p.a, &party.p.b, &party.q.a});
    const std::uint64_t before = counter(1, "counters/port_rcv_packets");
    party.send(handle(party.p.a, party.gid, kNobodysLid).get());
    party.expect_one_copy(party.q.a);
    EXPECT_TRUE(empty(party.p.b.recv_cq.get())) << "no switch has an entry for the group";
    EXPECT_EQ(counter(1, "counters/port_rcv_packets"), before);
}

TEST(Multicast, TablesGoByTheLidAndQueuePairsByTheGid) {
    Party party;
    const Membership there(1, party.p.b.context.get(), party.gid);
    // The queue pair is attached with a LID that no group has: HCAs compare GIDs.
    party.attach(kNobodysLid, {&party.p.b});
    party.send(handle(party.p.a, party.gid, there.mlid()).get());
    party.expect_one_copy(party.p.b);
    ibv_gid other = party.gid;
    other.raw[15] ^= 1;
    party.send(handle(party.p.a, other, there.mlid()).get());
    EXPECT_TRUE(empty(party.p.b.recv_cq.get())) << "arrived, and is for another group";
}

TEST(Multicast, AnAttachedQpHearsNothingAfterItsPortLeft) {
    Party party;
    const Membership here(0, party.p.a.context.get(), party.gid);
    Membership there(1, party.p.b.context.get(), party.gid);
    party.attach(here.mlid(), {&party.p.b});
    const auto ah = handle(party.p.a, party.gid, here.mlid());
    party.send(ah.get());
    party.expect_one_copy(party.p.b);
    there.leave();
    party.send(ah.get());
    EXPECT_TRUE(empty(party.p.b.recv_cq.get()));
}

TEST(Multicast, APortCountsAPacketOnceForAllItsQueuePairs) {
    Party party;
    const Membership there(1, party.p.b.context.get(), party.gid);
    party.attach(there.mlid(), {&party.p.b, &party.q.b, &party.q.a});
    const auto ah = handle(party.p.a, party.gid, there.mlid());
    const char* const files[] = {
        "counters/port_xmit_packets",     "counters/multicast_xmit_packets",
        "counters/port_xmit_data",        "counters/port_rcv_packets",
        "counters/multicast_rcv_packets", "counters/port_rcv_data",
        "counters/unicast_rcv_packets",
    };
    std::uint64_t before[2][std::size(files)];
    for (unsigned host = 0; host < 2; ++host) {
        for (std::size_t i = 0; i < std::size(files); ++i) {
            before[host][i] = counter(host, files[i]);
        }
    }
    party.send(ah.get());
    party.expect_one_copy(party.p.b);
    party.expect_one_copy(party.q.b);
    party.expect_one_copy(party.q.a);
    // LRH 2, GRH 10, BTH 3, DETH 2, ICRC 1, 50 bytes padded to 13 words.
    constexpr std::uint64_t kWords = 2 + 10 + 3 + 2 + 1 + 13;
    const std::uint64_t expected[2][std::size(files)] = {
        {1, 1, kWords, 0, 0, 0, 0},  // The copy for the sender's own HCA never leaves it.
        {0, 0, 0, 1, 1, kWords, 0},
    };
    for (unsigned host = 0; host < 2; ++host) {
        for (std::size_t i = 0; i < std::size(files); ++i) {
            EXPECT_EQ(counter(host, files[i]) - before[host][i], expected[host][i])
                << "host " << host << ' ' << files[i];
        }
    }
}

TEST(Multicast, AttachedQueuePairStays) {
    DatagramPair p;
    const ibv_gid gid = group_gid();
    ASSERT_EQ(ibv_attach_mcast(p.b.qp.get(), &gid, kNobodysLid), 0);
    EXPECT_EQ(ibv_destroy_qp(p.b.qp.get()), EBUSY);
    EXPECT_EQ(ibv_detach_mcast(p.b.qp.get(), &gid, kNobodysLid), 0);
    EXPECT_NE(ibv_detach_mcast(p.b.qp.get(), &gid, kNobodysLid), 0) << "not a member any more";
}

TEST(Multicast, OnlyDatagramQueuePairsAndMulticastAddresses) {
    Pair rc;
    const ibv_gid gid = group_gid();
    EXPECT_EQ(ibv_attach_mcast(rc.b.qp.get(), &gid, kNobodysLid), EINVAL);
    DatagramPair p;
    const ibv_gid unicast = gid_of(p.b.context.get());
    EXPECT_EQ(ibv_attach_mcast(p.b.qp.get(), &unicast, kNobodysLid), EINVAL);
    EXPECT_EQ(ibv_attach_mcast(p.b.qp.get(), &gid, 5), EINVAL);
}

}  // namespace
}  // namespace softib::test
