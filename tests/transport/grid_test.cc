// SPDX-License-Identifier: BSD-2-Clause
// How transfers go by operation, size, MTU, window and loss, as a table that is kept beside this
// file. A change of the transport that changes a number shows in the review of the table:
//     SOFTIB_UPDATE_SNAPSHOTS=1 build/tests/transport_grid_test
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "pair.h"

namespace softib::transport {
namespace {

constexpr std::uint32_t kOperations = 32;
constexpr std::uint32_t kLosses[] = {0, 10, 100, 500};  // Per 10,000.

struct Row {
    const char* name;
    WrOpcode opcode;
    std::uint32_t size;
    std::uint8_t mtu_code;
    std::uint32_t window;
};

/// "ns per operation/packets sent again/timeouts"
std::string cell(const Row& row, std::uint32_t loss) {
    PairOptions o{.mtu_code = row.mtu_code,
                  .window = row.window,
                  .max_wr = kOperations,
                  .memory_bytes = 1 << 16,
                  .without_bytes = true};
    o.knobs.drop = loss;
    o.knobs.packet_ns = 10 + mtu_bytes(row.mtu_code) / 16;  // As if every packet were full.
    Pair pair(o);
    for (std::uint32_t i = 0; i < kOperations; ++i) {
        pair.ends[1].receive(i, 0, row.size);
        if (pair.post(0, pair.request(0, row.opcode, 0, row.size)) != PostError::kOk) {
            return "not posted";
        }
    }
    std::uint32_t good = 0;
    std::uint64_t ended_ns = 0;
    while (pair.step()) {
        for (const Completion& done : pair.completions(0)) {
            good += done.status == WcStatus::kSuccess ? 1 : 0;
            ended_ns = pair.now_ns;
        }
    }
    if (good != kOperations) {
        return fmt::format("{} of {}", good, kOperations);
    }
    return fmt::format("{}/{}/{}", ended_ns / kOperations, pair.count(0, Counted::kRetransmit),
                       pair.count(0, Counted::kTimeout));
}

std::string make_table() {
    std::string table = fmt::format(
        "{} operations on one reliable connection, 1 us each way.\n"
        "ns per operation/packets sent again/timeouts, by the share of packets that is lost\n\n"
        "{:<10}{:>6}{:>6}{:>7}",
        kOperations, "operation", "bytes", "MTU", "window");
    for (const std::uint32_t loss : kLosses) {
        table += fmt::format("{:>18}", fmt::format("{}.{:02}%", loss / 100, loss % 100));
    }
    table += "\n";
    std::vector<Row> rows;
    for (const auto& [name, opcode] :
         {std::pair{"SEND", WrOpcode::kSend}, std::pair{"WRITE", WrOpcode::kWrite},
          std::pair{"READ", WrOpcode::kRead}, std::pair{"FETCH_ADD", WrOpcode::kFetchAdd}}) {
        for (const std::uint32_t size : {8U, 1024U, 4096U, 65536U}) {
            for (const std::uint8_t mtu_code : std::initializer_list<std::uint8_t>{1, 3, 5}) {
                for (const std::uint32_t window : {1U, 8U, 64U, 1024U}) {
                    if (opcode != WrOpcode::kFetchAdd || (size == 8 && mtu_code == 1)) {
                        rows.push_back({name, opcode, size, mtu_code, window});
                    }
                }
            }
        }
    }
    for (const Row& row : rows) {
        table += fmt::format("{:<10}{:>6}{:>6}{:>7}", row.name, row.size, mtu_bytes(row.mtu_code),
                             row.window);
        for (const std::uint32_t loss : kLosses) {
            table += fmt::format("{:>18}", cell(row, loss));
        }
        table += "\n";
    }
    return table;
}

TEST(TransportGrid, IsAsReviewed) {
    const std::string table = make_table();
    if (std::getenv("SOFTIB_UPDATE_SNAPSHOTS") != nullptr) {
        std::ofstream(SOFTIB_TRANSPORT_GRID) << table;
        return;
    }
    std::ifstream file(SOFTIB_TRANSPORT_GRID);
    const std::string reviewed{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(table, reviewed);
}

}  // namespace
}  // namespace softib::transport
