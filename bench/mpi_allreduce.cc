// SPDX-License-Identifier: BSD-2-Clause
// Prints microseconds per MPI_Allreduce of floats: mpi_allreduce BYTES ROUNDS. Its counterpart is
// examples/sharp_allreduce.cc with "time".

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const std::size_t bytes = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 8;
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 1000;
    const auto count = static_cast<int>(bytes / 4);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::vector<float> in(bytes / 4, 1.0F);
    std::vector<float> out(bytes / 4);
    for (int i = 0; i < rounds / 10 + 1; ++i) {
        MPI_Allreduce(in.data(), out.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    const double start = MPI_Wtime();
    for (int i = 0; i < rounds; ++i) {
        MPI_Allreduce(in.data(), out.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    const double took = MPI_Wtime() - start;
    if (rank == 0) {
        std::printf("%zu bytes %.3f us\n", bytes, took / rounds * 1e6);
    }
    MPI_Finalize();
    return 0;
}
