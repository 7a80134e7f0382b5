// SPDX-License-Identifier: BSD-2-Clause
// Checks what MPI programs ask of a fabric, with every byte compared: point-to-point messages,
// collectives, one-sided operations.
//
//   mpi_check             all of it, once; exit status 1 if anything arrived wrong
//   mpi_check brief       messages around a ring only
//   mpi_check name        the host of each rank, as MPI and as the system name it
//   mpi_check forever     one all-reduce after another, until the program is ended
#include <mpi.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace {

int rank = 0;
int ranks = 0;
std::uint64_t checks = 0;
std::uint64_t failures = 0;

void expect(bool right, const std::string& what) {
    ++checks;
    if (!right) {
        ++failures;
        std::fprintf(stderr, "rank %d: wrong: %s\n", rank, what.c_str());
    }
}

/// Returns bytes that depend on their sender, receiver and position.
std::vector<std::uint8_t> bytes(int from, int to, std::size_t size) {
    std::vector<std::uint8_t> data(size);
    for (std::size_t i = 0; i < size; ++i) {
        data[i] = static_cast<std::uint8_t>(static_cast<std::size_t>(from * 31 + to * 17) + i * 7 +
                                            i / 251);
    }
    return data;
}

std::vector<std::int64_t> numbers(int from, std::size_t count) {
    std::vector<std::int64_t> data(count);
    std::iota(data.begin(), data.end(), from * 1000);
    return data;
}

const std::vector<std::size_t> kSizes{0, 1, 8, 1000, 4096, 65536, 1 << 20};

void ring() {
    const int next = (rank + 1) % ranks;
    const int previous = (rank + ranks - 1) % ranks;
    for (const std::size_t size : kSizes) {
        const auto mine = bytes(rank, next, size);
        std::vector<std::uint8_t> got(size);
        MPI_Status status;
        MPI_Sendrecv(mine.data(), static_cast<int>(size), MPI_BYTE, next, 1, got.data(),
                     static_cast<int>(size), MPI_BYTE, previous, 1, MPI_COMM_WORLD, &status);
        int count = -1;
        MPI_Get_count(&status, MPI_BYTE, &count);
        expect(count == static_cast<int>(size) && got == bytes(previous, rank, size),
               "ring, " + std::to_string(size) + " bytes");
    }
}

/// All ranks send to all at once, in messages of several sizes that must not overtake each other.
void crowd() {
    constexpr int kMessages = 8;
    constexpr std::size_t kMax = 20000;
    std::vector<std::vector<std::uint8_t>> sent;
    std::vector<std::vector<std::uint8_t>> got;
    std::vector<MPI_Request> requests;
    const auto size_of = [](int message) {
        return static_cast<std::size_t>(message * message) * 400;
    };
    sent.reserve(static_cast<std::size_t>(ranks * kMessages));
    got.reserve(static_cast<std::size_t>(ranks * kMessages));
    for (int peer = 0; peer < ranks; ++peer) {
        for (int message = 0; message < kMessages; ++message) {
            got.emplace_back(kMax);
            requests.emplace_back();
            MPI_Irecv(got.back().data(), static_cast<int>(kMax), MPI_BYTE, peer, 2, MPI_COMM_WORLD,
                      &requests.back());
        }
    }
    for (int message = 0; message < kMessages; ++message) {
        for (int peer = 0; peer < ranks; ++peer) {
            sent.push_back(bytes(rank + message, peer, size_of(message)));
            requests.emplace_back();
            MPI_Isend(sent.back().data(), static_cast<int>(sent.back().size()), MPI_BYTE, peer, 2,
                      MPI_COMM_WORLD, &requests.back());
        }
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (int peer = 0; peer < ranks; ++peer) {
        for (int message = 0; message < kMessages; ++message) {
            auto& data = got[static_cast<std::size_t>(peer * kMessages + message)];
            data.resize(size_of(message));
            expect(data == bytes(peer + message, rank, data.size()), "crowd");
        }
    }
}

/// Sends columns of a matrix, and receives messages from any rank.
void layouts() {
    constexpr int kRows = 300;
    constexpr int kColumns = 7;
    MPI_Datatype column;
    MPI_Type_vector(kRows, 1, kColumns, MPI_INT64_T, &column);
    MPI_Type_commit(&column);
    if (rank != 0) {
        const auto matrix = numbers(rank, kRows * kColumns);
        MPI_Ssend(matrix.data() + rank % kColumns, 1, column, 0, 3, MPI_COMM_WORLD);
    } else {
        for (int i = 1; i < ranks; ++i) {
            std::vector<std::int64_t> got(kRows);
            MPI_Status status;
            MPI_Recv(got.data(), kRows, MPI_INT64_T, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status);
            bool right = true;
            for (int row = 0; row < kRows; ++row) {
                right = right && got[static_cast<std::size_t>(row)] ==
                                     status.MPI_SOURCE * 1000 + row * kColumns +
                                         status.MPI_SOURCE % kColumns;
            }
            expect(right, "column of a matrix");
        }
    }
    MPI_Type_free(&column);
}

void reductions(std::size_t count) {
    const int n = static_cast<int>(count);
    const auto mine = numbers(rank, count);
    std::vector<std::int64_t> got(count);
    std::vector<std::int64_t> sum(count);
    std::vector<std::int64_t> prefix(count);
    for (int r = 0; r < ranks; ++r) {
        const auto theirs = numbers(r, count);
        for (std::size_t i = 0; i < count; ++i) {
            sum[i] += theirs[i];
            prefix[i] += r <= rank ? theirs[i] : 0;
        }
    }
    MPI_Allreduce(mine.data(), got.data(), n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    expect(got == sum, "all-reduce");
    MPI_Allreduce(mine.data(), got.data(), n, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    expect(got == numbers(ranks - 1, count), "all-reduce of the greatest");
    const int root = ranks / 2;
    MPI_Reduce(mine.data(), got.data(), n, MPI_INT64_T, MPI_SUM, root, MPI_COMM_WORLD);
    expect(rank != root || got == sum, "reduce");
    MPI_Scan(mine.data(), got.data(), n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    expect(got == prefix, "scan");
}

void rearrangements(std::size_t count) {
    const int n = static_cast<int>(count);
    const auto all = static_cast<std::size_t>(ranks) * count;
    const int root = ranks - 1;
    auto data = rank == root ? numbers(77, count) : std::vector<std::int64_t>(count);
    MPI_Bcast(data.data(), n, MPI_INT64_T, root, MPI_COMM_WORLD);
    expect(data == numbers(77, count), "broadcast");

    std::vector<std::int64_t> everything;
    for (int r = 0; r < ranks; ++r) {
        const auto theirs = numbers(r, count);
        everything.insert(everything.end(), theirs.begin(), theirs.end());
    }
    const auto mine = numbers(rank, count);
    std::vector<std::int64_t> got(all);
    MPI_Allgather(mine.data(), n, MPI_INT64_T, got.data(), n, MPI_INT64_T, MPI_COMM_WORLD);
    expect(got == everything, "all-gather");
    std::vector<std::int64_t> collected(all);
    MPI_Gather(mine.data(), n, MPI_INT64_T, collected.data(), n, MPI_INT64_T, root, MPI_COMM_WORLD);
    expect(rank != root || collected == everything, "gather");
    std::vector<std::int64_t> part(count);
    MPI_Scatter(everything.data(), n, MPI_INT64_T, part.data(), n, MPI_INT64_T, root,
                MPI_COMM_WORLD);
    expect(part == mine, "scatter");
    MPI_Reduce_scatter_block(everything.data(), part.data(), n, MPI_INT64_T, MPI_SUM,
                             MPI_COMM_WORLD);
    bool right = true;
    for (std::size_t i = 0; i < count; ++i) {
        right = right && part[i] == mine[i] * ranks;
    }
    expect(right, "reduce-scatter");

    // Each value tells its sender and, by its index, its receiver.
    std::vector<std::int64_t> out(all);
    for (std::size_t i = 0; i < all; ++i) {
        out[i] = rank * 1000000 + static_cast<std::int64_t>(i);
    }
    MPI_Alltoall(out.data(), n, MPI_INT64_T, got.data(), n, MPI_INT64_T, MPI_COMM_WORLD);
    right = true;
    for (std::size_t i = 0; i < all; ++i) {
        right = right && got[i] == static_cast<std::int64_t>(
                                       (i / count) * 1000000 +
                                       static_cast<std::size_t>(rank) * count + i % count);
    }
    expect(right, "all-to-all");
}

/// Does puts, gets and accumulates in the memory of other ranks between fences, then atomics under
/// locks.
void one_sided(MPI_Win window, std::int64_t* memory, int count) {
    const int next = (rank + 1) % ranks;
    const int previous = (rank + ranks - 1) % ranks;
    const auto size = static_cast<std::size_t>(count);
    const auto mine = numbers(rank, size);
    std::fill_n(memory, size, -1);
    MPI_Win_fence(0, window);
    MPI_Put(mine.data(), count, MPI_INT64_T, next, 0, count, MPI_INT64_T, window);
    MPI_Win_fence(0, window);
    expect(std::vector<std::int64_t>(memory, memory + count) == numbers(previous, size), "put");
    std::vector<std::int64_t> got(size);
    MPI_Get(got.data(), count, MPI_INT64_T, next, 0, count, MPI_INT64_T, window);
    MPI_Win_fence(0, window);
    expect(got == mine, "get");
    std::fill_n(memory, size, 0);
    MPI_Win_fence(0, window);
    for (int peer = 0; peer < ranks; ++peer) {
        MPI_Accumulate(mine.data(), count, MPI_INT64_T, peer, 0, count, MPI_INT64_T, MPI_SUM,
                       window);
    }
    MPI_Win_fence(0, window);
    bool right = true;
    for (int i = 0; i < count; ++i) {
        right =
            right && memory[i] == std::int64_t{ranks} * i + 500 * std::int64_t{ranks} * (ranks - 1);
    }
    expect(right, "accumulate");

    // A counter at rank 0 must give every caller another number.
    constexpr int kDraws = 50;
    MPI_Win_fence(0, window);
    memory[0] = 0;
    MPI_Win_fence(0, window);
    const std::int64_t one = 1;
    std::int64_t drawn = 0;
    std::int64_t total = 0;
    for (int i = 0; i < kDraws; ++i) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
        MPI_Fetch_and_op(&one, &drawn, MPI_INT64_T, 0, 0, MPI_SUM, window);
        MPI_Win_unlock(0, window);
        total += drawn;
    }
    std::int64_t everybody = 0;
    MPI_Allreduce(&total, &everybody, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    const std::int64_t draws = std::int64_t{kDraws} * ranks;
    expect(everybody == draws * (draws - 1) / 2, "numbers drawn from a counter");
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    const std::int64_t claim = -1 - rank;
    MPI_Compare_and_swap(&claim, &draws, &drawn, MPI_INT64_T, 0, 0, window);
    MPI_Win_unlock(0, window);
    int winners = drawn == draws ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &winners, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(winners == 1, "one winner of a compare-and-swap");
    MPI_Win_fence(0, window);
}

void windows() {
    for (const int count : {8, 1000, 100000}) {
        const auto size =
            static_cast<MPI_Aint>(static_cast<std::size_t>(count) * sizeof(std::int64_t));
        std::vector<std::int64_t> own(static_cast<std::size_t>(count));
        MPI_Win window;
        MPI_Win_create(own.data(), size, sizeof(std::int64_t), MPI_INFO_NULL, MPI_COMM_WORLD,
                       &window);
        one_sided(window, own.data(), count);
        MPI_Win_free(&window);
        std::int64_t* given = nullptr;
        MPI_Win_allocate(size, sizeof(std::int64_t), MPI_INFO_NULL, MPI_COMM_WORLD,
                         static_cast<void*>(&given), &window);
        one_sided(window, given, count);
        MPI_Win_free(&window);
    }
}

void check_more() {
    crowd();
    layouts();
    for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{50000}}) {
        reductions(count);
        rearrangements(count);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    windows();
}

int check(bool brief) {
    ring();
    if (!brief) {
        check_more();
    }
    std::uint64_t all[2] = {checks, failures};
    MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        std::printf("%d ranks: %llu checks, %llu wrong\n", ranks,
                    static_cast<unsigned long long>(all[0]),
                    static_cast<unsigned long long>(all[1]));
    }
    return all[1] == 0 ? 0 : 1;
}

int name() {
    char by_mpi[MPI_MAX_PROCESSOR_NAME]{};
    char by_system[256]{};
    int length = 0;
    MPI_Get_processor_name(by_mpi, &length);
    gethostname(by_system, sizeof by_system - 1);
    std::printf("rank %d is on %s, %s\n", rank, by_mpi, by_system);
    return 0;
}

int forever() {
    std::printf("rank %d is process %d\n", rank, getpid());
    std::fflush(stdout);
    std::vector<double> data(10000, 1.0);
    while (true) {
        MPI_Allreduce(MPI_IN_PLACE, data.data(), static_cast<int>(data.size()), MPI_DOUBLE, MPI_MAX,
                      MPI_COMM_WORLD);
    }
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const std::string what = argc > 1 ? argv[1] : "";
    const int status = what == "forever" ? forever()
                       : what == "name"  ? name()
                                         : check(what == "brief");
    MPI_Finalize();
    return status;
}
