// SPDX-License-Identifier: BSD-2-Clause
#include "abi/sharp/gpu_buffers.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "runtime/direct/memory/gpu/engine.h"

namespace softib::abi::sharp {

namespace {

/// Returns the engine that copies by GPUs; nullptr if the program has not loaded the driver.
direct::gpu::Engine* gpu_engine() {
    const direct::gpu::Driver* const driver = direct::gpu::loaded_driver();
    if (driver == nullptr) {
        return nullptr;
    }
    static direct::gpu::Engine engine(*driver);
    return &engine;
}

direct::gpu::Address gpu_address(const void* at) {
    return reinterpret_cast<direct::gpu::Address>(at);
}

int device_of(const direct::gpu::Engine& engine, const void* on_gpu) {
    int device = 0;
    const bool known = engine.driver().pointer_attribute(&device, direct::gpu::kPointerDevice,
                                                         gpu_address(on_gpu)) == direct::gpu::kOk;
    return known ? device : -1;
}

bool copy_by_gpu(direct::gpu::Engine& engine, const void* on_gpu, void* to, const void* from,
                 std::size_t bytes) {
    const int device = device_of(engine, on_gpu);
    return device >= 0 &&
           engine.copy(engine.copier_of(device), gpu_address(to), gpu_address(from), bytes);
}

/// Host memory for buffers on GPUs. Memory that was used once is kept and stays pinned, because
/// mapping and pinning fresh memory costs more than an operation.
class SpareMemory {
  public:
    /// Returns memory for a buffer on a GPU; empty if there is none.
    std::span<std::byte> take(std::size_t bytes, const void* for_gpu_memory) {
        const std::size_t size = std::bit_ceil(std::max(bytes, kSpareMin));
        {
            const std::lock_guard guard(mutex_);
            std::vector<std::byte*>& spare = spare_[size];
            if (!spare.empty()) {
                std::byte* const at = spare.back();
                spare.pop_back();
                return {at, bytes};
            }
        }
        void* const at = std::aligned_alloc(kSpareMin, size);
        if (at == nullptr) {
            return {};
        }
        direct::gpu::Engine& engine = *gpu_engine();
        engine.pin(engine.copier_of(device_of(engine, for_gpu_memory)), at, size);
        return {static_cast<std::byte*>(at), bytes};
    }
    void give(std::span<std::byte> memory) {
        const std::lock_guard guard(mutex_);
        spare_[std::bit_ceil(std::max(memory.size(), kSpareMin))].push_back(memory.data());
    }

  private:
    static constexpr std::size_t kSpareMin = 4096;
    std::mutex mutex_;
    std::map<std::size_t, std::vector<std::byte*>> spare_;  ///< Memory that is not in use, by size.
};

SpareMemory& spare_memory() {
    static SpareMemory memory;
    return memory;
}

}  // namespace

GpuBuffer::~GpuBuffer() {
    if (!host_.empty()) {
        spare_memory().give(host_);
    }
}

bool is_on_gpu(const void* at) {
    direct::gpu::Engine* const engine = gpu_engine();
    return at != nullptr && engine != nullptr && engine->is_gpu(gpu_address(at));
}

bool GpuBuffer::adopt(const sharp_coll_data_desc& desc, std::size_t bytes) {
    std::vector<GpuPiece> pieces;
    std::size_t left = bytes;
    const auto add = [&](void* at, std::size_t length) {
        const std::size_t used = std::min(length, left);
        if (used != 0) {
            pieces.push_back({at, used});
            left -= used;
        }
    };
    if (desc.type == SHARP_DATA_IOV) {
        for (unsigned i = 0; i < desc.iov.count; ++i) {
            add(desc.iov.vector[i].ptr, desc.iov.vector[i].length);
        }
    } else {
        add(desc.buffer.ptr, desc.buffer.length);
    }
    if (pieces.empty() || !is_on_gpu(pieces.front().at)) {
        return true;
    }
    host_ = spare_memory().take(bytes, pieces.front().at);
    pieces_ = std::move(pieces);
    return !host_.empty();
}

template <typename Copy>
bool GpuBuffer::for_each(Copy&& copy) {
    std::size_t done = 0;
    for (const GpuPiece& piece : pieces_) {
        if (!copy(piece, host_.data() + done)) {
            return false;
        }
        done += piece.bytes;
    }
    return true;
}

bool GpuBuffer::fetch() {
    return for_each([](const GpuPiece& piece, std::byte* host) {
        return copy_by_gpu(*gpu_engine(), piece.at, host, piece.at, piece.bytes);
    });
}

bool GpuBuffer::deliver() {
    return for_each([](const GpuPiece& piece, const std::byte* host) {
        return copy_by_gpu(*gpu_engine(), piece.at, piece.at, host, piece.bytes);
    });
}

}  // namespace softib::abi::sharp
