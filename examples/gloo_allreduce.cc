// SPDX-License-Identifier: BSD-2-Clause
// Runs collectives of Gloo over its ibverbs transport, without MPI, and checks every element of
// every result. Ranks find each other by files in a folder that they share.
//
//   gloo_allreduce RANK RANKS FOLDER [DEVICE]
#include <gloo/allgather_ring.h>
#include <gloo/allreduce_bcube.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier_all_to_one.h>
#include <gloo/broadcast_one_to_all.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using Numbers = std::vector<std::int64_t>;
using ContextPtr = std::shared_ptr<gloo::rendezvous::Context>;

int checks = 0;
int failures = 0;

void expect(bool right, const char* what, std::size_t count) {
    ++checks;
    if (!right) {
        ++failures;
        std::fprintf(stderr, "wrong: %s of %zu numbers\n", what, count);
    }
}

/// Returns the numbers that a rank contributes. They depend on the rank and on their index.
Numbers brought(int rank, std::size_t count) {
    Numbers data(count);
    for (std::size_t i = 0; i < count; ++i) {
        data[i] = static_cast<std::int64_t>(i) * 3 + rank * 100;
    }
    return data;
}

Numbers sum_of_all(int ranks, std::size_t count) {
    Numbers sum(count);
    for (int rank = 0; rank < ranks; ++rank) {
        const Numbers theirs = brought(rank, count);
        for (std::size_t i = 0; i < count; ++i) {
            sum[i] += theirs[i];
        }
    }
    return sum;
}

/// Runs collectives. Most collectives of Gloo return before their last send, from their memory, has
/// completed, so memory and collectives are kept until the process ends.
class Collectives {
  public:
    explicit Collectives(ContextPtr context) : context_(std::move(context)) {}

    /// Runs one all-reduce algorithm twice with the same memory, as training does.
    template <typename Algorithm>
    void all_reduce(const char* what, std::size_t count) {
        Numbers& data = memory(count);
        gloo::Algorithm& algorithm =
            keep(new Algorithm(context_, {data.data()}, static_cast<int>(count)));
        for (int round = 0; round < 2; ++round) {
            std::ranges::copy(brought(rank(), count), data.begin());
            algorithm.run();
            expect(data == sum_of_all(ranks(), count), what, count);
            barrier();
        }
    }

    void all_gather(std::size_t count) {
        Numbers& mine = memory(count);
        Numbers& got = memory(count * static_cast<std::size_t>(ranks()));
        std::ranges::copy(brought(rank(), count), mine.begin());
        keep(new gloo::AllgatherRing<std::int64_t>(context_, {mine.data()}, got.data(),
                                                   static_cast<int>(count)))
            .run();
        Numbers wanted;
        for (int other = 0; other < ranks(); ++other) {
            const Numbers theirs = brought(other, count);
            wanted.insert(wanted.end(), theirs.begin(), theirs.end());
        }
        expect(got == wanted, "all-gather", count);
    }

    void reduce_scatter(std::size_t count) {
        const auto size = static_cast<std::size_t>(ranks());
        Numbers& data = memory(count * size);
        std::ranges::copy(brought(rank(), count * size), data.begin());
        const std::vector<int> parts(size, static_cast<int>(count));
        keep(new gloo::ReduceScatterHalvingDoubling<std::int64_t>(
                 context_, {data.data()}, static_cast<int>(count * size), parts))
            .run();
        // A rank's part of the result is at the front of its memory.
        const Numbers sum = sum_of_all(ranks(), count * size);
        const auto begin = sum.begin() + static_cast<std::ptrdiff_t>(count) * rank();
        expect(std::equal(begin, begin + static_cast<std::ptrdiff_t>(count), data.begin()),
               "reduce-scatter", count);
    }

    void broadcast(std::size_t count) {
        const int root = ranks() - 1;
        Numbers& data = memory(count);
        if (rank() == root) {
            std::ranges::copy(brought(42, count), data.begin());
        }
        keep(new gloo::BroadcastOneToAll<std::int64_t>(context_, {data.data()}, count, root)).run();
        expect(data == brought(42, count), "broadcast", count);
    }

    void barrier() { keep(new gloo::BarrierAllToOne(context_)).run(); }

  private:
    int rank() const { return context_->rank; }
    int ranks() const { return context_->size; }

    Numbers& memory(std::size_t count) {
        return *memory_.emplace_back(std::make_unique<Numbers>(count));
    }
    gloo::Algorithm& keep(gloo::Algorithm* algorithm) {
        return *algorithms_.emplace_back(algorithm);
    }

    ContextPtr context_;
    std::vector<std::unique_ptr<Numbers>> memory_;
    std::vector<std::unique_ptr<gloo::Algorithm>> algorithms_;
};

[[noreturn]] void run(int rank, int ranks, const std::string& folder,
                      const std::string& device_name) {
    std::shared_ptr<gloo::transport::Device> device =
        gloo::transport::ibverbs::CreateDevice({.name = device_name, .port = 1, .index = 0});
    gloo::rendezvous::FileStore store(folder);
    const auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
    context->connectFullMesh(store, device);
    Collectives collectives(context);
    for (const std::size_t count : {std::size_t{64}, std::size_t{1000}, std::size_t{100000}}) {
        collectives.all_reduce<gloo::AllreduceRing<std::int64_t>>("all-reduce, ring", count);
        collectives.all_reduce<gloo::AllreduceRingChunked<std::int64_t>>("all-reduce, chunks",
                                                                         count);
        collectives.all_reduce<gloo::AllreduceHalvingDoubling<std::int64_t>>("all-reduce, halving",
                                                                             count);
        if (std::has_single_bit(static_cast<unsigned>(ranks))) {  // A cube has 2^n corners.
            collectives.all_reduce<gloo::AllreduceBcube<std::int64_t>>("all-reduce, cube", count);
        }
        collectives.all_gather(count);
        collectives.reduce_scatter(count);
        collectives.broadcast(count);
        collectives.barrier();
    }
    std::printf("rank %d of %d: %d checks, %d wrong\n", rank, ranks, checks, failures);
    std::fflush(stdout);
    std::_Exit(failures == 0 ? 0 : 1);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        std::fprintf(stderr, "usage: gloo_allreduce RANK RANKS FOLDER [DEVICE]\n");
        return 2;
    }
    try {
        run(std::atoi(argv[1]), std::atoi(argv[2]), argv[3], argc > 4 ? argv[4] : "mlx5_0");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %s: %s\n", argv[1], error.what());
        return 1;
    }
}
