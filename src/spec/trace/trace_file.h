// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reads and writes traces of jobs in the formats of other tools. A file may hold anything: a reader
// returns an error that names the file, and the line, byte or node that is wrong.
//
//   GOAL      text of LogGOPSim and ATLAHS: all ranks in one file
//   Chakra    execution traces of MLCommons, a file for each rank: protobuf or JSON
//   SimAI     workloads of AICB and SimAI: layers that all ranks share
//   Kineto    the PyTorch profiler's JSON: a file for each rank, or of one rank that stands for all

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/trace/job.h"

namespace softib::spec {

struct TraceText {
    std::string file = {};
    std::string text = {};
};

struct TraceOptions {
    TraceText groups = {};  ///< Chakra's side file: {"name": [ranks]}; empty: there is none.
    // A Chakra computation without a duration takes as long as its operations or its bytes need at
    // these rates, whichever is longer.
    double flops_per_s = 0;
    double memory_bytes_per_s = 0;
    bool* groups_named = nullptr;  ///< Is set if an operation names one of `groups`.
};

enum class TraceFormat : std::uint8_t { kGoal, kChakra, kChakraJson, kSimAi, kKineto };
const char* to_string(TraceFormat format);  ///< "Chakra (JSON)"

/// Returns the format of a file by its first bytes, or by a name that ends with ".et". The error
/// lists the formats that can be read.
std::expected<TraceFormat, std::string> format_of(const TraceText& file);

/// Parses all files of one job and checks that the job can be played.
std::expected<plan::trace::Job, std::string> parse_trace(std::span<const TraceText> files,
                                                         const TraceOptions& options);
/// Reads the files of one job from disk, as parse_trace() does. A folder stands for all files in
/// it; a file named *groups.json there has the groups.
std::expected<plan::trace::Job, std::string> load_trace(std::span<const std::string> paths,
                                                        const TraceOptions& options);
/// Reads a file, and unpacks it if it is one of gzip.
std::expected<TraceText, std::string> load_text(const std::string& path);

/// Returns a job as a GOAL file. Returns an error if it has collective operations, which GOAL does
/// not have: see plan/trace/expand.h.
std::expected<std::string, std::string> write_goal(const plan::trace::Job& job);
/// Returns the Chakra file of one rank of a job.
std::string write_chakra(const plan::trace::Job& job, std::uint32_t rank);
/// Returns the side file with the groups that Chakra files of a job name; empty if there is none
/// but that of all ranks.
std::string write_chakra_groups(const plan::trace::Job& job);

// The parser of each format.
std::expected<plan::trace::Job, std::string> parse_goal(const TraceText& file);
std::expected<plan::trace::Job, std::string> parse_simai(const TraceText& file);
std::expected<plan::trace::Job, std::string> parse_chakra(std::span<const TraceText> files,
                                                          const TraceOptions& options);
std::expected<plan::trace::Job, std::string> parse_kineto(std::span<const TraceText> files);

}  // namespace softib::spec
