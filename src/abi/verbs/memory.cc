// SPDX-License-Identifier: BSD-2-Clause
// Protection domains, regions, windows.
#include "abi/verbs/memory.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <new>
#include <set>

#include "abi/verbs/entry.h"
#include "abi/verbs/objects.h"
#include "runtime/direct/data_path.h"
#include "runtime/direct/memory/memory.h"
#include "runtime/shm/packet_queue.h"

namespace softib::abi {

namespace {

constexpr unsigned kAccessKnown =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
    IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND |
    IBV_ACCESS_HUGETLB | kAccessFlushGlobal | kAccessFlushPersistent;

Mr* new_mr(ibv_pd* pd, std::uint32_t index, void* addr, std::size_t length) {
    auto* mr = new (std::nothrow) Mr{};
    if (mr == nullptr) {
        return nullptr;
    }
    const std::uint32_t key = impl(pd->context).process->self.arena.mrs[index].key.load();
    mr->base = ibv_mr{pd->context, pd, addr, length, index, key, key};
    mr->index = index;
    impl(pd).uses.add();
    return mr;
}

}  // namespace

int check_access(unsigned access) {
    if ((access & ~(kAccessKnown | kAccessOptional)) != 0) {
        return EOPNOTSUPP;
    }
    // Remote write and atomics need local write (IBA vol. 1, 10.6.3.1).
    if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 &&
        (access & IBV_ACCESS_LOCAL_WRITE) == 0) {
        return EINVAL;
    }
    return 0;
}

std::uint32_t runtime_access(unsigned access) {
    return access & (hca::kLocalWrite | hca::kRemoteWrite | hca::kRemoteRead | hca::kRemoteAtomic |
                     hca::kMwBind);
}

Mr* new_region(ibv_pd* pd, std::uint32_t index, void* addr, std::size_t length) {
    const Context& context = impl(pd->context);
    Mr* mr = new_mr(pd, index, addr, length);
    if (mr != nullptr && mr->share.take(*context.process, context.hca, shm::ObjectKind::kMr)) {
        return mr;
    }
    if (mr != nullptr) {
        impl(pd).uses.drop();
        delete mr;
    }
    context.process->memory.regions->remove(index);
    return nullptr;
}

namespace {

bool is_on_gpu(const Mr& mr) {
    return impl(mr.base.context).process->self.arena.mrs[mr.index].rest_tier == shm::Tier::kGpu;
}

ibv_mr* register_region(ibv_pd* pd, void* addr, std::size_t length, std::uint64_t iova,
                        unsigned access, bool gpu_only = false) {
    if (const int error = check_access(access); error != 0) {
        return fail<ibv_mr>(error);
    }
    const Context& context = impl(pd->context);
    if (!context.process->self.usable()) {
        return fail<ibv_mr>(EIO);
    }
    direct::RegionRequest request;
    request.va = reinterpret_cast<std::uint64_t>(addr);
    request.length = length;
    request.iova = (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : iova;
    request.access = runtime_access(access);
    request.pd = protection(pd).id;
    request.hca = context.hca;
    request.on_demand = (access & IBV_ACCESS_ON_DEMAND) != 0;
    request.gpu_only = gpu_only;
    std::uint32_t index = 0;
    if (const int error = context.process->memory.regions->add_region(request, index); error != 0) {
        return fail<ibv_mr>(error);
    }
    Mr* mr = new_region(pd, index, addr, length);
    if (mr != nullptr && !request.on_demand && !is_on_gpu(*mr) &&
        !mr->pinned.take(*context.process, request.va, length)) {
        softib_ibv_dereg_mr(&mr->base);
        mr = nullptr;
    }
    return mr != nullptr ? &mr->base : fail<ibv_mr>(ENOMEM);
}

ibv_mr* alloc_null_mr(ibv_pd* pd) {
    const Context& context = impl(pd->context);
    std::uint32_t index = 0;
    if (const int error =
            context.process->memory.regions->add_null(protection(pd).id, context.hca, index);
        error != 0) {
        return fail<ibv_mr>(error);
    }
    Mr* mr = new_region(pd, index, nullptr, SIZE_MAX);
    return mr != nullptr ? &mr->base : fail<ibv_mr>(ENOMEM);
}

int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* sges,
              std::uint32_t num_sge) {
    if ((flags & ~static_cast<std::uint32_t>(IBV_ADVISE_MR_FLAG_FLUSH)) != 0 ||
        advice > IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT || num_sge == 0) {
        return answer(EINVAL);
    }
    const shm::Arena& arena = impl(pd->context).process->self.arena;
    for (std::uint32_t i = 0; i < num_sge; ++i) {
        const shm::MrShared& mr = arena.mrs[(sges[i].lkey >> 8) % shm::kMrsMax];
        if (mr.key.load() != sges[i].lkey || mr.pd != protection(pd).id) {
            return answer(EINVAL);
        }
        const bool write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
        const std::uint64_t offset = sges[i].addr - mr.iova;
        if (offset > mr.length || sges[i].length > mr.length - offset ||
            (write && (mr.access & hca::kLocalWrite) == 0)) {
            return answer(EINVAL);
        }
    }
    return 0;  // There is nothing to prefetch: every page can be reached as it is.
}

/// The memory windows of type 1, by index. A region cannot be deregistered while one of them is
/// bound to it.
struct Windows {
    std::mutex mutex;
    std::set<std::uint32_t> indices;

    /// Never destroyed, because programs deallocate their windows while the process ends.
    static Windows& get() {
        static auto* const windows = new Windows;
        return *windows;
    }
};

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
    if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) {
        return fail<ibv_mw>(EINVAL);
    }
    const Context& context = impl(pd->context);
    auto* mw = new (std::nothrow) Mw{};
    std::uint32_t index = 0;
    if (mw == nullptr || !mw->share.take(*context.process, context.hca, shm::ObjectKind::kMw)) {
        delete mw;
        return fail<ibv_mw>(ENOMEM);
    }
    const auto kind = type == IBV_MW_TYPE_1 ? hca::KeyKind::kWindow1 : hca::KeyKind::kWindow2;
    if (const int error = context.process->memory.regions->add_window(protection(pd).id,
                                                                      context.hca, kind, index);
        error != 0) {
        delete mw;
        return fail<ibv_mw>(error);
    }
    if (type == IBV_MW_TYPE_1) {
        Windows& windows = Windows::get();
        const std::lock_guard guard(windows.mutex);
        windows.indices.insert(index);
    }
    mw->index = index;
    mw->base =
        ibv_mw{pd->context, pd, context.process->self.arena.mrs[index].key.load(), index, type};
    impl(pd).uses.add();
    return &mw->base;
}

bool has_windows(const Mr& mr) {
    Windows& windows = Windows::get();
    const std::lock_guard guard(windows.mutex);
    const shm::Arena& arena = impl(mr.base.context).process->self.arena;
    const shm::MrShared& region = arena.mrs[mr.index];
    return std::ranges::any_of(windows.indices, [&](std::uint32_t index) {
        const shm::MrShared& window = arena.mrs[index];
        return window.length != 0 && window.parent == mr.index &&
               window.generation.load() == region.generation.load();
    });
}

int dealloc_mw(ibv_mw* base) {
    Mw& mw = impl(base);
    {
        Windows& windows = Windows::get();
        const std::lock_guard guard(windows.mutex);
        windows.indices.erase(mw.index);
    }
    impl(base->context).process->memory.regions->remove(mw.index);
    impl(base->pd).uses.drop();
    delete &mw;
    return 0;
}

template <direct::QpKind Kind>
int bind_mw(ibv_qp* qp, ibv_mw* base, ibv_mw_bind* bind) {
    Mw& mw = impl(base);
    const ibv_mw_bind_info& info = bind->bind_info;
    // A window of type 1 is never zero-based (IBA vol. 1, o10-36.2.2).
    if (base->type != IBV_MW_TYPE_1 || (info.mr == nullptr && info.length != 0) ||
        (info.mr != nullptr && protection(info.mr->pd).id != protection(base->pd).id) ||
        (info.mw_access_flags & IBV_ACCESS_ZERO_BASED) != 0) {
        return answer(EINVAL);
    }
    direct::Process& process = *impl(qp->context).process;
    shm::BindInfo wire{};
    wire.mw_index = mw.index;
    wire.mr_index = info.mr != nullptr ? impl(info.mr).index : 0;
    wire.new_rkey = process.memory.regions->rotate_key(mw.index);
    wire.access = info.mw_access_flags;
    wire.address = info.addr;
    wire.length = info.length;
    shm::WorkRequest wr{};
    wr.wr_id = bind->wr_id;
    wr.opcode = hca::WrOpcode::kBindMw;
    wr.flags = static_cast<std::uint8_t>(bind->send_flags);
    wr.bind = &wire;
    auto& runtime = static_cast<Kind&>(*impl(qp).runtime);
    runtime.lock();
    const int error = runtime.post_locked(wr);
    runtime.unlock();
    if (error == 0) {
        base->rkey = wire.new_rkey;
    }
    return error;
}

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attr) {
    if (attr->comp_mask != 0) {
        return fail<ibv_td>(EINVAL);
    }
    auto* td = new (std::nothrow) Td{};
    if (td == nullptr) {
        return fail<ibv_td>(ENOMEM);
    }
    td->base.context = context;
    return &td->base;
}

int dealloc_td(ibv_td* base) {
    if (impl(base).uses.any()) {
        return EBUSY;
    }
    delete &impl(base);
    return 0;
}

ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attr) {
    constexpr std::uint32_t kKnown =
        IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
    if (attr->pd == nullptr || (attr->comp_mask & ~kKnown) != 0) {
        return fail<ibv_pd>(EINVAL);
    }
    auto* pd = new (std::nothrow) Pd{};
    if (pd == nullptr) {
        return fail<ibv_pd>(ENOMEM);
    }
    // The program's allocator (attr->alloc) is not called, because queues are in the arena.
    pd->base = ibv_pd{context, attr->pd->handle};
    pd->parent = &protection(attr->pd);
    pd->id = pd->parent->id;
    pd->td = attr->td;
    pd->parent->uses.add();
    if (attr->td != nullptr) {
        impl(attr->td).uses.add();
    }
    return &pd->base;
}

}  // namespace

void set_memory_ops(verbs_context& ops, const shm::Arena& arena) {
    ops.advise_mr = advise_mr;
    ops.alloc_null_mr = alloc_null_mr;
    ops.alloc_td = alloc_td;
    ops.dealloc_td = dealloc_td;
    ops.alloc_parent_domain = alloc_parent_domain;
    ops.context.ops.alloc_mw = alloc_mw;
    direct::with_data_path(arena, [&]<typename Path>(Path) {
        ops.context.ops.bind_mw = bind_mw<typename Path::QueuePair>;
    });
    ops.context.ops.dealloc_mw = dealloc_mw;
}

}  // namespace softib::abi

using namespace softib;
using namespace softib::abi;

extern "C" {

ibv_pd* softib_ibv_alloc_pd(ibv_context* context) noexcept {
    if (!impl(context).process->self.usable()) {
        return fail<ibv_pd>(EIO);
    }
    auto* pd = new (std::nothrow) Pd{};
    if (pd == nullptr) {
        return fail<ibv_pd>(ENOMEM);
    }
    const Context& c = impl(context);
    if (!pd->share.take(*c.process, c.hca, shm::ObjectKind::kPd) ||
        (pd->id = c.process->tables.take_domain()) == 0) {
        delete pd;
        return fail<ibv_pd>(ENOMEM);
    }
    pd->base = ibv_pd{context, static_cast<std::uint32_t>(Registry::get().add(pd))};
    return &pd->base;
}

int softib_ibv_dealloc_pd(ibv_pd* base) noexcept {
    Pd& pd = impl(base);
    if (pd.uses.any()) {
        return answer(EBUSY);
    }
    if (pd.parent != nullptr) {
        pd.parent->uses.drop();
        if (pd.td != nullptr) {
            impl(pd.td).uses.drop();
        }
    } else if (!pd.imported) {
        Registry::get().remove(base->handle);
        impl(base->context).process->tables.release_domain(pd.id);
    }
    delete &pd;
    return 0;
}

ibv_pd* softib_ibv_import_pd(ibv_context* context, std::uint32_t handle) noexcept {
    auto* pd = new (std::nothrow) Pd{};
    if (pd == nullptr) {
        return fail<ibv_pd>(ENOMEM);
    }
    const bool found = Registry::get().with(handle, [&](void* object) {
        auto* original = static_cast<Pd*>(object);
        pd->id = original->id;
    });
    if (!found) {
        delete pd;
        return fail<ibv_pd>(EINVAL);
    }
    pd->base = ibv_pd{context, handle};
    pd->imported = true;
    return &pd->base;
}

void softib_ibv_unimport_pd(ibv_pd* pd) noexcept {
    delete &impl(pd);
}

ibv_mr* softib_ibv_reg_mr(ibv_pd* pd, void* addr, std::size_t length, int access) noexcept {
    return register_region(pd, addr, length, reinterpret_cast<std::uint64_t>(addr),
                           static_cast<unsigned>(access));
}

ibv_mr* softib_ibv_reg_mr_iova(ibv_pd* pd, void* addr, std::size_t length, std::uint64_t iova,
                               int access) noexcept {
    return register_region(pd, addr, length, iova, static_cast<unsigned>(access));
}

ibv_mr* softib_ibv_reg_mr_iova2(ibv_pd* pd, void* addr, std::size_t length, std::uint64_t iova,
                                unsigned int access) noexcept {
    return register_region(pd, addr, length, iova, access);
}

/// Registers memory of a GPU. The descriptor says which memory that is, but we need the address
/// that the GPU driver has for it: every known program passes that address as `iova`.
ibv_mr* softib_ibv_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t, std::size_t length, std::uint64_t iova,
                                 int fd, int access) noexcept {
    direct::Process& process = *impl(pd->context).process;
    if (!process.self.usable() || shm::is_packet_path(process.self.arena) ||
        !process.memory.gpu.usable()) {
        return fail<ibv_mr>(EOPNOTSUPP);
    }
    if (fcntl(fd, F_GETFD) < 0) {
        return fail<ibv_mr>(EBADF);
    }
    if (!process.memory.gpu.is_gpu(iova)) {
        return fail<ibv_mr>(EOPNOTSUPP);
    }
    return register_region(pd, reinterpret_cast<void*>(iova), length, iova,
                           static_cast<unsigned>(access), true);
}

ibv_mr* softib_ibv_reg_mr_ex(ibv_pd* pd, MrInitAttr* attr) noexcept {
    if ((attr->comp_mask & ~(kRegMrMaskIova | kRegMrMaskAddr)) != 0 ||
        (attr->comp_mask & kRegMrMaskAddr) == 0) {
        return fail<ibv_mr>(EOPNOTSUPP);
    }
    const std::uint64_t iova = (attr->comp_mask & kRegMrMaskIova) != 0
                                   ? attr->iova
                                   : reinterpret_cast<std::uint64_t>(attr->addr);
    return register_region(pd, attr->addr, attr->length, iova, static_cast<unsigned>(attr->access));
}

int softib_ibv_rereg_mr(ibv_mr* base, int flags, ibv_pd* pd, void* addr, std::size_t length,
                        int access) noexcept {
    constexpr int kKnown =
        IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;
    const bool translation = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
    const bool change_pd = (flags & IBV_REREG_MR_CHANGE_PD) != 0;
    const bool change_access = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0;
    if ((flags & ~kKnown) != 0 || flags == 0 || (change_pd && pd == nullptr) ||
        (translation && (addr == nullptr || length == 0)) ||
        (change_access && check_access(static_cast<unsigned>(access)) != 0)) {
        errno = EINVAL;
        return IBV_REREG_MR_ERR_INPUT;
    }
    Mr& mr = impl(base);
    direct::Process& process = *impl(base->context).process;
    const shm::MrShared& shared = process.self.arena.mrs[mr.index];
    direct::RegionRequest request;
    request.va = reinterpret_cast<std::uint64_t>(translation ? addr : base->addr);
    request.length = translation ? length : base->length;
    request.iova = request.va;
    request.access = change_access ? runtime_access(static_cast<unsigned>(access)) : shared.access;
    request.pd = change_pd ? protection(pd).id : shared.pd;
    const bool pins = translation && !is_on_gpu(mr);
    if (pins && !mr.pinned.take(process, request.va, length)) {
        errno = ENOMEM;
        return IBV_REREG_MR_ERR_INPUT;
    }
    const int error = process.memory.regions->change_region(mr.index, translation, request,
                                                            change_pd, change_access);
    if (error != 0) {
        errno = error;
        return IBV_REREG_MR_ERR_CMD;
    }
    if (translation) {
        base->addr = addr;
        base->length = length;
    }
    if (change_pd) {
        impl(base->pd).uses.drop();
        base->pd = pd;
        impl(pd).uses.add();
    }
    return 0;
}

int softib_ibv_dereg_mr(ibv_mr* base) noexcept {
    Mr& mr = impl(base);
    if (has_windows(mr)) {
        return answer(EBUSY);
    }
    direct::Process& process = *impl(base->context).process;
    if (!mr.imported && process.self.usable()) {
        process.memory.regions->remove(mr.index);
    }
    if (mr.dm != nullptr) {
        mr.dm->uses.drop();
    }
    impl(base->pd).uses.drop();
    delete &mr;
    return 0;
}

ibv_mr* softib_ibv_import_mr(ibv_pd* pd, std::uint32_t handle) noexcept {
    const direct::Process& process = *impl(pd->context).process;
    if (handle >= shm::kMrsMax || process.self.arena.mrs[handle].key.load() == 0 ||
        process.self.arena.mrs[handle].owner != process.self.owner) {
        return fail<ibv_mr>(EINVAL);
    }
    const shm::MrShared& shared = process.self.arena.mrs[handle];
    Mr* mr =
        new_mr(pd, handle, reinterpret_cast<void*>(shared.iova + shared.va_delta), shared.length);
    if (mr == nullptr) {
        return fail<ibv_mr>(ENOMEM);
    }
    mr->imported = true;
    return &mr->base;
}

void softib_ibv_unimport_mr(ibv_mr* base) noexcept {
    impl(base->pd).uses.drop();
    delete &impl(base);
}

void* softib_ibv_alloc_buf(ibv_pd*, std::size_t, Buf**) noexcept {
    return fail<void>(EOPNOTSUPP);
}

void softib_ibv_free_buf(Buf*) noexcept {}

ibv_mr* softib_ibv_reg_buf_mr(ibv_pd*, Buf*, void*, std::size_t, int) noexcept {
    return fail<ibv_mr>(EOPNOTSUPP);
}

}  // extern "C"
