// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/memory/address_space.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace softib::direct {

namespace {

/// The kernel's struct procmap_query and its request number, absent from older headers.
struct MapQuery {
    std::uint64_t size;
    std::uint64_t query_flags;
    std::uint64_t query_addr;
    std::uint64_t vma_start;
    std::uint64_t vma_end;
    std::uint64_t vma_flags;
    std::uint64_t vma_page_size;
    std::uint64_t vma_offset;
    std::uint64_t inode;
    std::uint32_t dev_major;
    std::uint32_t dev_minor;
    std::uint32_t vma_name_size;
    std::uint32_t build_id_size;
    std::uint64_t vma_name_addr;
    std::uint64_t build_id_addr;
};
static_assert(sizeof(MapQuery) == 104);
constexpr unsigned long kMapQuery = _IOWR('f', 17, MapQuery);
constexpr std::uint64_t kCoveringOrNext = 0x10;
constexpr std::uint64_t kReadable = 1;
constexpr std::uint64_t kWritable = 2;
constexpr std::uint64_t kExecutable = 4;
constexpr std::uint64_t kShared = 8;

bool is_plain_anonymous(const char* name) {
    return *name == '\0' || std::strncmp(name, "[heap]", 6) == 0 ||
           std::strncmp(name, "[anon", 5) == 0;
}

/// Returns whether a mapping is shared anonymous or System V memory. The kernel keeps it in an
/// internal file system, but no descriptor of the program leads to its file. A memfd lies in the
/// same file system, and does have a descriptor.
bool is_shared_anonymous(const char* name) {
    return std::strncmp(name, "/dev/zero (deleted)", 19) == 0 ||
           std::strncmp(name, "/SYSV", 5) == 0;
}

}  // namespace

struct AddressSpace::Found {
    Vma vma{};
    bool shared = false;
    char name[256] = {};
};

namespace {

/// Reads one line of /proc/self/maps. Returns false if it is not in the format of that file.
template <typename Found>
bool parse_line(const char* line, Found& found) {
    char perms[5] = {};
    unsigned major_number = 0;
    unsigned minor_number = 0;
    int consumed = 0;
    Vma& vma = found.vma;
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
                    &vma.begin, &vma.end, perms, &vma.offset, &major_number, &minor_number,
                    &vma.inode, &consumed) < 7) {
        return false;
    }
    found.vma.device = makedev(major_number, minor_number);
    vma.protection = (perms[0] == 'r' ? PROT_READ : 0) | (perms[1] == 'w' ? PROT_WRITE : 0) |
                     (perms[2] == 'x' ? PROT_EXEC : 0);
    found.shared = perms[3] == 's';
    std::snprintf(found.name, sizeof found.name, "%s", line + consumed);
    return true;
}

}  // namespace

bool AddressSpace::prepare() {
    if (arena_inode_ == 0) {
        struct stat st{};
        if (fstat(arena_.fd, &st) != 0) {
            return false;
        }
        arena_inode_ = st.st_ino;
        arena_device_ = st.st_dev;
    }
    return true;
}

bool AddressSpace::query(std::uint64_t at, Found& found) {
    // A program may have closed our descriptor, and may have been given its number for another
    // file. So a failure is tried once more with a new descriptor, and the old one is not closed.
    for (int attempt = 0; attempt < 2; ++attempt) {
        const bool fresh = file_ < 0;
        if (fresh) {
            file_ = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
            if (file_ < 0) {
                return false;
            }
        }
        MapQuery query{};
        query.size = sizeof query;
        query.query_flags = kCoveringOrNext;
        query.query_addr = at;
        query.vma_name_addr = reinterpret_cast<std::uintptr_t>(found.name);
        query.vma_name_size = sizeof found.name;
        found.name[0] = '\0';
        int result = ioctl(file_, kMapQuery, &query);
        if (result != 0 && errno == ENAMETOOLONG) {
            query.vma_name_addr = query.vma_name_size = 0;
            result = ioctl(file_, kMapQuery, &query);
        }
        if (result == 0) {
            query_ = Query::kWorks;
            found.vma = {.begin = query.vma_start,
                         .end = query.vma_end,
                         .offset = query.vma_offset,
                         .device = makedev(query.dev_major, query.dev_minor),
                         .inode = query.inode,
                         .protection = ((query.vma_flags & kReadable) != 0 ? PROT_READ : 0) |
                                       ((query.vma_flags & kWritable) != 0 ? PROT_WRITE : 0) |
                                       ((query.vma_flags & kExecutable) != 0 ? PROT_EXEC : 0),
                         .kind = Vma::kOther};
            found.shared = (query.vma_flags & kShared) != 0;
            return true;
        }
        if (errno == ENOENT) {
            query_ = Query::kWorks;
            errno = 0;
            return false;
        }
        if (fresh) {
            close(file_);
        }
        file_ = -1;
    }
    if (query_ == Query::kUntried) {
        query_ = Query::kAbsent;
    }
    errno = ENOTTY;
    return false;
}

bool AddressSpace::accept(const Found& found, Vma& out) const {
    if (found.vma.begin == reinterpret_cast<std::uintptr_t>(arena_.base)) {
        return false;
    }
    // This thread's own stack is no candidate for moving: the thread would fault on it meanwhile.
    const auto stack_pointer = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    out = found.vma;
    out.kind = Vma::kOther;
    if (found.shared && out.inode == arena_inode_ && out.device == arena_device_) {
        out.kind = Vma::kArena;
    } else if (found.shared && out.device == arena_device_ && is_shared_anonymous(found.name)) {
        out.kind = Vma::kSharedAnonymous;
    } else if (found.shared && out.inode != 0) {
        out.kind = Vma::kSharedFile;
    } else if (!found.shared && out.inode == 0 && is_plain_anonymous(found.name) &&
               !(out.begin <= stack_pointer && stack_pointer < out.end)) {
        out.kind = Vma::kPrivateAnonymous;
    }
    return true;
}

/// Calls `take` for each mapping that overlaps [begin, end), until `take` returns false. Stores the
/// last line read in `last`. Returns false if /proc/self/maps cannot be opened.
template <typename Take>
bool AddressSpace::walk_text(std::uint64_t begin, std::uint64_t end, Take&& take,
                             Found* last) const {
    const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    char buffer[8192];
    std::size_t held = 0;
    bool more = true;
    while (more) {
        const ssize_t got = ::read(file, buffer + held, sizeof buffer - 1 - held);
        if (got <= 0) {
            break;
        }
        held += static_cast<std::size_t>(got);
        buffer[held] = '\0';
        char* line = buffer;
        for (char* newline = nullptr; more && (newline = std::strchr(line, '\n')) != nullptr;
             line = newline + 1) {
            *newline = '\0';
            Found found;
            Vma vma{};
            if (parse_line(line, found) && found.vma.end > begin) {
                if (last != nullptr) {
                    *last = found;
                }
                more = found.vma.begin < end && (!accept(found, vma) || take(vma));
            }
        }
        held -= static_cast<std::size_t>(line - buffer);
        std::memmove(buffer, line, held);
        if (held == sizeof buffer - 1) {
            held = 0;  // No line is that long.
        }
    }
    close(file);
    errno = 0;
    return true;
}

bool AddressSpace::first(std::uint64_t begin, std::uint64_t end, Vma& out) {
    if (!prepare()) {
        return false;
    }
    while (query_ != Query::kAbsent) {
        Found found;
        if (!query(begin, found)) {
            if (query_ == Query::kAbsent) {
                break;
            }
            return false;
        }
        if (found.vma.begin >= end) {
            errno = 0;
            return false;
        }
        if (accept(found, out)) {
            return true;
        }
        begin = found.vma.end;
    }
    bool found_one = false;
    return walk_text(begin, end,
                     [&](const Vma& vma) {
                         out = vma;
                         found_one = true;
                         return false;
                     }) &&
           found_one;
}

bool AddressSpace::read(std::uint64_t begin, std::uint64_t end, std::vector<Vma>& out) {
    out.clear();
    if (!is_quick()) {
        return walk_text(begin, end, [&](const Vma& vma) {
            out.push_back(vma);
            return true;
        });
    }
    Vma vma{};
    while (begin < end && first(begin, end, vma)) {
        out.push_back(vma);
        begin = vma.end;
    }
    return begin >= end || errno == 0;
}

bool AddressSpace::path_at(std::uint64_t at, char* path, std::size_t size) {
    Found found;
    if (is_quick()) {
        if (!query(at, found)) {
            return false;
        }
    } else {
        walk_text(at, at + 1, [&](const Vma&) { return false; }, &found);
    }
    std::snprintf(path, size, "%s", found.name);
    return path[0] == '/';
}

bool AddressSpace::is_quick() {
    Vma vma{};
    if (query_ == Query::kUntried) {
        first(0, UINT64_MAX, vma);
    }
    return query_ == Query::kWorks;
}

}  // namespace softib::direct
