// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/netlist_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/topo/netlist_text.h"

namespace softib::topo::netlist {

namespace {

using Result = std::expected<void, Error>;

/// The counter for GUIDs of one kind of node. Like ibsim, it numbers the nodes for which the text
/// has no GUID.
struct GuidCounter {
    std::uint64_t base;
    std::uint64_t next = base;
    bool said = false;  ///< The text gives the GUID of the next node.
};

/// The settings that lines between nodes make for the nodes after them. The defaults are ibsim's.
struct Settings {
    std::uint32_t vendor_id = 0;
    std::uint32_t device_id = 0;
    Guid system_image_guid;
    Guid port_guid;
    GuidCounter hca_guid{0x100000};
    GuidCounter switch_guid{0x200000};
    GuidCounter router_guid{0x300000};
    std::uint8_t width = static_cast<std::uint8_t>(Width::k4x);
    std::uint8_t speed = 1;
    std::uint8_t speed_extended = 0;
    bool speed_said = false;  ///< The text gives a speed for the ends that follow.
    std::string module;

    GuidCounter& guid(NodeKind kind) {
        return kind == NodeKind::kSwitch   ? switch_guid
               : kind == NodeKind::kRouter ? router_guid
                                           : hca_guid;
    }
};

std::string without_controls(std::string_view text) {
    std::string result(text);
    std::ranges::replace_if(result, [](char c) { return (c >= 0 && c < ' ') || c == 0x7F; }, ' ');
    return result;
}

class RecordReader {
  public:
    RecordReader(std::string_view file, LeftOut& left_out) : file_(file), left_out_(left_out) {}

    std::expected<Records, Error> read(std::string_view text) {
        TextLines lines(text);
        while (const auto line = lines.next()) {
            line_ = lines.number();
            if (auto result = add(*line, lines.shown()); !result) {
                return std::unexpected(result.error());
            }
        }
        left_out_.joined = lines.joined();
        if (records_.all.empty()) {
            return std::unexpected(
                Error{fmt::format("{}: no node in it; expected what ibnetdiscover prints, or a "
                                  "netlist of ibsim",
                                  file_)});
        }
        if (auto result = close_record(); !result) {
            return std::unexpected(result.error());
        }
        return std::move(records_);
    }

  private:
    std::unexpected<Error> fail(std::string_view message) const {
        return wrong(file_, line_, message);
    }

    Result add(const std::expected<Line, std::string>& line, std::string_view text) {
        if (!line) {
            return fail(line.error());
        }
        if (std::holds_alternative<ForeignLine>(*line)) {
            if (left_out_.lines++ == 0) {
                left_out_.first_line = line_;
                left_out_.first_text = shown(text);
            }
        }
        if (const auto* const node = std::get_if<NodeLine>(&*line)) {
            return add_record(*node);
        }
        if (const auto* const port = std::get_if<PortLine>(&*line)) {
            return add_end(*port);
        }
        if (const auto* const setting = std::get_if<SettingLine>(&*line)) {
            apply(*setting);
        }
        return {};
    }

    void apply(const SettingLine& line) {
        const auto narrow = static_cast<std::uint32_t>(line.value);
        const auto count_from = [&](GuidCounter& counter) {
            counter.base = line.relative ? counter.base : line.value;
            counter.next = line.relative ? counter.base + line.value : line.value;
            counter.said = true;
            settings_.port_guid = line.port_guid;
        };
        switch (line.setting) {
            case Setting::kVendor:
                settings_.vendor_id = narrow;
                break;
            case Setting::kDevice:
                settings_.device_id = narrow;
                break;
            case Setting::kSystemImage:
                settings_.system_image_guid = Guid{line.value};
                break;
            case Setting::kSwitchGuid:
                count_from(settings_.switch_guid);
                break;
            case Setting::kHcaGuid:
                count_from(settings_.hca_guid);
                break;
            case Setting::kRouterGuid:
                count_from(settings_.router_guid);
                break;
            case Setting::kWidth:
                settings_.width = static_cast<std::uint8_t>(narrow);
                break;
            case Setting::kSpeed:
                settings_.speed = static_cast<std::uint8_t>(narrow);
                settings_.speed_said = true;
                break;
            case Setting::kSpeedExtended:
                settings_.speed_extended = static_cast<std::uint8_t>(narrow);
                settings_.speed_said = true;
                break;
            case Setting::kModule:
                settings_.module = line.text;
                break;
        }
    }

    Result add_record(const NodeLine& line) {
        if (auto result = close_record(); !result) {
            return result;
        }
        if (line.id.find_first_of("#@") != line.id.npos) {
            return fail(fmt::format(
                "the id '{}' has '#' or '@' in it, which ibsim keeps for itself", shown(line.id)));
        }
        if (records_.all.size() >= kLidUnicastMax.value) {
            return fail(fmt::format("more than {} nodes; a subnet has no LIDs for more",
                                    kLidUnicastMax.value));
        }
        Record record;
        record.line = line_;
        record.id = id_in_module(line.id);
        record.ports = line.ports;
        const auto index = static_cast<std::uint32_t>(records_.all.size());
        if (const auto [old, is_new] = records_.by_id.try_emplace(record.id, index); !is_new) {
            return fail(fmt::format("the node \"{}\" is already in line {}; an id is there once",
                                    shown(record.id), records_.all[old->second].line));
        }
        fill_node(line, record.node);
        records_.all.push_back(std::move(record));
        return {};
    }

    void fill_node(const NodeLine& line, Node& node) {
        node.kind = line.kind;
        node.node_guid = take_guid(line);
        node.system_image_guid =
            settings_.system_image_guid == Guid{0} ? node.node_guid : settings_.system_image_guid;
        if (line.kind == NodeKind::kSwitch && settings_.port_guid != node.node_guid) {
            node.port_guid = settings_.port_guid;
        }
        node.description = without_controls(line.description.empty() ? line.id : line.description);
        node.vendor_id = settings_.vendor_id;
        node.device_id = settings_.device_id;
        node.lid = line.lid;
        node.lmc = line.lmc;
        node.enhanced_port_0 = line.enhanced_port_0;
        // Like ibsim: these hold for one node only, the device id for all that follow.
        settings_.vendor_id = 0;
        settings_.system_image_guid = Guid{0};
        settings_.port_guid = Guid{0};
    }

    Guid take_guid(const NodeLine& line) {
        GuidCounter& counter = settings_.guid(line.kind);
        if (const auto guid = guid_in_id(line.id); guid && !counter.said) {
            return *guid;
        }
        counter.said = false;
        const Guid guid{counter.next};
        counter.next += line.kind == NodeKind::kSwitch ? 1U : line.ports + 1U;
        return guid;
    }

    Result add_end(const PortLine& line) {
        if (records_.all.empty()) {
            return fail("a port before the first node; begin with a line like: Switch 36 \"id\"");
        }
        Record& record = records_.all.back();
        if (line.port > record.ports) {
            return fail(
                fmt::format("\"{}\" has {} ports, there is no port {}; correct line {} or "
                            "this one",
                            shown(record.id), record.ports, line.port, record.line));
        }
        constexpr std::uint8_t kQdr = 4;
        const std::uint8_t s = line.s.value_or(settings_.speed);
        left_out_.no_speed += line.dumped || line.s || line.e || settings_.speed_said ? 0U : 1U;
        record.ends.push_back(
            {.line = line_,
             .port = line.port,
             .peer_port = line.peer_port,
             .lmc = line.lmc,
             .lid = line.lid,
             .guid = line.guid,
             .peer = id_in_module(line.peer),
             .mask = line.dumped.value_or(LinkMask{
                 .speeds = speeds_of(s == 0 ? kQdr : s, line.e.value_or(settings_.speed_extended)),
                 .widths = line.w.value_or(settings_.width)})});
        // With more lines than ports one port occurs twice, which close_record() refuses.
        return record.ends.size() > record.ports ? close_record() : Result{};
    }

    /// Sorts the ports of the last node. Returns an error if a port occurs twice.
    Result close_record() {
        if (records_.all.empty()) {
            return {};
        }
        Record& record = records_.all.back();
        std::ranges::sort(record.ends, {},
                          [](const End& end) { return std::pair(end.port, end.line); });
        const auto twice = std::ranges::adjacent_find(record.ends, {}, &End::port);
        if (twice != record.ends.end()) {
            return wrong(
                file_, std::next(twice)->line,
                fmt::format("port {} of \"{}\" is already in line {}; a port has one cable",
                            twice->port, shown(record.id), twice->line));
        }
        return {};
    }

    std::string id_in_module(std::string_view id) const {
        return settings_.module.empty() || id.find('#') != id.npos
                   ? std::string(id)
                   : fmt::format("{}#{}", settings_.module, id);
    }

    std::string_view file_;
    LeftOut& left_out_;
    std::size_t line_ = 0;
    Settings settings_;
    Records records_;
};

}  // namespace

const End* Record::find(std::uint8_t port) const {
    const auto found = std::ranges::lower_bound(ends, port, {}, &End::port);
    return found != ends.end() && found->port == port ? &*found : nullptr;
}

std::expected<Records, Error> read_records(std::string_view text, std::string_view file,
                                           LeftOut& left_out) {
    return RecordReader(file, left_out).read(text);
}

std::unexpected<Error> wrong(std::string_view file, std::size_t line, std::string_view message) {
    return std::unexpected(Error{fmt::format("{}:{}: {}", file, line, message)});
}

}  // namespace softib::topo::netlist
