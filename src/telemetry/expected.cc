// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/expected.h"

#include <map>
#include <set>
#include <utility>

namespace softib::telemetry {

namespace {

/// Puts an inventory together from the nodes and ports of two.
class Union {
  public:
    Union(const Inventory& found, const Inventory& before) : found_(found), before_(before) {
        all_ = found;
        all_.nodes.clear();
        all_.ports.clear();
        for (std::uint32_t i = 0; i < found.ports.size(); ++i) {
            known_.insert(place_of(found, i));
        }
        for (const Node& node : before.nodes) {
            of_before_.emplace(node.guid.value, &node);
        }
    }

    /// Returns the union. `places` has, for each of its ports, the index in `found`.
    Inventory make(std::vector<std::uint32_t>& places) {
        std::set<std::uint64_t> here;
        for (const Node& node : found_.nodes) {
            here.insert(node.guid.value);
            begin_node(node);
            for (std::uint32_t i = 0; i < node.port_count; ++i) {
                add_port(found_, node.port_first + i, node.port_first + i);
            }
            if (const auto before = of_before_.find(node.guid.value); before != of_before_.end()) {
                add_lost_ports(*before->second);
            }
        }
        for (const Node& node : before_.nodes) {
            if (!here.contains(node.guid.value)) {
                begin_node(node);
                add_lost_ports(node);
            }
        }
        for (std::uint32_t i = 0; i < all_.ports.size(); ++i) {
            const auto peer = peer_[i] ? at_.find(*peer_[i]) : at_.end();
            all_.ports[i].peer = peer == at_.end() ? kNoIndex : peer->second;
        }
        places = std::move(places_);
        return std::move(all_);
    }

  private:
    void begin_node(const Node& node) {
        all_.nodes.push_back(node);
        all_.nodes.back().port_first = static_cast<std::uint32_t>(all_.ports.size());
        all_.nodes.back().port_count = 0;
    }

    void add_port(const Inventory& from, std::uint32_t port, std::uint32_t place) {
        at_.emplace(place_of(from, port), static_cast<std::uint32_t>(all_.ports.size()));
        all_.ports.push_back(from.ports[port]);
        all_.ports.back().node = static_cast<std::uint32_t>(all_.nodes.size() - 1);
        ++all_.nodes.back().port_count;
        places_.push_back(place);
        const std::uint32_t peer = from.ports[port].peer;
        peer_.push_back(peer == kNoIndex ? std::nullopt : std::optional(place_of(from, peer)));
    }

    /// Adds the ports of a node that are found no more. A port whose cable has another end now is
    /// no loss.
    void add_lost_ports(const Node& node) {
        for (std::uint32_t i = 0; i < node.port_count; ++i) {
            const std::uint32_t port = node.port_first + i;
            const std::uint32_t peer = before_.ports[port].peer;
            const bool moved = peer != kNoIndex && is_cabled_elsewhere(peer, port);
            if (!known_.contains(place_of(before_, port)) && !moved) {
                add_port(before_, port, kNoIndex);
            }
        }
    }

    /// Returns whether a port of `before` is found with a cable to another than `peer`.
    bool is_cabled_elsewhere(std::uint32_t port, std::uint32_t peer) {
        if (found_peers_.empty()) {
            for (std::uint32_t i = 0; i < found_.ports.size(); ++i) {
                if (found_.ports[i].peer != kNoIndex) {
                    found_peers_.emplace(place_of(found_, i),
                                         place_of(found_, found_.ports[i].peer));
                }
            }
        }
        const auto now = found_peers_.find(place_of(before_, port));
        return now != found_peers_.end() && now->second != place_of(before_, peer);
    }

    const Inventory& found_;
    const Inventory& before_;
    Inventory all_;
    std::set<Place> known_;
    std::map<std::uint64_t, const Node*> of_before_;
    std::map<Place, Place> found_peers_;
    std::map<Place, std::uint32_t> at_;
    std::vector<std::optional<Place>> peer_;
    std::vector<std::uint32_t> places_;
};

}  // namespace

void Expected::follow(const std::shared_ptr<const Inventory>& found, bool anew) {
    if (found == found_) {
        return;
    }
    const bool same = found->nodes == found_->nodes && found->ports == found_->ports;
    const bool whole = all_ == found_;
    found_ = found;
    if (anew || (same && whole)) {
        accept();
    } else if (!same) {
        add_missing();
    }
}

void Expected::add_missing() {
    std::vector<std::uint32_t> places;
    Inventory all = Union(*found_, *all_).make(places);
    if (all.nodes.size() == found_->nodes.size() && all.ports.size() == found_->ports.size()) {
        accept();
        return;
    }
    all_ = std::make_shared<const Inventory>(std::move(all));
    places_ = std::move(places);
}

void Expected::accept() {
    all_ = found_;
    places_.clear();
}

std::uint32_t Expected::found(std::uint32_t port) const {
    return all_ == found_ ? port : places_[port];
}

}  // namespace softib::telemetry
