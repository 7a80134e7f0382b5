// SPDX-License-Identifier: BSD-2-Clause
// The Net plug-in for NCCL: messages from point to point by RC queue pairs.
#include "abi/nccl/net.h"

#include <algorithm>
#include <cstring>

#include "abi/nccl/log.h"
#include "abi/nccl/rendezvous.h"

namespace softib::abi::nccl::net {

namespace {

constexpr int kRegionAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

Result init(Logger logger) noexcept {
    set_logger(logger);
    return kSuccess;
}

Result init_v10(Logger logger, void*) noexcept {
    return init(logger);
}

Result init_v11(void** context, std::uint64_t, void*, Logger logger, void*) noexcept {
    *context = nullptr;
    return init(logger);
}

Result count_devices(int* count) noexcept {
    *count = static_cast<int>(devices().size());
    return kSuccess;
}

Result listen_in(void*, int device, void* handle, void** listen_comm) noexcept {
    return listen(device, handle, listen_comm);
}

Result connect_v8(int device, void* handle, void** send_comm, void**) noexcept {
    return connect(device, handle, send_comm);
}
Result connect_v10(int device, void*, void* handle, void** send_comm, void**) noexcept {
    return connect(device, handle, send_comm);
}
Result connect_v11(void*, int device, void* handle, void** send_comm, void**) noexcept {
    return connect(device, handle, send_comm);
}
Result accept_any(void* listen_comm, void** receive_comm, void**) noexcept {
    return accept(listen_comm, receive_comm);
}

Result register_dma_buf(void* comm, void* data, std::size_t bytes, int, std::uint64_t offset,
                        int fd, void** mhandle) noexcept {
    const Device& device = static_cast<Connection*>(comm)->device();
    *mhandle = ibv_reg_dmabuf_mr(device.pd, offset, bytes, reinterpret_cast<std::uint64_t>(data),
                                 fd, kRegionAccess);
    return *mhandle == nullptr ? kSystemError : kSuccess;
}

Result send_v8(void* comm, void* data, int bytes, int tag, void* mhandle, void** request) noexcept {
    return send(comm, data, static_cast<std::size_t>(std::max(bytes, 0)), tag, mhandle, nullptr,
                request);
}

Result receive_v8(void* comm, int count, void** data, int* bytes, int* tags, void** mhandles,
                  void** request) noexcept {
    std::size_t wide[kReceivesMax]{};
    std::copy_n(bytes, std::clamp(count, 0, kReceivesMax), wide);
    return receive(comm, count, data, wide, tags, mhandles, nullptr, request);
}

/// Returns no request, so that NCCL does not wait: a completion is written after its bytes are in
/// place, on GPUs too (ADR 12), and there is nothing to flush.
Result flush(void*, int, void**, int*, void**, void** request) noexcept {
    *request = nullptr;
    return kSuccess;
}

Result finalize(void*) noexcept {
    return kSuccess;
}

Result set_attributes(void*, void*) noexcept {
    return kSuccess;
}

}  // namespace

Result properties(int device, PropertiesV11* out) noexcept {
    const Device* const found = device_at(device);
    if (found == nullptr) {
        return kInvalidArgument;
    }
    describe(*found, device, *out);
    return kSuccess;
}

Result properties_v10(int device, PropertiesV10* out) noexcept {
    PropertiesV11 newest;
    const Result result = properties(device, &newest);
    if (result == kSuccess) {
        *out = newest;
    }
    return result;
}

Result properties_v8(int device, PropertiesV8* out) noexcept {
    PropertiesV11 newest;
    const Result result = properties(device, &newest);
    if (result == kSuccess) {
        *out = {.device = newest.device, .link = newest.link};
    }
    return result;
}

Result listen(int device, void* handle, void** listen_comm) noexcept {
    *listen_comm = nullptr;
    const Device* const on = device_at(device);
    if (on == nullptr) {
        return kInvalidArgument;
    }
    auto listener = std::make_unique<Listener>(*on);
    if (listener->error() != 0) {
        warn("%s: cannot create a queue pair to listen with: %s", on->name.c_str(),
             std::strerror(listener->error()));
        return kSystemError;
    }
    const Handle told = listener->handle();
    std::memset(handle, 0, kHandleBytes);
    std::memcpy(handle, &told, sizeof told);
    *listen_comm = listener.release();
    return kSuccess;
}

Result connect(int device, void* handle, void** send_comm) noexcept {
    *send_comm = nullptr;
    const Device* const on = device_at(device);
    Handle told;
    std::memcpy(&told, handle, sizeof told);
    if (on == nullptr) {
        warn("cannot connect: there is no device %d; this host has %zu, numbered from 0", device,
             devices().size());
        return kInvalidArgument;
    }
    if (told.magic != Handle::kMagic) {
        warn(
            "cannot connect: another plug-in has made the listener's handle; set "
            "NCCL_NET_PLUGIN=softib for all ranks");
        return kInvalidArgument;
    }
    std::unique_ptr<Connecting> attempt(told.attempt);
    if (attempt == nullptr) {
        attempt = std::make_unique<Connecting>(*on);
        if (attempt->error() != 0) {
            warn("%s: cannot create a queue pair to connect with: %s", on->name.c_str(),
                 std::strerror(attempt->error()));
            return kSystemError;
        }
    }
    std::unique_ptr<SendEnd> end;
    const Result result = attempt->go_on(told, end);
    told.attempt = result == kSuccess && end == nullptr ? attempt.release() : nullptr;
    std::memcpy(handle, &told, sizeof told);
    *send_comm = static_cast<Connection*>(end.release());
    return result;
}

Result accept(void* listen_comm, void** receive_comm) noexcept {
    std::unique_ptr<ReceiveEnd> end;
    const Result result = static_cast<Listener*>(listen_comm)->accept(end);
    *receive_comm = static_cast<Connection*>(end.release());
    return result;
}

Result register_memory(void* comm, void* data, std::size_t bytes, int, void** mhandle) noexcept {
    const Device& device = static_cast<Connection*>(comm)->device();
    *mhandle = ibv_reg_mr(device.pd, data, bytes, kRegionAccess);
    if (*mhandle == nullptr) {
        warn("%s: cannot register %zu bytes at %p", device.name.c_str(), bytes, data);
        return kSystemError;
    }
    return kSuccess;
}

Result deregister(void*, void* mhandle) noexcept {
    return ibv_dereg_mr(static_cast<ibv_mr*>(mhandle)) == 0 ? kSuccess : kSystemError;
}

Result send(void* comm, void* data, std::size_t bytes, int tag, void* mhandle, void*,
            void** request) noexcept {
    auto* const end = static_cast<SendEnd*>(static_cast<Connection*>(comm));
    Request* posted = nullptr;
    const Result result = end->send(data, bytes, tag, *static_cast<ibv_mr*>(mhandle), posted);
    *request = posted;
    return result;
}

Result receive(void* comm, int count, void** data, std::size_t* bytes, int* tags, void** mhandles,
               void**, void** request) noexcept {
    auto* const end = static_cast<ReceiveEnd*>(static_cast<Connection*>(comm));
    Request* posted = nullptr;
    const Result result = end->receive(count, data, bytes, tags, mhandles, posted);
    *request = posted;
    return result;
}

Result test(void* handle, int* done, int* bytes) noexcept {
    *done = 0;
    auto& request = *static_cast<Request*>(handle);
    if (request.left != 0) {
        if (const Result result = request.connection->progress(); result != kSuccess) {
            return result;
        }
    }
    if (request.left == 0) {
        *done = 1;
        if (bytes != nullptr) {
            std::copy_n(request.bytes, request.messages, bytes);
        }
        request.used = false;
    }
    return kSuccess;
}

Result close_connection(void* comm) noexcept {
    delete static_cast<Connection*>(comm);
    return kSuccess;
}

Result close_listen(void* listen_comm) noexcept {
    delete static_cast<Listener*>(listen_comm);
    return kSuccess;
}

namespace {

/// Returns a table with the functions that have the same signature in all versions, and with those
/// given, which differ.
template <typename Table>
constexpr Table table_of(decltype(Table::init) init, decltype(Table::properties) properties,
                         decltype(Table::listen) listen, decltype(Table::connect) connect,
                         decltype(Table::send) send, decltype(Table::receive) receive) {
    Table table{};
    table.name = "softib";
    table.init = init;
    table.devices = count_devices;
    table.properties = properties;
    table.listen = listen;
    table.connect = connect;
    table.accept = accept_any;
    table.register_memory = register_memory;
    table.register_dma_buf = register_dma_buf;
    table.deregister = deregister;
    table.send = send;
    table.receive = receive;
    table.flush = flush;
    table.test = test;
    table.close_send = close_connection;
    table.close_receive = close_connection;
    table.close_listen = close_listen;
    return table;
}

constexpr NetV11 newest_table() {
    auto table = table_of<NetV11>(init_v11, properties, listen_in, connect_v11, send, receive);
    table.finalize = finalize;
    table.set_attributes = set_attributes;
    return table;
}

}  // namespace

extern "C" {

extern const NetV8 ncclNetPlugin_v8;
extern const NetV10 ncclNetPlugin_v10;
extern const NetV11 ncclNetPlugin_v11;

constexpr NetV8 ncclNetPlugin_v8 =
    table_of<NetV8>(init, properties_v8, listen, connect_v8, send_v8, receive_v8);
constexpr NetV10 ncclNetPlugin_v10 =
    table_of<NetV10>(init_v10, properties_v10, listen, connect_v10, send, receive);
constexpr NetV11 ncclNetPlugin_v11 = newest_table();

}  // extern "C"

}  // namespace softib::abi::nccl::net
