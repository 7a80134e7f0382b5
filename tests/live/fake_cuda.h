// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The functions by which a test uses the libcuda.so.1 that stands in for a GPU's
// (runtime/direct/memory/gpu/test_driver.h).

#include <cstddef>
#include <cstdint>

enum class FakeGpuMemory : std::uint32_t {
    kAllocated,   ///< Memory as from cuMemAlloc.
    kMapped,      ///< Memory as from cuMemCreate and cuMemMap.
    kUnsharable,  ///< Memory as from cuMemCreate, without a handle to share it by.
};

extern "C" {
std::uint64_t fake_gpu_allocate(FakeGpuMemory kind, std::size_t bytes);
void fake_gpu_free(std::uint64_t base);
void fake_gpu_put(std::uint64_t to, const void* from, std::size_t bytes);
void fake_gpu_get(void* to, std::uint64_t from, std::size_t bytes);
/// Returns the number of mappings that this process has of other processes' memory.
std::int64_t fake_gpu_mappings();
std::uint64_t fake_gpu_copies();
}
