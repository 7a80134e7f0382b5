// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A GPU driver for tests on a machine that has no GPU. Its memory is shared memory of the host at
// addresses that the host cannot use, so that code that forgets to copy by the driver crashes. A
// copy happens when its stream is waited for, not before. A call that needs a current context fails
// without one. Other processes map the memory as with the real driver: by handle or by descriptor.

#include <cstddef>
#include <cstdint>

#include "runtime/direct/memory/gpu/driver.h"

namespace softib::direct::gpu::test {

/// Returns the table of this driver's functions.
const Driver* driver();

/// Allocates memory as cuMemAlloc does. Returns 0 if there is none left.
Address allocate(std::size_t bytes);
/// Allocates and maps memory as cuMemCreate and cuMemMap do. If not `shareable`, the memory cannot
/// be exported.
Address allocate_mapped(std::size_t bytes, bool shareable = true);
/// Allocates managed memory, which host and GPU share.
Address allocate_managed(std::size_t bytes);
void free(Address base);

/// put() and get() copy to and from the GPU, as the program itself would.
void put(Address to, const void* from, std::size_t bytes);
void get(void* to, Address from, std::size_t bytes);

/// What the driver has done so far.
struct Counts {
    std::uint64_t copies = 0;
    std::uint64_t streams = 0;
    std::int64_t mappings = 0;  ///< Mappings of other processes' memory that exist now.
};
Counts counts();

/// If `stuck`, makes calls in the program's context fail, as if one of its kernels were waiting for
/// what we copy. Such calls would hang with the real driver.
void stick(bool stuck);

/// Changes the UUID of the one device, as if this process saw another GPU.
void set_device(std::uint8_t number);
/// Says whether a process may open its own IPC handles. The real driver does not allow it, but
/// tests within one process need it.
void open_own_handles(bool allowed);

}  // namespace softib::direct::gpu::test
