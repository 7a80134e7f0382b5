// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A GPU's driver for tests, on a machine that has none. Its memory is shared memory of the host
// under addresses that the host cannot use, so that code that forgets to copy by the driver
// crashes; a copy happens when its stream is waited for, not before; and what needs a current
// context fails without one. Memory goes to other processes as with the real driver: by handle, or
// by descriptor.

#include <cstddef>
#include <cstdint>

#include "runtime/direct/memory/gpu/driver.h"

namespace softib::live::gpu::test {

/// All functions of the table below.
const Driver* driver();

/// As cuMemAlloc does; 0: no more memory.
Address allocate(std::size_t bytes);
/// As cuMemCreate and cuMemMap do; not `shareable`: without a kind of handle to share it by.
Address allocate_mapped(std::size_t bytes, bool shareable = true);
/// Memory that host and GPU share: the driver says so.
Address allocate_managed(std::size_t bytes);
void free(Address base);

/// What the program's own copies to and from the GPU do.
void put(Address to, const void* from, std::size_t bytes);
void get(void* to, Address from, std::size_t bytes);

/// What happened so far.
struct Counts {
    std::uint64_t copies = 0;
    std::uint64_t streams = 0;
    std::int64_t mappings = 0;  ///< Mappings of other processes' memory that exist now.
};
Counts counts();

/// The program's context gets nothing done, as one does whose kernel waits for what we copy: calls
/// in it fail, where those of the real driver would wait.
void stick(bool stuck);

/// The one device is then another than it was: what a process sees that has another GPU.
void set_device(std::uint8_t number);
/// The real driver does not open a process's own handles; tests within one process may want to.
void open_own_handles(bool allowed);

}  // namespace softib::live::gpu::test
