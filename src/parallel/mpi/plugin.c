/* SPDX-License-Identifier: BSD-2-Clause */
#include "parallel/mpi/plugin.h"

#include <mpi.h>
#include <stdlib.h>

/* Bytes are counted in units of this size, because MPI counts in int. All sizes are multiples. */
enum { kUnitBytes = 8 };

static int g_size;

int softib_mpi_join(int* rank, int* size) {
    int error = MPI_Init(NULL, NULL);
    if (error == MPI_SUCCESS) {
        MPI_Comm_rank(MPI_COMM_WORLD, rank);
        MPI_Comm_size(MPI_COMM_WORLD, size);
        g_size = *size;
    }
    return error;
}

void softib_mpi_leave(void) {
    MPI_Finalize();
}

uint64_t softib_mpi_least(uint64_t mine) {
    uint64_t least = 0;
    MPI_Allreduce(&mine, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    return least;
}

void softib_mpi_sizes(uint64_t* sizes) {
    uint64_t* theirs = calloc((size_t)g_size, sizeof *theirs);
    if (theirs == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    MPI_Alltoall(sizes, 1, MPI_UINT64_T, theirs, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int i = 0; i < g_size; ++i) {
        sizes[i] = theirs[i];
    }
    free(theirs);
}

/* Returns the counts of all processes, in units, which the caller must free. `*places` becomes the
 * offsets, in units. */
static int* runs_of(const uint64_t* sizes, int** places) {
    int* counts = calloc(2 * (size_t)g_size, sizeof *counts);
    if (counts == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        return NULL;
    }
    *places = counts + g_size;
    int before = 0;
    for (int i = 0; i < g_size; ++i) {
        counts[i] = (int)(sizes[i] / kUnitBytes);
        (*places)[i] = before;
        before += counts[i];
    }
    return counts;
}

void softib_mpi_swap(const void* out, const uint64_t* out_sizes, void* in,
                     const uint64_t* in_sizes) {
    int* out_places = NULL;
    int* in_places = NULL;
    int* out_counts = runs_of(out_sizes, &out_places);
    int* in_counts = runs_of(in_sizes, &in_places);
    MPI_Alltoallv(out, out_counts, out_places, MPI_UINT64_T, in, in_counts, in_places, MPI_UINT64_T,
                  MPI_COMM_WORLD);
    free(in_counts);
    free(out_counts);
}
