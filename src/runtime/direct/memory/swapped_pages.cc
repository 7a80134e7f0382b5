// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/memory/swapped_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <span>

#include "core/base/check.h"
#include "runtime/direct/memory/passage.h"
#include "runtime/direct/process.h"
#include "runtime/shm/kernel_call.h"

namespace softib::direct {

namespace {

/// The most stretches. A stretch costs three mappings, and a process may have 65,530. If the kernel
/// can only list all mappings, each of them makes every registration slower.
constexpr std::uint32_t kStretchesMax = 8192;
constexpr std::uint32_t kStretchesMaxByText = 512;

/// The most bytes moved at a time: meanwhile, threads that touch them wait, and they are in memory
/// twice.
constexpr std::uint64_t kStepBytes = std::uint64_t{4} << 20;
/// The smallest stretch whose pages are mapped at once; fewer pages are mapped by the first fault.
constexpr std::uint64_t kPopulateBytesMin = 16 * shm::kPageBytes;
constexpr std::uint64_t kPopulateBytesMax = std::uint64_t{16} << 20;

constexpr std::uint64_t kOrphanBytesMax = std::uint64_t{64} << 20;

// MADV_COLLAPSE of <sys/mman.h>, absent from older headers.
constexpr int kCollapse = 25;

/// Calls madvise by number, so that no hook of the program sees it.
int advise_really(std::uint64_t begin, std::uint64_t end, int advice) {
    return static_cast<int>(shm::kernel_call(SYS_madvise, begin, end - begin, advice));
}

}  // namespace

SwappedPages::SwappedPages(Process& process)
    : process_(process), space_(process.self.arena), mover_(process.self.arena) {}

std::uint32_t SwappedPages::upper_bound(std::uint64_t va) const {
    const Stretch* const found = std::upper_bound(
        stretches_, stretches_ + count_, va,
        [](std::uint64_t value, const Stretch& stretch) { return value < stretch.range.va; });
    return static_cast<std::uint32_t>(found - stretches_);
}

SwappedPages::Stretch* SwappedPages::at(const Name& name) {
    const auto same = [&](const Stretch& stretch) { return stretch.off == name.off; };
    const std::uint32_t next = upper_bound(name.va);
    if (next != 0 && same(stretches_[next - 1])) {
        return &stretches_[next - 1];
    }
    Stretch* const end = stretches_ + count_;
    if (Stretch* const found = std::find_if(stretches_, end, same); found != end) {
        return found;
    }
    const auto lost = std::find_if(lost_.begin(), lost_.end(), same);
    SOFTIB_CHECK(lost != lost_.end());
    return &*lost;
}

void SwappedPages::insert_locked(const Stretch& stretch) {
    const std::uint32_t place = upper_bound(stretch.range.va);
    std::memmove(stretches_ + place + 1, stretches_ + place, (count_ - place) * sizeof(Stretch));
    stretches_[place] = stretch;
    ++count_;
}

void SwappedPages::erase(Stretch& stretch) {
    if (&stretch < stretches_ || &stretch >= stretches_ + count_) {
        lost_.erase(lost_.begin() + (&stretch - lost_.data()));
        return;
    }
    const std::lock_guard guard(lock_);
    Stretch* const end = stretches_ + count_;
    std::memmove(&stretch, &stretch + 1,
                 static_cast<std::size_t>(end - &stretch - 1) * sizeof(Stretch));
    --count_;
}

/// Removes stretches from the list that the program has since replaced by private memory in
/// [begin, end). Returns false if arena pages are still mapped there: the range cannot be swapped.
bool SwappedPages::forget_stale(std::uint64_t begin, std::uint64_t end) {
    for (const Name& name : meeting(begin, end)) {
        Stretch* const stretch = at(name);
        const PageMover::Range& range = stretch->range;
        Vma vma{};
        for (std::uint64_t from = range.va; from < range.va + range.bytes; from = vma.end) {
            if (!space_.first(from, range.va + range.bytes, vma)) {
                if (errno != 0) {
                    return false;
                }
                break;
            }
            if (vma.kind == Vma::kArena) {
                return false;
            }
        }
        Stretch copy = *stretch;
        copy.elsewhere = true;
        erase(*stretch);
        if (copy.holders == 0) {
            waiting_ -= copy.stuck ? 0 : 1;
            shm::kernel_call(SYS_munmap, copy.range.parked, copy.range.bytes);
            retire(copy);
        } else {
            lost_.push_back(copy);
        }
    }
    return true;
}

std::vector<SwappedPages::Name> SwappedPages::meeting(std::uint64_t begin,
                                                      std::uint64_t end) const {
    std::vector<Name> names;
    std::uint32_t i = upper_bound(begin);
    i -= i != 0 ? 1 : 0;
    for (; i < count_ && stretches_[i].range.va < end; ++i) {
        const PageMover::Range& range = stretches_[i].range;
        if (range.va + range.bytes > begin) {
            names.push_back({range.va, stretches_[i].off});
        }
    }
    return names;
}

std::optional<SwappedPages::Part> SwappedPages::find(std::uint64_t va, std::uint64_t off,
                                                     std::uint64_t end) const {
    const auto holds = [&](const Stretch& stretch) {
        return off >= stretch.off && off < stretch.off + stretch.bytes;
    };
    const auto part = [&](const Stretch& stretch) {
        return Part{.name = {stretch.range.va, stretch.off},
                    .off = off,
                    .bytes = std::min(end - va, stretch.off + stretch.bytes - off)};
    };
    const std::uint32_t next = upper_bound(va);
    if (next != 0 && holds(stretches_[next - 1])) {
        return part(stretches_[next - 1]);
    }
    // The program has moved the stretch to another address.
    const std::span all(stretches_, count_);
    if (const auto found = std::find_if(all.begin(), all.end(), holds); found != all.end()) {
        return part(*found);
    }
    const auto lost = std::find_if(lost_.begin(), lost_.end(), holds);
    return lost != lost_.end() ? std::optional(part(*lost)) : std::nullopt;
}

/// Moves a stretch to the arena, as much of it as possible, and enters it into the list. Holds the
/// lock for both, so that a thread that gets the lock finds pages and list in agreement. Returns
/// false if nothing was moved.
bool SwappedPages::move_to_arena(Stretch& stretch, int protection) {
    const std::lock_guard guard(lock_);
    ++moves_;
    PageMover::Range& range = stretch.range;
    const std::uint64_t wanted = range.bytes;
    if (wanted > kStepBytes) {
        const long place = shm::kernel_call(SYS_mmap, 0, wanted, PROT_NONE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (place == -1) {
            return false;
        }
        range.parked = static_cast<std::uint64_t>(place);
    }
    range.bytes = 0;
    while (range.bytes != wanted) {
        PageMover::Range step{.va = range.va + range.bytes,
                              .bytes = std::min(kStepBytes, wanted - range.bytes),
                              .off = range.off + range.bytes,
                              .parked = range.parked == 0 ? 0 : range.parked + range.bytes};
        process_.self.slot->page_swaps.fetch_add(1, std::memory_order_seq_cst);
        const bool moved = mover_.share(step, protection);
        process_.self.slot->page_swaps.fetch_add(1, std::memory_order_seq_cst);
        if (!moved) {
            // Unmaps what was reserved for later steps only: another thread may have mapped
            // something at the place of this step.
            if (wanted > kStepBytes) {
                const std::uint64_t rest = range.bytes + step.bytes;
                shm::kernel_call(SYS_munmap, range.parked + rest, wanted - rest);
            }
            break;
        }
        range.parked = range.parked == 0 ? step.parked : range.parked;
        range.bytes += step.bytes;
    }
    if (range.bytes == 0) {
        return false;
    }
    insert_locked(stretch);
    return true;
}

std::optional<SwappedPages::Part> SwappedPages::share(const Vma& vma, std::uint64_t begin,
                                                      std::uint64_t end) {
    give_back_waiting();
    collect_orphans();
    if (stretches_ == nullptr) {
        count_max_ = space_.is_quick() ? kStretchesMax : kStretchesMaxByText;
        const long memory =
            shm::kernel_call(SYS_mmap, 0, count_max_ * sizeof(Stretch), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == -1) {
            return std::nullopt;
        }
        stretches_ = reinterpret_cast<Stretch*>(memory);
    }
    if (count_ == count_max_) {
        return std::nullopt;
    }
    if (!forget_stale(begin, end)) {
        return std::nullopt;
    }
    const Passage passage(mover_, begin, end, false);
    const std::uint64_t off = passage ? process_.memory.chunks.allocate_pages(end - begin) : 0;
    if (off == 0) {
        return std::nullopt;
    }
    Stretch stretch{.range = {.va = begin, .bytes = end - begin, .off = off, .parked = 0},
                    .off = off,
                    .bytes = end - begin,
                    .holders = 0,
                    .stuck = false,
                    .elsewhere = false};
    if (!move_to_arena(stretch, vma.protection)) {
        process_.memory.chunks.release_pages(off, end - begin);
        return std::nullopt;
    }
    ++waiting_;
    if (stretch.range.bytes >= kPopulateBytesMin && stretch.range.bytes <= kPopulateBytesMax) {
        advise_really(begin, begin + stretch.range.bytes, MADV_POPULATE_WRITE);
    }
    return Part{.name = {begin, off}, .off = off, .bytes = stretch.range.bytes};
}

void SwappedPages::hold(const Name& name) {
    Stretch& stretch = *at(name);
    if (stretch.holders++ == 0 && !stretch.stuck) {
        --waiting_;
    }
}

void SwappedPages::drop(const Name& name, bool quiet) {
    Stretch& stretch = *at(name);
    stretch.stuck |= !quiet;
    if (--stretch.holders == 0 && !stretch.stuck) {
        ++waiting_;
        give_back(stretch);
    }
}

bool SwappedPages::take_away(const Name& name) {
    Stretch& stretch = *at(name);
    if (stretch.stuck) {
        return false;
    }
    waiting_ += stretch.holders != 0 ? 1 : 0;
    stretch.holders = 0;
    return give_back(stretch);
}

void SwappedPages::give_back_waiting() {
    for (std::uint32_t i = 0; i < count_ && waiting_ != 0;) {
        Stretch& stretch = stretches_[i];
        if (stretch.holders != 0 || stretch.stuck || !give_back(stretch)) {
            ++i;
        }
    }
}

/// Gives a stretch back to the program. Returns true if it is gone from the list.
bool SwappedPages::give_back(Stretch& stretch) {
    const PageMover::Range range = stretch.range;
    {
        const Passage passage(mover_, range.va, range.va + range.bytes, true);
        if (!passage || !give_back_locked(stretch)) {
            return false;
        }
    }
    const Stretch copy = stretch;
    erase(stretch);
    --waiting_;
    retire(copy);
    return true;
}

/// Gives the pages of a stretch back, step by step. Each step first looks whether the program still
/// has the stretch's arena pages there; whatever else it has mapped there stays. Returns false if
/// some pages could not be given back now.
bool SwappedPages::give_back_locked(Stretch& stretch) {
    const std::lock_guard guard(lock_);
    ++moves_;
    PageMover::Range& range = stretch.range;
    const auto advance = [&](std::uint64_t bytes) {
        range.va += bytes;
        range.off += bytes;
        range.parked += bytes;
        range.bytes -= bytes;
    };
    while (range.bytes != 0) {
        const std::uint64_t end = range.va + range.bytes;
        Vma vma{};
        std::uint64_t gone = 0;
        Vma parked{};
        if (!space_.first(range.va, end, vma)) {
            if (errno != 0) {
                return false;  // The kernel does not say what is mapped.
            }
            gone = range.bytes;
        } else if (vma.begin > range.va) {
            gone = vma.begin - range.va;
        } else if (vma.kind != Vma::kArena || vma.offset + (range.va - vma.begin) != range.off) {
            gone = std::min(vma.end, end) - range.va;
        }
        if (gone != 0) {
            shm::kernel_call(SYS_munmap, range.parked, gone);
            stretch.elsewhere = true;
            advance(gone);
            continue;
        }
        // Before Linux 6.17, mremap moves only one mapping at a time, and an attempt to move two
        // unmaps the target.
        if (!space_.first(range.parked, range.parked + range.bytes, parked) ||
            parked.begin > range.parked) {
            return false;
        }
        PageMover::Range step = range;
        step.bytes =
            std::min({std::min(vma.end, end) - range.va, parked.end - range.parked, kStepBytes});
        process_.self.slot->page_swaps.fetch_add(1, std::memory_order_seq_cst);
        const bool moved = mover_.give_back(step, vma.protection);
        process_.self.slot->page_swaps.fetch_add(1, std::memory_order_seq_cst);
        if (!moved) {
            return false;
        }
        if (step.bytes != stretch.bytes) {  // Otherwise retire() frees the pages.
            fallocate(process_.self.arena.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      static_cast<off_t>(step.off), static_cast<off_t>(step.bytes));
        }
        advance(step.bytes);
    }
    return true;
}

/// Gives the arena its pages back, or keeps them as an orphan while the program may still have them
/// mapped.
void SwappedPages::retire(const Stretch& stretch) {
    if (!stretch.elsewhere) {
        process_.memory.chunks.release_pages(stretch.off, stretch.bytes);
        return;
    }
    orphans_.push_back({stretch.off, stretch.bytes});
    orphan_bytes_ += stretch.bytes;
}

void SwappedPages::collect_orphans() {
    if (orphan_bytes_ < kOrphanBytesMax) {
        return;
    }
    std::vector<Vma> vmas;
    if (!space_.read(0, UINT64_MAX, vmas)) {
        return;
    }
    std::erase_if(orphans_, [&](const Orphan& orphan) {
        if (std::any_of(vmas.begin(), vmas.end(), [&](const Vma& vma) {
                return vma.kind == Vma::kArena && vma.offset < orphan.off + orphan.bytes &&
                       orphan.off < vma.offset + (vma.end - vma.begin);
            })) {
            return false;
        }
        process_.memory.chunks.release_pages(orphan.off, orphan.bytes);
        orphan_bytes_ -= orphan.bytes;
        return true;
    });
}

/// Calls part(first, last, range) for each part of [begin, end), in order: `range` is that of the
/// stretch that the part lies in, or nullptr. Returns the first result that is not 0.
template <typename Fn>
int SwappedPages::for_each_part(std::uint64_t begin, std::uint64_t end, Fn&& part) const {
    std::uint32_t i = upper_bound(begin);
    i -= i != 0 ? 1 : 0;
    for (; i < count_ && begin < end; ++i) {
        const PageMover::Range& range = stretches_[i].range;
        const std::uint64_t first = std::max(begin, range.va);
        const std::uint64_t last = std::min(end, range.va + range.bytes);
        if (first >= last) {
            if (range.va >= end) {
                break;
            }
            continue;
        }
        if (begin < first) {
            if (const int result = part(begin, first, nullptr); result != 0) {
                return result;
            }
        }
        if (const int result = part(first, last, &range); result != 0) {
            return result;
        }
        begin = last;
    }
    return begin < end ? part(begin, end, nullptr) : 0;
}

/// Makes [begin, end) of a stretch read as zero: in the arena, and in the parked mapping, which may
/// have been filled for a fork.
void SwappedPages::punch(std::uint64_t begin, std::uint64_t end, const PageMover::Range& range) {
    const std::uint64_t delta = begin - range.va;
    fallocate(process_.self.arena.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              static_cast<off_t>(range.off + delta), static_cast<off_t>(end - begin));
    drop_pages(range.parked + delta, end - begin);
}

bool SwappedPages::meets_any(std::uint64_t begin, std::uint64_t end) const {
    return for_each_part(begin, end, [](auto, auto, const PageMover::Range* range) {
               return range != nullptr ? 1 : 0;
           }) != 0;
}

/// Applies an advice to the parts of [begin, end) that lie in stretches, as if they were private
/// memory. `result` is what the kernel has answered for the whole range. Returns the result for the
/// program.
int SwappedPages::advise_parts(std::uint64_t begin, std::uint64_t end, int advice, int result) {
    using Range = PageMover::Range;
    switch (advice) {
        case MADV_DONTNEED:
        case kDontNeedLocked:
            if (result == 0) {
                // Repeated for pages that were being moved at the first time.
                advise_really(begin, end, advice);
                for_each_part(begin, end, [&](auto first, auto last, const Range* range) {
                    if (range != nullptr) {
                        punch(first, last, *range);
                    }
                    return 0;
                });
            }
            return result;
        case MADV_FREE:
        case kCollapse:
            // Arena pages need not be freed, and cannot be collapsed.
            return for_each_part(begin, end, [&](auto first, auto last, const Range* range) {
                return range != nullptr ? 0 : advise_really(first, last, advice);
            });
        case MADV_DONTFORK:
        case MADV_DOFORK:
        case MADV_WIPEONFORK:
        case MADV_KEEPONFORK:
        case MADV_DONTDUMP:
        case MADV_DODUMP:
        case MADV_HUGEPAGE:
        case MADV_NOHUGEPAGE:
        case MADV_MERGEABLE:
        case MADV_UNMERGEABLE:
            return for_each_part(begin, end, [&](auto first, auto last, const Range* range) {
                if (range == nullptr) {
                    return advise_really(first, last, advice);
                }
                advise_really(first, last, advice);  // May fail for the arena's pages.
                const std::uint64_t parked = range->parked + (first - range->va);
                return advise_really(parked, parked + (last - first), advice);
            });
        default:
            return result;
    }
}

int SwappedPages::advise(std::uint64_t begin, std::uint64_t length, int advice, Madvise* really) {
    const std::uint64_t end = begin + page_up(length);
    std::uint64_t before = 0;
    bool met = false;
    {
        const QuietSignals quiet;
        const std::lock_guard guard(lock_);
        before = moves_;
        met = meets_any(begin, end);
    }
    if (met && advice == MADV_REMOVE) {
        errno = EINVAL;  // As for private memory.
        return -1;
    }
    const int result = really(reinterpret_cast<void*>(begin), length, advice);
    const int error = errno;
    const QuietSignals quiet;
    const std::lock_guard guard(lock_);
    errno = error;
    return met || moves_ != before ? advise_parts(begin, end, advice, result) : result;
}

void SwappedPages::before_fork() {
    const std::lock_guard guard(lock_);
    for (std::uint32_t i = 0; i < count_; ++i) {
        mover_.fill_parked(stretches_[i].range);
    }
}

void SwappedPages::after_fork_in_parent() {
    const std::lock_guard guard(lock_);
    for (std::uint32_t i = 0; i < count_; ++i) {
        const PageMover::Range& range = stretches_[i].range;
        drop_pages(range.parked, range.bytes);
    }
}

/// Moves the parked mappings, which the parent has just filled, to where the arena pages are
/// mapped. Either may have been split, so this goes piece by piece. Whatever else the program has
/// mapped there stays.
void SwappedPages::after_fork_in_child() {
    new (&lock_) std::mutex;  // Another thread of the parent may have held it.
    space_.forget();
    mover_.forget();
    for (std::uint32_t i = 0; i < count_; ++i) {
        const PageMover::Range& range = stretches_[i].range;
        const std::uint64_t end = range.va + range.bytes;
        for (std::uint64_t at = range.va; at < end;) {
            Vma vma{};
            Vma parked{};
            const std::uint64_t delta = at - range.va;
            // If the kernel does not say (no descriptor is left), the pages are taken for the
            // stretch's: otherwise the child would share memory with its parent.
            const bool told = space_.first(at, end, vma) || errno == 0;
            if (told && vma.end == 0) {
                break;
            }
            if (told && vma.begin > at) {
                at = vma.begin;
                continue;
            }
            std::uint64_t bytes = std::min(told ? std::min(end, vma.end) - at : end - at,
                                           kStepBytes - delta % kStepBytes);
            if (space_.first(range.parked + delta, range.parked + range.bytes, parked) &&
                parked.begin <= range.parked + delta) {
                bytes = std::min(bytes, parked.end - (range.parked + delta));
            }
            const bool ours = !told || (vma.kind == Vma::kArena &&
                                        vma.offset + (at - vma.begin) == range.off + delta);
            if (ours) {
                shm::kernel_call(SYS_mprotect, range.parked + delta, bytes,
                                 told ? vma.protection : PROT_READ | PROT_WRITE);
                shm::kernel_call(SYS_mremap, range.parked + delta, bytes, bytes,
                                 MREMAP_MAYMOVE | MREMAP_FIXED, at);
            }
            at += bytes;
        }
    }
    count_ = 0;
    waiting_ = 0;
}

}  // namespace softib::direct
