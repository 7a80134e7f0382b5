// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The files that our libibverbs writes in a program that `softib trace record` runs: one for each
// process, with an entry for each queue pair, each posted request, and each beginning and end of a
// wait. The first entry whose time is 0 ends the file, so that a file can be read wherever its
// process died.

#include <cstdint>

namespace softib::shm {

/// The environment variable that names the folder for these files.
inline constexpr char kRecordVariable[] = "SOFTIB_RECORD";
inline constexpr char kRecordMagic[8] = {'s', 'o', 'f', 't', 'r', 'e', 'c', '1'};
inline constexpr std::uint32_t kRankUnknown = UINT32_MAX;

/// The start of a file.
struct RecordHeader {
    char magic[8];
    std::uint32_t pid;
    std::uint32_t rank;  ///< Rank in an MPI job, or kRankUnknown.
    char program[48];
};
static_assert(sizeof(RecordHeader) == 64);

/// What an entry records.
enum class RecordWhat : std::uint32_t { kQueuePair, kSent, kRead, kAtomic, kWaits, kFound };

struct RecordEntry {
    std::uint64_t time_ns;  ///< CLOCK_MONOTONIC, before the request was posted.
    std::uint64_t cpu_ns;   ///< CLOCK_PROCESS_CPUTIME_ID
    std::uint64_t bytes;
    std::uint32_t qpn;
    std::uint32_t remote_qpn;
    RecordWhat what;
    std::uint32_t unused;
};
static_assert(sizeof(RecordEntry) == 40);

/// Step by which a file grows. The header has the first step to itself.
inline constexpr std::uint64_t kRecordPieceBytes = sizeof(RecordEntry) << 15;
static_assert(kRecordPieceBytes % 65536 == 0);  // The largest page size.

}  // namespace softib::shm
