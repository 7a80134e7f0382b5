// SPDX-License-Identifier: BSD-2-Clause
// Runs the cases of test_cases.h as one process of an MPI job; the process of rank 0 prints the
// outcomes. A test compares what different numbers of processes print.
//
//   mpirun -n N job_main LIBRARY_DIR

#include <fmt/format.h>

#include <cstring>

#include "core/topo/spec.h"
#include "parallel/job.h"
#include "parallel/test_cases.h"

namespace {

using namespace softib;
using parallel::test::Case;
using parallel::test::Outcome;
using parallel::test::Piece;

constexpr std::size_t kNumbers = 5;

/// Returns all numbers of an outcome in one list, which a process can send.
std::vector<std::uint64_t> numbers_of(const Outcome& outcome) {
    std::vector<std::uint64_t> numbers{outcome.hash, outcome.hops, outcome.delivered, outcome.lost,
                                       outcome.waited};
    numbers.insert(numbers.end(), outcome.done.begin(), outcome.done.end());
    return numbers;
}

void print_sum(const Case& what, const std::vector<std::vector<std::uint8_t>>& all) {
    std::vector<std::uint64_t> sum;
    for (const auto& bytes : all) {
        std::vector<std::uint64_t> numbers(bytes.size() / sizeof(std::uint64_t));
        std::memcpy(numbers.data(), bytes.data(), bytes.size());
        sum.resize(numbers.size(), 0);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            // The first kNumbers are added up. Only one part knows when a flow is done; the others
            // have kNever, so the least counts.
            sum[i] =
                i < kNumbers || sum[i] == 0 ? sum[i] + numbers[i] : std::min(sum[i], numbers[i]);
        }
    }
    fmt::print("{}: {}\n", what.name, fmt::join(sum, " "));
}

bool run(const Case& what, parallel::Job& job) {
    auto fabric = topo::generate(what.spec);
    const auto routed = net::Routed::make(*std::move(fabric), what.engine, what.vls);
    if (!routed) {
        fmt::print(stderr, "{}\n", routed.error().message);
        return false;
    }
    const auto part_of = net::assign_parts(routed->topology, job.size());
    Piece piece(*routed, what, part_of, job.rank());
    net::run_part(piece.network, piece.part, job.size(), job);
    Outcome outcome;
    parallel::test::add(piece, outcome);
    const std::vector<std::uint64_t> numbers = numbers_of(outcome);
    const auto all = job.gather({reinterpret_cast<const std::uint8_t*>(numbers.data()),
                                 numbers.size() * sizeof(std::uint64_t)});
    if (job.rank() == 0) {
        print_sum(what, all);
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    auto job = parallel::Job::join(argc > 1 ? argv[1] : ".");
    if (!job) {
        fmt::print(stderr, "{}\n", job.error());
        return 1;
    }
    for (const Case& what : parallel::test::cases()) {
        if (!run(what, **job)) {
            return 1;
        }
    }
    return 0;
}
