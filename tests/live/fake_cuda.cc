// SPDX-License-Identifier: BSD-2-Clause
// A libcuda.so.1 without a GPU, for tests, with only the functions that softib calls. With
// FAKE_GPU_DEVICE=N this process sees another device than processes with other numbers.
#include "fake_cuda.h"

#include <cstdlib>

#include "runtime/direct/memory/gpu/test_driver.h"

namespace {

namespace gpu = softib::direct::gpu;
using gpu::Access;
using gpu::Address;
using gpu::Allocation;
using gpu::Context;
using gpu::IpcHandle;
using gpu::Stream;
using gpu::Uuid;

const gpu::Driver& table() {
    return *gpu::test::driver();
}

__attribute__((constructor)) void choose_device() {
    if (const char* text = std::getenv("FAKE_GPU_DEVICE")) {
        gpu::test::set_device(static_cast<std::uint8_t>(std::atoi(text)));
    }
}

}  // namespace

extern "C" {

int cuDeviceGetCount(int* count) {
    return table().device_count(count);
}
int cuDeviceGetUuid(Uuid* uuid, int device) {
    return table().device_uuid(uuid, device);
}
int cuDevicePrimaryCtxRetain(Context* c, int device) {
    return table().primary_retain(c, device);
}
int cuCtxCreate_v2(Context* c, unsigned flags, int device) {
    return table().context_create(c, flags, device);
}
int cuCtxPushCurrent_v2(Context context) {
    return table().context_push(context);
}
int cuCtxPopCurrent_v2(Context* context) {
    return table().context_pop(context);
}
int cuThreadExchangeStreamCaptureMode(int* mode) {
    return table().capture_mode(mode);
}
int cuStreamCreate(Stream* stream, unsigned flags) {
    return table().stream_create(stream, flags);
}
int cuStreamSynchronize(Stream stream) {
    return table().stream_wait(stream);
}
int cuMemcpyAsync(Address to, Address from, std::size_t bytes, Stream stream) {
    return table().copy(to, from, bytes, stream);
}
int cuPointerGetAttribute(void* value, int attribute, Address at) {
    return table().pointer_attribute(value, attribute, at);
}
int cuMemGetAddressRange_v2(Address* base, std::size_t* bytes, Address at) {
    return table().address_range(base, bytes, at);
}
int cuIpcGetMemHandle(IpcHandle* handle, Address base) {
    return table().ipc_export(handle, base);
}
int cuIpcOpenMemHandle_v2(Address* base, IpcHandle handle, unsigned flags) {
    return table().ipc_open(base, handle, flags);
}
int cuIpcCloseMemHandle(Address base) {
    return table().ipc_close(base);
}
int cuMemRetainAllocationHandle(Allocation* allocation, void* at) {
    return table().allocation_of(allocation, at);
}
int cuMemExportToShareableHandle(void* handle, Allocation a, int type, unsigned long long flags) {
    return table().allocation_export(handle, a, type, flags);
}
int cuMemImportFromShareableHandle(Allocation* allocation, void* handle, int type) {
    return table().allocation_import(allocation, handle, type);
}
int cuMemRelease(Allocation allocation) {
    return table().allocation_release(allocation);
}
int cuMemAddressReserve(Address* at, std::size_t bytes, std::size_t alignment, Address wanted,
                        unsigned long long flags) {
    return table().reserve(at, bytes, alignment, wanted, flags);
}
int cuMemAddressFree(Address at, std::size_t bytes) {
    return table().unreserve(at, bytes);
}
int cuMemMap(Address at, std::size_t bytes, std::size_t offset, Allocation a,
             unsigned long long flags) {
    return table().map(at, bytes, offset, a, flags);
}
int cuMemUnmap(Address at, std::size_t bytes) {
    return table().unmap(at, bytes);
}
int cuMemSetAccess(Address at, std::size_t bytes, const Access* access, std::size_t count) {
    return table().set_access(at, bytes, access, count);
}

std::uint64_t fake_gpu_allocate(FakeGpuMemory kind, std::size_t bytes) {
    return kind == FakeGpuMemory::kAllocated
               ? gpu::test::allocate(bytes)
               : gpu::test::allocate_mapped(bytes, kind == FakeGpuMemory::kMapped);
}
void fake_gpu_free(std::uint64_t base) {
    gpu::test::free(base);
}
void fake_gpu_put(std::uint64_t to, const void* from, std::size_t bytes) {
    gpu::test::put(to, from, bytes);
}
void fake_gpu_get(void* to, std::uint64_t from, std::size_t bytes) {
    gpu::test::get(to, from, bytes);
}
std::int64_t fake_gpu_mappings() {
    return gpu::test::counts().mappings;
}
std::uint64_t fake_gpu_copies() {
    return gpu::test::counts().copies;
}
}
