// SPDX-License-Identifier: BSD-2-Clause
// What NCCL says of itself with NCCL_DEBUG=INFO.
#include <algorithm>
#include <string>

#include "spec/measured/log_reader.h"
#include "spec/measured/words.h"

namespace softib::spec {

namespace {

using plan::FactKind;

/// Returns how many devices "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB ..." names.
std::size_t devices_in(std::string_view text) {
    std::size_t count = 0;
    for (std::size_t at = text.find("Using"); at < text.size(); ++at) {
        if (text[at] == '[' && at + 1 < text.size() && is_digit(text[at + 1])) {
            ++count;
        }
    }
    return count;
}

/// Returns the value in "NCCL_ALGO set by environment to Ring."
std::string value_set(std::string_view text) {
    constexpr std::string_view kTo = " to ";
    const std::size_t at = text.rfind(kTo);
    std::string_view value =
        at == std::string_view::npos ? std::string_view{} : text.substr(at + kTo.size());
    while (value.ends_with('.') || value.ends_with(' ')) {
        value.remove_suffix(1);
    }
    return std::string(value);
}

struct Sign {
    std::string_view words;
    FactKind kind;
};
constexpr Sign kSigns[] = {
    {"/GDRDMA", FactKind::kGdr},
    {"GPU Direct RDMA Enabled", FactKind::kGdr},
    {"GPU Direct RDMA Disabled", FactKind::kNoGdr},
    {"NVLS multicast support is available", FactKind::kNvls},
    {"NVLS multicast support is not available", FactKind::kNoNvls},
    {"NCCL_NVLS_ENABLE set by environment to 0", FactKind::kNoNvls},
    {"NET/Socket : Using", FactKind::kSocket},
    {"Using network Socket", FactKind::kSocket},
    {"via NET/Socket", FactKind::kSocket},
    {"NCCL_IB_DISABLE set by environment to 1", FactKind::kSocket},
    {"SHARP coll init error", FactKind::kSharpMissing},
    {"Cannot create SHARP job", FactKind::kSharpMissing},
    {"NCCL_COLLNET_ENABLE set by environment to 0", FactKind::kSharpMissing},
    {"Connected collnet", FactKind::kSharpUsed},
    {"NCCL_P2P_DISABLE set by environment to 1", FactKind::kNoP2p},
    {"via SHM/", FactKind::kNoP2p},
};

}  // namespace

void LogReader::read_info(const LogLine& line) {
    const std::string_view text = line.text;
    for (const Sign& sign : kSigns) {
        if (text.contains(sign.words)) {
            add_fact(sign.kind, line);
        }
    }
    if (text.contains("NET/IB : Using")) {
        add_fact(text.contains("/RoCE") ? FactKind::kRoce : FactKind::kInfiniBand, line,
                 std::to_string(devices_in(text)));
    }
    // A connection to another node without GPUDirect ends with the number of its NIC.
    if (text.contains("via NET/IB") && !text.contains("GDRDMA")) {
        add_fact(FactKind::kNoGdr, line);
    }
    if (text.contains("NCCL_ALGO set by environment")) {
        add_fact(FactKind::kAlgorithm, line, value_set(text));
    }
    if (text.contains("NCCL_PROTO set by environment")) {
        add_fact(FactKind::kProtocol, line, value_set(text));
    }
    if (const std::size_t at = text.find(" coll channels"); at != std::string_view::npos) {
        const auto words = words_of(text.substr(0, at));
        if (const auto count = whole_number(words.empty() ? std::string_view{} : words.back())) {
            add_fact(FactKind::kChannels, line, std::to_string(*count));
        }
    }
}

}  // namespace softib::spec
