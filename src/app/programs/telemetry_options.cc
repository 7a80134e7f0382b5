// SPDX-License-Identifier: BSD-2-Clause
#include "app/programs/telemetry_options.h"

#include <fmt/format.h>
#include <getopt.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace softib::app {

namespace {

constexpr char kUsage[] =
    "usage: softib-telemetry (--dir DIR | --umad DEVICE | --recording FILE) [options]\n"
    "Samples a fabric every second. Normally started by softib telemetry or softib serve.\n"
    "  --history FILE  --history-max BYTES  --rules FILE  --sysfs DIR\n"
    "  --serve  --address ADDR  --port N  --cert FILE  --key FILE  --name NAME\n"
    "  --allow-control  --exporter node|cable|both  --counters brief|traffic|all  --json\n"
    "  --check [--compare FILE]: print the checks of softib health once, as JSON\n";

enum Option {
    kDir = 1,
    kUmad,
    kRecording,
    kHistory,
    kHistoryMax,
    kRules,
    kSysfs,
    kServe,
    kAddress,
    kPort,
    kCert,
    kKey,
    kName,
    kControl,
    kExporter,
    kCounters,
    kJson,
    kCheck,
    kCompare,
    kHelp
};

constexpr option kLong[] = {{"dir", required_argument, nullptr, kDir},
                            {"umad", required_argument, nullptr, kUmad},
                            {"recording", required_argument, nullptr, kRecording},
                            {"history", required_argument, nullptr, kHistory},
                            {"history-max", required_argument, nullptr, kHistoryMax},
                            {"rules", required_argument, nullptr, kRules},
                            {"sysfs", required_argument, nullptr, kSysfs},
                            {"serve", no_argument, nullptr, kServe},
                            {"address", required_argument, nullptr, kAddress},
                            {"port", required_argument, nullptr, kPort},
                            {"cert", required_argument, nullptr, kCert},
                            {"key", required_argument, nullptr, kKey},
                            {"name", required_argument, nullptr, kName},
                            {"allow-control", no_argument, nullptr, kControl},
                            {"exporter", required_argument, nullptr, kExporter},
                            {"counters", required_argument, nullptr, kCounters},
                            {"json", no_argument, nullptr, kJson},
                            {"check", no_argument, nullptr, kCheck},
                            {"compare", required_argument, nullptr, kCompare},
                            {"help", no_argument, nullptr, kHelp},
                            {nullptr, 0, nullptr, 0}};

bool parse_number(const char* text, std::uint64_t most, std::uint64_t& number) {
    const char* const end = text + std::strlen(text);
    const auto [rest, error] = std::from_chars(text, end, number);
    return error == std::errc{} && rest == end && number <= most;
}

/// Takes an option of the server. Returns false if its value is not valid.
bool take_served(int option, TelemetryOptions& options) {
    std::uint64_t number = 0;
    switch (option) {
        case kServe:
            options.serve = true;
            return true;
        case kAddress:
            options.front.address = optarg;
            return true;
        case kPort:
            if (!parse_number(optarg, 65535, number)) {
                return false;
            }
            options.front.port = static_cast<std::uint16_t>(number);
            return true;
        case kCert:
            options.front.cert = optarg;
            return true;
        case kKey:
            options.front.key = optarg;
            return true;
        case kName:
            options.names.emplace_back(optarg);
            return true;
        case kControl:
            options.allow_control = true;
            return true;
        case kExporter:
            options.metrics.by_node = std::strcmp(optarg, "cable") != 0;
            options.metrics.by_cable = std::strcmp(optarg, "node") != 0;
            return std::strcmp(optarg, "both") == 0 ||
                   options.metrics.by_node != options.metrics.by_cable;
        case kCounters: {
            const auto choice = telemetry::counter_choice(optarg);
            options.metrics.counters = choice.value_or(options.metrics.counters);
            return choice.has_value();
        }
        default:
            return false;
    }
}

/// Takes one option. Returns false if its value is not valid.
bool take(int option, TelemetryOptions& options) {
    switch (option) {
        case kDir:
            options.dir = optarg;
            return true;
        case kUmad:
            options.umad = optarg;
            options.use_umad = true;
            return true;
        case kRecording:
            options.recording = optarg;
            return true;
        case kHistory:
            options.history = optarg;
            return true;
        case kHistoryMax:
            return parse_number(optarg, UINT64_MAX, options.history_max) &&
                   options.history_max >= telemetry::kHistoryBytesMin;
        case kRules:
            options.rules = optarg;
            return true;
        case kSysfs:
            options.sysfs = optarg;
            return true;
        case kJson:
            options.json = true;
            return true;
        case kCheck:
            options.check = true;
            return true;
        case kCompare:
            options.compare = optarg;
            return true;
        case kHelp:
            fmt::print("{}", kUsage);
            std::exit(0);
        default:
            return take_served(option, options);
    }
}

}  // namespace

std::optional<TelemetryOptions> parse_telemetry(int argc, char** argv) {
    TelemetryOptions options;
    std::error_code ignored;
    options.softib =
        std::filesystem::read_symlink("/proc/self/exe", ignored).replace_filename("softib");
    int option = 0;
    bool good = true;
    while (good && (option = getopt_long(argc, argv, "", kLong, nullptr)) != -1) {
        good = take(option, options);
    }
    const int sources = (options.dir.empty() ? 0 : 1) + (options.use_umad ? 1 : 0) +
                        (options.recording.empty() ? 0 : 1);
    if (!good || optind != argc || sources != 1 || (!options.compare.empty() && !options.check)) {
        fmt::print(stderr, "{}", kUsage);
        return std::nullopt;
    }
    return options;
}

}  // namespace softib::app
