// SPDX-License-Identifier: BSD-2-Clause
// The program that samples a fabric, keeps its history, and serves it over HTTP.
#include <fmt/format.h>

#include <cstdio>

#include "app/programs/telemetry_loop.h"
#include "app/programs/telemetry_options.h"

int main(int argc, char** argv) {
    auto options = softib::app::parse_telemetry(argc, argv);
    if (!options) {
        return 2;
    }
    if (options->check) {
        const auto done = softib::app::print_checks(*options);
        if (!done) {
            fmt::print(stderr, "softib: {}\n", done.error());
        }
        return done ? 0 : 1;
    }
    softib::app::TelemetryLoop loop(std::move(*options));
    if (const auto done = loop.run(); !done) {
        fmt::print(stderr, "softib-telemetry: {}\n", done.error());
        return 1;
    }
    return 0;
}
