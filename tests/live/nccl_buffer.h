// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Memory that a rank of tests/live/nccl_rank.cc gives to NCCL's plug-in.

#include <dlfcn.h>

#include <cstdint>
#include <type_traits>
#include <vector>

#include "fake_cuda.h"

/// The functions of fake_cuda.h in the libcuda.so.1 that stands in for a GPU's. Without them memory
/// is the host's.
struct FakeGpu {
    decltype(&fake_gpu_allocate) allocate = nullptr;
    decltype(&fake_gpu_free) free = nullptr;
    decltype(&fake_gpu_put) put = nullptr;
    decltype(&fake_gpu_get) get = nullptr;

    /// Loads the functions. Returns false if there is no such library.
    bool load() {
        void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
        bool found = library != nullptr;
        const auto find = [&](auto& function, const char* name) {
            function =
                reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
            found = found && function != nullptr;
        };
        find(allocate, "fake_gpu_allocate");
        find(free, "fake_gpu_free");
        find(put, "fake_gpu_put");
        find(get, "fake_gpu_get");
        return found;
    }
};
inline FakeGpu fake_gpu;

/// Memory that a rank gives to the plug-in: memory of the host, or of a GPU with a copy in the
/// host's memory.
class Buffer {
  public:
    explicit Buffer(std::size_t bytes) : host(bytes) {
        if (fake_gpu.allocate != nullptr) {
            gpu_ = fake_gpu.allocate(FakeGpuMemory::kMapped, bytes);
        }
    }
    ~Buffer() {
        if (gpu_ != 0) {
            fake_gpu.free(gpu_);
        }
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    char* at(std::size_t offset = 0) {
        return (gpu_ == 0 ? host.data() : reinterpret_cast<char*>(gpu_)) + offset;
    }
    void upload() {
        if (gpu_ != 0) {
            fake_gpu.put(gpu_, host.data(), host.size());
        }
    }
    void download() {
        if (gpu_ != 0) {
            fake_gpu.get(host.data(), gpu_, host.size());
        }
    }

    std::vector<char> host;

  private:
    std::uint64_t gpu_ = 0;
};
