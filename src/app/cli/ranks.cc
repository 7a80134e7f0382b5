// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/ranks.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <sstream>

#include "app/fabric/observe.h"
#include "spec/text_file.h"
#include "view/names.h"

namespace softib::app {

namespace {

std::uint32_t number(const std::string& word) {
    const bool hexadecimal = word.starts_with("0x");
    std::uint32_t value = 0;
    const char* const first = word.data() + (hexadecimal ? 2 : 0);
    const char* const last = word.data() + word.size();
    const auto [end, error] = std::from_chars(first, last, value, hexadecimal ? 16 : 10);
    return error == std::errc{} && end == last && value <= kLidUnicastMax.value ? value : 0;
}

/// Returns the LIDs of HCAs by name. A host's first HCA has the name of the host too.
std::map<std::string, Lid> names_of(const shm::Arena& arena, const view::Routes& routes) {
    std::map<std::string, Lid> names;
    for (const routing::Target& target : routes.graph.targets()) {
        if (!target.is_switch()) {
            const std::string name = view::node_name(arena, target.lid);
            names.emplace(name, target.lid);
            const auto [host, added] = names.emplace(name.substr(0, name.find('/')), target.lid);
            host->second = std::min(host->second, target.lid);
        }
    }
    return names;
}

}  // namespace

std::expected<std::vector<Lid>, std::string> read_ranks(const std::string& file,
                                                        const shm::Arena& arena,
                                                        const view::Routes& routes) {
    const auto text = spec::read_file(file);
    if (!text) {
        return std::unexpected(text.error());
    }
    std::istringstream in(*text);
    const std::map<std::string, Lid> names = names_of(arena, routes);
    std::vector<Lid> ranks;
    std::uint32_t line_number = 0;
    for (std::string line; std::getline(in, line);) {
        ++line_number;
        std::istringstream words(line);
        std::string word;
        if (!(words >> word) || word.starts_with('#')) {
            continue;
        }
        Lid lid{static_cast<std::uint16_t>(number(word))};
        if (const auto name = names.find(word); name != names.end()) {
            lid = name->second;
        }
        const std::uint32_t target = routes.graph.target_of(lid);
        if (target == routing::kNone || routes.graph.targets()[target].is_switch()) {
            return std::unexpected(fmt::format(
                "{}:{}: '{}' is no host that the routes reach; give HOST, HOST/DEVICE or a LID, "
                "as 'softib status -v' shows them",
                file, line_number, word));
        }
        ranks.push_back(lid);
    }
    if (ranks.size() < 2) {
        return std::unexpected(fmt::format("{}: two hosts at least are needed", file));
    }
    return ranks;
}

}  // namespace softib::app
