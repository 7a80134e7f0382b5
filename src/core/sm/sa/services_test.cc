// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa/services.h"

#include <gtest/gtest.h>

#include "core/base/time_units.h"
#include "core/sm/sa/test_subnet.h"

namespace softib::sm {

using test::Answer;
using test::Client;
using test::kTenant;
using wire::component;
using wire::Method;
using wire::SaAttribute;
using wire::ServiceRecord;
namespace status = wire::mad_status;
namespace sa_status = wire::sa_status;

namespace {

constexpr std::uint64_t kId = component(&ServiceRecord::service_id);
constexpr std::uint64_t kGid = component(&ServiceRecord::service_gid);
constexpr std::uint64_t kPKey = component(&ServiceRecord::service_pkey);
constexpr std::uint64_t kLease = component(&ServiceRecord::service_lease);
constexpr std::uint64_t kKey = component(&ServiceRecord::service_key);
constexpr std::uint64_t kName = component(&ServiceRecord::service_name);
constexpr std::uint64_t kAll = kId | kGid | kPKey | kLease | kKey | kName;

}  // namespace

struct ServicesTest : testing::Test {
    test::TreeSubnet tree{1, 4, 1};
    SubnetAdmin sa{tree.subnet, {.sm_key = 77, .services = {.services_per_client_max = 5}}};
    Client client{sa, tree.lid_of_host(0)};
    Client other{sa, tree.lid_of_host(1)};
    Client trusted{sa, tree.lid_of_host(2), 77};

    ServiceRecord service(std::uint64_t id, const char* name) const {
        ServiceRecord record{.service_id = id,
                             .service_gid = tree.gid_of_host(0),
                             .service_pkey = kPKeyDefaultFull,
                             .service_lease = wire::kServiceLeaseInfinite};
        record.service_key[0] = 11;
        record.service_name = wire::Text<64>(std::string_view(name));
        return record;
    }
    Answer set(Client& who, std::uint64_t components, const ServiceRecord& record) {
        return who.ask(Method::kSet, SaAttribute::kServiceRecord, components, record);
    }
    std::uint16_t status_of_get(Client& who, std::uint64_t components,
                                const ServiceRecord& record) {
        return who.get(SaAttribute::kServiceRecord, components, record).status;
    }
    std::uint16_t remove(Client& who, std::uint64_t components, const ServiceRecord& record) {
        return who.ask(Method::kDelete, SaAttribute::kServiceRecord, components, record).status;
    }
};

TEST_F(ServicesTest, RegisteredServiceIsFoundByIdAndName) {
    ServiceRecord record = service(7, "seven");
    record.service_data8[3] = 9;
    record.service_data64[1] = 0x1234567890;
    const Answer answer = set(client, kAll, record);
    ASSERT_EQ(answer.status, status::kOk);
    const auto back = answer.records<ServiceRecord>().at(0);
    EXPECT_EQ(back.service_data8, record.service_data8);
    EXPECT_EQ(back.service_data64, record.service_data64);
    EXPECT_EQ(status_of_get(other, kId, record), status::kOk);
    EXPECT_EQ(status_of_get(other, kName, record), status::kOk);
    EXPECT_EQ(status_of_get(other, kId | kName, record), status::kOk);
    EXPECT_EQ(status_of_get(other, kId | kName, service(7, "eight")), sa_status::kNoRecords);
    EXPECT_EQ(status_of_get(other, kId, service(8, "seven")), sa_status::kNoRecords);
    EXPECT_EQ(set(client, kGid | kName, record).status, sa_status::kInsufficientComponents);
}

TEST_F(ServicesTest, KeyIsForTheTrustedButFindsIts) {
    ServiceRecord record = service(7, "seven");
    EXPECT_EQ(set(client, kAll, record).records<ServiceRecord>().at(0).service_key[0], 0);
    const auto key_for = [&](Client& who) {
        return who.table<ServiceRecord>(SaAttribute::kServiceRecord, kId, record)
            .at(0)
            .service_key[0];
    };
    EXPECT_EQ(key_for(other), 0);
    EXPECT_EQ(key_for(trusted), 11);
    EXPECT_EQ(status_of_get(other, kName | kKey, record), status::kOk);
    record.service_key[0] = 12;
    EXPECT_EQ(status_of_get(other, kName | kKey, record), sa_status::kNoRecords);
}

TEST_F(ServicesTest, SameIdPortAndPartitionReplaces) {
    ASSERT_EQ(set(client, kAll & ~kPKey, service(5, "old")).status, status::kOk);
    ServiceRecord next = service(5, "new");
    next.service_key = {1, 2, 3, 4};
    const Answer answer = set(client, kAll & ~kPKey, next);
    ASSERT_EQ(answer.status, status::kOk);
    EXPECT_EQ(answer.records<ServiceRecord>().at(0).service_pkey, kPKeyDefaultFull);
    EXPECT_EQ(other.table<ServiceRecord>(SaAttribute::kServiceRecord, kId, next).size(), 1U);
    EXPECT_EQ(status_of_get(other, kName, service(5, "old")), sa_status::kNoRecords);
    EXPECT_EQ(status_of_get(other, kName, next), status::kOk);
}

TEST_F(ServicesTest, LeaseRunsOut) {
    ServiceRecord record = service(7, "short");
    record.service_lease = 10;
    client.now_ns = 5 * kNsPerSecond;
    ASSERT_EQ(set(client, kAll, record).status, status::kOk);
    EXPECT_EQ(sa.next_timeout_ns(), 15 * kNsPerSecond);
    other.now_ns = 12 * kNsPerSecond + 1;
    const auto shown = other.table<ServiceRecord>(SaAttribute::kServiceRecord, kId, record);
    EXPECT_EQ(shown.at(0).service_lease, 3U);
    other.now_ns = 15 * kNsPerSecond;
    EXPECT_EQ(status_of_get(other, kId, record), sa_status::kNoRecords);
    EXPECT_EQ(sa.next_timeout_ns(), UINT64_MAX);
    // A lease can be renewed. It ends by a timer, without a request.
    client.now_ns = 20 * kNsPerSecond;
    ASSERT_EQ(set(client, kAll, record).status, status::kOk);
    client.now_ns = 25 * kNsPerSecond;
    ASSERT_EQ(set(client, kAll, record).status, status::kOk);
    sa.handle_timeout(30 * kNsPerSecond);
    EXPECT_EQ(sa.services().all().size(), 1U);
    sa.handle_timeout(35 * kNsPerSecond);
    EXPECT_TRUE(sa.services().all().empty());
}

TEST_F(ServicesTest, DeleteTakesOneOfOnesOwn) {
    ASSERT_EQ(set(client, kAll, service(1, "one")).status, status::kOk);
    ASSERT_EQ(set(client, kAll, service(2, "two")).status, status::kOk);
    ASSERT_EQ(set(client, kAll, service(3, "two")).status, status::kOk);
    EXPECT_EQ(remove(client, kName, service(0, "none")), sa_status::kNoRecords);
    EXPECT_EQ(remove(client, kName, service(0, "two")), sa_status::kTooManyRecords);
    EXPECT_EQ(remove(other, kName, service(0, "one")), sa_status::kRequestDenied);
    EXPECT_EQ(remove(other, kName | kKey, service(0, "one")), status::kOk);  // With the ServiceKey.
    EXPECT_EQ(remove(client, kId | kGid | kPKey, service(2, "")), status::kOk);
    EXPECT_EQ(remove(trusted, kName, service(0, "two")), status::kOk);
    EXPECT_TRUE(sa.services().all().empty());
}

TEST_F(ServicesTest, NobodyRegistersForAnother) {
    EXPECT_EQ(set(other, kAll, service(1, "one")).status, sa_status::kRequestDenied);
    EXPECT_EQ(set(trusted, kAll, service(1, "one")).status, status::kOk);
    ServiceRecord nobody = service(2, "two");
    nobody.service_gid = Gid::from(kSubnetPrefixDefault, Guid{0x999});
    EXPECT_EQ(set(client, kAll, nobody).status, sa_status::kInvalidGid);
    // Some programs write the prefix of the GID in the wrong byte order.
    ServiceRecord swapped = service(3, "three");
    std::reverse(swapped.service_gid.bytes.begin(), swapped.service_gid.bytes.begin() + 8);
    EXPECT_EQ(set(client, kAll, swapped).status, status::kOk);
}

TEST_F(ServicesTest, PartitionsKeepServicesApart) {
    tree.subnet.port(tree.host(0)).pkeys = {kPKeyDefaultFull, kTenant};
    ServiceRecord record = service(1, "secret");
    record.service_pkey = kTenant;
    ASSERT_EQ(set(client, kAll, record).status, status::kOk);
    EXPECT_EQ(status_of_get(client, kId, record), status::kOk);
    EXPECT_EQ(status_of_get(other, kId, record), sa_status::kNoRecords);
    EXPECT_EQ(status_of_get(trusted, kId, record), status::kOk);
    record.service_pkey = PKey{0x8555};
    EXPECT_EQ(set(client, kAll, record).status, sa_status::kRequestInvalid);
    // A service without a partition is visible to every port that can reach its own.
    ASSERT_EQ(set(client, kAll & ~kPKey, service(2, "open")).status, status::kOk);
    EXPECT_EQ(status_of_get(other, kId, service(2, "")), status::kOk);
    tree.subnet.port(tree.host(1)).pkeys = {PKey{0x8777}};
    EXPECT_EQ(status_of_get(other, kId, service(2, "")), sa_status::kNoRecords);
}

TEST_F(ServicesTest, ClientsHaveAQuota) {
    for (std::uint64_t id = 1; id <= 5; ++id) {
        ASSERT_EQ(set(client, kAll, service(id, "many")).status, status::kOk);
    }
    EXPECT_EQ(set(client, kAll, service(6, "many")).status, sa_status::kNoResources);
    EXPECT_EQ(set(client, kAll, service(5, "changed")).status, status::kOk);
    ServiceRecord theirs = service(6, "other");
    theirs.service_gid = tree.gid_of_host(1);
    EXPECT_EQ(set(other, kAll, theirs).status, status::kOk);
    EXPECT_EQ(remove(client, kId, service(1, "")), status::kOk);
    EXPECT_EQ(set(client, kAll, service(6, "many")).status, status::kOk);
}

}  // namespace softib::sm
