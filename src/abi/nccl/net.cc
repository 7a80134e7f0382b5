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
        *out = {.name = newest.name,
                .pci_path = newest.pci_path,
                .guid = newest.guid,
                .pointer_support = newest.pointer_support,
                .registration_is_global = newest.registration_is_global,
                .speed_mbps = newest.speed_mbps,
                .port = newest.port,
                .latency_us = newest.latency_us,
                .comms_max = newest.comms_max,
                .receives_max = newest.receives_max,
                .net_device_type = newest.net_device_type,
                .net_device_version = newest.net_device_version};
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

}  // namespace softib::abi::nccl::net

namespace nccl_net = softib::abi::nccl::net;

extern "C" {

extern const softib::abi::nccl::NetV8 ncclNetPlugin_v8;
extern const softib::abi::nccl::NetV10 ncclNetPlugin_v10;
extern const softib::abi::nccl::NetV11 ncclNetPlugin_v11;

const softib::abi::nccl::NetV8 ncclNetPlugin_v8{
    .name = "softib",
    .init = nccl_net::init,
    .devices = nccl_net::count_devices,
    .properties = nccl_net::properties_v8,
    .listen = nccl_net::listen,
    .connect = nccl_net::connect_v8,
    .accept = nccl_net::accept_any,
    .register_memory = nccl_net::register_memory,
    .register_dma_buf = nccl_net::register_dma_buf,
    .deregister = nccl_net::deregister,
    .send = nccl_net::send_v8,
    .receive = nccl_net::receive_v8,
    .flush = nccl_net::flush,
    .test = nccl_net::test,
    .close_send = nccl_net::close_connection,
    .close_receive = nccl_net::close_connection,
    .close_listen = nccl_net::close_listen,
    .device_region = nullptr,
    .consumed = nullptr,
};

const softib::abi::nccl::NetV10 ncclNetPlugin_v10{
    .name = "softib",
    .init = nccl_net::init_v10,
    .devices = nccl_net::count_devices,
    .properties = nccl_net::properties_v10,
    .listen = nccl_net::listen,
    .connect = nccl_net::connect_v10,
    .accept = nccl_net::accept_any,
    .register_memory = nccl_net::register_memory,
    .register_dma_buf = nccl_net::register_dma_buf,
    .deregister = nccl_net::deregister,
    .send = nccl_net::send,
    .receive = nccl_net::receive,
    .flush = nccl_net::flush,
    .test = nccl_net::test,
    .close_send = nccl_net::close_connection,
    .close_receive = nccl_net::close_connection,
    .close_listen = nccl_net::close_listen,
    .device_region = nullptr,
    .consumed = nullptr,
    .make_device = nullptr,
};

const softib::abi::nccl::NetV11 ncclNetPlugin_v11{
    .name = "softib",
    .init = nccl_net::init_v11,
    .devices = nccl_net::count_devices,
    .properties = nccl_net::properties,
    .listen = nccl_net::listen_in,
    .connect = nccl_net::connect_v11,
    .accept = nccl_net::accept_any,
    .register_memory = nccl_net::register_memory,
    .register_dma_buf = nccl_net::register_dma_buf,
    .deregister = nccl_net::deregister,
    .send = nccl_net::send,
    .receive = nccl_net::receive,
    .flush = nccl_net::flush,
    .test = nccl_net::test,
    .close_send = nccl_net::close_connection,
    .close_receive = nccl_net::close_connection,
    .close_listen = nccl_net::close_listen,
    .device_region = nullptr,
    .consumed = nullptr,
    .make_device = nullptr,
    .finalize = nccl_net::finalize,
    .set_attributes = nccl_net::set_attributes,
};

}  // extern "C"
