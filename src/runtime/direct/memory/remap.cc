// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/memory/remap.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "runtime/shm/kernel_call.h"
#include "runtime/shm/thread.h"

namespace softib::direct {

namespace {

constexpr std::uint64_t kPagemapPresent = std::uint64_t{1} << 63;
constexpr std::uint64_t kPagemapSwapped = std::uint64_t{1} << 62;

/// From <linux/userfaultfd.h>; older headers lack it.
constexpr int kUffdUserModeOnly = 1;
constexpr std::uint64_t kUffdFeatureShmemWp = std::uint64_t{1} << 12;

constexpr int kReadWrite = PROT_READ | PROT_WRITE;

/// The largest range whose pages are all copied: to find out which of them exist would cost more.
constexpr std::uint64_t kCopyAllBytesMax = 16 * shm::kPageBytes;

/// The largest parked mapping that keeps its pages, so that the kernel need not allocate them again
/// soon. Its old bytes are never seen: a range of up to kCopyAllBytesMax is written whole before it
/// is used.
constexpr std::uint64_t kKeepBytesMax = 2 * shm::kPageBytes;
static_assert(kKeepBytesMax <= kCopyAllBytesMax);

class Fd {
  public:
    explicit Fd(int fd) : fd_(fd) {}
    ~Fd() {
        if (fd_ >= 0) {
            close(fd_);
        }
    }
    Fd(const Fd&) = delete;
    Fd& operator=(const Fd&) = delete;
    int get() const { return fd_; }

  private:
    int fd_;
};

int open_with_features(int flags, std::uint64_t features) {
    const int fd = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | flags));
    if (fd < 0) {
        return -1;
    }
    uffdio_api api{};
    api.api = UFFD_API;
    api.features = features;
    if (ioctl(fd, UFFDIO_API, &api) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

// All system calls here are made by number. A hook of these functions (a sanitizer, our preloaded
// library) would see a change of memory that for the program is none.

bool move_mapping(std::uint64_t from, std::uint64_t bytes, int flags, std::uint64_t to) {
    return shm::kernel_call(SYS_mremap, from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | flags,
                            to) != -1;
}

/// Copies the pages of a moved range that exist. The others read as zero, and so do fresh pages of
/// the arena.
void copy_present_pages(std::byte* to, const char* from, std::uint64_t bytes) {
    const Fd pagemap(bytes <= kCopyAllBytesMax ? -1
                                               : open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    std::array<std::uint64_t, 512> entries;
    const std::uint64_t pages = bytes / shm::kPageBytes;
    for (std::uint64_t page = 0; page < pages; page += entries.size()) {
        const std::uint64_t count = std::min<std::uint64_t>(entries.size(), pages - page);
        const std::uint64_t at =
            (reinterpret_cast<std::uintptr_t>(from) / shm::kPageBytes + page) * 8;
        const ssize_t got = pagemap.get() < 0 ? -1
                                              : pread(pagemap.get(), entries.data(), count * 8,
                                                      static_cast<off_t>(at));
        if (got != static_cast<ssize_t>(count * 8)) {
            entries.fill(kPagemapPresent);
        }
        for (std::uint64_t i = 0; i < count; ++i) {
            if ((entries[i] & (kPagemapPresent | kPagemapSwapped)) != 0) {
                std::memcpy(to + (page + i) * shm::kPageBytes, from + (page + i) * shm::kPageBytes,
                            shm::kPageBytes);
            }
        }
    }
}

}  // namespace

bool program_is_alone(bool with_ours) {
    struct stat st{};
    // The directory has a link for each thread, besides the two that every directory has.
    return stat("/proc/self/task", &st) == 0 &&
           st.st_nlink <= 3 + (with_ours ? 0 : shm::own_threads());
}

QuietSignals::QuietSignals() {
    constexpr auto bit = [](int signal) { return std::uint64_t{1} << (signal - 1); };
    const std::uint64_t blocked =
        ~(bit(SIGSEGV) | bit(SIGBUS) | bit(SIGFPE) | bit(SIGILL) | bit(SIGTRAP) | bit(SIGSYS));
    shm::kernel_call(SYS_rt_sigprocmask, SIG_BLOCK, &blocked, &before_, sizeof before_);
}

QuietSignals::~QuietSignals() {
    const int error = errno;
    shm::kernel_call(SYS_rt_sigprocmask, SIG_SETMASK, &before_, 0, sizeof before_);
    errno = error;
}

void drop_pages(std::uint64_t at, std::uint64_t bytes) {
    if (shm::kernel_call(SYS_madvise, at, bytes, MADV_DONTNEED) != 0) {
        shm::kernel_call(SYS_madvise, at, bytes, kDontNeedLocked);
    }
}

bool PageMover::open_uffd() {
    if (uffd_ >= 0) {
        return true;
    }
    tried_ = true;
    // A privileged process gets a descriptor that also makes faults inside system calls wait.
    for (const auto& [flags, hold] :
         {std::pair{0, Hold::kAll}, std::pair{kUffdUserModeOnly, Hold::kUserOnly}}) {
        for (const std::uint64_t features : {kUffdFeatureShmemWp, std::uint64_t{0}}) {
            uffd_ = open_with_features(flags, features);
            if (uffd_ >= 0) {
                hold_ = hold;
                can_return_ = features != 0;
                return true;
            }
        }
    }
    hold_ = Hold::kNobody;
    can_return_ = false;
    return false;
}

PageMover::Hold PageMover::hold() {
    if (!tried_) {
        open_uffd();
    }
    return hold_;
}

bool PageMover::can_return() {
    return hold() != Hold::kNobody && can_return_;
}

/// Makes a request to userfaultfd. The program may have closed our descriptor, and may have been
/// given its number for another file, so a failure is tried once more with a new descriptor.
bool PageMover::control(unsigned long request, void* argument) {
    for (int attempt = 0; attempt < 2; ++attempt) {
        if (!open_uffd()) {
            return false;
        }
        if (ioctl(uffd_, request, argument) == 0) {
            return true;
        }
        if (errno != EBADF && errno != ENOTTY) {
            return false;
        }
        uffd_ = -1;
    }
    return false;
}

bool PageMover::share(Range& range, int protection) {
    const bool held = hold() != Hold::kNobody;
    if (held) {
        uffdio_register watched{};
        watched.range = {range.va, range.bytes};
        watched.mode = UFFDIO_REGISTER_MODE_MISSING;
        if (!control(UFFDIO_REGISTER, &watched)) {
            return false;
        }
    }
    // From here to the mmap below, this thread must not touch the range. So nothing is allocated,
    // whose memory could lie there, and no member is read: this object may lie there itself.
    const int arena_fd = arena_.fd;
    std::byte* const place = arena_.base + range.off;
    const int uffd = uffd_;
    const long moved =
        range.parked != 0
            ? shm::kernel_call(SYS_mremap, range.va, range.bytes, range.bytes,
                               MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, range.parked)
            : shm::kernel_call(SYS_mremap, range.va, range.bytes, range.bytes,
                               MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0);
    bool ok = moved != -1;
    if (ok) {
        const auto at = static_cast<std::uint64_t>(moved);
        copy_present_pages(place, reinterpret_cast<const char*>(at), range.bytes);
        ok = shm::kernel_call(SYS_mmap, range.va, range.bytes, protection, MAP_SHARED | MAP_FIXED,
                              arena_fd, range.off) != -1;
        if (ok) {
            range.parked = at;
            if (range.bytes > kKeepBytesMax) {
                drop_pages(at, range.bytes);
            }
            if (protection != kReadWrite) {
                shm::kernel_call(SYS_mprotect, at, range.bytes, kReadWrite);
            }
        } else {
            // Puts the pages back where they were; nothing else is mapped there yet.
            move_mapping(at, range.bytes, 0, range.va);
        }
    }
    if (held) {
        uffdio_range woken{range.va, range.bytes};
        if (!ok) {
            ioctl(uffd, UFFDIO_UNREGISTER, &woken);
        }
        ioctl(uffd, UFFDIO_WAKE, &woken);
    }
    return ok;
}

void PageMover::fill_parked(const Range& range) const {
    auto* const to = reinterpret_cast<char*>(range.parked);
    const std::uint64_t end = range.off + range.bytes;
    for (std::uint64_t at = range.off; at < end;) {
        std::uint64_t data = at;
        std::uint64_t hole = end;
        if (range.bytes > kCopyAllBytesMax) {
            const off_t found = lseek(arena_.fd, static_cast<off_t>(at), SEEK_DATA);
            if ((found < 0 && errno == ENXIO) ||
                (found >= 0 && static_cast<std::uint64_t>(found) >= end)) {
                break;
            }
            if (found >= 0) {  // Otherwise lseek does not say, and all of it is copied.
                data = static_cast<std::uint64_t>(found);
                hole =
                    std::min(end, static_cast<std::uint64_t>(lseek(arena_.fd, found, SEEK_HOLE)));
            }
        }
        std::memcpy(to + (data - range.off), arena_.base + data, hole - data);
        at = hole;
    }
}

bool PageMover::give_back(const Range& range, int protection) {
    const bool held = can_return();
    uffdio_range place{range.va, range.bytes};
    if (held) {
        uffdio_register watched{};
        watched.range = place;
        watched.mode = UFFDIO_REGISTER_MODE_WP;
        uffdio_writeprotect protect{};
        protect.range = place;
        protect.mode = UFFDIO_WRITEPROTECT_MODE_WP;
        if (!control(UFFDIO_REGISTER, &watched)) {
            return false;
        }
        if (ioctl(uffd_, UFFDIO_WRITEPROTECT, &protect) != 0) {
            ioctl(uffd_, UFFDIO_UNREGISTER, &place);
            return false;
        }
    }
    fill_parked(range);
    if (protection != kReadWrite) {
        shm::kernel_call(SYS_mprotect, range.parked, range.bytes, protection);
    }
    const bool ok = move_mapping(range.parked, range.bytes, 0, range.va);
    if (!ok) {
        shm::kernel_call(SYS_mprotect, range.parked, range.bytes, kReadWrite);
        drop_pages(range.parked, range.bytes);
    }
    if (held) {
        if (!ok) {
            uffdio_writeprotect protect{};
            protect.range = place;
            ioctl(uffd_, UFFDIO_WRITEPROTECT, &protect);
            ioctl(uffd_, UFFDIO_UNREGISTER, &place);
        }
        ioctl(uffd_, UFFDIO_WAKE, &place);
    }
    return ok;
}

}  // namespace softib::direct
