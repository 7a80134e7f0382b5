// SPDX-License-Identifier: BSD-2-Clause
// The answers of a node to Get and Set of all SM attributes but PortInfo (IBA vol. 1, 14.2.5).
#include <algorithm>

#include "core/agent/node.h"
#include "core/wire/sm/guid_info.h"
#include "core/wire/sm/led_info.h"
#include "core/wire/sm/linear_forwarding_table.h"
#include "core/wire/sm/mlnx_extended_port_info.h"
#include "core/wire/sm/multicast_forwarding_table.h"
#include "core/wire/sm/node_description.h"
#include "core/wire/sm/p_key_table.h"
#include "core/wire/sm/port_info_extended.h"
#include "core/wire/sm/sl_to_vl_mapping_table.h"
#include "core/wire/sm/vl_arbitration_table.h"

namespace softib::agent {

namespace {

namespace status = wire::mad_status;

constexpr std::size_t kVlArbBlocks = 4;  // High and low priority, two halves each.
constexpr std::uint8_t kLifeTimeMax = 0x1F;

/// Writes an attribute into the data of an answer, with zeros after it.
template <wire::Attribute T>
void put(const T& value, std::span<std::uint8_t, wire::kSmpDataBytes> data) {
    std::ranges::fill(data, std::uint8_t{0});
    wire::emit(value, data);
}

}  // namespace

std::uint16_t Node::node_description(bool set, Data data) {
    if (set) {
        const auto wanted = wire::parse<wire::NodeDescription>(data);
        set_description(std::string(wanted.node_string.view()));
    }
    put(wire::NodeDescription{std::string_view(spec_.description)}, data);
    return status::kOk;
}

std::uint16_t Node::node_info(bool set, std::uint8_t in_port, Data data) {
    wire::NodeInfo info;
    info.node_type = spec_.type;
    info.num_ports = port_count();
    info.system_image_guid = spec_.system_image_guid;
    info.node_guid = spec_.node_guid;
    info.port_guid = spec_.ports[is_switch() ? 0 : std::max<std::size_t>(in_port, 1)].guid;
    info.partition_cap = spec_.pkeys;
    info.device_id = spec_.device_id;
    info.revision = spec_.revision;
    info.local_port_num = PortNum{in_port};
    info.vendor_id = spec_.vendor_id;
    put(info, data);
    return set ? status::kUnsupportedMethod : status::kOk;
}

std::uint16_t Node::switch_info(bool set, Data data) {
    if (!is_switch()) {
        return status::kUnsupportedAttribute;
    }
    if (set) {
        const auto wanted = wire::parse<wire::SwitchInfo>(data);
        if (wanted.linear_fdb_top >= switch_.linear_fdb_cap ||
            wanted.default_port.value > port_count()) {
            put(switch_, data);
            return status::kInvalidField;
        }
        const bool top_moved = wanted.linear_fdb_top != switch_.linear_fdb_top;
        switch_.linear_fdb_top = wanted.linear_fdb_top;
        switch_.default_port = wanted.default_port;
        switch_.default_multicast_primary_port = wanted.default_multicast_primary_port;
        switch_.default_multicast_not_primary_port = wanted.default_multicast_not_primary_port;
        const std::uint8_t life_time = std::min(wanted.life_time_value, kLifeTimeMax);
        if (life_time != switch_.life_time_value || !switch_written_) {
            switch_.life_time_value = life_time;
            switch_written_ = true;
            for (std::size_t port = 1; port < ports_.size(); ++port) {
                announce(LifetimeUpdate{static_cast<std::uint8_t>(port)});
            }
        }
        if (wanted.multicast_fdb_top != switch_.multicast_fdb_top) {
            switch_.multicast_fdb_top = wanted.multicast_fdb_top;
            for (std::size_t block = 0; block * kMftBlock < mft_.size(); ++block) {
                announce(GroupUpdate{static_cast<std::uint16_t>(block)});
            }
        }
        if (wanted.port_state_change) {
            switch_.port_state_change = false;
        }
        if (top_moved) {
            for (std::size_t block = 0; block * kLftBlock < lft_.size(); ++block) {
                announce(RouteUpdate{static_cast<std::uint16_t>(block)});
            }
        }
    }
    put(switch_, data);
    return status::kOk;
}

std::uint16_t Node::guid_info(bool set, std::uint8_t in_port, std::uint32_t modifier, Data data) {
    const std::uint8_t port = base_port(in_port);
    std::vector<Guid>& guids = ports_[port].guids;
    const std::size_t first = std::size_t{modifier} * kGuidBlock;
    if (first >= guids.size()) {
        return status::kInvalidField;
    }
    wire::GuidInfo block;
    if (set) {
        block = wire::parse<wire::GuidInfo>(data);
        for (std::size_t i = 0; i < kGuidBlock && first + i < guids.size(); ++i) {
            if (first + i != 0) {  // The first GUID is the port's own and cannot be changed.
                guids[first + i] = block.guid[i];
            }
        }
        announce(AliasUpdate{port});
    }
    block = {};
    for (std::size_t i = 0; i < kGuidBlock && first + i < guids.size(); ++i) {
        block.guid[i] = guids[first + i];
    }
    put(block, data);
    return status::kOk;
}

std::uint16_t Node::pkey_table(bool set, std::uint8_t in_port, std::uint32_t modifier, Data data) {
    const std::uint32_t port = is_switch() ? modifier >> 16 : in_port;
    const std::size_t first = std::size_t{modifier & 0xFFFF} * kPKeyBlock;
    if (port >= ports_.size() || first >= ports_[port].pkeys.size()) {
        return status::kInvalidField;
    }
    std::vector<PKey>& table = ports_[port].pkeys;
    wire::PKeyTable block;
    if (set) {
        block = wire::parse<wire::PKeyTable>(data);
        for (std::size_t i = 0; i < kPKeyBlock && first + i < table.size(); ++i) {
            table[first + i] = block.pkey[i];
        }
        announce(PartitionUpdate{static_cast<std::uint8_t>(port)});
    }
    block = {};
    for (std::size_t i = 0; i < kPKeyBlock && first + i < table.size(); ++i) {
        block.pkey[i] = table[first + i];
    }
    put(block, data);
    return status::kOk;
}

/// Answers SLtoVLMappingTable. The modifier names the in port and the out port. The optimized form
/// (bit 16: all out ports; bit 17: all in ports) writes many tables at once, which saves a manager
/// hundreds of packets per switch.
std::uint16_t Node::sl_to_vl(bool set, std::uint8_t in_port, std::uint32_t modifier, Data data) {
    const std::uint32_t in = is_switch() ? modifier >> 8 & 0xFF : 0;
    const std::uint32_t out = is_switch() ? modifier & 0xFF : in_port;
    const bool all_in = is_switch() && (modifier >> 17 & 1) != 0;
    const bool all_out = is_switch() && (modifier >> 16 & 1) != 0;
    if ((!all_in && in >= ports_.size()) || (!all_out && out >= ports_.size())) {
        return status::kInvalidField;
    }
    if (set) {
        const auto wanted = wire::parse<wire::SlToVlMappingTable>(data);
        const std::size_t out_first = all_out ? 0 : out;
        const std::size_t out_end = all_out ? ports_.size() : out + 1;
        const std::size_t in_first = all_in ? 0 : in;
        const std::size_t in_end = all_in ? ports_.size() : in + 1;
        for (std::size_t o = out_first; o < out_end; ++o) {
            auto& table = ports_[o].sl2vl;
            if (table.empty()) {
                std::array<std::uint8_t, 16> initial{};
                for (std::uint8_t sl = 0; sl < initial.size(); ++sl) {
                    initial[sl] = static_cast<std::uint8_t>(sl % spec_.data_vls);
                }
                table.assign(is_switch() ? ports_.size() : 1, initial);
            }
            for (std::size_t i = in_first; i < in_end; ++i) {
                table[i] = wanted.vl;
            }
            announce(LaneUpdate{static_cast<std::uint8_t>(o)});
        }
    }
    wire::SlToVlMappingTable answer;
    for (std::uint8_t sl = 0; sl < answer.vl.size(); ++sl) {
        answer.vl[sl] = vl(static_cast<std::uint8_t>(all_in ? 0 : in),
                           static_cast<std::uint8_t>(all_out ? 0 : out), sl);
    }
    put(answer, data);
    return status::kOk;
}

std::uint16_t Node::vl_arbitration(bool set, std::uint8_t in_port, std::uint32_t modifier,
                                   Data data) {
    const std::uint32_t block = modifier >> 16;
    const std::uint32_t port = is_switch() ? modifier & 0xFFFF : in_port;
    if (port >= ports_.size() || block == 0 || block > kVlArbBlocks) {
        return status::kInvalidField;
    }
    std::vector<std::uint8_t>& table = ports_[port].vlarb;
    if (set && table.empty()) {
        table.assign(kVlArbBlocks * wire::VlArbitrationTable::kBytes, 0);
    }
    wire::VlArbitrationTable answer;
    if (set) {
        wire::emit(wire::parse<wire::VlArbitrationTable>(data),
                   std::span(table).subspan((block - 1) * wire::VlArbitrationTable::kBytes));
        announce(ArbitrationUpdate{static_cast<std::uint8_t>(port)});
    }
    if (!table.empty()) {
        std::copy_n(table.begin() +
                        static_cast<std::ptrdiff_t>((block - 1) * wire::VlArbitrationTable::kBytes),
                    wire::VlArbitrationTable::kBytes, data.begin());
        return status::kOk;
    }
    // At power-up the data VLs take turns at low priority.
    if (block == 1) {
        for (std::uint8_t vl = 0; vl < spec_.data_vls; ++vl) {
            answer.entry[vl] = {vl, 64};
        }
    }
    put(answer, data);
    return status::kOk;
}

std::uint16_t Node::linear_table(bool set, std::uint32_t modifier, Data data) {
    const std::size_t first = std::size_t{modifier} * kLftBlock;
    if (!is_switch() || first >= switch_.linear_fdb_cap) {
        return is_switch() ? status::kInvalidField : status::kUnsupportedAttribute;
    }
    if (set) {
        if (lft_.size() < first + kLftBlock) {
            lft_.resize(first + kLftBlock, sw::kNoPath);
        }
        std::ranges::copy(data, lft_.begin() + static_cast<std::ptrdiff_t>(first));
        announce(RouteUpdate{static_cast<std::uint16_t>(modifier)});
        fall_back();
        return status::kOk;
    }
    if (first + kLftBlock > lft_.size()) {
        std::ranges::fill(data, sw::kNoPath);
    } else {
        std::copy_n(lft_.begin() + static_cast<std::ptrdiff_t>(first), kLftBlock, data.begin());
    }
    return status::kOk;
}

std::uint16_t Node::multicast_table(bool set, std::uint32_t modifier, Data data) {
    const std::size_t first = std::size_t{modifier & 0x1FF} * kMftBlock;
    const std::uint32_t position = modifier >> 28;
    if (!is_switch() || first >= switch_.multicast_fdb_cap) {
        return is_switch() ? status::kInvalidField : status::kUnsupportedAttribute;
    }
    if (set) {
        const auto wanted = wire::parse<wire::MulticastForwardingTable>(data);
        if (mft_.size() < first + kMftBlock) {
            mft_.resize(first + kMftBlock);
        }
        for (std::size_t i = 0; i < kMftBlock; ++i) {
            mft_[first + i][position] = wanted.port_mask[i];
        }
        announce(GroupUpdate{static_cast<std::uint16_t>(modifier & 0x1FF)});
    }
    wire::MulticastForwardingTable answer;
    for (std::size_t i = 0; i < kMftBlock && first + i < mft_.size(); ++i) {
        answer.port_mask[i] = mft_[first + i][position];
    }
    put(answer, data);
    return status::kOk;
}

std::uint16_t Node::led_info(bool set, std::uint32_t, Data data) {
    if (set) {
        led_ = wire::parse<wire::LedInfo>(data).led_mask;
    }
    put(wire::LedInfo{led_}, data);
    return status::kOk;
}

/// Answers a vendor's attribute that infiniband-diags asks every node for. Nothing in it is
/// supported, so all fields are zero.
std::uint16_t Node::mlnx_port_info(bool set, std::uint32_t modifier, Data data) {
    if ((modifier & 0xFF) >= ports_.size()) {
        return status::kInvalidField;
    }
    put(wire::MlnxExtendedPortInfo{}, data);
    return set ? status::kUnsupportedMethod : status::kOk;
}

/// Answers PortInfoExtended. Links of EDR and faster correct errors by Reed-Solomon codes, slower
/// ones do not.
std::uint16_t Node::port_info_extended(bool set, std::uint8_t in_port, std::uint32_t modifier,
                                       Data data) {
    namespace ext = wire::link_speed_ext;
    const std::uint32_t port = !is_switch() && (modifier & 0xFF) == 0 ? in_port : modifier & 0xFF;
    if (port >= ports_.size()) {
        return status::kInvalidField;
    }
    const wire::PortInfo& link = ports_[port].info;
    const auto modes = [&](std::uint8_t speed) {
        constexpr auto kReedSolomon =
            std::uint16_t{1 << static_cast<unsigned>(wire::FecMode::kReedSolomon)};
        return (link.link_speed_ext_supported & speed) != 0 ? kReedSolomon : std::uint16_t{0};
    };
    wire::PortInfoExtended info;
    info.cap_mask = wire::kIsFecModeSupported;
    info.fec_mode_active = link.link_speed_ext_active >= ext::kEdr ? wire::FecMode::kReedSolomon
                                                                   : wire::FecMode::kNone;
    info.edr_fec_mode_supported = info.edr_fec_mode_enabled = modes(ext::kEdr);
    info.hdr_fec_mode_supported = info.hdr_fec_mode_enabled = modes(ext::kHdr);
    info.ndr_fec_mode_supported = info.ndr_fec_mode_enabled = modes(ext::kNdr);
    put(info, data);
    return set ? status::kUnsupportedMethod : status::kOk;
}

}  // namespace softib::agent
