// SPDX-License-Identifier: BSD-2-Clause
#include "abi/nccl/collective.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <string>

#include "abi/nccl/log.h"
#include "abi/nccl/rendezvous.h"

namespace softib::abi::nccl {

namespace {

struct TypeRow {
    sharp_datatype type;
    std::size_t bytes;
};

/// SHARP's types by NCCL's numbers; NCCL's 8-bit floats have no such type.
constexpr TypeRow kTypes[] = {
    {SHARP_DTYPE_INT8, 1},        {SHARP_DTYPE_UINT8, 1}, {SHARP_DTYPE_INT, 4},
    {SHARP_DTYPE_UNSIGNED, 4},    {SHARP_DTYPE_LONG, 8},  {SHARP_DTYPE_UNSIGNED_LONG, 8},
    {SHARP_DTYPE_FLOAT_SHORT, 2}, {SHARP_DTYPE_FLOAT, 4}, {SHARP_DTYPE_DOUBLE, 8},
    {SHARP_DTYPE_BFLOAT16, 2},
};
/// SHARP's operations by NCCL's numbers. NCCL asks for an average as a sum.
constexpr sharp_reduce_op kOps[] = {SHARP_OP_SUM, SHARP_OP_PROD, SHARP_OP_MAX, SHARP_OP_MIN};

sharp_coll_data_desc buffer_of(void* at, std::size_t bytes, const CollectiveRegion& region) {
    sharp_coll_data_desc desc{};
    desc.type = SHARP_DATA_BUFFER;
    desc.mem_type = region.type == kPointerHost ? SHARP_MEM_TYPE_HOST : SHARP_MEM_TYPE_CUDA;
    desc.buffer.ptr = at;
    desc.buffer.length = bytes;
    desc.buffer.mem_handle = region.region;
    return desc;
}

// libsharp_coll's out-of-band functions; `context` is the ring.

int ring_gather(void* context, int root, void* from, void* to, int bytes) {
    auto& ring = *static_cast<Ring*>(context);
    const auto length = static_cast<std::size_t>(bytes);
    std::vector<std::byte> all(length * static_cast<std::size_t>(ring.ranks()));
    std::memcpy(all.data() + static_cast<std::size_t>(ring.rank()) * length, from, length);
    const Result result = ring.all_gather(all.data(), length);
    if (result == kSuccess && ring.rank() == root) {
        std::memcpy(to, all.data(), all.size());
    }
    return result;
}

int ring_broadcast(void* context, void* data, int bytes, int root) {
    auto& ring = *static_cast<Ring*>(context);
    const auto length = static_cast<std::size_t>(bytes);
    std::vector<std::byte> all(length * static_cast<std::size_t>(ring.ranks()));
    std::memcpy(all.data() + static_cast<std::size_t>(ring.rank()) * length, data, length);
    const Result result = ring.all_gather(all.data(), length);
    if (result == kSuccess) {
        std::memcpy(data, all.data() + static_cast<std::size_t>(root) * length, length);
    }
    return result;
}

int ring_barrier(void* context) {
    auto& ring = *static_cast<Ring*>(context);
    std::vector<std::byte> all(static_cast<std::size_t>(ring.ranks()));
    return ring.all_gather(all.data(), 1);
}

}  // namespace

bool can_reduce(int type, int op) {
    return type >= 0 && type < static_cast<int>(std::size(kTypes)) && op >= 0 &&
           op < static_cast<int>(std::size(kOps));
}

Collective::~Collective() {
    if (comm_ != nullptr) {
        sharp_coll_comm_destroy(comm_);
    }
    if (context_ != nullptr) {
        sharp_coll_finalize(context_);
    }
}

Result Collective::open(int device, void* const* handles, int ranks, int rank, void* listen_comm) {
    if (const Result result = ring_.connect(device, handles, ranks, rank, listen_comm);
        result != kSuccess) {
        return result;
    }
    std::uint64_t job = random_token();
    if (ring_broadcast(&ring_, &job, sizeof job, 0) != kSuccess) {
        return kRemoteError;
    }
    const std::string name = device_.name + ":" + std::to_string(device_.port);
    sharp_coll_init_spec init{};
    init.job_id = job;
    init.world_rank = rank;
    init.world_size = ranks;
    init.enable_thread_support = 1;
    init.config = sharp_coll_default_config;
    init.config.ib_dev_list = name.c_str();
    init.oob_colls = {ring_broadcast, ring_barrier, ring_gather};
    init.oob_ctx = &ring_;
    if (const int error = sharp_coll_init(&init, &context_); error != SHARP_COLL_SUCCESS) {
        warn("%s: no SHARP job: %s (%d)", name.c_str(), sharp_coll_strerror(error), error);
        return kSystemError;
    }
    sharp_coll_comm_init_spec group{};
    group.rank = rank;
    group.size = ranks;
    group.oob_ctx = &ring_;
    if (const int error = sharp_coll_comm_init(context_, &group, &comm_);
        error != SHARP_COLL_SUCCESS) {
        warn("%s: no SHARP group: %s (%d)", name.c_str(), sharp_coll_strerror(error), error);
        return kSystemError;
    }
    inform("SHARP rank %d of %d on %s", rank, ranks, name.c_str());
    return kSuccess;
}

Result Collective::register_memory(void* data, std::size_t bytes, int type,
                                   const sharp_coll_reg_params* parameters,
                                   CollectiveRegion*& region) {
    region = nullptr;
    void* handle = nullptr;
    const int error = parameters == nullptr
                          ? sharp_coll_reg_mr(context_, data, bytes, &handle)
                          : sharp_coll_reg_mr_v2(context_, data, bytes, parameters, &handle);
    if (error != SHARP_COLL_SUCCESS) {
        warn("cannot register %zu bytes at %p for SHARP: %s", bytes, data,
             sharp_coll_strerror(error));
        return kSystemError;
    }
    region = new CollectiveRegion{handle, type};
    return kSuccess;
}

void Collective::deregister(CollectiveRegion* region) {
    sharp_coll_dereg_mr(context_, region->region);
    delete region;
}

template <typename Begin>
Result Collective::begin(std::size_t bytes, Request*& request, Begin&& begin_operation) {
    request = nullptr;
    Request* const free = std::ranges::find(requests_, false, &Request::used);
    if (free == std::end(requests_)) {
        return kSuccess;
    }
    void* handle = nullptr;
    if (const int error = begin_operation(&handle); error != SHARP_COLL_SUCCESS) {
        warn("SHARP operation of %zu bytes refused: %s (%d)", bytes, sharp_coll_strerror(error),
             error);
        return kRemoteError;
    }
    *free = {.collective = this,
             .handle = handle,
             .bytes = static_cast<int>(std::min<std::size_t>(bytes, INT_MAX)),
             .used = true};
    request = free;
    return kSuccess;
}

Result Collective::all_reduce(void* from, void* to, std::size_t count, int type, int op,
                              const CollectiveRegion& from_region,
                              const CollectiveRegion& to_region, Request*& request) {
    if (!can_reduce(type, op)) {
        return kInvalidArgument;
    }
    const std::size_t bytes = count * kTypes[type].bytes;
    sharp_coll_reduce_spec spec{};
    spec.sbuf_desc = buffer_of(from, bytes, from_region);
    spec.rbuf_desc = buffer_of(to, bytes, to_region);
    spec.dtype = kTypes[type].type;
    spec.op = kOps[op];
    spec.length = count;
    return begin(bytes, request,
                 [&](void** handle) { return sharp_coll_do_allreduce_nb(comm_, &spec, handle); });
}

Result Collective::all_gather(void* from, const Part& to, std::size_t bytes_per_rank,
                              std::size_t window_offset, const CollectiveRegion& from_region,
                              Request*& request) {
    sharp_coll_gather_spec spec{};
    spec.sbuf_desc = buffer_of(from, bytes_per_rank, from_region);
    spec.rbuf_desc =
        buffer_of(to.address, to.bytes, *static_cast<const CollectiveRegion*>(to.mhandle));
    spec.dtype = SHARP_DTYPE_INT8;
    spec.size = to.bytes;
    spec.offset = window_offset;
    return begin(to.bytes, request,
                 [&](void** handle) { return sharp_coll_do_allgather_nb(comm_, &spec, handle); });
}

Result Collective::reduce_scatter(const Part& from, void* to, std::size_t bytes_per_rank,
                                  std::size_t window_offset, int type, int op,
                                  const CollectiveRegion& to_region, Request*& request) {
    if (!can_reduce(type, op)) {
        return kInvalidArgument;
    }
    sharp_coll_reduce_spec spec{};
    spec.sbuf_desc =
        buffer_of(from.address, from.bytes, *static_cast<const CollectiveRegion*>(from.mhandle));
    spec.rbuf_desc = buffer_of(to, bytes_per_rank, to_region);
    spec.dtype = kTypes[type].type;
    spec.op = kOps[op];
    spec.length = from.bytes / kTypes[type].bytes;
    spec.offset = window_offset;
    return begin(from.bytes, request, [&](void** handle) {
        return sharp_coll_do_reduce_scatter_nb(comm_, &spec, handle);
    });
}

Result Collective::test(Request& request, int& done) {
    constexpr std::uint32_t kLooks = 1024;
    done = sharp_coll_req_test(request.handle);
    if (done != 0) {
        sharp_coll_req_free(request.handle);
        request.used = false;
        return kSuccess;
    }
    // A request whose job has failed is never complete; sharp_coll_progress() returns the error.
    if (++request.tests % kLooks == 0) {
        if (const int error = sharp_coll_progress(context_); error != SHARP_COLL_SUCCESS) {
            warn("the SHARP job has failed: %s (%d)", sharp_coll_strerror(error), error);
            return kRemoteError;
        }
    }
    return kSuccess;
}

}  // namespace softib::abi::nccl
