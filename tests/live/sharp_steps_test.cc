// SPDX-License-Identifier: BSD-2-Clause
// A member of a SHARP job is killed at every step of its life, each rank in its turn: before and in
// each out-of-band call of init and of a communicator, between calls, in the middle of an operation
// in which the others take part, while the others leave. The others must get a documented error and
// never wait for ever, the resources of the job must be freed, and the next job must work.
//
// Members are processes of their own. Their out-of-band functions use memory that they share: a
// call that needs a dead member fails, as it does in an MPI.
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
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/prng.h"
#include "core/base/test_effort.h"
#include "runtime/shm/program_place.h"
#include "runtime/shm/rpc.h"
#include "view/sharp.h"

namespace softib::test {
namespace {

constexpr int kRanks = 3;
constexpr std::size_t kCallsMax = 32;
constexpr std::size_t kStepsMax = 64;
constexpr std::size_t kMessageBytes = 64;
constexpr int kUnset = 1;  ///< A positive value, because no error of the interface is positive.
/// Forty turns of 64 KiB; a member enters at most 16 of them before the others have done them.
constexpr std::size_t kLarge = 40 * 65536 / 4;

/// Memory that the ranks of a job share with the test.
struct Board {
    struct Message {
        std::atomic<std::uint32_t> said;
        char bytes[kMessageBytes];
    };
    struct Outcome {
        std::atomic<int> error;  ///< The status of the call that failed, or 0.
        char call[32];
    };
    Message messages[kCallsMax][kRanks];
    std::atomic<std::uint32_t> gone[kRanks];  ///< Whether the process has ended.
    /// Whether the rank has begun the large operation.
    std::atomic<std::uint32_t> entered[kRanks];
    Outcome outcomes[kRanks];
    char steps[kStepsMax][32];
    std::atomic<std::uint32_t> step_count;  ///< The number of steps that the first rank has passed.
    std::size_t elements;                   ///< The number of elements of the large operation.
};

/// A rank of a job, which is killed at a step if it is the victim.
class Rank {
  public:
    Rank(Board& board, int rank, int victim, std::uint32_t deadly_step)
        : board_(board), rank_(rank), dies_(rank == victim), deadly_step_(deadly_step) {}

    void live();

  private:
    static int spread(void* self, void* buffer, int bytes, int root) {
        return static_cast<Rank*>(self)->broadcast(buffer, bytes, root);
    }
    static int collect(void* self, int root, void* in, void* out, int bytes) {
        return static_cast<Rank*>(self)->gather(root, in, out, bytes);
    }
    static int meet(void* self) {
        char byte = 0;
        char all[kRanks];
        auto* const rank = static_cast<Rank*>(self);
        return rank->gather(0, &byte, all, 1) != 0 ? -1 : rank->broadcast(&byte, 1, 0);
    }

    void step(const std::string& name);
    void say(const void* data, int bytes);
    int hear(int from, void* data, int bytes);
    int broadcast(void* buffer, int bytes, int root);
    int gather(int root, void* in, void* out, int bytes);
    bool works(int error, const char* call);
    bool init();
    bool open_group();
    bool operate();
    bool operate_together();
    void leave();

    Board& board_;
    int rank_;
    bool dies_;
    std::uint32_t deadly_step_;
    std::uint32_t steps_ = 0;
    std::uint32_t calls_ = 0;
    std::string doing_;
    sharp_coll_context* context_ = nullptr;
    sharp_coll_comm* comm_ = nullptr;
};

void Rank::step(const std::string& name) {
    if (dies_ && steps_ == deadly_step_) {
        raise(SIGKILL);
    }
    if (rank_ == 0 && steps_ < kStepsMax) {
        name.copy(board_.steps[steps_], sizeof board_.steps[0] - 1);
        board_.step_count.store(steps_ + 1);
    }
    ++steps_;
}

void Rank::say(const void* data, int bytes) {
    Board::Message& message = board_.messages[calls_][rank_];
    std::memcpy(message.bytes, data, static_cast<std::size_t>(bytes));
    message.said.store(1, std::memory_order_release);
}

int Rank::hear(int from, void* data, int bytes) {
    const Board::Message& message = board_.messages[calls_][from];
    while (message.said.load(std::memory_order_acquire) == 0) {
        if (board_.gone[from].load(std::memory_order_acquire) != 0 &&
            message.said.load(std::memory_order_acquire) == 0) {
            return -1;
        }
        sched_yield();
    }
    std::memcpy(data, message.bytes, static_cast<std::size_t>(bytes));
    return 0;
}

int Rank::broadcast(void* buffer, int bytes, int root) {
    const std::string name = doing_ + " call " + std::to_string(calls_);
    step("before " + name);
    int result = 0;
    if (rank_ == root) {
        say(buffer, bytes);
    } else {
        result = hear(root, buffer, bytes);
    }
    step("after " + name);
    ++calls_;
    return result;
}

int Rank::gather(int root, void* in, void* out, int bytes) {
    const std::string name = doing_ + " call " + std::to_string(calls_);
    step("before " + name);
    say(in, bytes);
    int result = 0;
    for (int from = 0; rank_ == root && from < kRanks && result == 0; ++from) {
        result = hear(from, static_cast<char*>(out) + std::ptrdiff_t{from} * bytes, bytes);
    }
    step("after " + name);
    ++calls_;
    return result;
}

bool Rank::works(int error, const char* call) {
    Board::Outcome& outcome = board_.outcomes[rank_];
    if (error != SHARP_COLL_SUCCESS) {
        std::strncpy(outcome.call, call, sizeof outcome.call - 1);
        outcome.error.store(error);
    }
    return error == SHARP_COLL_SUCCESS;
}

bool Rank::init() {
    doing_ = "init";
    step("before init");
    sharp_coll_init_spec spec{};
    spec.job_id = 77;
    spec.world_rank = rank_;
    spec.world_size = kRanks;
    spec.oob_colls = {spread, meet, collect};
    spec.oob_ctx = this;
    spec.config = sharp_coll_default_config;
    spec.config.flags = SHARP_COLL_HIDE_ERRORS;
    return works(sharp_coll_init(&spec, &context_), "init");
}

bool Rank::open_group() {
    doing_ = "group";
    step("before group");
    sharp_coll_comm_init_spec spec{};
    spec.rank = rank_;
    spec.size = kRanks;
    spec.oob_ctx = this;
    return works(sharp_coll_comm_init(context_, &spec, &comm_), "group");
}

sharp_coll_reduce_spec sum_of(std::vector<std::int32_t>& in, std::vector<std::int32_t>& out) {
    sharp_coll_reduce_spec spec{};
    spec.sbuf_desc.buffer.ptr = in.data();
    spec.sbuf_desc.buffer.length = in.size() * 4;
    spec.rbuf_desc.buffer.ptr = out.data();
    spec.rbuf_desc.buffer.length = out.size() * 4;
    spec.dtype = SHARP_DTYPE_INT;
    spec.op = SHARP_OP_SUM;
    spec.length = in.size();
    return spec;
}

bool Rank::operate() {
    std::vector<std::int32_t> in(16, 1);
    std::vector<std::int32_t> out(16);
    sharp_coll_reduce_spec spec = sum_of(in, out);
    step("before a small operation");
    if (!works(sharp_coll_do_allreduce(comm_, &spec), "operation")) {
        return false;
    }
    step("after a small operation");
    return works(out == std::vector<std::int32_t>(16, kRanks) ? 0 : kUnset, "result");
}

/// Runs an operation of many turns, in which the others are when the victim dies.
bool Rank::operate_together() {
    std::vector<std::int32_t> in(board_.elements, 1);
    std::vector<std::int32_t> out(board_.elements);
    sharp_coll_reduce_spec spec = sum_of(in, out);
    for (int other = 0; dies_ && other < kRanks; ++other) {
        while (other != rank_ && board_.entered[other].load() == 0) {
            sched_yield();
        }
    }
    step("while the others are in an operation");
    void* request = nullptr;
    if (!works(sharp_coll_do_allreduce_nb(comm_, &spec, &request), "operation")) {
        return false;
    }
    board_.entered[rank_].store(1);
    step("in the middle of an operation");
    if (!works(sharp_coll_req_wait(request), "operation")) {
        return false;
    }
    step("after a large operation");
    return works(out == std::vector<std::int32_t>(in.size(), kRanks) ? 0 : kUnset, "result");
}

void Rank::leave() {
    if (comm_ != nullptr) {
        step("before the group is left");
        works(sharp_coll_comm_destroy(comm_), "destroy");
    }
    if (context_ != nullptr) {
        step("before the job is left");
        works(sharp_coll_finalize(context_), "finalize");
        step("after the job is left");
    }
}

void Rank::live() {
    if (init() && open_group() && operate() && operate_together()) {
        step("before a barrier");
        works(sharp_coll_do_barrier(comm_), "operation");
    }
    leave();
}

class SharpSteps : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        board_ = static_cast<Board*>(mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE,
                                          MAP_SHARED | MAP_ANONYMOUS, -1, 0));
        ASSERT_NE(board_, MAP_FAILED);
        dir_ = shm::program_place().dir;
    }

    /// Runs a job. Rank `victim` is killed at a step, or after a time; with -1 no rank is killed.
    void run(int victim, std::uint32_t step, std::int64_t kill_after_us = -1) {
        std::memset(static_cast<void*>(board_), 0, sizeof *board_);
        board_->elements = elements_;
        std::array<pid_t, kRanks> pids{};
        for (int rank = 0; rank < kRanks; ++rank) {
            board_->outcomes[rank].error.store(0);
            pids[static_cast<std::size_t>(rank)] = fork();
            if (pids[static_cast<std::size_t>(rank)] == 0) {
                setenv("SOFTIB_HOST", rank % 2 == 0 ? "h0" : "h1", 1);
                setenv("SHARP_COLL_LOG_LEVEL", "0", 1);
                Rank(*board_, rank, victim, step).live();
                _exit(0);
            }
        }
        if (kill_after_us >= 0) {
            usleep(static_cast<useconds_t>(kill_after_us));
            kill(pids[static_cast<std::size_t>(victim)], SIGKILL);
        }
        reap(pids, victim);
    }

    /// Waits until all ranks have ended. A rank that has not ended within two minutes counts as
    /// waiting for ever.
    static void reap(std::array<pid_t, kRanks>& pids, int victim) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
        for (int left = kRanks; left != 0;) {
            int status = 0;
            const pid_t pid = waitpid(-1, &status, WNOHANG);
            const auto found = std::ranges::find(pids, pid);
            if (pid > 0 && found != pids.end()) {
                const auto rank = found - pids.begin();
                board_->gone[rank].store(1);
                EXPECT_TRUE(rank == victim || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
                    << "rank " << rank << " ended by " << status;
                *found = 0;
                --left;
            } else if (std::chrono::steady_clock::now() > end) {
                ADD_FAILURE() << "a member waits for ever";
                std::ranges::for_each(pids, [](pid_t each) {
                    if (each != 0) {
                        kill(each, SIGKILL);
                    }
                });
                while (waitpid(-1, nullptr, 0) > 0) {
                }
                return;
            }
            sched_yield();
        }
    }

    /// The aggregation manager sees a member's end by its connection, which the kernel closes.
    static bool all_is_free() {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        const int daemon = shm::rpc_connect(dir_.c_str());
        bool free = false;
        while (!free && std::chrono::steady_clock::now() < end) {
            const auto now = view::ask_sharp(daemon);
            free = now && now->jobs.empty() &&
                   std::ranges::all_of(now->nodes, [](const view::SharpNode& node) {
                       return node.trees + node.groups + node.qps == 0;
                   });
        }
        close(daemon);
        return free;
    }

    /// Checks the errors of the ranks that were not killed. A rank in an operation is told that the
    /// job has ended; a rank in a call that all ranks make together is told that, or that the dead
    /// rank did not answer.
    static void expect_documented_errors(int victim) {
        for (int rank = 0; rank < kRanks; ++rank) {
            const Board::Outcome& outcome = board_->outcomes[rank];
            const std::string call = outcome.call;
            const int error = outcome.error.load();
            if (rank == victim || error == SHARP_COLL_SUCCESS) {
                continue;
            }
            if (call == "operation") {
                EXPECT_EQ(error, SHARP_COLL_ERROR) << "rank " << rank;
            } else if (call == "init") {
                EXPECT_TRUE(error == SHARP_COLL_EOOB || error == SHARP_COLL_EJOB_CREATE ||
                            error == SHARP_COLL_EINVAL)
                    << "rank " << rank << ": " << error;
            } else if (call == "group") {
                EXPECT_TRUE(error == SHARP_COLL_EOOB || error == SHARP_COLL_EGROUP_ALLOC ||
                            error == SHARP_COLL_EGROUP_ID || error == SHARP_COLL_EGROUP_JOIN)
                    << "rank " << rank << ": " << error;
            } else {
                ADD_FAILURE() << "rank " << rank << ", " << call << ": " << error;
            }
        }
    }

    static int failures(int victim) {
        int count = 0;
        for (int rank = 0; rank < kRanks; ++rank) {
            count += rank != victim && board_->outcomes[rank].error.load() != 0 ? 1 : 0;
        }
        return count;
    }

    static void expect_the_next_job_works(SharpSteps& test) {
        test.run(-1, 0);
        EXPECT_EQ(failures(-1), 0) << "the next job works";
        EXPECT_TRUE(all_is_free());
    }

    /// Runs a job of which no member is killed. Returns the names of its steps.
    std::vector<std::string> learn_steps() {
        run(-1, 0);
        std::vector<std::string> steps;
        for (std::uint32_t i = 0; i < board_->step_count.load(); ++i) {
            steps.emplace_back(board_->steps[i]);
        }
        return steps;
    }

    std::size_t elements_ = kLarge;
    inline static Board* board_ = nullptr;
    inline static std::string dir_;
};

TEST_F(SharpSteps, AMemberKilledAtAStepEndsItsJobAndNoOther) {
    const std::vector<std::string> steps = learn_steps();
    ASSERT_EQ(failures(-1), 0);
    ASSERT_GT(steps.size(), 30U);
    ASSERT_LE(steps.size(), kStepsMax);
    const auto last_together = std::ranges::find(steps, "before a barrier") - steps.begin();
    for (std::uint32_t step = 0; step < steps.size(); step += effort(1, 2)) {
        for (int victim = 0; victim < kRanks; ++victim) {
            if (kSanitized && victim != static_cast<int>(step % kRanks)) {
                continue;
            }
            SCOPED_TRACE("rank " + std::to_string(victim) + " killed " + steps[step]);
            run(victim, step);
            expect_documented_errors(victim);
            // Up to that step the others need the dead rank.
            EXPECT_TRUE(step > last_together || failures(victim) == kRanks - 1);
            EXPECT_TRUE(all_is_free()) << "resources are back";
            if (HasFailure()) {
                return;
            }
        }
        expect_the_next_job_works(*this);
    }
}

TEST_F(SharpSteps, AMemberKilledAtAnyInstantEndsItsJobAndNoOther) {
    const char* const rounds = std::getenv("SOFTIB_TEST_ROUNDS");
    Prng prng(16);
    for (int round = rounds == nullptr ? effort(100, 25) : std::atoi(rounds); round > 0; --round) {
        const auto after_us = static_cast<std::int64_t>(prng.below(20'000));
        SCOPED_TRACE("after " + std::to_string(after_us) + " us");
        const int victim = static_cast<int>(prng.below(kRanks));
        run(victim, UINT32_MAX, after_us);
        expect_documented_errors(victim);
        EXPECT_TRUE(all_is_free()) << "resources are back";
        if (HasFailure()) {
            return;
        }
    }
    expect_the_next_job_works(*this);
}

/// Cables are slow enough that packets of a killed job are still on them when the next job has its
/// connections. The nodes must not take those packets for packets of the next job.
TEST_F(SharpSteps, PacketsOfAKilledJobAreNotTakenForThoseOfTheNext) {
    elements_ = 256;
    const std::vector<std::string> steps = learn_steps();
    ASSERT_EQ(failures(-1), 0);
    const auto step = std::ranges::find_if(
        steps, [](const std::string& name) { return name.starts_with("while the others"); });
    ASSERT_NE(step, steps.end());
    for (int victim = 0; victim < kRanks && !HasFailure(); ++victim) {
        run(victim, static_cast<std::uint32_t>(step - steps.begin()));
        expect_documented_errors(victim);
        expect_the_next_job_works(*this);
    }
}

}  // namespace
}  // namespace softib::test
