// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/live/remap.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace softib::live {

namespace {

constexpr std::uint64_t kPagemapPresent = std::uint64_t{1} << 63;
constexpr std::uint64_t kPagemapSwapped = std::uint64_t{1} << 62;

/// UFFD_USER_MODE_ONLY of <linux/userfaultfd.h>, absent from older headers.
constexpr int kUffdUserModeOnly = 1;

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

int open_userfaultfd() {
    // With the privilege, faults from inside system calls of other threads wait as well.
    int fd = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC));
    if (fd < 0) {
        fd = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | kUffdUserModeOnly));
    }
    if (fd < 0) {
        return -1;
    }
    uffdio_api api{};
    api.api = UFFD_API;
    if (ioctl(fd, UFFDIO_API, &api) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

bool single_threaded() {
    DIR* tasks = opendir("/proc/self/task");
    if (tasks == nullptr) {
        return false;
    }
    int entries = 0;
    while (readdir(tasks) != nullptr) {
        ++entries;
    }
    closedir(tasks);
    return entries == 3;  // ".", ".." and the one thread
}

/// Copies the pages of the moved-away range that exist; the others read as zero, as arena does.
bool copy_present_pages(const Arena& arena, const char* from, std::uint64_t bytes,
                        std::uint64_t off) {
    const Fd pagemap(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    std::array<std::uint64_t, 512> entries;
    const std::uint64_t pages = bytes / kPageBytes;
    for (std::uint64_t page = 0; page < pages; page += entries.size()) {
        const std::uint64_t count = std::min<std::uint64_t>(entries.size(), pages - page);
        const std::uint64_t at = (reinterpret_cast<std::uintptr_t>(from) / kPageBytes + page) * 8;
        const ssize_t got = pagemap.get() < 0 ? -1
                                              : pread(pagemap.get(), entries.data(), count * 8,
                                                      static_cast<off_t>(at));
        if (got != static_cast<ssize_t>(count * 8)) {
            entries.fill(kPagemapPresent);
        }
        for (std::uint64_t i = 0; i < count; ++i) {
            if ((entries[i] & (kPagemapPresent | kPagemapSwapped)) != 0) {
                std::memcpy(arena.base + off + (page + i) * kPageBytes,
                            from + (page + i) * kPageBytes, kPageBytes);
            }
        }
    }
    return true;
}

/// One line of /proc/self/maps.
bool parse_line(const char* line, Vma& vma, std::uint64_t& device, bool& shared,
                const char** name) {
    char perms[5] = {};
    unsigned major_number = 0;
    unsigned minor_number = 0;
    int consumed = 0;
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
                    &vma.begin, &vma.end, perms, &vma.offset, &major_number, &minor_number,
                    &vma.inode, &consumed) < 7) {
        return false;
    }
    device = makedev(major_number, minor_number);
    vma.protection = (perms[0] == 'r' ? PROT_READ : 0) | (perms[1] == 'w' ? PROT_WRITE : 0) |
                     (perms[2] == 'x' ? PROT_EXEC : 0);
    shared = perms[3] == 's';
    *name = line + consumed;
    return true;
}

bool is_plain_anonymous(const char* name) {
    return *name == '\0' || std::strncmp(name, "[heap]", 6) == 0 ||
           std::strncmp(name, "[anon", 5) == 0;
}

/// Memory in the kernel's own file system for it that no descriptor of the program leads to: unlike
/// that of a memfd, which lies there as well.
bool is_shared_anonymous(const char* name) {
    return std::strncmp(name, "/dev/zero (deleted)", 19) == 0 ||
           std::strncmp(name, "/SYSV", 5) == 0;
}

}  // namespace

bool read_vmas(const Arena& arena, std::uint64_t begin, std::uint64_t end, std::vector<Vma>& out) {
    out.clear();
    struct stat st{};
    if (fstat(arena.fd, &st) != 0) {
        return false;
    }
    std::FILE* file = std::fopen("/proc/self/maps", "re");
    if (file == nullptr) {
        return false;
    }
    // A stack moved while its thread runs on it would fault on itself.
    const auto stack_pointer = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    char line[512];
    while (std::fgets(line, sizeof line, file) != nullptr) {
        line[std::strcspn(line, "\n")] = '\0';
        Vma vma{};
        std::uint64_t device = 0;
        bool shared = false;
        const char* name = "";
        if (!parse_line(line, vma, device, shared, &name) || vma.end <= begin) {
            continue;
        }
        if (vma.begin >= end) {
            break;
        }
        if (vma.begin == reinterpret_cast<std::uintptr_t>(arena.base)) {
            continue;
        }
        vma.kind = Vma::kOther;
        if (shared && vma.inode == st.st_ino && device == st.st_dev) {
            vma.kind = Vma::kArena;
        } else if (shared && device == st.st_dev && is_shared_anonymous(name)) {
            vma.kind = Vma::kSharedAnonymous;
        } else if (!shared && vma.inode == 0 && is_plain_anonymous(name) &&
                   !(vma.begin <= stack_pointer && stack_pointer < vma.end)) {
            vma.kind = Vma::kPrivateAnonymous;
        }
        out.push_back(vma);
    }
    std::fclose(file);
    return true;
}

bool share_pages(const Arena& arena, std::uint64_t begin, std::uint64_t bytes, int protection,
                 std::uint64_t off) {
    auto* at = reinterpret_cast<char*>(begin);
    const Fd uffd(open_userfaultfd());
    if (uffd.get() >= 0) {
        uffdio_register range{};
        range.range = {begin, bytes};
        range.mode = UFFDIO_REGISTER_MODE_MISSING;
        if (ioctl(uffd.get(), UFFDIO_REGISTER, &range) != 0) {
            return false;
        }
    } else if (!single_threaded()) {
        return false;
    }
    // From here to the mmap below nobody may touch the range but the kernel: not even an
    // allocation, whose memory could lie in it.
    void* moved = mremap(at, bytes, bytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, nullptr);
    bool ok = moved != MAP_FAILED;
    if (ok) {
        copy_present_pages(arena, static_cast<const char*>(moved), bytes, off);
        // By system call: a sanitizer's mmap() counts as a write to pages that other threads use.
        if (syscall(SYS_mmap, at, bytes, protection, MAP_SHARED | MAP_FIXED, arena.fd, off) == -1) {
            // Put the pages back where they were; the range holds nothing else yet.
            mremap(moved, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at);
            ok = false;
        } else {
            munmap(moved, bytes);
        }
    }
    if (uffd.get() >= 0) {
        uffdio_range range{begin, bytes};
        if (!ok) {
            ioctl(uffd.get(), UFFDIO_UNREGISTER, &range);
        }
        ioctl(uffd.get(), UFFDIO_WAKE, &range);
    }
    return ok;
}

}  // namespace softib::live
