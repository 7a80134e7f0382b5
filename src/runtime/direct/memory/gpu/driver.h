// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The functions of the GPU driver that are needed, as a table: that of libcuda where the program
// has loaded it, another in tests. Nothing here loads the driver, so that a program without a GPU
// never meets it. Names, numbers and structures are those of the driver's public interface.

#include <cstddef>
#include <cstdint>

namespace softib::live::gpu {

/// In the program's address space, GPU or host: the driver tells them apart by the number.
using Address = std::uint64_t;
using Context = void*;
using Stream = void*;
/// Physical memory of the driver's virtual memory management.
using Allocation = std::uint64_t;

struct Uuid {
    std::uint8_t bytes[16];
    bool operator==(const Uuid&) const = default;
};

struct IpcHandle {
    char bytes[64];
};

/// A device that may use a mapping, and how.
struct Access {
    int location_type = 1;  ///< A device.
    int device = 0;
    int rights = 3;  ///< To read and write.
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

/// Each returns kOk or an error of the driver.
struct Driver {
    int (*device_count)(int* count);
    int (*device_uuid)(Uuid* uuid, int device);
    int (*primary_retain)(Context* context, int device);
    /// The new context is also made current.
    int (*context_create)(Context* context, unsigned flags, int device);
    int (*context_push)(Context context);
    int (*context_pop)(Context* context);
    /// Sets the calling thread's mode of recording work into graphs, and returns the one before.
    int (*capture_mode)(int* mode);
    int (*stream_create)(Stream* stream, unsigned flags);
    int (*stream_wait)(Stream stream);
    int (*copy)(Address to, Address from, std::size_t bytes, Stream stream);

    /// Pins memory of the host, which makes copies fast. nullptr: this driver does not.
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

/// The driver this program has loaded; nullptr: it has none, or one that is too old.
const Driver* loaded_driver();

}  // namespace softib::live::gpu
