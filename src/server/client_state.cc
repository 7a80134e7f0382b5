// SPDX-License-Identifier: BSD-2-Clause
#include "server/client_state.h"

#include <cstdio>
#include <fstream>
#include <iterator>

#include "server/json.h"

namespace softib::server {

ClientState load_client_state(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const auto json = parse_json(std::string{std::istreambuf_iterator<char>(in), {}});
    ClientState state;
    if (path.empty() || !json || !json->is_object()) {
        return state;
    }
    if (const auto text = json->find("partitions"); text != json->end() && text->is_string()) {
        state.partitions = text->get<std::string>();
    }
    if (const auto ports = json->find("unhealthy_ports");
        ports != json->end() && ports->is_object()) {
        for (const auto& [name, since] : ports->items()) {
            state.unhealthy[name] = since.is_number_integer() ? since.get<std::int64_t>() : 0;
        }
    }
    return state;
}

bool save_client_state(const std::string& path, const ClientState& state) {
    if (path.empty()) {
        return true;
    }
    Json ports = Json::object();
    for (const auto& [name, since] : state.unhealthy) {
        ports[name] = since;
    }
    std::ofstream out(path + ".new", std::ios::binary | std::ios::trunc);
    out << to_text({{"partitions", state.partitions}, {"unhealthy_ports", std::move(ports)}})
        << '\n';
    out.close();
    return out && std::rename((path + ".new").c_str(), path.c_str()) == 0;
}

}  // namespace softib::server
