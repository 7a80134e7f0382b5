// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/memory/gpu/engine.h"

namespace softib::direct::gpu {

bool Engine::is_gpu(Address at) const {
    unsigned type = 0;
    unsigned managed = 0;
    if (driver_.pointer_attribute(&type, kPointerMemoryType, at) != kOk ||
        type != kMemoryTypeDevice) {
        return false;
    }
    // Managed memory moves between host and GPU, and the host can address it.
    return driver_.pointer_attribute(&managed, kPointerIsManaged, at) != kOk || managed == 0;
}

int Engine::device_with(const Uuid& uuid) {
    int count = 0;
    if (driver_.device_count(&count) != kOk) {
        return -1;
    }
    for (int device = 0; device < count; ++device) {
        Uuid found{};
        if (driver_.device_uuid(&found, device) == kOk && found == uuid) {
            return device;
        }
    }
    return -1;
}

template <typename Make>
Context Engine::find_or_make(std::map<int, Context>& contexts, int device, Make&& make) {
    const std::lock_guard guard(mutex_);
    const auto known = contexts.find(device);
    if (known != contexts.end()) {
        return known->second;
    }
    Context context = nullptr;
    if (!make(&context)) {
        return nullptr;
    }
    contexts.emplace(device, context);
    return context;
}

Context Engine::context_of(int device) {
    return find_or_make(contexts_, device, [&](Context* context) {
        return driver_.primary_retain(context, device) == kOk;
    });
}

Context Engine::copier_of(int device) {
    return find_or_make(copiers_, device, [&](Context* context) {
        Context left = nullptr;
        return driver_.context_create(context, kContextDefault, device) == kOk &&
               driver_.context_pop(&left) == kOk;
    });
}

Stream Engine::take_stream(Context context) {
    {
        const std::lock_guard guard(mutex_);
        std::vector<Stream>& idle = streams_[context];
        if (!idle.empty()) {
            Stream stream = idle.back();
            idle.pop_back();
            return stream;
        }
    }
    Stream stream = nullptr;
    return driver_.stream_create(&stream, kStreamNonBlocking) == kOk ? stream : nullptr;
}

bool Engine::pin(Context context, void* at, std::size_t bytes) {
    const Current current(driver_, context);
    return current && driver_.host_register != nullptr &&
           driver_.host_register(at, bytes, kHostPortable) == kOk;
}

bool Engine::copy(Context context, Address to, Address from, std::uint64_t bytes) {
    const Current current(driver_, context);
    if (!current) {
        return false;
    }
    Stream stream = take_stream(context);
    if (stream == nullptr || driver_.copy(to, from, bytes, stream) != kOk ||
        driver_.stream_wait(stream) != kOk) {
        return false;  // A stream that failed is not used again.
    }
    const std::lock_guard guard(mutex_);
    streams_[context].push_back(stream);
    return true;
}

}  // namespace softib::direct::gpu
