// SPDX-License-Identifier: BSD-2-Clause
// Measures latency and bandwidth between two ranks, for bench/mpi.py.
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

int rank = 0;

/// Returns the median, which is not affected by what else the machine does from time to time.
double median(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// Returns half the time of a round trip of `size` bytes, in microseconds.
double latency_us(int size, int times) {
    std::vector<std::uint8_t> data(static_cast<std::size_t>(size));
    std::vector<double> spent;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < times; ++i) {
        const double start = MPI_Wtime();
        for (const bool sending : {rank == 0, rank != 0}) {
            if (sending) {
                MPI_Send(data.data(), size, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
            } else {
                MPI_Recv(data.data(), size, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            }
        }
        spent.push_back(MPI_Wtime() - start);
    }
    return median(spent) * 1e6 / 2;
}

/// Returns the bandwidth from rank 0 to rank 1 in gigabytes a second. Rank 0 sends a window of
/// messages at a time, and rank 1 answers each window with a word.
double bandwidth_gbps(int size, int times) {
    constexpr int kWindow = 16;
    std::vector<std::uint8_t> data(static_cast<std::size_t>(size) * kWindow);
    std::vector<MPI_Request> requests(kWindow);
    std::vector<double> spent;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < times; ++i) {
        const double start = MPI_Wtime();
        for (std::size_t w = 0; w < kWindow; ++w) {
            std::uint8_t* const place = data.data() + w * static_cast<std::size_t>(size);
            if (rank == 0) {
                MPI_Isend(place, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[w]);
            } else {
                MPI_Irecv(place, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[w]);
            }
        }
        MPI_Waitall(kWindow, requests.data(), MPI_STATUSES_IGNORE);
        if (rank == 0) {
            MPI_Recv(nullptr, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(nullptr, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
        spent.push_back(MPI_Wtime() - start);
    }
    return static_cast<double>(size) * kWindow / median(spent) / 1e9;
}

void measure() {
    latency_us(8, 2000);
    const double small = latency_us(8, 20000);
    bandwidth_gbps(1 << 20, 5);
    const double large = bandwidth_gbps(1 << 20, 60);
    if (rank == 0) {
        std::printf("latency_us %.3f bandwidth_gbps %.3f\n", small, large);
    }
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks == 2) {
        measure();
    } else if (rank == 0) {
        std::fprintf(stderr, "mpi_pingpong: start it with two ranks\n");
    }
    MPI_Finalize();
    return ranks == 2 ? 0 : 1;
}
