// SPDX-License-Identifier: BSD-2-Clause
// Tests of when the aggregation manager reads the fabric from the SA.
#include "core/sharp/manager/manager_service.h"

#include <gtest/gtest.h>

#include <map>

#include "core/sharp/aggregation_tables.h"
#include "core/sharp/manager/job_desk.h"
#include "core/sharp/manager/test_records.h"

namespace softib::sharp {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// A service, an SA and nodes that answer at once.
class Scene {
  public:
    Scene() {
        for (const routing::Target& target : sa.graph().targets()) {
            if (target.is_switch()) {
                tables_.emplace(target.lid, AggregationTables(default_an_info(), 8));
            } else {
                hosts_.push_back(target.lid);
            }
        }
        service.set_subnet_manager(kSa);
    }

    void run() {
        while (const auto packet = service.poll_transmit(now)) {
            const mad::RmppPeer from{.lid = packet->dlid};
            const wire::Mad<const std::uint8_t> header(packet->mad);
            if (header.method() == wire::Method::kReportResp) {
                ++thanks;
            } else if (header.mgmt_class() == wire::MgmtClass::kSubnAdm) {
                service.handle(from, sa.answer(packet->mad), now);
            } else {
                service.handle(from, *tables_.at(packet->dlid).answer(packet->mad), now);
            }
        }
    }
    void wait(std::uint64_t ns) {
        now += ns;
        while (service.next_timeout_ns() <= now) {
            service.handle_timeout(now);
            run();
        }
    }
    JobId make_job() {
        const auto job = service.manager().create_job({.size = 2});
        service.manager().join(*job, 0, hosts_.front(), Qpn{1});
        service.manager().join(*job, 1, hosts_.back(), Qpn{2});
        service.freshen(now);
        service.manager().start(*job);
        run();
        EXPECT_EQ(service.manager().job(*job)->phase, JobState::kActive);
        return *job;
    }
    void report() {
        wire::MadBytes mad{};
        wire::MadRepr{.mgmt_class = wire::MgmtClass::kSubnAdm,
                      .class_version = wire::kSaClassVersion,
                      .method = wire::Method::kReport,
                      .transaction_id = 77,
                      .attribute_id = static_cast<std::uint16_t>(wire::SaAttribute::kNotice)}
            .emit(wire::Mad<std::uint8_t>(mad));
        service.handle({.lid = kSa}, mad, now);
    }

    Lid first_host() const { return hosts_.front(); }
    Lid last_host() const { return hosts_.back(); }

    static constexpr Lid kSa{500};
    TestSa sa{{.shape = topo::Shape::kFatTree, .hosts = 32, .radix = 8, .levels = 2}};
    ManagerService service{ManagerConfig{}};
    std::uint64_t now = 0;
    int thanks = 0;

  private:
    std::map<Lid, AggregationTables> tables_;
    std::vector<Lid> hosts_;
};

TEST(SharpService, ReadsOnceForJobsThatStartTogether) {
    Scene scene;
    scene.make_job();
    scene.make_job();
    EXPECT_EQ(scene.service.readings(), 1U);
}

TEST(SharpService, ReadsNowAndThenWhileThereAreJobs) {
    Scene scene;
    const JobId job = scene.make_job();
    scene.wait(11 * kSecond);
    EXPECT_EQ(scene.service.readings(), 2U);
    scene.service.manager().end_job(job);
    scene.run();
    EXPECT_EQ(scene.service.next_timeout_ns(), UINT64_MAX) << "nobody needs it";
    scene.wait(60 * kSecond);
    EXPECT_EQ(scene.service.readings(), 2U);
    scene.make_job();
    EXPECT_EQ(scene.service.readings(), 3U) << "what it knew was old";
}

TEST(SharpService, AReportIsAnsweredAndReadTwice) {
    Scene scene;
    scene.make_job();
    scene.report();
    scene.run();
    EXPECT_EQ(scene.thanks, 1);
    scene.wait(0);
    EXPECT_EQ(scene.service.readings(), 2U) << "at once";
    scene.wait(3 * kSecond);
    EXPECT_EQ(scene.service.readings(), 3U) << "and when the subnet manager is done with it";
    scene.wait(3 * kSecond);
    EXPECT_EQ(scene.service.readings(), 3U);
}

TEST(SharpService, AChangeInTheMiddleOfAReadingBeginsItAgain) {
    Scene scene;
    scene.service.freshen(scene.now);
    const auto question = scene.service.poll_transmit(scene.now);
    ASSERT_TRUE(question);
    scene.service.note_change(scene.now);
    scene.service.handle({.lid = Scene::kSa}, scene.sa.answer(question->mad), scene.now);
    scene.run();
    EXPECT_EQ(scene.service.readings(), 1U);
    EXPECT_FALSE(scene.service.poll_transmit(scene.now));
}

/// Returns what a manager's desk answers to a client with LID 7.
wire::SharpJob ask_desk(JobDesk& desk, const wire::SharpJob& request, std::uint64_t transaction) {
    wire::MadBytes mad{};
    wire::MadRepr{.mgmt_class = wire::MgmtClass::kSharp,
                  .class_version = wire::kSharpClassVersion,
                  .method = wire::Method::kSet,
                  .transaction_id = transaction,
                  .attribute_id = static_cast<std::uint16_t>(wire::SharpAttribute::kJob)}
        .emit(wire::Mad<std::uint8_t>(mad));
    wire::emit(request, std::span<std::uint8_t>(wire::Sharp<std::uint8_t>(mad).data()));
    EXPECT_TRUE(JobDesk::takes(mad));
    desk.handle({.lid = Lid{7}}, mad, 0);
    const auto reply = desk.poll_transmit();
    EXPECT_TRUE(reply);
    return wire::parse<wire::SharpJob>(
        wire::Sharp<const std::uint8_t>(reply->mad).data().first<wire::SharpJob::kBytes>());
}

TEST(SharpService, AJobHasEndedForItsClientWhenTheNodesHaveNothingOfIt) {
    using Op = wire::SharpJob::Op;
    Scene scene;
    JobDesk desk(scene.service);
    std::uint64_t transaction = 0;
    const auto ask = [&](const wire::SharpJob& request) {
        return ask_desk(desk, request, ++transaction);
    };
    const std::uint32_t job = ask({.op = Op::kCreateJob, .streams = true, .size = 2}).job;
    ask({.op = Op::kJoinJob, .job = job, .rank = 0, .lid = scene.first_host(), .qpn = Qpn{1}});
    ask({.op = Op::kJoinJob, .job = job, .rank = 1, .lid = scene.last_host(), .qpn = Qpn{2}});
    EXPECT_TRUE(ask({.op = Op::kStartJob, .job = job}).pending);
    scene.run();
    EXPECT_FALSE(ask({.op = Op::kStartJob, .job = job}).pending);
    const std::uint32_t group = ask({.op = Op::kCreateGroup, .job = job, .size = 1}).group;
    ask({.op = Op::kJoinGroup, .job = job, .group = group});
    ask({.op = Op::kStartGroup, .job = job, .group = group});
    scene.run();
    for (const Op end : {Op::kEndGroup, Op::kEndJob}) {
        EXPECT_TRUE(ask({.op = end, .job = job, .group = group}).pending);
        scene.run();
        const wire::SharpJob told = ask({.op = end, .job = job, .group = group});
        EXPECT_FALSE(told.pending);
        EXPECT_EQ(told.error, 0);
    }
    EXPECT_TRUE(scene.service.manager().jobs().empty());
}

TEST(SharpService, AManagerThatComesAfterAnotherNumbersItsJobsAnew) {
    Manager manager({.job_before = 41});
    EXPECT_EQ(manager.create_job({.size = 1}).value_or(0), 42U);
}

TEST(SharpService, WithoutASubnetManagerJobsFailAndSayWhy) {
    Scene scene;
    scene.service.set_subnet_manager(kLidUnassigned);
    const auto job = scene.service.manager().create_job({.size = 1});
    scene.service.manager().join(*job, 0, Lid{1}, Qpn{1});
    scene.service.freshen(scene.now);
    scene.service.manager().start(*job);
    EXPECT_EQ(scene.service.manager().job(*job)->error, Error::kNoTree);
    EXPECT_NE(scene.service.trouble().find("no subnet manager"), std::string::npos);
    EXPECT_GT(scene.service.next_timeout_ns(), scene.now) << "it does not ask all the time";
    scene.service.set_subnet_manager(Scene::kSa);
    scene.make_job();
    EXPECT_TRUE(scene.service.trouble().empty());
}

}  // namespace
}  // namespace softib::sharp
