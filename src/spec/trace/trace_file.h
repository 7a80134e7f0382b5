// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Traces of jobs, from and to the files of other tools. A reader takes whatever a file holds: an
// error names the file, and the line, byte or node that is wrong.
//
//   GOAL      text of LogGOPSim and ATLAHS: all ranks in one file
//   Chakra    execution traces of MLCommons, a file for each rank: protobuf or JSON
//   SimAI     workloads of AICB and SimAI: layers that all ranks share
//   Kineto    the PyTorch profiler's JSON, a file for each rank, or one rank for all

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
    // What a Chakra computation without a duration takes: its operations or bytes by these rates.
    double flops_per_s = 0;
    double memory_bytes_per_s = 0;
};

enum class TraceFormat : std::uint8_t { kGoal, kChakra, kChakraJson, kSimAi, kKineto };
const char* to_string(TraceFormat format);  ///< "Chakra (JSON)"

/// Looks at the first words of a file. The error says what is read.
std::expected<TraceFormat, std::string> format_of(const TraceText& file);

/// All files of one job, read and checked.
std::expected<plan::trace::Job, std::string> parse_trace(std::span<const TraceText> files,
                                                         const TraceOptions& options);
/// The same from files; a folder stands for all files in it, of which one named *groups.json has
/// the groups.
std::expected<plan::trace::Job, std::string> load_trace(std::span<const std::string> paths,
                                                        const TraceOptions& options);
/// A file, unpacked if it is one of gzip.
std::expected<TraceText, std::string> load_text(const std::string& path);

/// Writers: GOAL has no collective operations (plan/trace/expand.h), Chakra is a file for each
/// rank.
std::expected<std::string, std::string> write_goal(const plan::trace::Job& job);
std::string write_chakra(const plan::trace::Job& job, std::uint32_t rank);
/// The groups that write_chakra's ranks name; empty if there are none but all ranks.
std::string write_chakra_groups(const plan::trace::Job& job);

// One for each format.
std::expected<plan::trace::Job, std::string> parse_goal(const TraceText& file);
std::expected<plan::trace::Job, std::string> parse_simai(const TraceText& file);
std::expected<plan::trace::Job, std::string> parse_chakra(std::span<const TraceText> files,
                                                          const TraceOptions& options);
std::expected<plan::trace::Job, std::string> parse_kineto(std::span<const TraceText> files);

}  // namespace softib::spec
