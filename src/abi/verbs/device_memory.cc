// SPDX-License-Identifier: BSD-2-Clause
// Device memory (ibv_dm), which lies in the arena, and DMA handles, which no HCA has.
#include <cerrno>
#include <cstring>
#include <new>

#include "abi/verbs/entry.h"
#include "abi/verbs/memory.h"
#include "abi/verbs/objects.h"
#include "runtime/direct/memory/memory.h"

namespace softib::abi {

namespace {

/// Checks a copy to or from device memory, which goes by words of four bytes. Returns 0 or EFAULT.
int dm_copy_check(const Dm& dm, std::uint64_t offset, std::size_t length) {
    return offset % 4 != 0 || length % 4 != 0 || offset > dm.length || length > dm.length - offset
               ? EFAULT
               : 0;
}

std::byte* dm_at(const Dm& dm, std::uint64_t offset) {
    return impl(dm.base.context).process->self.arena.base + dm.off + offset;
}

int memcpy_to_dm(ibv_dm* base, std::uint64_t offset, const void* host, std::size_t length) {
    const int error = dm_copy_check(impl(base), offset, length);
    if (error == 0) {
        std::memcpy(dm_at(impl(base), offset), host, length);
    }
    return error;
}

int memcpy_from_dm(void* host, ibv_dm* base, std::uint64_t offset, std::size_t length) {
    const int error = dm_copy_check(impl(base), offset, length);
    if (error == 0) {
        std::memcpy(host, dm_at(impl(base), offset), length);
    }
    return error;
}

ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attr) {
    if (attr->comp_mask != 0 || attr->length == 0 || attr->log_align_req > 16) {
        return fail<ibv_dm>(EINVAL);
    }
    const Context& c = impl(context);
    if (attr->length > shm::object_limit(c.process->self.arena, shm::ObjectKind::kDeviceMemory)) {
        return fail<ibv_dm>(ENOMEM);
    }
    auto* dm = new (std::nothrow) Dm{};
    if (dm == nullptr) {
        return fail<ibv_dm>(ENOMEM);
    }
    if (dm->share.take(*c.process, c.hca, shm::ObjectKind::kDeviceMemory,
                       static_cast<std::uint32_t>(attr->length))) {
        dm->off = c.process->memory.chunks.allocate_pages(attr->length);
    }
    if (dm->off == 0) {
        delete dm;
        return fail<ibv_dm>(ENOMEM);
    }
    dm->length = attr->length;
    dm->base = ibv_dm{context, memcpy_to_dm, memcpy_from_dm, 0, 0};
    dm->base.handle = static_cast<std::uint32_t>(Registry::get().add(dm));
    return &dm->base;
}

int free_dm(ibv_dm* base) {
    Dm& dm = impl(base);
    if (dm.uses.any()) {
        return answer(EBUSY);
    }
    Registry::get().remove(dm.base.handle);
    impl(base->context).process->memory.chunks.release_pages(dm.off, dm.length);
    delete &dm;
    return 0;
}

ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* base, std::uint64_t offset, std::size_t length,
                  unsigned access) {
    Dm& dm = impl(base);
    const unsigned allowed = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                             IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                             IBV_ACCESS_ZERO_BASED | kAccessOptional;
    // Device memory has no virtual address, so its addresses count from zero.
    if ((access & ~allowed) != 0 || (access & IBV_ACCESS_ZERO_BASED) == 0 ||
        check_access(access) != 0 || offset > dm.length || length > dm.length - offset) {
        return fail<ibv_mr>(EINVAL);
    }
    const Context& context = impl(pd->context);
    std::uint32_t index = 0;
    const int error = context.process->memory.regions->add_device_memory(
        protection(pd).id, context.hca, dm.off + offset, length, runtime_access(access), index);
    if (error != 0) {
        return fail<ibv_mr>(error);
    }
    Mr* mr = new_region(pd, index, nullptr, length);
    if (mr == nullptr) {
        return fail<ibv_mr>(ENOMEM);
    }
    mr->dm = &dm;
    dm.uses.add();
    return &mr->base;
}

}  // namespace

void set_device_memory_ops(verbs_context& ops) {
    ops.alloc_dm = alloc_dm;
    ops.free_dm = free_dm;
    ops.reg_dm_mr = reg_dm_mr;
}

}  // namespace softib::abi

using namespace softib::abi;

extern "C" {

ibv_dm* softib_ibv_import_dm(ibv_context* context, std::uint32_t handle) noexcept {
    auto* dm = new (std::nothrow) Dm{};
    if (dm == nullptr) {
        return fail<ibv_dm>(ENOMEM);
    }
    const bool found = Registry::get().with(handle, [&](void* object) {
        const auto* original = static_cast<const Dm*>(object);
        dm->off = original->off;
        dm->length = original->length;
    });
    if (!found) {
        delete dm;
        return fail<ibv_dm>(EINVAL);
    }
    dm->base = ibv_dm{context, memcpy_to_dm, memcpy_from_dm, 0, handle};
    dm->imported = true;
    return &dm->base;
}

void softib_ibv_unimport_dm(ibv_dm* dm) noexcept {
    delete &impl(dm);
}

Dmah* softib_ibv_alloc_dmah(ibv_context*, DmahInitAttr*) noexcept {
    return fail<Dmah>(EOPNOTSUPP);
}

int softib_ibv_dealloc_dmah(Dmah*) noexcept {
    return EOPNOTSUPP;
}

int softib_ibv_dm_export_dmabuf_fd(ibv_dm*) noexcept {
    errno = EOPNOTSUPP;
    return -1;
}

}  // extern "C"
