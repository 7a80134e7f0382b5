// SPDX-License-Identifier: BSD-2-Clause
// A peer that asks for an alternate path, or wants to load one, is told that there are none.
#include <gtest/gtest.h>

#include <optional>

#include "core/cm/test_pair.h"
#include "core/wire/cm/cm_apr.h"
#include "core/wire/cm/cm_lap.h"

namespace softib::cm {
namespace {

constexpr std::uint64_t kTransaction = 77;

class CmLapTest : public testing::Test {
  protected:
    CmLapTest() {
        be_polite(pair_);
        pair_.tamper = [this](wire::MadBytes& mad) { watch(mad); };
        pair_.listener(pair_.b, kPort);
        id_ = pair_.resolved(pair_.a, pair_.b, kPort);
        pair_.connect(pair_.a, id_);
    }

    /// Returns the APR with which b answers a LAP of a.
    std::optional<wire::CmApr> answer_to_lap(Qpn qpn) {
        wire::CmLap lap;
        lap.local_communication_id = rep_.remote_communication_id;
        lap.remote_communication_id = rep_.local_communication_id;
        lap.remote_qpn_eecn = qpn;
        mad::Packet packet = to_services(cm_mad(wire::CmAttribute::kLap, kTransaction, lap),
                                         Lid{pair_.b.number}, kPKeyDefaultFull, 0);
        packet.slid = Lid{pair_.a.number};
        apr_.reset();
        pair_.channel.emplace(pair_.now_ns, packet);
        pair_.drive();
        return apr_;
    }

    TestPair pair_;
    IdHandle id_ = 0;
    wire::CmRep rep_{};

  private:
    void watch(wire::MadBytes& mad) {
        const wire::Mad<const std::uint8_t> header(mad);
        const auto attribute = static_cast<wire::CmAttribute>(header.attribute_id());
        if (attribute == wire::CmAttribute::kReq) {
            auto req = wire::parse<wire::CmReq>(wire::cm_data(mad));
            req.alternate_path = req.primary_path;
            req.alternate_path.local_port_lid = Lid{11};
            req.alternate_path.remote_port_lid = Lid{12};
            wire::emit(req, wire::cm_data(mad));
        } else if (attribute == wire::CmAttribute::kRep) {
            rep_ = wire::parse<wire::CmRep>(wire::cm_data(mad));
        } else if (attribute == wire::CmAttribute::kApr) {
            EXPECT_EQ(header.transaction_id(), kTransaction);
            apr_ = wire::parse<wire::CmApr>(wire::cm_data(mad));
        }
    }

    std::optional<wire::CmApr> apr_;
};

TEST_F(CmLapTest, ARequestForFailoverIsTakenWithoutIt) {
    EXPECT_EQ(rep_.failover_accepted, wire::FailoverAccepted::kNotSupported);
    EXPECT_EQ(pair_.b.count(EventType::kEstablished), 1U);
    Command query = pair_.command(Operation::kQpAttr, pair_.b.last(EventType::kConnectRequest)->id);
    query.value = static_cast<std::uint32_t>(QpState::kRtr);
    EXPECT_EQ(pair_.execute(pair_.b, query).attributes.destination.dlid, Lid{pair_.a.number});
}

TEST_F(CmLapTest, AnEstablishedConnectionTakesNoAlternatePath) {
    const auto apr = answer_to_lap(rep_.local_qpn);
    ASSERT_TRUE(apr.has_value());
    EXPECT_EQ(apr->ap_status, wire::ApStatus::kNotSupported);
    EXPECT_EQ(apr->local_communication_id, rep_.local_communication_id);
    EXPECT_EQ(apr->remote_communication_id, rep_.remote_communication_id);
    // The connection goes on.
    EXPECT_EQ(pair_.simple(pair_.a, Operation::kDisconnect, id_), 0);
    EXPECT_EQ(pair_.b.count(EventType::kDisconnected), 1U);
}

TEST_F(CmLapTest, AnotherQueuePairIsAMismatch) {
    const auto apr = answer_to_lap(Qpn{rep_.local_qpn.value + 1});
    ASSERT_TRUE(apr.has_value());
    EXPECT_EQ(apr->ap_status, wire::ApStatus::kQpnEecnMismatch);
}

TEST_F(CmLapTest, AConnectionThatIsOverHasNoPaths) {
    pair_.simple(pair_.a, Operation::kDisconnect, id_);
    const auto while_it_waits = answer_to_lap(rep_.local_qpn);
    ASSERT_TRUE(while_it_waits.has_value());
    EXPECT_EQ(while_it_waits->ap_status, wire::ApStatus::kInvalidCommunicationInstance);
    pair_.run_for(kMinute);
    ASSERT_EQ(pair_.b.host.connections().size(), 0U);
    const auto afterwards = answer_to_lap(rep_.local_qpn);
    ASSERT_TRUE(afterwards.has_value());
    EXPECT_EQ(afterwards->ap_status, wire::ApStatus::kInvalidCommunicationInstance);
}

}  // namespace
}  // namespace softib::cm
