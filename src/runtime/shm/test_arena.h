// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// For tests: an arena made by hand with two hosts of two HCAs each, all ports up.

#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>

#include "runtime/shm/arena.h"

namespace softib::shm {

/// Size of the arenas of tests. Pages that a test does not touch cost nothing.
inline constexpr std::uint64_t kTestArenaBytes = std::uint64_t{4} << 30;

/// An arena with the hosts h0 and h1 and one switch.
struct TestArena {
    Arena arena = arena_create(
        "test",
        {.arena_bytes = kTestArenaBytes, .hosts = 2, .hcas = 4, .switches = 1, .switch_ports = 5});

    TestArena() {
        if (arena.base == nullptr) {
            std::perror("arena_create");
            std::abort();
        }
        for (std::uint32_t host = 0; host < 2; ++host) {
            HostRecord& h = arena.hosts[host];
            std::snprintf(h.name, sizeof h.name, "h%u", host);
            h.hca_first = 2 * host;
            h.hca_count = 2;
        }
        for (std::uint32_t i = 0; i < 4; ++i) {
            HcaRecord& hca = arena.hcas[i];
            std::snprintf(hca.name, sizeof hca.name, "mlx5_%u", i % 2);
            hca.host = i / 2;
            hca.index_on_host = i % 2;
            hca.node_guid = 0x0200000000000010 + i;
            hca.system_image_guid = hca.node_guid;
            hca.port_guid = hca.node_guid;
            hca.generation = 2;  // NDR
            hca.state = PortState::kActive;
            hca.lid = static_cast<std::uint16_t>(i + 1);
            hca.sm_lid = 1;
            hca.pkeys[0] = kPKeyDefaultFull.value;
            hca.gid_prefix = kSubnetPrefixDefault;
        }
    }
    ~TestArena() { arena_unmap(arena); }
    TestArena(const TestArena&) = delete;
    TestArena& operator=(const TestArena&) = delete;
};

/// Returns how much memory an arena has, in blocks of 512 bytes. Reading a page that it has not yet
/// creates the page.
inline blkcnt_t blocks_of(const Arena& arena) {
    struct stat about{};
    if (fstat(arena.fd, &about) != 0) {
        std::perror("fstat");
        std::abort();
    }
    return about.st_blocks;
}

}  // namespace softib::shm
