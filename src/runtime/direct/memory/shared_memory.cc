// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/memory/shared_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "runtime/direct/memory/bus_guard.h"

namespace softib::direct {

namespace {

/// Returns whether an open file is the one behind a mapping.
bool is_behind(int fd, const Vma& vma) {
    struct stat st{};
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == vma.inode &&
           st.st_dev == vma.device;
}

int open_path(const char* path, const Vma& vma) {
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && !is_behind(fd, vma)) {
        close(fd);
        return -1;
    }
    return fd;
}

int copy_of_an_open_one(const Vma& vma) {
    DIR* const open_files = opendir("/proc/self/fd");
    int found = -1;
    while (const dirent* entry = open_files != nullptr ? readdir(open_files) : nullptr) {
        const int fd =
            std::atoi(entry->d_name);  // 0 for "." and "..": to check descriptor 0 is harmless.
        const int flags = fcntl(fd, F_GETFL);
        if (flags != -1 && (flags & O_ACCMODE) == O_RDWR && is_behind(fd, vma)) {
            found = fcntl(fd, F_DUPFD_CLOEXEC, 3);
            break;
        }
    }
    if (open_files != nullptr) {
        closedir(open_files);
    }
    return found;
}

}  // namespace

int open_behind(AddressSpace& space, const Vma& vma) {
    char path[256];
    std::snprintf(path, sizeof path, "/proc/self/map_files/%" PRIx64 "-%" PRIx64, vma.begin,
                  vma.end);
    if (const int fd = open_path(path, vma); fd >= 0 || vma.kind != Vma::kSharedFile) {
        return fd;
    }
    if (const int fd = copy_of_an_open_one(vma); fd >= 0) {
        return fd;
    }
    return space.path_at(vma.begin, path, sizeof path) ? open_path(path, vma) : -1;
}

void SharedExports::add(AddressSpace& space, std::span<const Vma> vmas, std::uint64_t begin,
                        std::uint64_t end, std::vector<shm::PeerPiece>& pieces) {
    for (const Vma& vma : vmas) {
        const bool shared = vma.kind == Vma::kSharedAnonymous || vma.kind == Vma::kSharedFile;
        if (!shared || (vma.protection & PROT_WRITE) == 0 || vma.begin >= end || vma.end <= begin) {
            continue;
        }
        const Name name{vma.begin, vma.end, vma.inode, vma.offset};
        auto found = exports_.find(name);
        if (found == exports_.end()) {
            const int fd = open_behind(space, vma);
            if (fd < 0) {
                continue;
            }
            shm::PeerPiece piece{};
            piece.begin = piece.base = vma.begin;
            piece.end = vma.end;
            piece.bytes = vma.end - vma.begin;
            piece.number = ++number_;
            piece.kind =
                vma.kind == Vma::kSharedFile ? shm::PeerPiece::kNamedFile : shm::PeerPiece::kFile;
            piece.descriptor = fd;
            piece.file_offset = vma.offset;
            found = exports_.emplace(name, Export{piece, 0}).first;
        }
        ++found->second.uses;
        shm::PeerPiece piece = found->second.piece;
        piece.begin = std::max(begin, piece.begin);
        piece.end = std::min(end, piece.end);
        pieces.push_back(piece);
    }
}

void SharedExports::remove(std::span<const shm::PeerPiece> pieces) {
    for (const shm::PeerPiece& piece : pieces) {
        const auto found = std::find_if(exports_.begin(), exports_.end(), [&](const auto& entry) {
            return entry.second.piece.number == piece.number;
        });
        if (found != exports_.end() && --found->second.uses == 0) {
            close(piece.descriptor);
            exports_.erase(found);
        }
    }
}

void SharedMapper::make(shm::Owner owner, const shm::PeerPiece& piece, Mapping& mapping) {
    if (piece.kind == shm::PeerPiece::kNamedFile && !bus_guard_install()) {
        return;
    }
    const int fd = take_descriptor(arena_, owner, piece.descriptor);
    if (fd < 0) {
        return;
    }
    struct stat st{};
    // A mapping may be longer than its file, and an access beyond the end raises SIGBUS: such a
    // mapping is refused.
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        piece.file_offset + piece.bytes <= static_cast<std::uint64_t>(st.st_size)) {
        void* const at = mmap(nullptr, piece.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                              static_cast<off_t>(piece.file_offset));
        if (at != MAP_FAILED) {
            mapping.base = reinterpret_cast<std::uintptr_t>(at);
            mapping.bytes = piece.bytes;
        }
    }
    close(fd);
}

void SharedMapper::unmake(Mapping& mapping) {
    munmap(reinterpret_cast<void*>(mapping.base), mapping.bytes);
}

}  // namespace softib::direct
