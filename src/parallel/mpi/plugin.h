/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/* The interface of libsoftib_mpi.so: the few MPI calls that the processes of a job need when each
 * simulates one part of a fabric. It is a library of its own, opened only when a simulation runs
 * under mpirun, so that nothing else in softib needs an MPI. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Joins the job. Returns 0, or the MPI's error. */
int softib_mpi_join(int* rank, int* size);
void softib_mpi_leave(void);
/* Returns the least of all processes' values. */
uint64_t softib_mpi_least(uint64_t mine);
/* Exchanges one number with every process. sizes[rank] is the number for that process before the
 * call, and the number from it after the call: the bytes that softib_mpi_swap() will send. */
void softib_mpi_sizes(uint64_t* sizes);
/* Exchanges data with every process: sends `out`, which has out_sizes[rank] bytes for each, and
 * fills `in`, which gets in_sizes[rank] bytes from each. */
void softib_mpi_swap(const void* out, const uint64_t* out_sizes, void* in,
                     const uint64_t* in_sizes);

#ifdef __cplusplus
}
#endif
