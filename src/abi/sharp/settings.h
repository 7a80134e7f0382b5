// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Settings of libsharp_coll, which it reads from the environment (SHARP_COLL_*), and its log.

#include <cstdint>
#include <cstdio>

namespace softib::abi::sharp {

struct Settings {
    bool enable_sat = true;
    std::uint64_t sat_threshold_bytes = 16384;
    bool lock_on_comm_init = false;
    std::uint32_t quota_osts = 0;           ///< Outstanding operations; 0: the manager decides.
    std::uint32_t quota_payload_bytes = 0;  ///< Bytes of an operation; 0: the manager decides.
    std::uint32_t quota_groups = 0;         ///< Communicators; 0: the manager decides.
    int log_level = 1;  ///< 0: nothing, 1: errors, 2: warnings too, 3: information too.

    static Settings read();
    void print(FILE* stream, bool with_text) const;
};

/// Writes a line to stderr if `level` is at most `log_level`.
__attribute__((format(printf, 3, 4))) void tell(int log_level, int level, const char* format, ...);

}  // namespace softib::abi::sharp
