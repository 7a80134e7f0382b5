// SPDX-License-Identifier: BSD-2-Clause
// Runs any number of random operations of the transport, checked against the model as in
// random_test.cc.
//
//     transport_long_run OPERATIONS [STATE [SHARE SHARES]]
//
// Each seed is a run of 500 operations on a channel of its own. With a STATE file a run that was
// broken off goes on with the seed at which it was, and one that is done goes on to a larger number
// of operations. SHARE of SHARES (0 of 4, 1 of 4, ...) takes every SHARES-th seed: for several
// cores, each with a state of its own. A failure prints the seed and leaves the state before it.
#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

#include "workload.h"

namespace softib::transport {
namespace {

constexpr std::uint32_t kPerSeed = 500;
constexpr std::uint64_t kFirstSeed = 10'000'000;  // The seeds are beyond those of random_test.cc.
constexpr std::uint64_t kSeedsBetweenLines = 20'000;

struct State {
    std::uint64_t next_seed = kFirstSeed;
    std::uint64_t operations = 0;
};

/// Fourteen of twenty runs are reliable connections, three XRC, two UD and one UC.
QpType type_of(std::uint64_t seed) {
    const std::uint64_t kind = seed % 20;
    return kind < 14   ? QpType::kRc
           : kind < 17 ? QpType::kXrcSend
           : kind < 19 ? QpType::kUd
                       : QpType::kUc;
}

Outcome run_one(std::uint64_t seed) {
    const QpType type = type_of(seed);
    const PairOptions options = random_options(seed, type);
    return type == QpType::kUc || type == QpType::kUd
               ? run_unreliable(options, seed, kPerSeed)
               : ReliableWorkload(options, seed, kPerSeed).run();
}

State load(const std::string& path) {
    State state;
    if (std::ifstream file(path); file) {
        file >> state.next_seed >> state.operations;
        if (!file) {
            fmt::print(stderr, "{} has no seed and number of operations; remove it to begin anew\n",
                       path);
            std::exit(2);
        }
    }
    return state;
}

/// Writes the file wholly or not at all.
bool save(const std::string& path, const State& state) {
    if (path.empty()) {
        return true;
    }
    {
        std::ofstream file(path + ".new");
        file << state.next_seed << " " << state.operations << "\n";
        if (!file.flush()) {
            fmt::print(stderr, "cannot write {}.new; is its folder there?\n", path);
            return false;
        }
    }
    std::error_code failed;
    std::filesystem::rename(path + ".new", path, failed);
    if (failed) {
        fmt::print(stderr, "cannot replace {}: {}\n", path, failed.message());
    }
    return !failed;
}

int run(std::uint64_t wanted, const std::string& path, std::uint64_t share, std::uint64_t shares) {
    State state = path.empty() ? State{} : load(path);
    const std::uint64_t before = state.operations;
    const auto tell = [&] {
        const double cpu_s = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
        fmt::print("{} operations, next seed {}, {:.0f} operations per CPU second\n",
                   state.operations, state.next_seed,
                   static_cast<double>(state.operations - before) / cpu_s);
        std::fflush(stdout);
    };
    while (state.operations < wanted) {
        if (state.next_seed % shares == share) {
            const Outcome outcome = run_one(state.next_seed);
            if (!outcome.error.empty()) {
                fmt::print("seed {}: {}\n", state.next_seed, outcome.error);
                save(path, state);
                return 1;
            }
            state.operations += outcome.operations;
        }
        ++state.next_seed;
        if (state.next_seed % kSeedsBetweenLines == 0) {
            tell();
            if (!save(path, state)) {
                return 2;
            }
        }
    }
    tell();
    return save(path, state) ? 0 : 2;
}

}  // namespace
}  // namespace softib::transport

int main(int argc, char** argv) {
    const auto number = [&](int at, std::uint64_t otherwise) {
        return argc > at ? std::strtoull(argv[at], nullptr, 10) : otherwise;
    };
    const std::uint64_t wanted = number(1, 0);
    const std::uint64_t share = number(3, 0);
    const std::uint64_t shares = number(4, 1);
    if (wanted == 0 || argc == 4 || share >= shares) {
        std::fputs("usage: transport_long_run OPERATIONS [STATE [SHARE SHARES]]\n", stderr);
        return 2;
    }
    return softib::transport::run(wanted, argc > 2 ? argv[2] : "", share, shares);
}
