// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A collective communicator: one SHARP job with one group, and the operations on it.
//
// Thread rule: one thread at a time, which is what NCCL promises.

#include <sharp/api/sharp.h>

#include <cstdint>
#include <vector>

#include "abi/nccl/device.h"
#include "abi/nccl/ring.h"

namespace softib::abi::nccl {

struct CollectiveRegion {
    void* region;
    int type;  ///< kPointerHost or kPointerCuda.
};

class Collective {
  public:
    struct Request {
        Collective* collective = nullptr;  ///< The communicator; nullptr: nothing to wait for.
        void* handle = nullptr;            ///< libsharp_coll's handle of the operation.
        int bytes = 0;
        bool used = false;
        std::uint32_t tests = 0;  ///< How often NCCL has found it incomplete.
    };

    explicit Collective(const Device& device) : device_(device) {}
    ~Collective();
    Collective(const Collective&) = delete;
    Collective& operator=(const Collective&) = delete;

    /// Makes the job and the group together with all other ranks.
    Result open(int device, void* const* handles, int ranks, int rank, void* listen_comm);

    Result register_memory(void* data, std::size_t bytes, int type,
                           const sharp_coll_reg_params* parameters, CollectiveRegion*& region);
    void deregister(CollectiveRegion* region);

    // Each of these begins an operation. `request` becomes nullptr if kCollectiveRequests
    // operations have begun and not ended; NCCL then calls again.
    Result all_reduce(void* from, void* to, std::size_t count, int type, int op,
                      const CollectiveRegion& from_region, const CollectiveRegion& to_region,
                      Request*& request);
    Result all_gather(void* from, const Part& to, std::size_t bytes_per_rank,
                      std::size_t window_offset, const CollectiveRegion& from_region,
                      Request*& request);
    Result reduce_scatter(const Part& from, void* to, std::size_t bytes_per_rank,
                          std::size_t window_offset, int type, int op,
                          const CollectiveRegion& to_region, Request*& request);
    Result test(Request& request, int& done);

  private:
    static constexpr std::size_t kCollectiveRequests = 64;

    template <typename Begin>
    Result begin(std::size_t bytes, Request*& request, Begin&& begin_operation);

    const Device& device_;
    Ring ring_;
    sharp_coll_context* context_ = nullptr;
    sharp_coll_comm* comm_ = nullptr;
    Request requests_[kCollectiveRequests];
};

/// Returns whether aggregation nodes can reduce data of NCCL's type by NCCL's operation.
bool can_reduce(int type, int op);

}  // namespace softib::abi::nccl
