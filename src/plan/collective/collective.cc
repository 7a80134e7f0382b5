// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/collective.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/base/nearest.h"
#include "plan/collective/algorithms.h"

namespace softib::plan {

namespace {

constexpr std::array<std::pair<Op, const char*>, kOps.size()> kOpNames{
    {{Op::kAllReduce, "all-reduce"},
     {Op::kAllGather, "all-gather"},
     {Op::kReduceScatter, "reduce-scatter"},
     {Op::kBroadcast, "broadcast"},
     {Op::kAllToAll, "all-to-all"},
     {Op::kSendRecv, "send-recv"}}};

constexpr std::array<std::pair<Protocol, const char*>, kProtocols.size()> kProtocolNames{
    {{Protocol::kLl, "LL"}, {Protocol::kLl128, "LL128"}, {Protocol::kSimple, "Simple"}}};

template <typename Word, std::size_t kCount>
const char* name_in(const std::array<std::pair<Word, const char*>, kCount>& names, Word word) {
    return std::ranges::find(names, word, &std::pair<Word, const char*>::first)->second;
}

template <typename Word, std::size_t kCount>
std::expected<Word, std::string> find_word(
    const std::array<std::pair<Word, const char*>, kCount>& names, std::string_view what,
    std::string_view text) {
    std::vector<std::string_view> all;
    for (const auto& [word, name] : names) {
        if (text == name) {
            return word;
        }
        all.emplace_back(name);
    }
    return std::unexpected(unknown_name(what, text, all));
}

}  // namespace

const char* to_string(Op op) {
    return name_in(kOpNames, op);
}
const char* to_string(Algorithm algorithm) {
    return row_of(algorithm).name;
}
const char* to_string(Protocol protocol) {
    return name_in(kProtocolNames, protocol);
}

std::expected<Op, std::string> parse_op(std::string_view text) {
    return find_word(kOpNames, "operation", text);
}
std::expected<Algorithm, std::string> parse_algorithm(std::string_view text) {
    std::vector<std::string_view> all;
    for (const AlgorithmRow& row : algorithm_rows()) {
        // What NCCL calls NVLS needs SHARP between domains.
        if (text == row.name || (text == "nvls-sharp" && row.algorithm == Algorithm::kNvls)) {
            return row.algorithm;
        }
        all.emplace_back(row.name);
    }
    return std::unexpected(unknown_name("algorithm", text, all));
}
std::expected<Protocol, std::string> parse_protocol(std::string_view text) {
    return find_word(kProtocolNames, "protocol", text);
}

bool computes(Algorithm algorithm, Op op) {
    return (row_of(algorithm).operations & bit_of(op)) != 0;
}

std::vector<Algorithm> algorithms_of(Op op) {
    std::vector<Algorithm> result;
    std::ranges::copy_if(kAlgorithms, std::back_inserter(result),
                         [op](Algorithm algorithm) { return computes(algorithm, op); });
    return result;
}

double bus_factor(Op op, std::uint64_t ranks) {
    const double n = static_cast<double>(ranks);
    switch (op) {
        case Op::kAllReduce:
            return 2 * (n - 1) / n;
        case Op::kAllGather:
        case Op::kReduceScatter:
        case Op::kAllToAll:
            return (n - 1) / n;
        case Op::kBroadcast:
        case Op::kSendRecv:
            break;
    }
    return 1;
}

}  // namespace softib::plan
