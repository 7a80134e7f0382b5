// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The functions of the GPU driver that we need, as a table: those of libcuda if the program has
// loaded it, others in tests. Nothing here loads libcuda, so a program without a GPU never has it.
// Numbers and structures are those of the driver's public interface (cuda.h).

#include <cstddef>
#include <cstdint>

namespace softib::direct::gpu {

/// An address of GPU or host memory: the program has one address space for both.
using Address = std::uint64_t;
using Context = void*;
using Stream = void*;
/// A handle of physical memory that was allocated by cuMemCreate.
using Allocation = std::uint64_t;

struct Uuid {
    std::uint8_t bytes[16];
    bool operator==(const Uuid&) const = default;
};

struct IpcHandle {
    char bytes[64];
};

/// How a device may access a mapping (CUmemAccessDesc).
struct Access {
    int location_type = 1;  ///< CU_MEM_LOCATION_TYPE_DEVICE.
    int device = 0;
    int rights = 3;  ///< CU_MEM_ACCESS_FLAGS_PROT_READWRITE.
};

inline constexpr int kOk = 0;
inline constexpr unsigned kContextDefault = 0;
inline constexpr int kPointerContext = 1;
inline constexpr int kPointerMemoryType = 2;
inline constexpr int kPointerIsManaged = 8;
inline constexpr int kPointerDevice = 9;
inline constexpr unsigned kMemoryTypeDevice = 2;
inline constexpr int kCaptureRelaxed = 2;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kHostPortable = 1;
inline constexpr unsigned kIpcLazyPeerAccess = 1;
inline constexpr int kHandleFileDescriptor = 1;

/// The driver's functions. Each returns kOk or an error number of the driver.
struct Driver {
    int (*device_count)(int* count);
    int (*device_uuid)(Uuid* uuid, int device);
    int (*primary_retain)(Context* context, int device);
    /// Creates a context and makes it current.
    int (*context_create)(Context* context, unsigned flags, int device);
    int (*context_push)(Context context);
    int (*context_pop)(Context* context);
    /// Exchanges the calling thread's mode of capturing work into graphs for `*mode`.
    int (*capture_mode)(int* mode);
    int (*stream_create)(Stream* stream, unsigned flags);
    int (*stream_wait)(Stream stream);
    int (*copy)(Address to, Address from, std::size_t bytes, Stream stream);

    /// Pins memory of the host, which makes copies fast. nullptr if this driver cannot.
    int (*host_register)(void* at, std::size_t bytes, unsigned flags);

    int (*pointer_attribute)(void* value, int attribute, Address at);
    int (*address_range)(Address* base, std::size_t* bytes, Address at);

    int (*ipc_export)(IpcHandle* handle, Address base);
    int (*ipc_open)(Address* base, IpcHandle handle, unsigned flags);
    int (*ipc_close)(Address base);

    int (*allocation_of)(Allocation* allocation, void* at);
    int (*allocation_export)(void* handle, Allocation allocation, int type,
                             unsigned long long flags);
    int (*allocation_import)(Allocation* allocation, void* handle, int type);
    int (*allocation_release)(Allocation allocation);
    int (*reserve)(Address* at, std::size_t bytes, std::size_t alignment, Address wanted,
                   unsigned long long flags);
    int (*unreserve)(Address at, std::size_t bytes);
    int (*map)(Address at, std::size_t bytes, std::size_t offset, Allocation allocation,
               unsigned long long flags);
    int (*unmap)(Address at, std::size_t bytes);
    int (*set_access)(Address at, std::size_t bytes, const Access* access, std::size_t count);
};

/// Returns the driver that this program has loaded; nullptr if it has none, or one that is too old.
const Driver* loaded_driver();

}  // namespace softib::direct::gpu
