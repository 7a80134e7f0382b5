// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/memory/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "core/base/check.h"
#include "runtime/direct/memory/memory_hooks.h"
#include "runtime/direct/process.h"
#include "runtime/shm/grace.h"
#include "runtime/shm/packet_queue.h"

namespace softib::direct {

namespace {

constexpr std::uint32_t kRemoteModify = hca::kLocalWrite | hca::kRemoteWrite | hca::kRemoteAtomic;

/// Returns the best tier that this process may use. Tests and measurements set it in the
/// environment.
shm::Tier tier_from_environment() {
    const char* text = std::getenv("SOFTIB_MEMORY_TIER");
    if (text != nullptr && text[0] >= '1' && text[0] <= '3' && text[1] == '\0') {
        return static_cast<shm::Tier>(text[0] - '0');
    }
    return shm::Tier::kShared;
}

}  // namespace

MemoryMap::MemoryMap(Process& process)
    : process_(process), swapped_(process), tier_best_(tier_from_environment()) {}

std::uint32_t MemoryMap::new_entry(shm::MrShared** mr) {
    const std::uint32_t index = process_.tables.mrs.allocate();
    if (index == shm::kNoEntry) {
        return shm::kNoEntry;
    }
    *mr = &process_.self.arena.mrs[index];
    // The key variant is kept, so that keys of earlier uses of the entry stay invalid.
    const std::uint32_t variant = (*mr)->next_key_variant;
    (*mr)->access = 0;
    (*mr)->kind = hca::KeyKind::kRegion;
    (*mr)->iova = (*mr)->length = (*mr)->ext_begin = (*mr)->ext_end = (*mr)->ext_off = 0;
    (*mr)->va_delta = (*mr)->extents_off = 0;
    (*mr)->extents = (*mr)->qpn = (*mr)->parent = 0;
    (*mr)->pieces_off = (*mr)->pieces = 0;
    (*mr)->next_key_variant = variant;
    (*mr)->owner = process_.self.owner;
    (*mr)->rest_tier = tier_of_rest();
    return index;
}

std::uint32_t MemoryMap::rotate_key(std::uint32_t index) {
    shm::MrShared& mr = process_.self.arena.mrs[index];
    mr.next_key_variant = (mr.next_key_variant + 1) & 0xFF;
    return index << 8 | mr.next_key_variant;
}

int MemoryMap::check(const RegionRequest& request, const std::vector<Vma>& vmas) const {
    const int needed = (request.access & kRemoteModify) != 0 ? PROT_READ | PROT_WRITE : PROT_READ;
    std::uint64_t at = request.va;
    const std::uint64_t end = request.va + request.length;
    for (const Vma& vma : vmas) {
        if (vma.begin > at) {
            return EFAULT;
        }
        if ((vma.protection & needed) != needed) {
            return EFAULT;
        }
        at = vma.end;
        if (at >= end) {
            return 0;
        }
    }
    return EFAULT;
}

int MemoryMap::place_extents(const std::vector<shm::Extent>& extents, shm::MrShared& mr) {
    std::vector<shm::Extent> merged;
    for (const shm::Extent& extent : extents) {
        if (!merged.empty() && merged.back().end == extent.begin &&
            merged.back().arena_off + (merged.back().end - merged.back().begin) ==
                extent.arena_off) {
            merged.back().end = extent.end;
        } else {
            merged.push_back(extent);
        }
    }
    if (merged.empty()) {
        return 0;
    }
    const auto main = std::max_element(merged.begin(), merged.end(),
                                       [](const shm::Extent& a, const shm::Extent& b) {
                                           return a.end - a.begin < b.end - b.begin;
                                       });
    mr.ext_begin = main->begin;
    mr.ext_end = main->end;
    mr.ext_off = main->arena_off;
    merged.erase(main);
    if (!merged.empty()) {
        mr.extents_off = process_.memory.chunks.allocate(merged.size() * sizeof(shm::Extent));
        if (mr.extents_off == 0) {
            return ENOMEM;
        }
        std::copy(merged.begin(), merged.end(),
                  process_.self.arena.at<shm::Extent>(mr.extents_off));
        mr.extents = static_cast<std::uint32_t>(merged.size());
    }
    return 0;
}

/// Returns whether the memory may be a GPU's, so that its driver must be asked: the host cannot
/// access it, or it is a mapping of a device or file. The driver is never asked about ordinary
/// memory.
bool MemoryMap::maybe_gpu(const RegionRequest& request, const std::vector<Vma>& vmas) const {
    return check(request, vmas) != 0 || std::any_of(vmas.begin(), vmas.end(), [](const Vma& vma) {
               return vma.kind == Vma::kOther || vma.kind == Vma::kSharedFile;
           });
}

/// Makes GPU memory reachable for peers. Returns 0, EFAULT (it is no GPU memory) or another errno
/// value.
int MemoryMap::build_gpu(const RegionRequest& request, std::uint32_t index) {
    if (is_packet_path(process_.self.arena)) {
        // The HCAs of the carrier cannot access GPU memory.
        return process_.memory.gpu.is_gpu(request.va) ? EOPNOTSUPP : EFAULT;
    }
    std::vector<shm::PeerPiece> pieces;
    const int error = process_.memory.gpu.add(request.va, request.length, pieces);
    return error != 0 ? error : place_peer_pieces(pieces, index, shm::Tier::kGpu);
}

/// Makes shared memory reachable by mapping. Peers reach the parts that cannot be mapped by tier 2.
void MemoryMap::build_mapped(const RegionRequest& request, std::uint32_t index,
                             const std::vector<Vma>& vmas) {
    std::vector<shm::PeerPiece> pieces;
    shared_exports_.add(swapped_.space(), vmas, request.va, request.va + request.length, pieces);
    if (!pieces.empty()) {
        place_peer_pieces(pieces, index, shm::Tier::kMapped);
    }
}

int MemoryMap::place_peer_pieces(std::vector<shm::PeerPiece>& pieces, std::uint32_t index,
                                 shm::Tier tier) {
    shm::MrShared& mr = process_.self.arena.mrs[index];
    const std::uint64_t off =
        process_.memory.chunks.allocate(pieces.size() * sizeof(shm::PeerPiece));
    if (off == 0) {
        forget_peer_pieces(tier, pieces);
        return ENOMEM;
    }
    for (shm::PeerPiece& piece : pieces) {
        piece.region = index;
        piece.generation = mr.generation.load(std::memory_order_relaxed);
    }
    std::copy(pieces.begin(), pieces.end(), process_.self.arena.at<shm::PeerPiece>(off));
    mr.pieces_off = off;
    mr.pieces = static_cast<std::uint32_t>(pieces.size());
    mr.rest_tier = tier;
    return 0;
}

void MemoryMap::forget_peer_pieces(shm::Tier tier, const std::vector<shm::PeerPiece>& pieces) {
    tier == shm::Tier::kGpu ? process_.memory.gpu.remove(pieces) : shared_exports_.remove(pieces);
}

void MemoryMap::remove_peer_pieces(shm::MrShared& mr) {
    const auto* first = process_.self.arena.at<const shm::PeerPiece>(mr.pieces_off);
    forget_peer_pieces(mr.rest_tier, {first, first + mr.pieces});
    process_.memory.chunks.release(mr.pieces_off, mr.pieces * sizeof(shm::PeerPiece));
    mr.pieces = 0;
    mr.pieces_off = 0;
    process_.self.ring_mappers();
}

/// Swaps the private pages of a region for arena pages where that is possible, and returns where
/// the arena has bytes of the region (`extents`) and the stretches that it now holds (`held`).
void MemoryMap::share(const RegionRequest& request, const std::vector<Vma>& vmas,
                      std::vector<shm::Extent>& extents, Stretches& held) {
    const std::uint64_t delta = request.va - request.iova;
    const std::uint64_t end = request.va + request.length;
    const auto add = [&](std::uint64_t at, const SwappedPages::Part& part) {
        extents.push_back({at - delta, at + part.bytes - delta, part.off});
        if (std::find(held.begin(), held.end(), part.name) == held.end()) {
            held.push_back(part.name);
            swapped_.hold(part.name);
        }
    };
    for (const Vma& vma : vmas) {
        if (vma.kind == Vma::kArena) {
            const std::uint64_t e = std::min(end, vma.end);
            for (std::uint64_t at = std::max(request.va, vma.begin); at < e;) {
                const auto part = swapped_.find(at, vma.offset + (at - vma.begin), e);
                if (!part) {
                    break;
                }
                add(at, *part);
                at += part->bytes;
            }
            continue;
        }
        // Partial pages at the ends stay private, because their other bytes are not registered.
        const std::uint64_t b = std::max(page_up(request.va), vma.begin);
        const std::uint64_t e = std::min(page_down(end), vma.end);
        if (vma.kind == Vma::kPrivateAnonymous && b < e) {
            if (const auto part = swapped_.share(vma, b, e)) {
                add(b, *part);
            }
        }
    }
}

int MemoryMap::build(const RegionRequest& request, std::uint32_t index, Stretches& held) {
    shm::MrShared& mr = process_.self.arena.mrs[index];
    mr.iova = request.iova;
    mr.length = request.length;
    mr.va_delta = request.va - request.iova;
    mr.ext_begin = mr.ext_end = mr.ext_off = 0;
    mr.extents = 0;
    mr.rest_tier = tier_of_rest();
    if (request.gpu_only) {
        return build_gpu(request, index);
    }
    if (request.on_demand) {
        return 0;
    }
    const std::uint64_t end = request.va + request.length;
    std::vector<Vma> vmas;
    if (!swapped_.space().read(page_down(request.va), page_up(end), vmas)) {
        return errno;
    }
    if (request.length == 0) {
        return check(request, vmas);
    }
    if (maybe_gpu(request, vmas)) {
        if (const int error = build_gpu(request, index); error != EFAULT) {
            return error;
        }
    }
    if (const int error = check(request, vmas); error != 0) {
        return error;
    }
    std::vector<shm::Extent> extents;
    if (tier_best_ == shm::Tier::kShared) {
        share(request, vmas, extents, held);
        MemoryHooks::install(*this);
    }
    if (const int error = place_extents(extents, mr); error != 0) {
        return error;
    }
    if (tier_best_ == shm::Tier::kShared && !is_packet_path(process_.self.arena)) {
        build_mapped(request, index, vmas);
    }
    return 0;
}

void MemoryMap::account(const shm::MrShared& mr, std::int64_t sign) {
    std::uint64_t shared = mr.ext_end - mr.ext_begin;
    const shm::Extent* extents = process_.self.arena.at<shm::Extent>(mr.extents_off);
    for (std::uint32_t i = 0; i < mr.extents; ++i) {
        shared += extents[i].end - extents[i].begin;
    }
    const auto* piece = process_.self.arena.at<const shm::PeerPiece>(mr.pieces_off);
    std::uint64_t mapped = 0;
    for (std::uint32_t i = 0; i < mr.pieces; ++i) {
        mapped += piece[i].end - piece[i].begin;
    }
    // All bytes of a GPU's region count as a GPU's, even those that are in no piece.
    const bool on_gpu = mr.rest_tier == shm::Tier::kGpu;
    const std::uint64_t rest = mr.length - shared - (on_gpu ? 0 : mapped);
    const auto add = [&](shm::Tier tier, std::uint64_t bytes) {
        if (bytes != 0) {
            const auto t = static_cast<std::size_t>(tier);
            process_.self.slot->bytes_by_tier[t].fetch_add(bytes *
                                                           static_cast<std::uint64_t>(sign));
            process_.self.slot->regions_by_tier[t].fetch_add(static_cast<std::uint32_t>(sign));
        }
    };
    add(shm::Tier::kShared, shared);
    add(shm::Tier::kMapped, on_gpu ? 0 : mapped);
    add(on_gpu ? shm::Tier::kGpu : tier_of_rest(), rest);
}

int MemoryMap::add_region(const RegionRequest& request, std::uint32_t& index) {
    const bool implicit = request.on_demand && request.length == UINT64_MAX;
    // As in Linux, a region must have at least one page: a region of 0 bytes has the page of its
    // address, unless that address is the beginning of a page.
    const bool no_page =
        request.length == 0 && (request.va % shm::kPageBytes == 0 || request.gpu_only);
    if (no_page || (!implicit && (request.va + request.length < request.va ||
                                  request.iova + request.length < request.iova))) {
        return EINVAL;
    }
    const Guard guard(mutex_);
    shm::MrShared* mr = nullptr;
    index = new_entry(&mr);
    if (index == shm::kNoEntry) {
        return ENOMEM;
    }
    Stretches held;
    if (const int error = build(request, index, held); error != 0) {
        drop(held, true);
        process_.tables.mrs.release(index);
        return error;
    }
    mr->access = request.access;
    mr->pd = request.pd;
    mr->hca = request.hca;
    if (mr->ext_end - mr->ext_begin != mr->length) {
        process_.progress.start_helper();
    }
    held_[index] = std::move(held);
    account(*mr, 1);
    mr->key.store(rotate_key(index), std::memory_order_release);
    return 0;
}

int MemoryMap::add_null(std::uint32_t pd, std::uint32_t hca, std::uint32_t& index) {
    const Guard guard(mutex_);
    shm::MrShared* mr = nullptr;
    index = new_entry(&mr);
    if (index == shm::kNoEntry) {
        return ENOMEM;
    }
    mr->kind = hca::KeyKind::kNull;
    mr->pd = pd;
    mr->hca = hca;
    mr->access = hca::kLocalWrite;
    mr->length = UINT64_MAX;
    mr->key.store(rotate_key(index), std::memory_order_release);
    return 0;
}

int MemoryMap::add_device_memory(std::uint32_t pd, std::uint32_t hca, std::uint64_t off,
                                 std::uint64_t length, std::uint32_t access, std::uint32_t& index) {
    const Guard guard(mutex_);
    shm::MrShared* mr = nullptr;
    index = new_entry(&mr);
    if (index == shm::kNoEntry) {
        return ENOMEM;
    }
    mr->kind = hca::KeyKind::kDeviceMemory;
    mr->pd = pd;
    mr->hca = hca;
    mr->access = access;
    mr->length = length;
    mr->ext_end = length;
    mr->ext_off = off;
    mr->key.store(rotate_key(index), std::memory_order_release);
    return 0;
}

int MemoryMap::add_window(std::uint32_t pd, std::uint32_t hca, hca::KeyKind kind,
                          std::uint32_t& index) {
    const Guard guard(mutex_);
    shm::MrShared* mr = nullptr;
    index = new_entry(&mr);
    if (index == shm::kNoEntry) {
        return ENOMEM;
    }
    mr->kind = kind;
    mr->pd = pd;
    mr->hca = hca;
    // An unbound window has a key but no bytes.
    mr->key.store(rotate_key(index), std::memory_order_release);
    return 0;
}

int MemoryMap::change_region(std::uint32_t index, bool translation, const RegionRequest& request,
                             bool change_pd, bool change_access) {
    shm::MrShared& mr = process_.self.arena.mrs[index];
    const Guard guard(mutex_);
    const std::uint32_t key = mr.key.load(std::memory_order_relaxed);
    mr.key.store(0, std::memory_order_release);
    mr.generation.fetch_add(1);
    const bool quiet = wait_grace(process_.self.arena, process_.self.owner, nullptr);
    int error = 0;
    if (change_access && !translation && mr.length != UINT64_MAX &&
        mr.rest_tier != shm::Tier::kGpu) {
        std::vector<Vma> vmas;
        error =
            swapped_.space().read(page_down(request.va), page_up(request.va + request.length), vmas)
                ? check(request, vmas)
                : errno;
    }
    if (translation) {
        account(mr, -1);
        Stretches held;
        if (mr.extents != 0) {
            process_.memory.chunks.release(mr.extents_off, mr.extents * sizeof(shm::Extent));
            mr.extents = 0;
        }
        if (mr.pieces != 0) {
            remove_peer_pieces(mr);
        }
        error = build(request, index, held);
        drop(held_[index], quiet);
        held_[index] = std::move(held);
        if (error == 0) {
            account(mr, 1);
            if (mr.ext_end - mr.ext_begin != mr.length) {
                process_.progress.start_helper();
            }
        } else {
            mr.length = 0;
        }
    }
    if (error == 0 && change_pd) {
        mr.pd = request.pd;
    }
    if (error == 0 && change_access) {
        mr.access = request.access;
    }
    if (error == 0) {
        mr.key.store(key, std::memory_order_release);
    }
    return error;
}

void MemoryMap::remove(std::uint32_t index) {
    shm::MrShared& mr = process_.self.arena.mrs[index];
    const Guard guard(mutex_);
    mr.key.store(0, std::memory_order_release);
    mr.generation.fetch_add(1);
    const bool quiet = wait_grace(process_.self.arena, process_.self.owner, nullptr);
    if (mr.kind == hca::KeyKind::kRegion) {
        account(mr, -1);
        if (mr.pieces != 0 && quiet) {
            remove_peer_pieces(mr);
        }
        if (mr.extents != 0 && quiet) {
            process_.memory.chunks.release(mr.extents_off, mr.extents * sizeof(shm::Extent));
        }
        mr.extents = 0;
        // A sender that was stopped in the middle of a copy may still write to the pages, which are
        // then never reused.
        if (const auto held = held_.find(index); held != held_.end()) {
            drop(held->second, quiet);
            held_.erase(held);
        }
    }
    process_.tables.mrs.release(index);
}

void MemoryMap::drop(const Stretches& held, bool quiet) {
    for (const SwappedPages::Name& name : held) {
        swapped_.drop(name, quiet);
    }
}

}  // namespace softib::direct
