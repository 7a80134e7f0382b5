// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/cli_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/commands.h"
#include "core/base/nearest.h"
#include "spec/description.h"
#include "spec/fabric_name.h"

namespace softib::app {

std::string check_name(const std::string& name) {
    const auto checked = spec::check_fabric_name(name);
    return checked ? std::string() : checked.error();
}

void only(CLI::Option* option, const std::string& choices) {
    std::vector<std::string> names;
    for (std::size_t begin = 0; begin <= choices.size();) {
        const std::size_t end = std::min(choices.find('|', begin), choices.size());
        names.push_back(choices.substr(begin, end - begin));
        begin = end + 1;
    }
    option->type_name(choices)->check(
        [names](const std::string& word) -> std::string {
            if (std::ranges::find(names, word) != names.end()) {
                return "";
            }
            const std::vector<std::string_view> known(names.begin(), names.end());
            const auto near = nearest_name(word, known);
            return fmt::format("{}{} not in {{{}}}", word,
                               near ? fmt::format(" (did you mean {}?)", *near) : "",
                               fmt::join(names, ","));
        },
        "");
}

std::function<std::string(const std::string&)> whole_number(std::uint64_t least,
                                                            std::uint64_t most) {
    return [least, most](const std::string& word) {
        std::uint64_t number = 0;
        const char* const end = word.data() + word.size();
        const auto [rest, wrong] = std::from_chars(word.data(), end, number);
        const bool octal = word.size() > 1 && word.front() == '0';  // CLI11 would read it so.
        if (wrong == std::errc() && rest == end && !octal && number >= least && number <= most) {
            return std::string();
        }
        return most == UINT64_MAX
                   ? fmt::format("must be a whole number of {} or more, not '{}'", least, word)
                   : fmt::format("must be a whole number from {} to {}, not '{}'", least, most,
                                 word);
    };
}

void add_json(CLI::App& app, bool& json) {
    app.add_flag("--json", json, "print JSON");
}

void add_json_report(CLI::App& app, bool& json) {
    app.add_flag("--json", json,
                 "print what it did as a line of JSON to standard error; standard output is the "
                 "command's");
}

void add_fabric_choice(CLI::App& app, std::optional<std::string>& fabric) {
    app.add_option("-f,--fabric", fabric,
                   "which fabric (default: $SOFTIB_FABRIC, else 'default', else the only one up)")
        ->type_name("FABRIC")
        ->check(check_name);
}

void add_hostname_choice(CLI::App& app, bool& real_hostname) {
    app.add_flag("--real-hostname", real_hostname,
                 "leave it the machine's name, instead of the host's");
}

void add_fabric_flags(CLI::App& app, FabricFlags& flags) {
    app.add_option("-c,--config", flags.config, "description of the fabric (TOML)")
        ->type_name("FILE")
        ->group("Fabric");
    for (const spec::ConfigKey& key : spec::config_keys()) {
        if (key.name == "name") {
            continue;
        }
        const auto keep = [&flags, name = std::string(key.name)](const std::string& value) {
            flags.keys.emplace_back(name, value);
        };
        if (key.operand.empty()) {
            app.add_flag_callback(
                   spec::flag_name(key.name), [keep] { keep("true"); }, std::string(key.help))
                ->group("Fabric");
            continue;
        }
        const std::string help = key.initial.empty()
                                     ? std::string(key.help)
                                     : fmt::format("{} (default: {})", key.help, key.initial);
        app.add_option_function<std::string>(spec::flag_name(key.name), keep, help)
            ->type_name(std::string(key.operand))
            ->group("Fabric");
    }
}

}  // namespace softib::app
