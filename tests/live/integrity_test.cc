// SPDX-License-Identifier: BSD-2-Clause
// Random operations of every kind between many queue pairs, compared with a model of both memories.
//
// Every connection has a stretch of its own on both sides, so that the order between connections
// does not matter; stretches and regions begin and end anywhere, so that they share pages with
// their neighbours. SOFTIB_TEST_SEED repeats a run.
#include <array>
#include <cstdlib>
#include <cstring>
#include <random>

#include "actor.h"
#include "core/base/prng.h"
#include "core/base/test_effort.h"

namespace softib::test {
namespace {

constexpr std::size_t kConnections = 10;
constexpr std::size_t kStretch = kActorBytes / kConnections - 3;  // Not a multiple of anything.
constexpr std::uint32_t kMessageMax = 9000;

std::uint64_t pick_seed() {
    const char* text = std::getenv("SOFTIB_TEST_SEED");
    return text != nullptr ? std::strtoull(text, nullptr, 0) : std::random_device{}();
}

std::uint64_t rounds() {
    const char* text = std::getenv("SOFTIB_TEST_ROUNDS");
    return text != nullptr ? std::strtoull(text, nullptr, 0) : 3000;
}

struct Region {
    std::uint64_t index = 0;
    std::uint32_t rkey = 0;
    std::uint64_t begin = 0;    ///< Offset in the buffer.
    std::uint64_t address = 0;  ///< Address of `begin` in the actor's process.
    std::uint64_t bytes = 0;
};

struct Side {
    std::unique_ptr<Actor> actor;
    std::vector<std::byte> model;
    std::array<std::uint64_t, kConnections> qp{};
    std::array<std::uint32_t, kConnections> qpn{};
    std::array<Region, kConnections> region;
    std::uint64_t lid = 0;
};

ibv_qp_type type_of(std::size_t connection) {
    return connection < 8 ? IBV_QPT_RC : connection == 8 ? IBV_QPT_UC : IBV_QPT_UD;
}

class RandomRun {
  public:
    RandomRun(std::uint64_t seed, bool two_processes) : random_(seed) {
        for (std::uint64_t s = 0; s < 2; ++s) {
            Side& side = sides_[s];
            side.actor = make_actor(static_cast<unsigned>(s), two_processes && s == 1);
            side.actor->run({.op = Command::kFill, .arg = {s * 50}});
            side.actor->run({.op = Command::kShow});
            const auto shown = side.actor->shown();
            side.model.assign(shown.begin(), shown.end());
            for (std::size_t c = 0; c < kConnections; ++c) {
                const Reply r = side.actor->run(
                    {.op = Command::kMakeQp, .arg = {static_cast<std::uint64_t>(type_of(c))}});
                side.qp[c] = r.value[0];
                side.qpn[c] = static_cast<std::uint32_t>(r.value[1]);
                side.lid = r.value[2];
            }
        }
        for (std::size_t c = 0; c < kConnections; ++c) {
            for (std::size_t s = 0; s < 2; ++s) {
                const Side& other = sides_[1 - s];
                sides_[s].actor->run(
                    {.op = Command::kConnect, .arg = {sides_[s].qp[c], other.qpn[c], other.lid}});
                renew_region(sides_[s], c);
            }
        }
    }

    /// Posts a few requests on different connections, then waits for all their completions.
    void round() {
        std::array<bool, kConnections> used{};
        std::array<std::uint64_t, 2> sent{};
        std::array<std::uint64_t, 2> received{};
        for (std::uint64_t n = 1 + random_.below(6); n != 0; --n) {
            const std::size_t c = random_.below(kConnections);
            if (used[c]) {
                continue;
            }
            used[c] = true;
            const std::size_t from = random_.below(2);
            if (random_.chance(1, 8)) {
                renew_region(sides_[random_.below(2)], c);
            }
            received[1 - from] += operate(sides_[from], sides_[1 - from], c) ? 1U : 0U;
            ++sent[from];
        }
        for (std::size_t s = 0; s < 2; ++s) {
            for (; sent[s] != 0; --sent[s]) {
                ASSERT_EQ(sides_[s].actor->run({.op = Command::kPoll, .arg = {0}}).value[0],
                          static_cast<std::uint64_t>(IBV_WC_SUCCESS));
            }
            for (; received[s] != 0; --received[s]) {
                ASSERT_EQ(sides_[s].actor->run({.op = Command::kPoll, .arg = {1}}).value[0],
                          static_cast<std::uint64_t>(IBV_WC_SUCCESS));
            }
        }
        for (std::size_t c = 0; c < kConnections; ++c) {
            if (used[c] && type_of(c) == IBV_QPT_UC) {
                let_arrive();
            }
        }
    }

    void compare() {
        for (Side& side : sides_) {
            side.actor->run({.op = Command::kShow});
            ASSERT_TRUE(same(side.actor->shown(), side.model)) << "side " << &side - &sides_[0];
        }
    }

  private:
    /// Registers another part of the connection's stretch; mostly with ragged edges.
    void renew_region(Side& side, std::size_t c) {
        Region& region = side.region[c];
        if (region.bytes != 0) {
            side.actor->run({.op = Command::kDeregister, .arg = {region.index}});
        }
        const std::uint64_t low = c * kStretch;
        region.begin = low + random_.below(kStretch / 3);
        region.bytes = kStretch / 3 + random_.below(kStretch / 3);
        if (random_.chance(1, 4)) {
            region.begin = (low + kPage - 1) / kPage * kPage;
            region.bytes = 2 * kPage;
        }
        const Reply r =
            side.actor->run({.op = Command::kRegister, .arg = {region.begin, region.bytes}});
        region.index = r.value[0];
        region.rkey = static_cast<std::uint32_t>(r.value[1]);
        region.address = r.value[2];
    }

    /// Returns a range of this length in the region; often one that ends or begins at a page's
    /// edge.
    std::uint64_t place(const Region& region, std::uint32_t bytes) {
        const std::uint64_t room = region.bytes - bytes;
        std::uint64_t offset = region.begin + random_.below(room + 1);
        if (random_.chance(1, 3)) {
            const std::uint64_t edge =
                offset / kPage * kPage - random_.below(std::min(bytes, 9U) + 1);
            if (edge >= region.begin && edge <= region.begin + room) {
                offset = edge;
            }
        }
        return offset;
    }

    std::uint32_t length(std::uint64_t limit) {
        const std::uint64_t most = std::min<std::uint64_t>(limit, kMessageMax);
        return static_cast<std::uint32_t>(random_.chance(1, 2) ? random_.below(70)
                                                               : random_.below(most + 1));
    }

    /// Splits `bytes` over up to four pieces that do not overlap.
    void add_sges(Command& command, const Region& region, std::uint32_t bytes) {
        const std::uint64_t start = place(region, bytes);
        const std::uint32_t pieces = 1 + static_cast<std::uint32_t>(random_.below(4));
        std::uint32_t done = 0;
        for (std::uint32_t i = 0; i < pieces; ++i) {
            const std::uint32_t n =
                i + 1 == pieces ? bytes - done
                                : static_cast<std::uint32_t>(random_.below(bytes - done + 1));
            command.sge[i] = {region.index, start + done, n};
            done += n;
        }
        command.sges = pieces;
        // Sometimes the pieces are in another order than in memory.
        if (pieces > 1 && random_.chance(1, 2)) {
            std::swap(command.sge[0], command.sge[pieces - 1]);
        }
    }

    static std::vector<std::byte> gather(const Side& side, const Command& command) {
        std::vector<std::byte> out;
        for (std::uint32_t i = 0; i < command.sges; ++i) {
            const auto from =
                side.model.begin() + static_cast<std::ptrdiff_t>(command.sge[i].offset);
            out.insert(out.end(), from, from + command.sge[i].bytes);
        }
        return out;
    }

    static void scatter(Side& side, const Command& command, std::span<const std::byte> data) {
        for (std::uint32_t i = 0; i < command.sges && !data.empty(); ++i) {
            const std::size_t n = std::min<std::size_t>(data.size(), command.sge[i].bytes);
            std::copy_n(data.begin(), n, side.model.data() + command.sge[i].offset);
            data = data.subspan(n);
        }
    }

    /// Posts one request and plays it on the models. Returns true if it consumes a receive.
    bool operate(Side& from, Side& to, std::size_t c) {
        const ibv_qp_type type = type_of(c);
        constexpr ibv_wr_opcode kOpcodes[] = {IBV_WR_SEND,
                                              IBV_WR_SEND_WITH_IMM,
                                              IBV_WR_RDMA_WRITE,
                                              IBV_WR_RDMA_WRITE_WITH_IMM,
                                              IBV_WR_RDMA_READ,
                                              IBV_WR_ATOMIC_CMP_AND_SWP,
                                              IBV_WR_ATOMIC_FETCH_AND_ADD};
        const std::uint64_t kinds = type == IBV_QPT_RC ? 7 : type == IBV_QPT_UC ? 4 : 2;
        const ibv_wr_opcode opcode = kOpcodes[random_.below(kinds)];
        Command command{.op = Command::kSend};
        command.arg[0] = from.qp[c];
        command.arg[1] = opcode;
        command.arg[2] = IBV_SEND_SIGNALED;
        command.arg[7] = random_.next() & 0xFFFFFFFF;
        switch (opcode) {
            case IBV_WR_SEND:
            case IBV_WR_SEND_WITH_IMM:
                send(from, to, c, command);
                return true;
            case IBV_WR_RDMA_WRITE:
            case IBV_WR_RDMA_WRITE_WITH_IMM:
                write(from, to, c, command);
                return opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
            case IBV_WR_RDMA_READ:
                read(from, to, c, command);
                return false;
            default:
                atomic(from, to, c, command);
                return false;
        }
    }

    void post(Side& from, Command& command) {
        std::uint64_t bytes = 0;
        for (std::uint32_t i = 0; i < command.sges; ++i) {
            bytes += command.sge[i].bytes;
        }
        if (command.arg[1] <= IBV_WR_SEND_WITH_IMM && bytes <= 100 && random_.chance(1, 2)) {
            command.arg[2] |= IBV_SEND_INLINE;
        }
        ASSERT_EQ(from.actor->run(command).value[0], 0U);
    }

    void send(Side& from, Side& to, std::size_t c, Command& command) {
        const bool datagram = type_of(c) == IBV_QPT_UD;
        const std::uint32_t header = datagram ? kGrh : 0;
        const std::uint64_t limit = datagram ? 4096 : kMessageMax;
        const std::uint32_t bytes =
            length(std::min({limit, from.region[c].bytes, to.region[c].bytes - header}));
        Command receive{.op = Command::kReceive, .arg = {to.qp[c]}};
        const std::uint64_t spare = to.region[c].bytes - bytes - header;
        add_sges(receive, to.region[c],
                 bytes + header + static_cast<std::uint32_t>(random_.below(spare + 1)));
        to.actor->run(receive);
        add_sges(command, from.region[c], bytes);
        if (datagram) {
            command.arg[3] = to.qpn[c];
            command.arg[4] = to.lid;
        }
        post(from, command);
        std::vector<std::byte> data = gather(from, command);
        if (datagram) {
            data.insert(data.begin(), kGrh, std::byte{0});  // Without a GRH the 40 bytes stay zero.
        }
        scatter(to, receive, data);
    }

    void write(Side& from, Side& to, std::size_t c, Command& command) {
        if (command.arg[1] == IBV_WR_RDMA_WRITE_WITH_IMM) {
            to.actor->run({.op = Command::kReceive, .arg = {to.qp[c]}});
        }
        const std::uint32_t bytes = length(std::min(from.region[c].bytes, to.region[c].bytes));
        add_sges(command, from.region[c], bytes);
        const std::uint64_t offset = place(to.region[c], bytes);
        aim(command, to.region[c], offset);
        post(from, command);
        const auto data = gather(from, command);
        std::copy(data.begin(), data.end(), to.model.data() + offset);
    }

    void read(Side& from, Side& to, std::size_t c, Command& command) {
        const std::uint32_t bytes = length(std::min(from.region[c].bytes, to.region[c].bytes));
        add_sges(command, from.region[c], bytes);
        const std::uint64_t offset = place(to.region[c], bytes);
        aim(command, to.region[c], offset);
        post(from, command);
        scatter(from, command, std::span(to.model).subspan(offset, bytes));
    }

    void atomic(Side& from, Side& to, std::size_t c, Command& command) {
        const std::uint64_t offset = (place(to.region[c], 16) + 7) / 8 * 8;
        aim(command, to.region[c], offset);
        std::uint64_t word = 0;
        std::memcpy(&word, to.model.data() + offset, 8);
        command.arg[5] = random_.chance(1, 2) ? word : random_.next();
        command.arg[6] = random_.next();
        command.sge[0] = {from.region[c].index, place(from.region[c], 8), 8};
        command.sges = 1;
        post(from, command);
        std::uint64_t result = word + command.arg[5];
        if (command.arg[1] == IBV_WR_ATOMIC_CMP_AND_SWP) {
            result = word == command.arg[5] ? command.arg[6] : word;
        }
        std::memcpy(to.model.data() + offset, &result, 8);
        std::memcpy(from.model.data() + command.sge[0].offset, &word, 8);
    }

    static void aim(Command& command, const Region& region, std::uint64_t offset) {
        command.arg[3] = region.address + (offset - region.begin);
        command.arg[4] = region.rkey;
    }

    Prng random_;
    std::array<Side, 2> sides_;
};

class Integrity : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Processes, Integrity, testing::Bool(),
                         [](const auto& param_info) { return param_info.param ? "Two" : "One"; });

TEST_P(Integrity, RandomOperationsMatchTheModel) {
    const std::uint64_t seed = pick_seed();
    SCOPED_TRACE(testing::Message() << "SOFTIB_TEST_SEED=" << seed);
    RandomRun run(seed, GetParam());
    for (std::uint64_t i = 0; i < rounds() && !testing::Test::HasFailure(); ++i) {
        run.round();
        if (i % 50 == 49) {
            run.compare();
        }
    }
    run.compare();
}

/// Threads of the owner go on writing beside regions that come and go, and into which a peer
/// writes.
class WritersRun {
  public:
    WritersRun(std::uint64_t seed, bool two_processes)
        : random_(seed), a_(make_actor(0, false)), b_(make_actor(1, two_processes)) {
        const Reply qb = b_->run({.op = Command::kMakeQp, .arg = {IBV_QPT_RC}});
        const Reply qa = a_->run({.op = Command::kMakeQp, .arg = {IBV_QPT_RC}});
        qp_ = qa.value[0];
        a_->run({.op = Command::kConnect, .arg = {qp_, qb.value[1], qb.value[2]}});
        b_->run({.op = Command::kConnect, .arg = {qb.value[0], qa.value[1], qa.value[2]}});
        source_ = a_->run({.op = Command::kRegister, .arg = {0, kActorBytes}}).value[0];
        a_->run({.op = Command::kShow});
        b_->run({.op = Command::kShow});
        expected_.assign(b_->shown().begin(), b_->shown().end());
        // Each page has a word of the first writer at 0 and one of the second at 2048; the peer
        // writes to all bytes between the two words.
        b_->run({.op = Command::kWrite, .arg = {0, kPage}});
        b_->run({.op = Command::kWrite, .arg = {2048, kPage}});
    }

    void register_and_write() {
        const std::uint64_t begin = random_.below(kActorBytes);
        const std::uint64_t bytes = 1 + random_.below(std::min(kActorBytes - begin, 5 * kPage));
        const Reply r = b_->run({.op = Command::kRegister, .arg = {begin, bytes}});
        for (std::uint64_t half = begin / 2048; half * 2048 < begin + bytes; ++half) {
            const std::uint64_t low = std::max(begin, half * 2048 + 8);
            const std::uint64_t high = std::min(begin + bytes, (half + 1) * 2048);
            if (low < high) {
                write(r.value[2] + (low - begin), static_cast<std::uint32_t>(r.value[1]), low,
                      high - low);
            }
        }
        b_->run({.op = Command::kDeregister, .arg = {r.value[0]}});
    }

    void check() {
        EXPECT_EQ(b_->run({.op = Command::kCheck}).value[0], 0U) << "words of the owner changed";
        b_->run({.op = Command::kShow});
        for (std::size_t i = 0; i < kActorBytes; ++i) {
            ASSERT_TRUE(i % 2048 < 8 || b_->shown()[i] == expected_[i]) << "at byte " << i;
        }
    }

  private:
    void write(std::uint64_t address, std::uint32_t rkey, std::uint64_t offset,
               std::uint64_t bytes) {
        Command command{.op = Command::kSend};
        command.arg[0] = qp_;
        command.arg[1] = IBV_WR_RDMA_WRITE;
        command.arg[2] = IBV_SEND_SIGNALED;
        command.arg[3] = address;
        command.arg[4] = rkey;
        const std::uint64_t from = random_.below(kActorBytes - bytes);
        command.sge[0] = {source_, from, static_cast<std::uint32_t>(bytes)};
        command.sges = 1;
        ASSERT_EQ(a_->run(command).value[0], 0U);
        ASSERT_EQ(a_->run({.op = Command::kPoll, .arg = {0}}).value[0],
                  static_cast<std::uint64_t>(IBV_WC_SUCCESS));
        std::copy_n(a_->shown().data() + from, bytes, expected_.data() + offset);
    }

    Prng random_;
    std::unique_ptr<Actor> a_;
    std::unique_ptr<Actor> b_;
    std::uint64_t qp_ = 0;
    std::uint64_t source_ = 0;
    std::vector<std::byte> expected_;
};

TEST_P(Integrity, OwnersWritesSurviveRegistration) {
    const std::uint64_t seed = pick_seed();
    SCOPED_TRACE(testing::Message() << "SOFTIB_TEST_SEED=" << seed);
    // A page is swapped for an arena page once, so each round needs fresh pages.
    for (std::uint64_t turn = 0; turn < effort(8U, 3U) && !testing::Test::HasFailure(); ++turn) {
        WritersRun run(seed + turn, GetParam());
        for (int i = 0; i < 60; ++i) {
            run.register_and_write();
        }
        run.check();
    }
}

}  // namespace
}  // namespace softib::test

int main(int argc, char** argv) {
    softib::test::run_if_actor(argc, argv);
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
