// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/sharp/plane.h"

#include <cstring>

namespace softib::sharp {

namespace {

constexpr std::uint32_t kPlaneMagic = 0x706C6E31;  // "pln1"

void put(std::string& to, std::uint32_t value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    to.append(bytes, sizeof bytes);
}

/// Reads words one after the other. After a read past the end, good() is false.
class PlaneReader {
  public:
    explicit PlaneReader(std::string_view text) : text_(text) {}

    bool get(void* to, std::size_t bytes) {
        good_ = good_ && text_.size() >= bytes;
        if (good_) {
            std::memcpy(to, text_.data(), bytes);
            text_.remove_prefix(bytes);
        }
        return good_;
    }
    std::uint32_t word() {
        std::uint32_t value = 0;
        get(&value, sizeof value);
        return value;
    }
    bool ended() const { return good_ && text_.empty(); }
    bool good() const { return good_; }

  private:
    std::string_view text_;
    bool good_ = true;
};

}  // namespace

std::string emit_plane(const SharpPlane& plane) {
    std::string text;
    put(text, kPlaneMagic);
    put(text, static_cast<std::uint32_t>(plane.nodes.size()));
    for (const SharpPlane::Node& node : plane.nodes) {
        put(text, node.sw);
        put(text, static_cast<std::uint32_t>(node.requests.size()));
        for (const wire::MadBytes& request : node.requests) {
            text.append(request.begin(), request.end());
        }
    }
    put(text, static_cast<std::uint32_t>(plane.groups.size()));
    for (const SharpPlane::Group& group : plane.groups) {
        for (const std::uint32_t value :
             {group.job, group.group, group.tree, group.datagram_bytes, group.datagrams,
              group.streams, static_cast<std::uint32_t>(group.members.size())}) {
            put(text, value);
        }
        for (const SharpPlane::Member& member : group.members) {
            put(text, member.hca);
            put(text, member.qpn);
        }
    }
    return text;
}

std::optional<SharpPlane> parse_plane(std::string_view text) {
    PlaneReader reader(text);
    SharpPlane plane;
    if (reader.word() != kPlaneMagic) {
        return std::nullopt;
    }
    for (std::uint32_t nodes = reader.word(); nodes != 0 && reader.good(); --nodes) {
        SharpPlane::Node node{.sw = reader.word()};
        for (std::uint32_t left = reader.word(); left != 0 && reader.good(); --left) {
            wire::MadBytes request{};
            if (reader.get(request.data(), request.size())) {
                node.requests.push_back(request);
            }
        }
        plane.nodes.push_back(std::move(node));
    }
    for (std::uint32_t groups = reader.word(); groups != 0 && reader.good(); --groups) {
        SharpPlane::Group group;
        for (std::uint32_t* const value :
             {&group.job, &group.group, &group.tree, &group.datagram_bytes, &group.datagrams,
              &group.streams}) {
            *value = reader.word();
        }
        for (std::uint32_t left = reader.word(); left != 0 && reader.good(); --left) {
            const std::uint32_t hca = reader.word();
            group.members.push_back({hca, reader.word()});
        }
        plane.groups.push_back(std::move(group));
    }
    return reader.ended() ? std::optional(std::move(plane)) : std::nullopt;
}

}  // namespace softib::sharp
