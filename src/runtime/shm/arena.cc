// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "runtime/shm/limits.h"

namespace softib::shm {

namespace {

constexpr std::uint64_t align_up(std::uint64_t v, std::uint64_t to) {
    return (v + to - 1) / to * to;
}

void lay_out(ArenaHeader& h) {
    std::uint64_t off = align_up(sizeof(ArenaHeader), kPageBytes);
    const auto place = [&off](std::uint64_t bytes) {
        const std::uint64_t at = off;
        off = align_up(off + bytes, kPageBytes);
        return at;
    };
    h.procs_off = place(sizeof(ProcSlot) * kProcsMax);
    h.hosts_off = place(sizeof(HostRecord) * h.hosts);
    h.hcas_off = place(sizeof(HcaRecord) * h.hcas);
    h.switches_off = place(sizeof(SwitchRecord) * h.switches);
    h.switch_ports_off = place(sizeof(SwitchPortRecord) * h.switch_ports);
    h.lfts_off = place(std::uint64_t{kLftEntries} * h.switches);
    h.mfts_off = place(sizeof(std::uint64_t) * kMftEntries * h.switches * h.mft_words);
    h.lanes_off = place(sizeof(PortLanes) * (std::uint64_t{h.hcas} + h.switch_ports));
    h.sl_rows_off =
        place(sizeof(SlRow) * (h.hcas + std::uint64_t{h.switch_ports} * h.ports_per_switch_max));
    h.injections_off = place(sizeof(Injection) * h.hcas);
    h.adaptive_off = place(sizeof(AdaptiveRecord) * h.switches);
    h.lid_owner_off = place(sizeof(NodeRef) * kLftEntries);
    h.mcast_off = place(sizeof(McastGroup) * kMcastGroupsMax);
    h.qps_off = place(sizeof(QpShared) * kQpsMax);
    h.mrs_off = place(sizeof(MrShared) * kMrsMax);
    h.cqs_off = place(sizeof(CqShared) * kCqsMax);
    h.srqs_off = place(sizeof(SrqShared) * kSrqsMax);
    h.qp_batches_off = place(sizeof(Owner) * kQpsMax / kBatchEntries);
    h.qp_used_off = place(sizeof(std::uint64_t) * kQpsMax / kBatchEntries);
    h.mr_batches_off = place(sizeof(Owner) * kMrsMax / kBatchEntries);
    h.cq_batches_off = place(sizeof(Owner) * kCqsMax / kBatchEntries);
    h.srq_batches_off = place(sizeof(Owner) * kSrqsMax / kBatchEntries);
    // The owner table has room for the whole arena, which is a little more than there are chunks.
    h.chunk_owner_off = place(sizeof(Owner) * (h.arena_bytes / kChunkBytes));
    h.bells_off = place(sizeof(Bells));
    h.chunks_off = align_up(off, kChunkBytes);
    h.chunks = h.chunks_off < h.arena_bytes
                   ? static_cast<std::uint32_t>((h.arena_bytes - h.chunks_off) / kChunkBytes)
                   : 0;
}

void bind(Arena& a) {
    a.header = a.at<ArenaHeader>(0);
    const ArenaHeader& h = *a.header;
    a.procs = a.at<ProcSlot>(h.procs_off);
    a.hosts = a.at<HostRecord>(h.hosts_off);
    a.hcas = a.at<HcaRecord>(h.hcas_off);
    a.switches = a.at<SwitchRecord>(h.switches_off);
    a.switch_ports = a.at<SwitchPortRecord>(h.switch_ports_off);
    a.lfts = a.at<std::atomic<std::uint8_t>>(h.lfts_off);
    a.mfts = a.at<std::atomic<std::uint64_t>>(h.mfts_off);
    a.lanes = a.at<PortLanes>(h.lanes_off);
    a.injections = a.at<Injection>(h.injections_off);
    a.adaptive = a.at<AdaptiveRecord>(h.adaptive_off);
    a.sl_rows = a.at<SlRow>(h.sl_rows_off);
    a.lid_owner = a.at<NodeRef>(h.lid_owner_off);
    a.mcast = a.at<McastGroup>(h.mcast_off);
    a.qps = a.at<QpShared>(h.qps_off);
    a.mrs = a.at<MrShared>(h.mrs_off);
    a.cqs = a.at<CqShared>(h.cqs_off);
    a.srqs = a.at<SrqShared>(h.srqs_off);
    a.qp_batches = a.at<std::atomic<Owner>>(h.qp_batches_off);
    a.qp_used = a.at<std::atomic<std::uint64_t>>(h.qp_used_off);
    a.mr_batches = a.at<std::atomic<Owner>>(h.mr_batches_off);
    a.cq_batches = a.at<std::atomic<Owner>>(h.cq_batches_off);
    a.srq_batches = a.at<std::atomic<Owner>>(h.srq_batches_off);
    a.chunk_owner = a.at<std::atomic<Owner>>(h.chunk_owner_off);
    a.bells = a.at<Bells>(h.bells_off);
}

bool map(Arena& a, bool writable) {
    void* p = mmap(nullptr, a.bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ,
                   MAP_SHARED | MAP_NORESERVE, a.fd, 0);
    if (p == MAP_FAILED) {
        errno = ENOMEM;  // Tools that manage the address space may fail with EINVAL.
        return false;
    }
    madvise(p, a.bytes, MADV_DONTDUMP);
    a.writable = writable;
    a.base = static_cast<std::byte*>(p);
    return true;
}

}  // namespace

std::uint64_t arena_bytes_default() {
    constexpr std::uint64_t kLeast = std::uint64_t{32} << 30;
    const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
    return std::max(kLeast, std::bit_ceil(pages * kPageBytes));
}

Arena arena_create(const char* fabric_name, const ArenaSizes& sizes) {
    Arena a;
    a.bytes = align_up(sizes.arena_bytes, kChunkBytes);
    a.fd = memfd_create("softib-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (a.fd < 0) {
        return a;
    }
    if (ftruncate(a.fd, static_cast<off_t>(a.bytes)) != 0 ||
        fcntl(a.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0 || !map(a, true)) {
        const int saved = errno;
        close(a.fd);
        a.fd = -1;
        errno = saved;
        return a;
    }
    auto* h = a.at<ArenaHeader>(0);
    h->arena_bytes = a.bytes;
    h->hosts = sizes.hosts;
    h->hcas = sizes.hcas;
    h->switches = sizes.switches;
    h->switch_ports = sizes.switch_ports;
    h->data_path = sizes.data_path;
    h->link_layer = sizes.link_layer;
    h->ports_per_switch_max = sizes.ports_per_switch_max;
    h->mft_words = (sizes.ports_per_switch_max + 63) / 64;
    std::strncpy(h->fabric_name, fabric_name, sizeof h->fabric_name - 1);
    if (getrandom(&h->instance, sizeof h->instance, 0) != sizeof h->instance) {
        h->instance = static_cast<std::uint64_t>(getpid());
    }
    h->version = kArenaVersion;
    h->daemon_pid = static_cast<std::uint32_t>(getpid());
    lay_out(*h);
    if (h->chunks == 0) {
        arena_unmap(a);
        errno = EINVAL;
        return a;
    }
    h->route_generation.store(1);
    h->mcast_generation.store(1);
    for (std::size_t k = 0; k < kObjectKinds; ++k) {
        h->object_limits[k].store(kObjectLimits[k]);
    }
    h->magic = kArenaMagic;
    bind(a);
    return a;
}

Arena arena_map(int fd, bool writable) {
    Arena a;
    a.fd = fd;
    struct stat st{};
    if (fstat(fd, &st) != 0) {
        return a;
    }
    a.bytes = static_cast<std::uint64_t>(st.st_size);
    if (a.bytes < sizeof(ArenaHeader) || !map(a, writable)) {
        if (a.bytes < sizeof(ArenaHeader)) {
            errno = EPROTO;
        }
        return a;
    }
    const auto* h = a.at<ArenaHeader>(0);
    if (h->magic != kArenaMagic || h->version != kArenaVersion || h->arena_bytes != a.bytes) {
        munmap(a.base, a.bytes);
        a.base = nullptr;
        errno = EPROTO;
        return a;
    }
    bind(a);
    return a;
}

void arena_unmap(Arena& arena) {
    if (arena.base != nullptr) {
        munmap(arena.base, arena.bytes);
    }
    if (arena.fd >= 0) {
        close(arena.fd);
    }
    arena = Arena{};
}

}  // namespace softib::shm
