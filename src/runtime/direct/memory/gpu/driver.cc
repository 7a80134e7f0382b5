// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/memory/gpu/driver.h"

#include <dlfcn.h>

#include <atomic>
#include <new>
#include <optional>

namespace softib::direct::gpu {

namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

std::optional<Driver> read_functions(void* lib) {
    Driver d{};
    const bool found =
        find(lib, "cuDeviceGetCount", d.device_count) &&
        find(lib, "cuDeviceGetUuid", d.device_uuid) &&
        find(lib, "cuDevicePrimaryCtxRetain", d.primary_retain) &&
        find(lib, "cuCtxCreate_v2", d.context_create) &&
        find(lib, "cuCtxPushCurrent_v2", d.context_push) &&
        find(lib, "cuCtxPopCurrent_v2", d.context_pop) &&
        find(lib, "cuThreadExchangeStreamCaptureMode", d.capture_mode) &&
        find(lib, "cuStreamCreate", d.stream_create) &&
        find(lib, "cuStreamSynchronize", d.stream_wait) && find(lib, "cuMemcpyAsync", d.copy) &&
        find(lib, "cuPointerGetAttribute", d.pointer_attribute) &&
        find(lib, "cuMemGetAddressRange_v2", d.address_range) &&
        find(lib, "cuIpcGetMemHandle", d.ipc_export) &&
        find(lib, "cuIpcOpenMemHandle_v2", d.ipc_open) &&
        find(lib, "cuIpcCloseMemHandle", d.ipc_close) &&
        find(lib, "cuMemRetainAllocationHandle", d.allocation_of) &&
        find(lib, "cuMemExportToShareableHandle", d.allocation_export) &&
        find(lib, "cuMemImportFromShareableHandle", d.allocation_import) &&
        find(lib, "cuMemRelease", d.allocation_release) &&
        find(lib, "cuMemAddressReserve", d.reserve) && find(lib, "cuMemAddressFree", d.unreserve) &&
        find(lib, "cuMemMap", d.map) && find(lib, "cuMemUnmap", d.unmap) &&
        find(lib, "cuMemSetAccess", d.set_access);
    find(lib, "cuMemHostRegister_v2", d.host_register);
    return found ? std::optional(d) : std::nullopt;
}

}  // namespace

const Driver* loaded_driver() {
    // Without a lock, which a fork could leave locked in the child.
    static std::atomic<const Driver*> known{nullptr};
    static std::atomic<bool> unfit{false};
    const Driver* driver = known.load(std::memory_order_acquire);
    if (driver != nullptr || unfit.load(std::memory_order_relaxed)) {
        return driver;
    }
    void* library = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        return nullptr;  // The program may load it later.
    }
    // The library stays open, because its functions are called from now on.
    const std::optional<Driver> functions = read_functions(library);
    if (!functions) {
        unfit.store(true, std::memory_order_relaxed);
        return nullptr;
    }
    const auto* fresh = new (std::nothrow) Driver(*functions);
    if (!known.compare_exchange_strong(driver, fresh, std::memory_order_acq_rel)) {
        delete fresh;  // Another thread was faster.
        return driver;
    }
    return fresh;
}

}  // namespace softib::direct::gpu
