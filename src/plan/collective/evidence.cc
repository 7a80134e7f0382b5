// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plan/units.h"

namespace softib::plan {

namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kGiB = 1024 * kMiB;
constexpr const char* kB200 = "8 B200 and 8 NDR NICs a node";
constexpr const char* kH100 = "8 H100 and 8 NDR NICs a node";
constexpr const char* kOneNic = "one H100 and one NDR NIC a node";
constexpr const char* kLeonardo = "hosts of Leonardo, HDR";
constexpr const char* kEdr = "128 hosts, EDR";

constexpr std::array kAll{
    Evidence{"C1b", Stack::kNccl, Op::kAllReduce, Algorithm::kRing, 2, 64, 8 * kGiB, 8 * kGiB,
             kB200},
    Evidence{"B50", Stack::kNccl, Op::kAllReduce, Algorithm::kRing, 4, 4, 32 * kKiB, 16 * kGiB,
             kB200},
    Evidence{"B53", Stack::kNccl, Op::kAllReduce, Algorithm::kRing, 2, 2, 8 * kGiB, 8 * kGiB,
             kOneNic},
    Evidence{"C1c", Stack::kNccl, Op::kAllReduce, Algorithm::kTree, 2, 64, 8 * kGiB, 8 * kGiB,
             kB200},
    Evidence{"B61", Stack::kNccl, Op::kAllReduce, Algorithm::kTree, 2, 2, 2 * kMiB, 32 * kMiB,
             kOneNic},
    Evidence{"C2", Stack::kNccl, Op::kAllReduce, Algorithm::kNvlsTree, 2, 2, 8 * kGiB, 8 * kGiB,
             kB200},
    Evidence{"B51", Stack::kNccl, Op::kAllReduce, Algorithm::kNvlsTree, 8, 8, 512 * kMiB, 8 * kGiB,
             kH100},
    Evidence{"B52", Stack::kNccl, Op::kAllReduce, Algorithm::kSharp, 8, 8, 16 * kGiB, 16 * kGiB,
             kH100},
    Evidence{"L4", Stack::kNccl, Op::kSendRecv, Algorithm::kDirect, 2, 2, 8 * kGiB, 8 * kGiB,
             kB200},
    Evidence{"C5", Stack::kHost, Op::kAllReduce, Algorithm::kRecursive, 128, 128, 8, 8, kEdr},
    Evidence{"C5", Stack::kHost, Op::kAllReduce, Algorithm::kSharp, 128, 128, 8, 8, kEdr},
    Evidence{"C6", Stack::kHost, Op::kAllReduce, Algorithm::kSharp, 64, 64, 256 * kMiB, 256 * kMiB,
             "64 hosts, HDR"},
    Evidence{"B23", Stack::kHost, Op::kAllGather, Algorithm::kRing, 32, 32, 256, 512 * kMiB,
             kLeonardo},
    Evidence{"B30", Stack::kHost, Op::kAllGather, Algorithm::kRing, 4, 4, 32, 32 * kMiB, kLeonardo},
    Evidence{"B24", Stack::kHost, Op::kAllGather, Algorithm::kRecursive, 32, 32, 256, 256,
             kLeonardo},
    Evidence{"B20", Stack::kHost, Op::kAllToAll, Algorithm::kDirect, 32, 32, 64 * kMiB, 64 * kMiB,
             kLeonardo},
    Evidence{"L3", Stack::kHost, Op::kSendRecv, Algorithm::kDirect, 2, 2, 8, 8, "two hosts, HDR"}};

bool is_near(const Evidence& row, const Question& question) {
    // On one node no message leaves NVLink, and the rows measure what leaves it.
    return row.stack == question.stack && row.op == question.op &&
           row.algorithm == question.algorithm && question.domains > 1;
}

bool is_within(const Evidence& row, const Question& question) {
    return is_near(row, question) && question.domains >= row.domains_min &&
           question.domains <= row.domains_max && question.bytes >= row.bytes_min &&
           question.bytes <= row.bytes_max;
}

std::string range(const std::string& low, const std::string& high) {
    return low == high ? low : fmt::format("{} to {}", low, high);
}

}  // namespace

std::span<const Evidence> all_evidence() {
    return kAll;
}

std::vector<std::string> nearest_rows(const Question& question) {
    std::vector<std::string> ids;
    for (const Evidence& row : kAll) {
        if (is_near(row, question)) {
            ids.emplace_back(row.id);
        }
    }
    return ids;
}

std::string show_evidence(std::span<const Question> questions) {
    const Question& first = questions.front();
    const std::string what =
        fmt::format("{} by {}", to_string(first.op), to_string(first.algorithm));
    std::string rows;
    for (const Evidence& row : kAll) {
        if (is_near(row, first)) {
            rows += fmt::format(
                "{}{} ({}, {} nodes, {})", rows.empty() ? "" : ", ", row.id, row.machine,
                range(std::to_string(row.domains_min), std::to_string(row.domains_max)),
                range(show_size(row.bytes_min), show_size(row.bytes_max)));
        }
    }
    if (rows.empty()) {
        return fmt::format("{}: no published measurement validates it", what);
    }
    const bool all = std::ranges::all_of(questions, [](const Question& question) {
        return std::ranges::any_of(kAll,
                                   [&](const Evidence& row) { return is_within(row, question); });
    });
    return fmt::format("{}: nearest rows of docs/validation.md: {}{}", what, rows,
                       all ? "" : "; nodes or sizes beyond these are not validated");
}

std::vector<std::string> assumptions_of(Stack stack, net::ModelKind model) {
    std::vector<std::string> result;
    result.emplace_back(
        model == net::ModelKind::kPacket
            ? "model packet: the routed fabric moves packets, a part of long messages"
            : "model flow: max-min fair rates on the routed fabric, without queues");
    result.emplace_back(
        stack == Stack::kNccl
            ? "software by NCCL 2.30's published latencies and limits, on Intel CPUs; the fabric "
              "and GPUs do nothing else"
            : "one rank a node on its first NIC, 0.1 us of software a message; the fabric does "
              "nothing else");
    return result;
}

}  // namespace softib::plan
