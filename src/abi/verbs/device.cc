// SPDX-License-Identifier: BSD-2-Clause
// Devices and contexts: what a program opens.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "abi/verbs/entry.h"
#include "abi/verbs/join_trouble.h"
#include "abi/verbs/objects.h"
#include "runtime/shm/program_place.h"

namespace softib::abi {

namespace {

std::mutex g_contexts_mutex;
std::vector<Context*> g_contexts;

void fill_device(Device& device, direct::Process& process, std::size_t index) {
    const shm::DeviceEntry& entry = process.self.devices[index];
    std::memset(&device, 0, sizeof device);
    device.process = &process;
    device.hca = entry.hca;
    device.index = static_cast<std::uint32_t>(index);
    device.base.node_type = IBV_NODE_CA;
    device.base.transport_type = IBV_TRANSPORT_IB;
    std::snprintf(device.base.name, sizeof device.base.name, "%s", entry.name);
    std::snprintf(device.base.dev_name, sizeof device.base.dev_name, "uverbs%zu", index);
    std::snprintf(device.base.dev_path, sizeof device.base.dev_path,
                  "/sys/class/infiniband_verbs/uverbs%zu", index);
    std::snprintf(device.base.ibdev_path, sizeof device.base.ibdev_path, "/sys/class/infiniband/%s",
                  entry.name);
}

std::mutex g_devices_mutex;

/// Holds our locks across a fork, so that they are free in a child that opens devices.
struct ForkHandlers {
    static void prepare() {
        g_devices_mutex.lock();
        g_contexts_mutex.lock();
        Registry::get().lock_for_fork();
    }
    static void release() {
        Registry::get().unlock_after_fork();
        g_contexts_mutex.unlock();
        g_devices_mutex.unlock();
    }
    static void install() {
        static const int once = pthread_atfork(prepare, release, release);
        static_cast<void>(once);
    }
};

/// Returns the devices of this process, which are made once and never freed: programs keep pointers
/// to devices of lists that they have freed.
Device* devices_of(direct::Process& process) {
    static direct::Process* made_for = nullptr;
    static Device* devices = nullptr;
    ForkHandlers::install();
    const std::lock_guard guard(g_devices_mutex);
    if (made_for != &process) {
        devices =
            static_cast<Device*>(std::calloc(process.self.devices.size() + 1, sizeof(Device)));
        for (std::size_t i = 0; devices != nullptr && i < process.self.devices.size(); ++i) {
            fill_device(devices[i], process, i);
        }
        made_for = &process;
    }
    return devices;
}

bool open_async_channel(Context& context) {
    direct::Process& process = *context.process;
    context.async_channel = process.tables.next_channel();
    context.base.async_fd = shm::channel_create(process.self.process_dir, context.async_channel);
    if (context.base.async_fd < 0) {
        return false;
    }
    for (std::uint32_t i = 0; i < shm::kAsyncChannels; ++i) {
        auto& entry = process.self.slot->async_channels[i];
        if (entry.channel.load(std::memory_order_relaxed) == 0) {
            entry.hca = context.hca;
            entry.channel.store(context.async_channel, std::memory_order_release);
            context.async_slot = i;
            return true;
        }
    }
    context.async_slot = shm::kAsyncChannels;  // Too many contexts: this one gets no port events.
    return true;
}

Context* make_context(ibv_device* device, direct::Process& process, std::uint32_t hca) {
    void* memory = std::calloc(1, sizeof(Context));
    if (memory == nullptr) {
        return fail<Context>(ENOMEM);
    }
    auto* context = new (memory) Context;
    context->base.device = device;
    context->process = &process;
    context->hca = hca;
    // Programs pass this descriptor to ibv_import_device. Each context has a file of its own, by
    // which it is recognised.
    context->base.cmd_fd = memfd_create("softib-context", MFD_CLOEXEC);
    context->base.num_comp_vectors = 1;
    context->base.abi_compat = reinterpret_cast<void*>(UINTPTR_MAX);
    pthread_mutex_init(&context->base.mutex, nullptr);
    if (context->base.cmd_fd < 0 || !open_async_channel(*context)) {
        const int saved = errno;
        close(context->base.cmd_fd);
        std::free(context);
        return fail<Context>(saved);
    }
    auto& ops = *reinterpret_cast<verbs_context*>(reinterpret_cast<std::byte*>(&context->base) -
                                                  offsetof(verbs_context, context));
    ops.sz = kVerbsContextBytes;
    set_memory_ops(ops, process.self.arena);
    set_device_memory_ops(ops);
    set_cq_ops(ops, process.self.arena, context->path);
    set_qp_ops(ops, process.self.arena, context->path);
    set_builder_ops(process.self.arena, context->path);
    set_srq_ops(ops, process.self.arena, context->path);
    set_query_ops(ops);
    const std::lock_guard guard(g_contexts_mutex);
    g_contexts.push_back(context);
    return context;
}

}  // namespace

Registry& Registry::get() {
    static auto* registry = new Registry;
    return *registry;
}

std::uint64_t Registry::add(void* object) {
    const std::lock_guard guard(mutex_);
    objects_[next_] = object;
    return next_++;
}

void Registry::remove(std::uint64_t id) {
    const std::lock_guard guard(mutex_);
    objects_.erase(id);
}

void wait_acknowledged(pthread_mutex_t& mutex, pthread_cond_t& cond, const std::uint32_t& completed,
                       std::uint32_t delivered) {
    pthread_mutex_lock(&mutex);
    while (completed != delivered) {
        pthread_cond_wait(&cond, &mutex);
    }
    pthread_mutex_unlock(&mutex);
}

}  // namespace softib::abi

using namespace softib;
using namespace softib::abi;

extern "C" {

ibv_device** softib_ibv_get_device_list(int* num_devices) noexcept {
    const shm::ProgramPlace place = shm::program_place();
    direct::Process* process = direct::Process::attach(place.dir, place.hosts);
    const int why = errno;
    if (process == nullptr && place.dir != nullptr) {
        std::fprintf(stderr, "softib: cannot join the fabric at %s as host %s: %s\n", place.dir,
                     place.hosts != nullptr ? place.hosts : "(unset)",
                     join_trouble(place.dir, why).c_str());
    }
    const std::size_t count = process != nullptr ? process->self.devices.size() : 0;
    auto** list = static_cast<ibv_device**>(std::calloc(count + 1, sizeof(ibv_device*)));
    Device* devices = count != 0 ? devices_of(*process) : nullptr;
    if (list == nullptr || (count != 0 && devices == nullptr)) {
        std::free(list);
        return fail<ibv_device*>(ENOMEM);
    }
    for (std::size_t i = 0; i < count; ++i) {
        list[i] = &devices[i].base;
    }
    if (num_devices != nullptr) {
        *num_devices = static_cast<int>(count);
    }
    return list;
}

void softib_ibv_free_device_list(ibv_device** list) noexcept {
    std::free(list);
}

const char* softib_ibv_get_device_name(ibv_device* device) noexcept {
    return device->name;
}

/// Returns the index by which a program can ask netlink about the device; -1 if the preloaded
/// library, which answers for netlink, is not in use.
int softib_ibv_get_device_index(ibv_device* device) noexcept {
    return std::getenv("SOFTIB_SYSROOT") != nullptr ? static_cast<int>(impl(device).index) : -1;
}

__be64 softib_ibv_get_device_guid(ibv_device* device) noexcept {
    const Device& d = impl(device);
    return __builtin_bswap64(d.process->self.arena.hcas[d.hca].node_guid);
}

ibv_context* softib_ibv_open_device(ibv_device* device) noexcept {
    const shm::ProgramPlace place = shm::program_place();
    direct::Process* process = direct::Process::attach(place.dir, place.hosts);
    if (process == nullptr) {
        return nullptr;
    }
    Context* context = make_context(device, *process, impl(device).hca);
    return context != nullptr ? &context->base : nullptr;
}

int softib_ibv_close_device(ibv_context* base) noexcept {
    Context& context = impl(base);
    {
        const std::lock_guard guard(g_contexts_mutex);
        std::erase(g_contexts, &context);
    }
    direct::Process& process = *context.process;
    if (process.self.usable()) {
        if (context.async_slot < shm::kAsyncChannels) {
            process.self.slot->async_channels[context.async_slot].channel.store(0);
        }
        // Wakes a thread that is blocked in ibv_get_async_event.
        process.self.channels.signal(process.self.owner, context.async_channel, {0, UINT32_MAX, 0});
        process.self.remove_channel(context.async_channel, base->async_fd);
    } else {
        close(base->async_fd);
    }
    close(base->cmd_fd);
    pthread_mutex_destroy(&base->mutex);
    std::free(&context);
    return 0;
}

ibv_context* softib_ibv_import_device(int cmd_fd) noexcept {
    struct stat wanted{};
    if (fstat(cmd_fd, &wanted) != 0) {
        return nullptr;
    }
    ibv_device* device = nullptr;
    direct::Process* process = nullptr;
    std::uint32_t hca = 0;
    {
        const std::lock_guard guard(g_contexts_mutex);
        for (const Context* context : g_contexts) {
            struct stat st{};
            if (fstat(context->base.cmd_fd, &st) == 0 && st.st_ino == wanted.st_ino &&
                st.st_dev == wanted.st_dev) {
                device = context->base.device;
                process = context->process;
                hca = context->hca;
            }
        }
    }
    if (device == nullptr) {
        return fail<ibv_context>(EINVAL);  // A context of another process cannot be imported.
    }
    Context* context = make_context(device, *process, hca);
    return context != nullptr ? &context->base : nullptr;
}

int softib_ibv_get_async_event(ibv_context* context, ibv_async_event* event) noexcept {
    for (;;) {
        shm::ChannelEvent e{};
        const ssize_t got = read(context->async_fd, &e, sizeof e);
        if (got != sizeof e) {
            return -1;
        }
        if (e.kind == UINT32_MAX) {
            errno = ENODEV;
            return -1;
        }
        event->event_type = static_cast<ibv_event_type>(e.kind);
        const auto kind = static_cast<hca::AsyncKind>(e.kind);
        Registry& registry = Registry::get();
        bool known = true;
        switch (kind) {
            case hca::AsyncKind::kCqErr:
                known = registry.with(e.cookie, [&](void* object) {
                    auto* cq = static_cast<Cq*>(object);
                    ++cq->async_events_delivered;
                    event->element.cq = reinterpret_cast<ibv_cq*>(&cq->base);
                });
                break;
            case hca::AsyncKind::kQpFatal:
            case hca::AsyncKind::kQpReqErr:
            case hca::AsyncKind::kQpAccessErr:
            case hca::AsyncKind::kCommEst:
            case hca::AsyncKind::kSqDrained:
            case hca::AsyncKind::kQpLastWqeReached:
                known = registry.with(e.cookie, [&](void* object) {
                    auto* qp = static_cast<Qp*>(object);
                    ++qp->events_delivered;
                    event->element.qp = &qp->space.qp_ex.qp_base;
                });
                break;
            case hca::AsyncKind::kSrqErr:
            case hca::AsyncKind::kSrqLimitReached:
                known = registry.with(e.cookie, [&](void* object) {
                    auto* srq = static_cast<Srq*>(object);
                    ++srq->events_delivered;
                    event->element.srq = &srq->base;
                });
                break;
            default:
                event->element.port_num = 1;
                break;
        }
        if (known) {
            return 0;
        }
    }
}

void softib_ibv_ack_async_event(ibv_async_event* event) noexcept {
    const auto acknowledge = [](pthread_mutex_t& mutex, pthread_cond_t& cond,
                                std::uint32_t& completed) {
        pthread_mutex_lock(&mutex);
        ++completed;
        pthread_cond_broadcast(&cond);
        pthread_mutex_unlock(&mutex);
    };
    switch (event->event_type) {
        case IBV_EVENT_CQ_ERR:
            acknowledge(event->element.cq->mutex, event->element.cq->cond,
                        event->element.cq->async_events_completed);
            break;
        case IBV_EVENT_QP_FATAL:
        case IBV_EVENT_QP_REQ_ERR:
        case IBV_EVENT_QP_ACCESS_ERR:
        case IBV_EVENT_COMM_EST:
        case IBV_EVENT_SQ_DRAINED:
        case IBV_EVENT_PATH_MIG:
        case IBV_EVENT_PATH_MIG_ERR:
        case IBV_EVENT_QP_LAST_WQE_REACHED:
            acknowledge(event->element.qp->mutex, event->element.qp->cond,
                        event->element.qp->events_completed);
            break;
        case IBV_EVENT_SRQ_ERR:
        case IBV_EVENT_SRQ_LIMIT_REACHED:
            acknowledge(event->element.srq->mutex, event->element.srq->cond,
                        event->element.srq->events_completed);
            break;
        default:
            break;
    }
}

}  // extern "C"
