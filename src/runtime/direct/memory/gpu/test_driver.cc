// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/memory/gpu/test_driver.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace softib::direct::gpu::test {

namespace {

constexpr int kInvalidValue = 1;
constexpr int kInvalidContext = 201;
constexpr int kNotSupported = 801;

enum class Origin : std::uint8_t { kAllocated, kMapped, kManaged, kOpened };

struct Segment {
    std::size_t bytes;
    char* shadow;  ///< Where the host finds the bytes; nullptr if only addresses are reserved.
    int fd;
    Origin origin;
    bool shareable;
};

struct Copy {
    Address to;
    Address from;
    std::size_t bytes;
};

struct Handle {
    pid_t pid;
    int fd;
    std::size_t bytes;
};
static_assert(sizeof(Handle) <= sizeof(IpcHandle));

std::recursive_mutex g_mutex;
std::map<Address, Segment> g_segments;
std::map<Stream, std::vector<Copy>> g_streams;
std::map<Allocation, Segment> g_allocations;
std::uint64_t g_numbers = 0;
Counts g_counts;
std::uint8_t g_device = 1;
bool g_open_own = false;
thread_local std::vector<Context> t_contexts;
/// The thread's capture mode, at first "global": a call that may invalidate a captured graph fails.
thread_local int t_capture_mode = 0;
int g_primary = 0;
std::atomic<bool> g_stuck{false};

Address reserve_addresses(std::size_t bytes) {
    void* at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? 0 : reinterpret_cast<Address>(at);
}

char* show(int fd, std::size_t bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return at == MAP_FAILED ? nullptr : static_cast<char*>(at);
}

Address add(std::size_t bytes, Origin origin, bool shareable) {
    const std::lock_guard guard(g_mutex);
    const Address at = reserve_addresses(bytes);
    const int fd = memfd_create("gpu", MFD_CLOEXEC);
    if (at == 0 || fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
        return 0;
    }
    g_segments[at] = {bytes, show(fd, bytes), fd, origin, shareable};
    return at;
}

std::map<Address, Segment>::iterator find(Address at) {
    auto found = g_segments.upper_bound(at);
    if (found == g_segments.begin() || at - (--found)->first >= found->second.bytes ||
        found->second.shadow == nullptr) {
        return g_segments.end();
    }
    return found;
}

/// Returns where the host finds the bytes at an address of a GPU or of the host.
char* bytes_at(Address at) {
    const auto found = find(at);
    return found == g_segments.end() ? reinterpret_cast<char*>(at)
                                     : found->second.shadow + (at - found->first);
}

int device_count(int* count) {
    *count = 1;
    return kOk;
}

int device_uuid(Uuid* uuid, int device) {
    *uuid = {};
    uuid->bytes[0] = g_device;
    return device == 0 ? kOk : kInvalidValue;
}

int primary_retain(Context* context, int device) {
    *context = &g_primary;
    return device == 0 ? kOk : kInvalidValue;
}

int context_create(Context* context, unsigned, int device) {
    const std::lock_guard guard(g_mutex);
    if (device != 0) {
        return kInvalidValue;
    }
    *context = reinterpret_cast<Context>(++g_numbers);
    t_contexts.push_back(*context);
    return kOk;
}

int context_push(Context context) {
    t_contexts.push_back(context);
    return kOk;
}

int context_pop(Context* context) {
    if (t_contexts.empty()) {
        return kInvalidContext;
    }
    *context = t_contexts.back();
    t_contexts.pop_back();
    return kOk;
}

int capture_mode(int* mode) {
    std::swap(*mode, t_capture_mode);
    return kOk;
}

/// Returns whether a call that needs a context is allowed.
bool in_context() {
    return !t_contexts.empty() && !(g_stuck && t_contexts.back() == &g_primary);
}

/// Returns whether a call is allowed that needs a context and would invalidate a captured graph.
bool ready() {
    return in_context() && t_capture_mode == kCaptureRelaxed;
}

int stream_create(Stream* stream, unsigned flags) {
    const std::lock_guard guard(g_mutex);
    if (!ready() || flags != kStreamNonBlocking) {
        return kInvalidContext;
    }
    ++g_counts.streams;
    *stream = reinterpret_cast<Stream>(++g_numbers);
    g_streams[*stream];
    return kOk;
}

int copy(Address to, Address from, std::size_t bytes, Stream stream) {
    const std::lock_guard guard(g_mutex);
    if (!in_context() || !g_streams.contains(stream)) {
        return kInvalidContext;
    }
    g_streams[stream].push_back({to, from, bytes});
    return kOk;
}

int stream_wait(Stream stream) {
    const std::lock_guard guard(g_mutex);
    for (const Copy& c : g_streams[stream]) {
        std::memmove(bytes_at(c.to), bytes_at(c.from), c.bytes);
        ++g_counts.copies;
    }
    g_streams[stream].clear();
    return kOk;
}

int pointer_attribute(void* value, int attribute, Address at) {
    const std::lock_guard guard(g_mutex);
    const auto found = find(at);
    if (found == g_segments.end()) {
        return kInvalidValue;
    }
    const bool mapped = found->second.origin == Origin::kMapped;
    switch (attribute) {
        case kPointerContext: {
            Context context = mapped ? nullptr : &g_primary;
            std::memcpy(value, &context, sizeof context);
            return mapped ? kInvalidValue : kOk;
        }
        case kPointerMemoryType:
            std::memcpy(value, &kMemoryTypeDevice, sizeof kMemoryTypeDevice);
            return kOk;
        case kPointerIsManaged: {
            const unsigned managed = found->second.origin == Origin::kManaged ? 1 : 0;
            std::memcpy(value, &managed, sizeof managed);
            return kOk;
        }
        case kPointerDevice:
            std::memset(value, 0, sizeof(int));
            return kOk;
        default:
            return kNotSupported;
    }
}

int address_range(Address* base, std::size_t* bytes, Address at) {
    const std::lock_guard guard(g_mutex);
    const auto found = find(at);
    if (!in_context() || found == g_segments.end()) {
        return kInvalidContext;
    }
    *base = found->first;
    *bytes = found->second.bytes;
    return kOk;
}

int ipc_export(IpcHandle* handle, Address base) {
    const std::lock_guard guard(g_mutex);
    const auto found = g_segments.find(base);
    if (found == g_segments.end() || found->second.origin != Origin::kAllocated) {
        return kInvalidValue;
    }
    const Handle h{getpid(), found->second.fd, found->second.bytes};
    std::memcpy(handle->bytes, &h, sizeof h);
    return kOk;
}

int ipc_open(Address* base, IpcHandle handle, unsigned flags) {
    const std::lock_guard guard(g_mutex);
    Handle h{};
    std::memcpy(&h, handle.bytes, sizeof h);
    if (!ready() || flags != kIpcLazyPeerAccess || (h.pid == getpid() && !g_open_own)) {
        return kInvalidContext;
    }
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", h.pid, h.fd);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return kInvalidValue;
    }
    *base = reserve_addresses(h.bytes);
    g_segments[*base] = {h.bytes, show(fd, h.bytes), fd, Origin::kOpened, false};
    ++g_counts.mappings;
    return kOk;
}

int ipc_close(Address base) {
    const std::lock_guard guard(g_mutex);
    test::free(base);
    --g_counts.mappings;
    return kOk;
}

int allocation_of(Allocation* allocation, void* at) {
    const std::lock_guard guard(g_mutex);
    const auto found = find(reinterpret_cast<Address>(at));
    if (found == g_segments.end() || found->second.origin != Origin::kMapped) {
        return kInvalidValue;
    }
    *allocation = ++g_numbers;
    g_allocations[*allocation] = found->second;
    g_allocations[*allocation].fd = dup(found->second.fd);
    return kOk;
}

int allocation_export(void* handle, Allocation allocation, int type, unsigned long long flags) {
    const std::lock_guard guard(g_mutex);
    const auto found = g_allocations.find(allocation);
    if (found == g_allocations.end() || type != kHandleFileDescriptor || flags != 0 ||
        !found->second.shareable) {
        return kNotSupported;
    }
    const int fd = dup(found->second.fd);
    std::memcpy(handle, &fd, sizeof fd);
    return kOk;
}

int allocation_import(Allocation* allocation, void* handle, int type) {
    const std::lock_guard guard(g_mutex);
    const int fd = dup(static_cast<int>(reinterpret_cast<std::intptr_t>(handle)));
    if (fd < 0 || type != kHandleFileDescriptor) {
        return kInvalidValue;
    }
    *allocation = ++g_numbers;
    g_allocations[*allocation] = {0, nullptr, fd, Origin::kOpened, true};
    return kOk;
}

int allocation_release(Allocation allocation) {
    const std::lock_guard guard(g_mutex);
    const auto found = g_allocations.find(allocation);
    if (found == g_allocations.end()) {
        return kInvalidValue;
    }
    close(found->second.fd);
    g_allocations.erase(found);
    return kOk;
}

int reserve(Address* at, std::size_t bytes, std::size_t, Address, unsigned long long) {
    const std::lock_guard guard(g_mutex);
    *at = reserve_addresses(bytes);
    g_segments[*at] = {bytes, nullptr, -1, Origin::kOpened, false};
    return kOk;
}

int unreserve(Address at, std::size_t bytes) {
    const std::lock_guard guard(g_mutex);
    const auto found = g_segments.find(at);
    if (found == g_segments.end() || found->second.shadow != nullptr ||
        found->second.bytes != bytes) {
        return kInvalidValue;
    }
    munmap(reinterpret_cast<void*>(at), bytes);
    g_segments.erase(found);
    return kOk;
}

int map(Address at, std::size_t bytes, std::size_t offset, Allocation allocation,
        unsigned long long) {
    const std::lock_guard guard(g_mutex);
    const auto found = g_segments.find(at);
    const auto backing = g_allocations.find(allocation);
    if (found == g_segments.end() || backing == g_allocations.end() || offset != 0 ||
        found->second.bytes != bytes || !ready()) {
        return kInvalidValue;
    }
    found->second.shadow = show(backing->second.fd, bytes);
    ++g_counts.mappings;
    return kOk;
}

int unmap(Address at, std::size_t bytes) {
    const std::lock_guard guard(g_mutex);
    const auto found = g_segments.find(at);
    if (found == g_segments.end() || found->second.shadow == nullptr) {
        return kInvalidValue;
    }
    munmap(found->second.shadow, bytes);
    found->second.shadow = nullptr;
    --g_counts.mappings;
    return kOk;
}

int set_access(Address, std::size_t, const Access* access, std::size_t count) {
    return count == 1 && access->location_type == 1 && access->device == 0 && access->rights == 3
               ? kOk
               : kInvalidValue;
}

constexpr Driver kDriver{
    .device_count = device_count,
    .device_uuid = device_uuid,
    .primary_retain = primary_retain,
    .context_create = context_create,
    .context_push = context_push,
    .context_pop = context_pop,
    .capture_mode = capture_mode,
    .stream_create = stream_create,
    .stream_wait = stream_wait,
    .copy = copy,
    .host_register = nullptr,
    .pointer_attribute = pointer_attribute,
    .address_range = address_range,
    .ipc_export = ipc_export,
    .ipc_open = ipc_open,
    .ipc_close = ipc_close,
    .allocation_of = allocation_of,
    .allocation_export = allocation_export,
    .allocation_import = allocation_import,
    .allocation_release = allocation_release,
    .reserve = reserve,
    .unreserve = unreserve,
    .map = map,
    .unmap = unmap,
    .set_access = set_access,
};

}  // namespace

const Driver* driver() {
    return &kDriver;
}

Address allocate(std::size_t bytes) {
    return add(bytes, Origin::kAllocated, true);
}
Address allocate_mapped(std::size_t bytes, bool shareable) {
    return add(bytes, Origin::kMapped, shareable);
}
Address allocate_managed(std::size_t bytes) {
    return add(bytes, Origin::kManaged, false);
}

void free(Address base) {
    const std::lock_guard guard(g_mutex);
    const auto found = g_segments.find(base);
    if (found != g_segments.end()) {
        munmap(found->second.shadow, found->second.bytes);
        munmap(reinterpret_cast<void*>(base), found->second.bytes);
        close(found->second.fd);
        g_segments.erase(found);
    }
}

void put(Address to, const void* from, std::size_t bytes) {
    const std::lock_guard guard(g_mutex);
    std::memcpy(bytes_at(to), from, bytes);
}

void get(void* to, Address from, std::size_t bytes) {
    const std::lock_guard guard(g_mutex);
    std::memcpy(to, bytes_at(from), bytes);
}

Counts counts() {
    const std::lock_guard guard(g_mutex);
    return g_counts;
}

void stick(bool stuck) {
    g_stuck = stuck;
}

void set_device(std::uint8_t number) {
    const std::lock_guard guard(g_mutex);
    g_device = number;
}

void open_own_handles(bool allowed) {
    const std::lock_guard guard(g_mutex);
    g_open_own = allowed;
}

}  // namespace softib::direct::gpu::test
