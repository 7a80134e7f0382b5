// SPDX-License-Identifier: BSD-2-Clause
#include "abi/sharp/settings.h"

#include <sharp/api/sharp.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <string>

namespace softib::abi::sharp {

namespace {

struct Known {
    const char* name;
    const char* text;
};
constexpr Known kKnown[] = {
    {"SHARP_COLL_ENABLE_SAT", "stream large vectors (1) or never (0)"},
    {"SHARP_COLL_SAT_THRESHOLD", "bytes from which vectors are streamed"},
    {"SHARP_COLL_LOCK_ON_COMM_INIT", "lock the ports for streaming when a communicator is made"},
    {"SHARP_COLL_JOB_QUOTA_OSTS", "outstanding operations of a job; 0: the manager decides"},
    {"SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST",
     "payload bytes of each operation; 0: the manager decides"},
    {"SHARP_COLL_JOB_QUOTA_MAX_GROUPS", "communicators of a job; 0: the manager decides"},
    {"SHARP_COLL_LOG_LEVEL", "0: silence, 1: errors, 2: warnings, 3: what happens"},
};

/// Returns `fallback` if the variable is not set or is no number.
std::uint64_t number_of(const char* name, std::uint64_t fallback) {
    const char* const text = std::getenv(name);
    if (text == nullptr || *text == '\0') {
        return fallback;
    }
    char* end = nullptr;
    errno = 0;
    const unsigned long long value = std::strtoull(text, &end, 0);
    if (errno != 0 || *end != '\0' || *text == '-') {
        tell(2, 2, "%s=%s is no number; taking %llu", name, text,
             static_cast<unsigned long long>(fallback));
        return fallback;
    }
    return value;
}

std::uint32_t limited(std::uint64_t value) {
    return value > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(value);
}

}  // namespace

Settings Settings::read() {
    Settings settings;
    settings.enable_sat = number_of(kKnown[0].name, 1) != 0;
    settings.sat_threshold_bytes = number_of(kKnown[1].name, settings.sat_threshold_bytes);
    settings.lock_on_comm_init = number_of(kKnown[2].name, 0) != 0;
    settings.quota_osts = limited(number_of(kKnown[3].name, 0));
    settings.quota_payload_bytes = limited(number_of(kKnown[4].name, 0));
    settings.quota_groups = limited(number_of(kKnown[5].name, 0));
    settings.log_level = static_cast<int>(limited(number_of(kKnown[6].name, 1)) & 0xFF);
    return settings;
}

void Settings::print(FILE* stream, bool with_text) const {
    const std::uint64_t values[] = {
        enable_sat ? 1U : 0U, sat_threshold_bytes, lock_on_comm_init ? 1U : 0U,          quota_osts,
        quota_payload_bytes,  quota_groups,        static_cast<std::uint64_t>(log_level)};
    for (std::size_t i = 0; i < std::size(kKnown); ++i) {
        if (with_text) {
            std::fprintf(stream, "# %s\n", kKnown[i].text);
        }
        std::fprintf(stream, "%s=%llu\n", kKnown[i].name,
                     static_cast<unsigned long long>(values[i]));
    }
}

void tell(int log_level, int level, const char* format, ...) {
    if (level > log_level) {
        return;
    }
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    std::fprintf(stderr, "libsharp_coll (softib): %s\n", line);
}

}  // namespace softib::abi::sharp

extern "C" {

const struct sharp_coll_config sharp_coll_default_config = {
    .ib_dev_list = nullptr,
    .user_progress_num_polls = 128,
    .coll_timeout = -1,
    .flags = 0,
    .reserved = {},
};

int sharp_coll_print_config(FILE* stream, enum config_print_flags print_flags,
                            const char* exec_name) {
    using softib::abi::sharp::Settings;
    if (stream == nullptr) {
        return SHARP_COLL_EINVAL;
    }
    if ((print_flags & SHARP_COLL_CONFIG_PRINT_HEADER) != 0) {
        // Some programs were compiled with a declaration that lacks the last argument, so it may be
        // garbage.
        static_cast<void>(exec_name);
        std::fprintf(stream, "# libsharp_coll of softib, interface %s\n", SHARP_VERNO_STRING);
    }
    Settings::read().print(stream, (print_flags & SHARP_COLL_CONFIG_PRINT_DOC) != 0);
    return SHARP_COLL_SUCCESS;
}

const char* sharp_coll_strerror(int error) {
    switch (error) {
        case SHARP_COLL_SUCCESS:
            return "Success";
        case SHARP_COLL_ERROR:
            return "SHARP job has ended";
        case SHARP_COLL_ENOT_SUPP:
            return "Operation not supported";
        case SHARP_COLL_ENOMEM:
            return "No memory";
        case SHARP_COLL_EGROUP_ALLOC:
            return "Cannot allocate SHARP group";
        case SHARP_COLL_ECONN_TREE:
            return "No connection to SHARP tree";
        case SHARP_COLL_EGROUP_JOIN:
            return "Cannot join SHARP group";
        case SHARP_COLL_EQUOTA:
            return "SHARP quota exceeded";
        case SHARP_COLL_ESESS_INIT:
            return "No aggregation manager answers";
        case SHARP_COLL_EDEV:
            return "No such device, or its port is not active";
        case SHARP_COLL_EINVAL:
            return "Invalid value";
        case SHARP_COLL_EJOB_CREATE:
            return "Cannot create SHARP job";
        case SHARP_COLL_ETREE_INFO:
            return "SHARP tree not found";
        case SHARP_COLL_ENOTREE:
            return "No SHARP tree reaches all members";
        case SHARP_COLL_EGROUP_ID:
            return "No such SHARP group";
        case SHARP_COLL_EOOB:
            return "Out-of-band collective failed";
        case SHARP_COLL_EGROUP_MCAST:
            return "Multicast failed";
        case SHARP_COLL_EGROUP_TRIM:
            return "Group trim failed";
        case SHARP_COLL_ELOCK_FAILED:
            return "Ports are locked by another SHARP group, try again";
        case SHARP_COLL_ELOCK_DENIED:
            return "Locking is not permitted";
        case SHARP_COLL_ENO_RESOURCE:
            return "No SHARP resources left";
        default:
            return "Unknown error";
    }
}

/// Does nothing. No header declares it, but MVAPICH looks it up by name.
__attribute__((visibility("default"))) int sharp_coll_log_early_init(void);
int sharp_coll_log_early_init(void) {
    return SHARP_COLL_SUCCESS;
}

}  // extern "C"
