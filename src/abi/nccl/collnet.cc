// SPDX-License-Identifier: BSD-2-Clause
// The CollNet plug-in for NCCL: collectives by libsharp_coll.
#include <algorithm>

#include "abi/nccl/collective.h"
#include "abi/nccl/log.h"
#include "abi/nccl/net.h"
#include "abi/nccl/rendezvous.h"

namespace softib::abi::nccl::collnet {

namespace {

struct CollectiveListener {
    int device;
    void* listener;
};

Result init(Logger logger) noexcept {
    set_logger(logger);
    return kSuccess;
}

Result init_v11(void** context, std::uint64_t, Logger logger) noexcept {
    *context = nullptr;
    return init(logger);
}

Result count_devices(int* count) noexcept {
    *count = infiniband_count();
    return kSuccess;
}

Result listen(int device, void* handle, void** listen_comm) noexcept {
    *listen_comm = nullptr;
    void* listener = nullptr;
    const Result result = net::listen(device, handle, &listener);
    if (result == kSuccess) {
        *listen_comm = new CollectiveListener{device, listener};
    }
    return result;
}

Result listen_in(void*, int device, void* handle, void** listen_comm) noexcept {
    return listen(device, handle, listen_comm);
}

Result connect(void* handles[], int ranks, int rank, void* listen_comm, void** comm) noexcept {
    *comm = nullptr;
    const auto& listener = *static_cast<CollectiveListener*>(listen_comm);
    const Device* const device = device_at(listener.device);
    if (device == nullptr || ranks < 2 || rank < 0 || rank >= ranks) {
        return kInvalidArgument;
    }
    auto collective = std::make_unique<Collective>(*device);
    const Result result =
        collective->open(listener.device, handles, ranks, rank, listener.listener);
    if (result == kSuccess) {
        *comm = collective.release();
    }
    return result;
}

Result reduce_support(int type, int op, int* supported) noexcept {
    *supported = can_reduce(type, op) ? 1 : 0;
    return kSuccess;
}

Result register_memory(void* comm, void* data, std::size_t bytes, int type,
                       void** mhandle) noexcept {
    CollectiveRegion* region = nullptr;
    const Result result =
        static_cast<Collective*>(comm)->register_memory(data, bytes, type, nullptr, region);
    *mhandle = region;
    return result;
}

Result register_dma_buf(void* comm, void* data, std::size_t bytes, int type, std::uint64_t offset,
                        int fd, void** mhandle) noexcept {
    sharp_coll_reg_params parameters{};
    parameters.field_mask = SHARP_COLL_REG_FIELD_DMABUF_FD | SHARP_COLL_REG_FIELD_DMABUF_OFFSET;
    parameters.dmabuf_fd = fd;
    parameters.dmabuf_offset = offset;
    CollectiveRegion* region = nullptr;
    const Result result =
        static_cast<Collective*>(comm)->register_memory(data, bytes, type, &parameters, region);
    *mhandle = region;
    return result;
}

Result deregister(void* comm, void* mhandle) noexcept {
    static_cast<Collective*>(comm)->deregister(static_cast<CollectiveRegion*>(mhandle));
    return kSuccess;
}

Result all_reduce(void* comm, void* from, void* to, std::size_t count, int type, int op,
                  void* from_mhandle, void* to_mhandle, void** request) noexcept {
    Collective::Request* posted = nullptr;
    const Result result = static_cast<Collective*>(comm)->all_reduce(
        from, to, count, type, op, *static_cast<CollectiveRegion*>(from_mhandle),
        *static_cast<CollectiveRegion*>(to_mhandle), posted);
    *request = posted;
    return result;
}

Result all_reduce_v8(void* comm, void* from, void* to, int count, int type, int op,
                     void* from_mhandle, void* to_mhandle, void** request) noexcept {
    return all_reduce(comm, from, to, static_cast<std::size_t>(std::max(count, 0)), type, op,
                      from_mhandle, to_mhandle, request);
}

Result all_gather(void* comm, void* from, int parts, Part* to, std::size_t bytes_per_rank,
                  std::size_t window_offset, std::size_t, void* from_mhandle,
                  void** request) noexcept {
    *request = nullptr;
    if (parts != 1) {
        return kInvalidArgument;
    }
    Collective::Request* posted = nullptr;
    const Result result = static_cast<Collective*>(comm)->all_gather(
        from, *to, bytes_per_rank, window_offset, *static_cast<CollectiveRegion*>(from_mhandle),
        posted);
    *request = posted;
    return result;
}

Result all_gather_v8(void* comm, void* from, int parts, PartV8* to, std::size_t bytes_per_rank,
                     std::size_t window_offset, std::size_t window_bytes, void* from_mhandle,
                     void** request) noexcept {
    Part wide{.mhandle = to->mhandle, .address = to->address, .bytes = to->bytes};
    return all_gather(comm, from, parts, &wide, bytes_per_rank, window_offset, window_bytes,
                      from_mhandle, request);
}

Result reduce_scatter(void* comm, int parts, Part* from, void* to, std::size_t bytes_per_rank,
                      std::size_t window_offset, std::size_t, int type, int op, void* to_mhandle,
                      void** request) noexcept {
    *request = nullptr;
    if (parts != 1) {
        return kInvalidArgument;
    }
    Collective::Request* posted = nullptr;
    const Result result = static_cast<Collective*>(comm)->reduce_scatter(
        *from, to, bytes_per_rank, window_offset, type, op,
        *static_cast<CollectiveRegion*>(to_mhandle), posted);
    *request = posted;
    return result;
}

Result reduce_scatter_v8(void* comm, int parts, PartV8* from, void* to, std::size_t bytes_per_rank,
                         std::size_t window_offset, std::size_t window_bytes, int type, int op,
                         void* to_mhandle, void** request) noexcept {
    Part wide{.mhandle = from->mhandle, .address = from->address, .bytes = from->bytes};
    return reduce_scatter(comm, parts, &wide, to, bytes_per_rank, window_offset, window_bytes, type,
                          op, to_mhandle, request);
}

/// Returns a request that is complete: results are in place when an operation ends, but NCCL wants
/// a request to wait for.
Result flush(void*, void*, int, void*, void** request) noexcept {
    static Collective::Request nothing;
    *request = &nothing;
    return kSuccess;
}

Result test(void* handle, int* done, int* bytes) noexcept {
    auto& request = *static_cast<Collective::Request*>(handle);
    if (bytes != nullptr) {
        *bytes = request.bytes;
    }
    if (request.collective == nullptr) {
        *done = 1;
        return kSuccess;
    }
    return request.collective->test(request, *done);
}

Result close_collective(void* comm) noexcept {
    delete static_cast<Collective*>(comm);
    return kSuccess;
}

Result close_listen(void* listen_comm) noexcept {
    auto* const listener = static_cast<CollectiveListener*>(listen_comm);
    const Result result = net::close_listen(listener->listener);
    delete listener;
    return result;
}

Result finalize(void*) noexcept {
    return kSuccess;
}

/// Returns a table with the functions that have the same signature in all versions, and with those
/// given, which differ.
template <typename Table>
constexpr Table table_of(decltype(Table::init) init, decltype(Table::properties) properties,
                         decltype(Table::listen) listen, decltype(Table::all_reduce) all_reduce,
                         decltype(Table::all_gather) all_gather,
                         decltype(Table::reduce_scatter) reduce_scatter) {
    Table table{};
    table.name = "softib";
    table.init = init;
    table.devices = count_devices;
    table.properties = properties;
    table.listen = listen;
    table.connect = connect;
    table.reduce_support = reduce_support;
    table.register_memory = register_memory;
    table.register_dma_buf = register_dma_buf;
    table.deregister = deregister;
    table.all_reduce = all_reduce;
    table.all_gather = all_gather;
    table.reduce_scatter = reduce_scatter;
    table.flush = flush;
    table.test = test;
    table.close_collective = close_collective;
    table.close_listen = close_listen;
    return table;
}

constexpr CollNetV11 newest_table() {
    auto table = table_of<CollNetV11>(init_v11, net::properties, listen_in, all_reduce, all_gather,
                                      reduce_scatter);
    table.finalize = finalize;
    return table;
}

}  // namespace

extern "C" {

extern const CollNetV8 ncclCollNetPlugin_v8;
extern const CollNetV10 ncclCollNetPlugin_v10;
extern const CollNetV11 ncclCollNetPlugin_v11;

constexpr CollNetV8 ncclCollNetPlugin_v8 = table_of<CollNetV8>(
    init, net::properties_v8, listen, all_reduce_v8, all_gather_v8, reduce_scatter_v8);
constexpr CollNetV10 ncclCollNetPlugin_v10 =
    table_of<CollNetV10>(init, net::properties_v10, listen, all_reduce, all_gather, reduce_scatter);
constexpr CollNetV11 ncclCollNetPlugin_v11 = newest_table();

}  // extern "C"

}  // namespace softib::abi::nccl::collnet
