// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// GPU memory on the direct path (ADR 12). The process that posts a request moves the bytes, as for
// host memory: it maps the peer's memory and has the GPU copy. If it cannot (it has no driver, does
// not see the device, or may not map the memory), the owner's helper thread copies between the GPU
// and the arena.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/direct/memory/gpu/exports.h"
#include "runtime/direct/memory/gpu/mapper.h"

namespace softib::direct {
class Process;
}

namespace softib::direct::gpu {

class Memory {
  public:
    explicit Memory(Process& process) : process_(process) {}

    /// Returns whether the program has loaded the driver of a GPU and sees a device.
    bool usable();
    bool is_gpu(Address at);

    /// Exports [at, at + length) and adds pieces, which say how peers reach it. Returns 0 or an
    /// errno value.
    int add(Address at, std::uint64_t length, std::vector<shm::PeerPiece>& pieces);
    void remove(std::span<const shm::PeerPiece> pieces);

    /// Copies between a region of any process and `data`, which is memory of this process; at least
    /// one of the two is on a GPU. Returns false, with errno set as for host memory (remote.h), if
    /// the region could not be reached.
    bool transfer(const shm::MrShared& mr, bool write, std::uint64_t addr, void* data,
                  bool data_on_gpu, std::uint64_t length);
    /// Executes an atomic operation. It is atomic with respect to other requests; a kernel on the
    /// GPU may see it happen in two steps. Returns false, with errno set, if it failed.
    bool atomic(const shm::MrShared& mr, std::uint64_t addr, bool compare_swap,
                std::uint64_t compare_add, std::uint64_t swap, std::uint64_t& original);

    /// Copies between registered GPU memory of this process and `data`, for a peer that has called
    /// this process's helper thread. Returns 0 or an errno value.
    int serve_copy(bool write, Address at, void* data, std::uint64_t length);
    int serve_atomic(Address at, bool compare_swap, std::uint64_t compare_add, std::uint64_t swap,
                     std::uint64_t& original);
    bool is_registered(Address at);

    void give_up_stale_mappings();

  private:
    struct State {
        State(const Driver& driver, const shm::Arena& arena, std::atomic<std::uint32_t>& mapped)
            : engine(driver),
              exports(engine),
              mapper(engine, arena),
              mappings(mapper, arena, mapped) {}
        Engine engine;
        Exports exports;
        GpuMapper mapper;
        Mappings mappings;
        std::mutex atomics;
    };

    State* state();
    bool copy_own(Address at, bool write, void* data, std::uint64_t length);
    bool transfer_piece(shm::Owner owner, const shm::PeerPiece& piece, bool write, Address at,
                        void* data, bool data_on_gpu, std::uint64_t length);
    bool ask_owner(shm::Owner owner, bool write, Address at, void* data, bool data_on_gpu,
                   std::uint64_t length);
    bool transfer_host_region(const shm::MrShared& mr, bool write, std::uint64_t addr, void* data,
                              std::uint64_t length);

    Process& process_;
    std::mutex mutex_;
    std::atomic<State*> state_{nullptr};  ///< Never freed: threads use it until the process ends.
};

}  // namespace softib::direct::gpu
