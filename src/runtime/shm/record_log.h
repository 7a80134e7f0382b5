// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What libibverbs writes of a program that `softib trace record` runs: a file for each process,
// with an entry for each queue pair, posted request, and beginning and end of a wait. A file ends
// with the first entry without a time, so it is whole wherever its process died.

#include <cstdint>

namespace softib::live {

/// Names the folder for these files.
inline constexpr char kRecordVariable[] = "SOFTIB_RECORD";
inline constexpr char kRecordMagic[8] = {'s', 'o', 'f', 't', 'r', 'e', 'c', '1'};
inline constexpr std::uint32_t kRankUnknown = UINT32_MAX;

struct RecordHeader {
    char magic[8];
    std::uint32_t pid;
    std::uint32_t rank;  ///< In an MPI's job.
    char program[48];
};
static_assert(sizeof(RecordHeader) == 64);

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

/// A file grows by pieces: the header has the first to itself.
inline constexpr std::uint64_t kRecordPieceBytes = sizeof(RecordEntry) << 15;
static_assert(kRecordPieceBytes % 65536 == 0);  // As large as pages may be.

}  // namespace softib::live
