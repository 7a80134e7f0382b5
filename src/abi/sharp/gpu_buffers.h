// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Buffers of an operation in the memory of a GPU. Members reduce in host memory, so the GPU copies
// an input buffer to host memory before the operation begins, and an output buffer from host memory
// after it has ended (ADR 12 says in which context).
//
// Some clients leave a descriptor's memory type unset, so the driver is asked about the address.

#include <sharp/api/sharp.h>

#include <cstddef>
#include <span>
#include <vector>

namespace softib::abi::sharp {

/// Returns whether an address is GPU memory; false if the program has not loaded the driver.
bool is_on_gpu(const void* at);

/// Host memory that stands for one buffer on a GPU.
class GpuBuffer {
  public:
    GpuBuffer() = default;
    ~GpuBuffer();
    GpuBuffer(const GpuBuffer&) = delete;
    GpuBuffer& operator=(const GpuBuffer&) = delete;

    /// Allocates host memory for the first `bytes` bytes of a buffer if it is on a GPU. Returns
    /// false if it is on a GPU and there is no memory.
    bool adopt(const sharp_coll_data_desc& desc, std::size_t bytes);
    /// Returns whether the buffer is on a GPU.
    bool adopted() const { return !pieces_.empty(); }
    std::span<std::byte> host() { return host_; }

    /// Copies the buffer from the GPU to host(). Returns false if the driver refuses.
    bool fetch();
    /// Copies host() to the buffer on the GPU. Returns false if the driver refuses.
    bool deliver();

  private:
    struct GpuPiece {
        void* at;
        std::size_t bytes;
    };
    template <typename Copy>
    bool for_each(Copy&& copy);

    std::vector<GpuPiece> pieces_;
    std::span<std::byte> host_;  ///< Taken from the process's spare memory.
};

}  // namespace softib::abi::sharp
