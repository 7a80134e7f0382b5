// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/supervisor.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

namespace softib::daemon {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr int kPatienceMs = 20'000;

std::expected<pid_t, std::string> fork_sleeper() {
    const pid_t pid = fork();
    if (pid == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, nullptr);
        for (;;) {
            pause();
        }
    }
    return pid;
}

class SupervisorTest : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(supervisor_.add({.name = "sleeper",
                                     .start = fork_sleeper,
                                     .ended = [this] { ++ends_; },
                                     .answers = [this] { return answers_; }},
                                    now_ns_));
    }
    const Supervisor::Health& health() const { return supervisor_.health().front(); }
    /// Sends a signal to the helper and lets the supervisor notice the effect.
    void kill_helper(int signal_number) {
        kill(health().pid, signal_number);
        pollfd waiting{supervisor_.fd(), POLLIN, 0};
        ASSERT_EQ(poll(&waiting, 1, kPatienceMs), 1);
        supervisor_.run(now_ns_);
    }

    Supervisor supervisor_;
    std::uint64_t now_ns_ = kSecondNs;
    int ends_ = 0;
    bool answers_ = true;
};

TEST_F(SupervisorTest, HelperThatRunsIsLeftAlone) {
    const pid_t pid = health().pid;
    EXPECT_GT(pid, 0);
    EXPECT_EQ(supervisor_.next_ns(), UINT64_MAX);
    supervisor_.run(now_ns_ + 100 * kSecondNs);
    EXPECT_EQ(health().pid, pid);
    EXPECT_EQ(health().last_end, 0);
}

TEST_F(SupervisorTest, HelperThatWasKilledAfterALongLifeStartsAtOnce) {
    const pid_t pid = health().pid;
    now_ns_ += 60 * kSecondNs;
    kill_helper(SIGKILL);
    EXPECT_EQ(ends_, 1);
    EXPECT_EQ(health().restarts, 1U);
    EXPECT_EQ(health().reason, "signal 9");
    EXPECT_NE(health().last_end, 0);
    EXPECT_NE(health().pid, pid);
    EXPECT_NE(health().pid, 0);
}

TEST_F(SupervisorTest, HelperThatIsStoppedIsNotTakenForDead) {
    using enum shm::request::HelperState;
    kill_helper(SIGSTOP);
    EXPECT_EQ(health().state, kStopped);
    EXPECT_EQ(ends_, 0);
    supervisor_.ask(now_ns_);
    EXPECT_EQ(health().state, kStopped);
    kill_helper(SIGCONT);
    EXPECT_EQ(health().state, kRuns);
    kill_helper(SIGSTOP);
    now_ns_ += 60 * kSecondNs;
    kill_helper(SIGKILL);
    EXPECT_EQ(health().state, kRuns) << "it was restarted at once";
    EXPECT_EQ(ends_, 1);
}

TEST_F(SupervisorTest, HelperThatDoesNotAnswerForASecondIsSilent) {
    using enum shm::request::HelperState;
    supervisor_.ask(now_ns_);
    EXPECT_EQ(health().state, kRuns);
    answers_ = false;
    supervisor_.ask(now_ns_);
    EXPECT_EQ(health().state, kAsked);
    supervisor_.ask(now_ns_ + kSecondNs - 1);
    EXPECT_EQ(health().state, kAsked);
    supervisor_.ask(now_ns_ + kSecondNs);
    EXPECT_EQ(health().state, kSilent);
    answers_ = true;
    supervisor_.ask(now_ns_ + 2 * kSecondNs);
    EXPECT_EQ(health().state, kRuns);
    answers_ = false;
    supervisor_.ask(now_ns_ + 9 * kSecondNs);
    EXPECT_EQ(health().state, kAsked) << "what was before its last answer does not count";
}

TEST_F(SupervisorTest, HelperThatKeepsEndingWaitsLongerEachTime) {
    std::uint64_t before = 0;
    for (std::uint32_t i = 0; i < 4; ++i) {
        kill_helper(SIGTERM);
        EXPECT_EQ(health().pid, 0);
        EXPECT_EQ(health().restarts, i);
        const std::uint64_t delay = supervisor_.next_ns() - now_ns_;
        EXPECT_GT(delay, before);
        before = delay;
        supervisor_.run(supervisor_.next_ns() - 1);
        EXPECT_EQ(health().pid, 0) << "before its time";
        now_ns_ = supervisor_.next_ns();
        supervisor_.run(now_ns_);
        EXPECT_NE(health().pid, 0);
    }
    EXPECT_LE(before, 16 * kSecondNs);
}

TEST_F(SupervisorTest, EndOfAllLeavesNobody) {
    const pid_t pid = health().pid;
    kill(pid, SIGSTOP);  // A stopped process does not react to SIGTERM.
    supervisor_.end_all();
    EXPECT_EQ(kill(pid, 0), -1);
    EXPECT_EQ(ends_, 0);
    EXPECT_TRUE(supervisor_.health().empty());
}

}  // namespace
}  // namespace softib::daemon
