// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Buffers of an operation that are memory of a GPU. Members reduce in memory that the host can
// address, so such a buffer is copied by the GPU before the operation begins, or after it has
// ended, by way of memory of the host (ADR 12 says in which context).
//
// Clients leave a descriptor's memory type unset, so the driver is asked about the address.

#include <sharp/api/sharp.h>

#include <cstddef>
#include <span>
#include <vector>

namespace softib::abi::sharp {

bool is_on_gpu(const void* at);

/// One buffer's place in the host's memory.
class GpuBuffer {
  public:
    GpuBuffer() = default;
    ~GpuBuffer();
    GpuBuffer(const GpuBuffer&) = delete;
    GpuBuffer& operator=(const GpuBuffer&) = delete;

    /// Takes the first bytes of a buffer over if it is on a GPU. Returns false if it is, and there
    /// is no memory.
    bool adopt(const sharp_coll_data_desc& desc, std::size_t bytes);
    bool adopted() const { return !pieces_.empty(); }
    std::span<std::byte> host() { return host_; }

    // Return false if the driver refused.
    bool fetch();
    bool deliver();

  private:
    struct GpuPiece {
        void* at;
        std::size_t bytes;
    };
    template <typename Copy>
    bool for_each(Copy&& copy);

    std::vector<GpuPiece> pieces_;
    std::span<std::byte> host_;  ///< Of the process's spare memory.
};

}  // namespace softib::abi::sharp
