// SPDX-License-Identifier: BSD-2-Clause
#include "server/mapped_arena.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/shm/rpc.h"

namespace softib::server {

namespace {

std::unexpected<std::string> no_answer(int error) {
    return std::unexpected(fmt::format("softibd does not answer: {}", std::strerror(error)));
}

}  // namespace

std::expected<MappedArena, std::string> MappedArena::open(const Connection& daemon) {
    if (daemon.fd() < 0) {
        return no_answer(errno);
    }
    shm::Message message;
    shm::request::OneFile file;
    if (const int error = shm::rpc_ask(daemon.fd(), shm::request::Observe{}, message, file);
        error != 0) {
        return no_answer(error);
    }
    const shm::Arena arena = shm::arena_map(file.file, false);
    if (arena.base == nullptr) {
        const int error = errno;
        close(file.file);
        return no_answer(error);
    }
    return MappedArena(arena);
}

MappedArena::MappedArena(MappedArena&& other) noexcept
    : arena_(std::exchange(other.arena_, shm::Arena{})) {}

MappedArena::~MappedArena() {
    if (arena_.base != nullptr) {
        shm::arena_unmap(arena_);
    }
}

}  // namespace softib::server
