// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/live/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace softib::live {

int open_behind(const Vma& vma) {
    char path[96];
    std::snprintf(path, sizeof path, "/proc/self/map_files/%" PRIx64 "-%" PRIx64, vma.begin,
                  vma.end);
    return open(path, O_RDWR | O_CLOEXEC);
}

void SharedExports::add(std::span<const Vma> vmas, std::uint64_t begin, std::uint64_t end,
                        std::vector<PeerPiece>& pieces) {
    for (const Vma& vma : vmas) {
        // A file that only its mappings know cannot be cut short under a peer's feet.
        if (vma.kind != Vma::kSharedAnonymous || (vma.protection & PROT_WRITE) == 0 ||
            vma.begin >= end || vma.end <= begin) {
            continue;
        }
        const Name name{vma.begin, vma.end, vma.inode, vma.offset};
        auto found = exports_.find(name);
        if (found == exports_.end()) {
            const int fd = open_behind(vma);
            if (fd < 0) {
                continue;
            }
            PeerPiece piece{};
            piece.begin = piece.base = vma.begin;
            piece.end = vma.end;
            piece.bytes = vma.end - vma.begin;
            piece.number = ++number_;
            piece.kind = PeerPiece::kFile;
            piece.descriptor = fd;
            piece.file_offset = vma.offset;
            found = exports_.emplace(name, Export{piece, 0}).first;
        }
        ++found->second.uses;
        PeerPiece piece = found->second.piece;
        piece.begin = std::max(begin, piece.begin);
        piece.end = std::min(end, piece.end);
        pieces.push_back(piece);
    }
}

void SharedExports::remove(std::span<const PeerPiece> pieces) {
    for (const PeerPiece& piece : pieces) {
        const auto found = std::find_if(exports_.begin(), exports_.end(), [&](const auto& entry) {
            return entry.second.piece.number == piece.number;
        });
        if (found != exports_.end() && --found->second.uses == 0) {
            close(piece.descriptor);
            exports_.erase(found);
        }
    }
}

void SharedMapper::make(Owner owner, const PeerPiece& piece, Mapping& mapping) {
    const int fd = take_descriptor(arena_, owner, piece.descriptor);
    if (fd < 0) {
        return;
    }
    struct stat st{};
    // A mapping may be longer than its file. Who touches the rest is killed: that must not be us.
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

}  // namespace softib::live
