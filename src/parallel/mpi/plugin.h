/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/* What libsoftib_mpi.so offers: the few calls of an MPI by which the processes of a job carry the
 * parts of one fabric. It is a library of its own, opened where a simulation runs under mpirun, so
 * that nothing else of softib needs an MPI. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Joins the job; 0, or the MPI's error. */
int softib_mpi_join(int* rank, int* size);
void softib_mpi_leave(void);
/* The least of all processes' values. */
uint64_t softib_mpi_least(uint64_t mine);
/* Tells every process how many bytes it will get from each: `sizes` has an entry for each process,
 * before the call what goes there, after it what comes from there. */
void softib_mpi_sizes(uint64_t* sizes);
/* Sends `out` (runs of out_sizes[rank] bytes) and fills `in` (runs of in_sizes[rank] bytes). */
void softib_mpi_swap(const void* out, const uint64_t* out_sizes, void* in,
                     const uint64_t* in_sizes);

#ifdef __cplusplus
}
#endif
