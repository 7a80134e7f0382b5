// SPDX-License-Identifier: BSD-2-Clause
// Writes packets with a random MAD of many kinds, then packets of every opcode, as a pcap file (its
// argument), and what is in them to standard output (samples.h).
// test_tshark.py and test_libibmad.py compare the two.
#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "core/wire/cc/cc.h"
#include "core/wire/cm/cm.h"
#include "core/wire/format/bytes.h"
#include "core/wire/formats.h"
#include "core/wire/packet/packet.h"
#include "core/wire/pm/pm.h"
#include "core/wire/sm/smp.h"
#include "samples.h"

namespace softib::wire {

namespace {

// Wireshark 4.0 reads no bare InfiniBand packets (link type 247), but those of an Endace card.
constexpr std::uint32_t kLinkTypeErf = 197;
constexpr std::uint8_t kErfInfiniBand = 21;
constexpr std::uint8_t kErfInfiniBandLink = 25;
constexpr std::size_t kErfBytes = 16;

/// Writes a frame behind the header of Endace's record format.
void write_erf(Samples& out, std::uint8_t erf_type, std::span<const std::uint8_t> bytes) {
    std::array<std::uint8_t, kErfBytes> erf{};
    erf[8] = erf_type;
    store_be(&erf[10], static_cast<std::uint16_t>(kErfBytes + bytes.size()));
    store_be(&erf[14], static_cast<std::uint16_t>(bytes.size()));
    out.write_frame(erf, bytes);
}

void write(Samples& out, const MadBytes& mad, bool subnet_management) {
    const std::uint32_t qp = subnet_management ? 0 : 1;
    PacketHeaders headers;
    headers.lrh.vl = subnet_management ? kVlManagement : 0;
    headers.lrh.dlid = Lid{1};
    headers.lrh.slid = Lid{2};
    headers.bth.opcode = opcode(Transport::kUd, Operation::kSendOnly);
    headers.bth.p_key = kPKeyDefaultFull;
    headers.bth.dest_qp = Qpn{qp};
    headers.deth = {.q_key = QKey{qp * 0x80010000}, .src_qp = Qpn{qp}};
    std::array<std::uint8_t, kPacketBytesMax> bytes;
    write_erf(out, kErfInfiniBand, std::span(bytes).first(*emit_packet(headers, mad, bytes)));
}

MadRepr header(Samples& out, MgmtClass mgmt_class, std::uint8_t version, Method method,
               std::uint16_t attribute) {
    const MadRepr repr{.mgmt_class = mgmt_class,
                       .class_version = version,
                       .method = method,
                       .transaction_id = out.prng().next(),
                       .attribute_id = attribute,
                       .attribute_modifier = static_cast<std::uint32_t>(out.prng().next())};
    out.tell("MADHeader", "MgmtClass", std::to_string(static_cast<unsigned>(mgmt_class)));
    out.tell("MADHeader", "ClassVersion", std::to_string(version));
    out.tell("MADHeader", "Method", std::to_string(static_cast<unsigned>(method)));
    out.tell("MADHeader", "TransactionID", std::to_string(repr.transaction_id));
    out.tell("MADHeader", "AttributeID", std::to_string(attribute));
    out.tell("MADHeader", "AttributeModifier", std::to_string(repr.attribute_modifier));
    return repr;
}

template <Attribute T>
void smp(Samples& out, std::string_view name, SmAttribute attribute, const T& value) {
    MadBytes mad{};
    header(out, MgmtClass::kSubnLidRouted, kSmpClassVersion,
           attribute == SmAttribute::kNotice ? Method::kTrap : Method::kGetResp,
           static_cast<std::uint16_t>(attribute))
        .emit(Mad<std::uint8_t>(mad));
    const Smp<std::uint8_t> view(mad);
    view.set_mkey(out.prng().next());
    out.tell("SMP", "M_Key", std::to_string(view.mkey()));
    emit(value, view.data());
    out.describe(name, value);
    write(out, mad, true);
}

template <Attribute T>
void smps(Samples& out, std::string_view name, SmAttribute attribute) {
    for (int i = 0; i < kSamplesEach; ++i) {
        smp(out, name, attribute, random_value<T>(out.prng(), 0));
    }
}

void directed_smps(Samples& out) {
    for (int i = 0; i < kSamplesEach; ++i) {
        MadBytes mad{};
        header(out, MgmtClass::kSubnDirectedRoute, kSmpClassVersion, Method::kGetResp,
               static_cast<std::uint16_t>(SmAttribute::kNodeInfo))
            .emit(Mad<std::uint8_t>(mad));
        const Smp<std::uint8_t> view(mad);
        view.set_direction(i % 2 == 0);
        view.set_status(mad_status::kInvalidField);
        view.set_hop_pointer(static_cast<std::uint8_t>(out.prng().below(64)));
        view.set_hop_count(static_cast<std::uint8_t>(out.prng().below(64)));
        view.set_mkey(out.prng().next());
        view.set_dr_slid(random_value<Lid>(out.prng(), 16));
        view.set_dr_dlid(random_value<Lid>(out.prng(), 16));
        const auto path = random_value<std::array<std::uint8_t, 64>>(out.prng(), 8);
        std::ranges::copy(path, view.initial_path().begin());
        std::ranges::copy(path, view.return_path().rbegin());
        out.tell("DR", "D", std::to_string(view.direction()));
        out.tell("DR", "Status", std::to_string(view.status()));
        out.tell("DR", "HopPointer", std::to_string(view.hop_pointer()));
        out.tell("DR", "HopCount", std::to_string(view.hop_count()));
        out.tell("DR", "DrSLID", text_of(view.dr_slid()));
        out.tell("DR", "DrDLID", text_of(view.dr_dlid()));
        out.tell("DR", "InitialPath", text_of(path));
        auto back = path;
        std::ranges::reverse(back);
        out.tell("DR", "ReturnPath", text_of(back));
        const auto value = random_value<NodeInfo>(out.prng(), 0);
        emit(value, view.data());
        out.describe("NodeInfo", value);
        write(out, mad, true);
    }
}

template <Attribute T>
void trap(Samples& out, std::string_view name, std::uint16_t number) {
    for (int i = 0; i < kSamplesEach; ++i) {
        auto notice = random_value<Notice>(out.prng(), 0);
        notice.is_generic = true;
        notice.trap_number = number;
        const auto details = random_value<T>(out.prng(), 0);
        notice.set_details(details);
        out.describe(name, details);
        smp(out, "Notice", SmAttribute::kNotice, notice);
    }
}

template <Attribute T>
void records(Samples& out, std::string_view name, SaAttribute attribute) {
    for (int i = 0; i < kSamplesEach; ++i) {
        MadBytes mad{};
        header(out, MgmtClass::kSubnAdm, kSaClassVersion, Method::kGetResp,
               static_cast<std::uint16_t>(attribute))
            .emit(Mad<std::uint8_t>(mad));
        const Sa<std::uint8_t> view(mad);
        const auto sa = random_value<SaHeader>(out.prng(), 0);
        view.set_header(sa);
        out.describe("SA", sa);
        const auto value = random_value<T>(out.prng(), 0);
        emit(value, view.data());
        out.describe(name, value);
        write(out, mad, false);
    }
}

void rmpps(Samples& out) {
    for (int i = 0; i < kSamplesEach; ++i) {
        MadBytes mad{};
        header(out, MgmtClass::kSubnAdm, kSaClassVersion, Method::kGetTableResp,
               static_cast<std::uint16_t>(SaAttribute::kNodeRecord))
            .emit(Mad<std::uint8_t>(mad));
        auto rmpp = random_value<RmppHeader>(out.prng(), 0);
        rmpp.rmpp_version = kRmppVersion;
        rmpp.rmpp_type = static_cast<RmppType>(1 + i % 2);  // DATA or ACK.
        rmpp.rmpp_flags |= rmpp_flag::kActive;
        Sa<std::uint8_t>(mad).set_rmpp(rmpp);
        out.describe(rmpp.rmpp_type == RmppType::kData ? "RMPP" : "RMPP_ACK", rmpp);
        write(out, mad, false);
    }
}

template <Attribute T>
void gmps(Samples& out, std::string_view name, MgmtClass mgmt_class, std::uint8_t version,
          Method method, std::uint16_t attribute) {
    for (int i = 0; i < kSamplesEach; ++i) {
        MadBytes mad{};
        header(out, mgmt_class, version, method, attribute).emit(Mad<std::uint8_t>(mad));
        const auto value = random_value<T>(out.prng(), 0);
        emit(value, mgmt_class == MgmtClass::kPerf ? std::span<std::uint8_t>(pm_data(mad))
                                                   : std::span<std::uint8_t>(cm_data(mad)));
        out.describe(name, value);
        write(out, mad, false);
    }
}

template <Attribute T>
void counters(Samples& out, std::string_view name, PmAttribute attribute) {
    gmps<T>(out, name, MgmtClass::kPerf, kPmClassVersion, Method::kGetResp,
            static_cast<std::uint16_t>(attribute));
}

template <Attribute T>
void messages(Samples& out, std::string_view name, CmAttribute attribute) {
    gmps<T>(out, name, MgmtClass::kCommMgmt, kCmClassVersion, Method::kSend,
            static_cast<std::uint16_t>(attribute));
}

/// Writes samples of an attribute of congestion control. A CongestionLog begins earlier than other
/// attributes.
template <Attribute T>
void settings(Samples& out, std::string_view name, CcAttribute attribute) {
    for (int i = 0; i < kSamplesEach; ++i) {
        MadBytes mad{};
        header(out, MgmtClass::kCongestion, kCcClassVersion, Method::kGetResp,
               static_cast<std::uint16_t>(attribute))
            .emit(Mad<std::uint8_t>(mad));
        const Cc<std::uint8_t> view(mad);
        view.set_cc_key(out.prng().next());
        out.tell("CC", "CC_Key", std::to_string(view.cc_key()));
        const auto value = random_value<T>(out.prng(), 0);
        emit(value, attribute == CcAttribute::kCongestionLog
                        ? std::span<std::uint8_t>(view.log())
                        : std::span<std::uint8_t>(view.data()));
        out.describe(name, value);
        write(out, mad, false);
    }
}

void write_counters(Samples& out) {
    using A = PmAttribute;
    counters<PortSamplesControl>(out, "PortSamplesControl", A::kPortSamplesControl);
    counters<PortSamplesResult>(out, "PortSamplesResult", A::kPortSamplesResult);
    counters<PortCounters>(out, "PortCounters", A::kPortCounters);
    counters<PortCountersExtended>(out, "PortCountersExtended", A::kPortCountersExtended);
    counters<PortRcvErrorDetails>(out, "PortRcvErrorDetails", A::kPortRcvErrorDetails);
    counters<PortXmitDiscardDetails>(out, "PortXmitDiscardDetails", A::kPortXmitDiscardDetails);
    counters<PortOpRcvCounters>(out, "PortOpRcvCounters", A::kPortOpRcvCounters);
    counters<PortFlowCtlCounters>(out, "PortFlowCtlCounters", A::kPortFlowCtlCounters);
    counters<PortVlOpPackets>(out, "PortVLOpPackets", A::kPortVlOpPackets);
    counters<PortVlOpData>(out, "PortVLOpData", A::kPortVlOpData);
    counters<PortVlXmitFlowCtlUpdateErrors>(out, "PortVLXmitFlowCtlUpdateErrors",
                                            A::kPortVlXmitFlowCtlUpdateErrors);
    counters<PortVlXmitWaitCounters>(out, "PortVLXmitWaitCounters", A::kPortVlXmitWaitCounters);
    counters<PortExtendedSpeedsCounters>(out, "PortExtendedSpeedsCounters",
                                         A::kPortExtendedSpeedsCounters);
    counters<PortExtendedSpeedsRsFecCounters>(out, "PortExtendedSpeedsRsFecCounters",
                                              A::kPortExtendedSpeedsCounters);
    counters<SwPortVlCongestion>(out, "SwPortVLCongestion", A::kSwPortVlCongestion);
    counters<PortRcvConCtrl>(out, "PortRcvConCtrl", A::kPortRcvConCtrl);
    counters<PortSlRcvFecn>(out, "PortSLRcvFECN", A::kPortSlRcvFecn);
    counters<PortSlRcvBecn>(out, "PortSLRcvBECN", A::kPortSlRcvBecn);
    counters<PortXmitConCtrl>(out, "PortXmitConCtrl", A::kPortXmitConCtrl);
    counters<PortVlXmitTimeCong>(out, "PortVLXmitTimeCong", A::kPortVlXmitTimeCong);
    counters<PortXmitDataSl>(out, "PortXmitDataSL", A::kPortXmitDataSl);
    counters<PortRcvDataSl>(out, "PortRcvDataSL", A::kPortRcvDataSl);
}

void write_congestion_control(Samples& out) {
    using A = CcAttribute;
    settings<CongestionInfo>(out, "CongestionInfo", A::kCongestionInfo);
    settings<CongestionKeyInfo>(out, "CongestionKeyInfo", A::kCongestionKeyInfo);
    settings<SwitchCongestionLog>(out, "SwitchCongestionLog", A::kCongestionLog);
    settings<CaCongestionLog>(out, "CaCongestionLog", A::kCongestionLog);
    settings<SwitchCongestionSetting>(out, "SwitchCongestionSetting", A::kSwitchCongestionSetting);
    settings<SwitchPortCongestionSetting>(out, "SwitchPortCongestionSetting",
                                          A::kSwitchPortCongestionSetting);
    settings<CaCongestionSetting>(out, "CaCongestionSetting", A::kCaCongestionSetting);
    settings<CongestionControlTable>(out, "CongestionControlTable", A::kCongestionControlTable);
    settings<Timestamp>(out, "Timestamp", A::kTimestamp);
}

/// Writes a packet of the opcode, every second one with a GRH. These come last, because their
/// lengths differ.
void packets(Samples& out, std::uint8_t opcode, const OpcodeInfo& info) {
    Prng& prng = out.prng();
    for (int i = 0; i < kSamplesEach; ++i) {
        PacketHeaders headers = random_headers(prng, opcode);
        if (i % 2 == 0) {
            headers.grh = random_value<Grh>(prng, 0);
        }
        const auto payload = random_bytes(prng, info.has_payload ? 8 + prng.below(60) : 0);
        std::array<std::uint8_t, kPacketBytesMax> buffer;
        const auto bytes = std::span(buffer).first(*emit_packet(headers, payload, buffer));
        const PacketHeaders sent = parse_packet(bytes)->headers;
        out.describe("LRH", sent.lrh);
        if (sent.grh) {
            out.describe("GRH", *sent.grh);
        }
        out.describe("BTH", sent.bth);
        if (is_read_whole(info)) {
            describe_extended(out, info, sent);
            const std::uint8_t* crcs = &bytes[bytes.size() - kIcrcBytes - kVcrcBytes];
            out.tell("CRC", "Invariant", std::to_string(load_be<std::uint32_t>(crcs)));
            out.tell("CRC", "Variant", std::to_string(load_be<std::uint16_t>(crcs + kIcrcBytes)));
        }
        write_erf(out, kErfInfiniBand, bytes);
    }
}

void write_packets(Samples& out) {
    for (int opcode = 0; opcode < 256; ++opcode) {
        if (const auto info = opcode_info(static_cast<std::uint8_t>(opcode))) {
            packets(out, static_cast<std::uint8_t>(opcode), *info);
        }
    }
    for (int i = 0; i < kSamplesEach; ++i) {
        // Wireshark needs more bytes behind the packet, which it does not show.
        std::array<std::uint8_t, 64> bytes{};
        const auto head = std::span(bytes).first<FlowControlPacket::kBytes>();
        auto packet = random_value<FlowControlPacket>(out.prng(), 0);
        packet.op = static_cast<FlowControlOp>(i % 2);
        emit_flow_control(packet, head);
        out.describe("FlowControl", *parse_flow_control(head));
        write_erf(out, kErfInfiniBandLink, bytes);
    }
}

bool write_all(const char* path) {
    Samples out(path, kLinkTypeErf);
    directed_smps(out);
    smps<NodeDescription>(out, "NodeDescription", SmAttribute::kNodeDescription);
    smps<NodeInfo>(out, "NodeInfo", SmAttribute::kNodeInfo);
    smps<SwitchInfo>(out, "SwitchInfo", SmAttribute::kSwitchInfo);
    smps<GuidInfo>(out, "GUIDInfo", SmAttribute::kGuidInfo);
    smps<PortInfo>(out, "PortInfo", SmAttribute::kPortInfo);
    smps<PKeyTable>(out, "P_KeyTable", SmAttribute::kPKeyTable);
    smps<SlToVlMappingTable>(out, "SLtoVLMappingTable", SmAttribute::kSlToVlMappingTable);
    smps<VlArbitrationTable>(out, "VLArbitrationTable", SmAttribute::kVlArbitrationTable);
    smps<LinearForwardingTable>(out, "LinearForwardingTable", SmAttribute::kLinearForwardingTable);
    smps<MulticastForwardingTable>(out, "MulticastForwardingTable",
                                   SmAttribute::kMulticastForwardingTable);
    smps<SmInfo>(out, "SMInfo", SmAttribute::kSmInfo);
    smps<LedInfo>(out, "LedInfo", SmAttribute::kLedInfo);
    smps<PortInfoExtended>(out, "PortInfoExtended", SmAttribute::kPortInfoExtended);
    smps<MlnxExtendedPortInfo>(out, "MlnxExtendedPortInfo", SmAttribute::kMlnxExtendedPortInfo);
    trap<GidTrap>(out, "Trap64", trap::kGidInService);
    trap<LinkStateTrap>(out, "Trap128", trap::kLinkStateChanged);
    trap<PortThresholdTrap>(out, "Trap129", trap::kLocalLinkIntegrity);
    trap<LocalChangesTrap>(out, "Trap144", trap::kLocalChanges);
    trap<SystemImageGuidTrap>(out, "Trap145", trap::kSystemImageGuidChanged);
    trap<BadMKeyTrap>(out, "Trap256", trap::kBadMKey);
    trap<BadKeyTrap>(out, "Trap257", trap::kBadPKey);
    rmpps(out);
    records<ClassPortInfo>(out, "ClassPortInfo", SaAttribute::kClassPortInfo);
    records<InformInfo>(out, "InformInfo", SaAttribute::kInformInfo);
    records<NodeRecord>(out, "NodeRecord", SaAttribute::kNodeRecord);
    records<PortInfoRecord>(out, "PortInfoRecord", SaAttribute::kPortInfoRecord);
    records<SlToVlMappingTableRecord>(out, "SLtoVLMappingTableRecord",
                                      SaAttribute::kSlToVlMappingTableRecord);
    records<SwitchInfoRecord>(out, "SwitchInfoRecord", SaAttribute::kSwitchInfoRecord);
    records<LinearForwardingTableRecord>(out, "LinearForwardingTableRecord",
                                         SaAttribute::kLinearForwardingTableRecord);
    records<MulticastForwardingTableRecord>(out, "MulticastForwardingTableRecord",
                                            SaAttribute::kMulticastForwardingTableRecord);
    records<SmInfoRecord>(out, "SMInfoRecord", SaAttribute::kSmInfoRecord);
    records<LinkRecord>(out, "LinkRecord", SaAttribute::kLinkRecord);
    records<GuidInfoRecord>(out, "GUIDInfoRecord", SaAttribute::kGuidInfoRecord);
    records<ServiceRecord>(out, "ServiceRecord", SaAttribute::kServiceRecord);
    records<PKeyTableRecord>(out, "P_KeyTableRecord", SaAttribute::kPKeyTableRecord);
    records<PathRecord>(out, "PathRecord", SaAttribute::kPathRecord);
    records<VlArbitrationTableRecord>(out, "VLArbitrationTableRecord",
                                      SaAttribute::kVlArbitrationTableRecord);
    records<McMemberRecord>(out, "MCMemberRecord", SaAttribute::kMcMemberRecord);
    records<MultiPathRecord>(out, "MultiPathRecord", SaAttribute::kMultiPathRecord);
    records<TraceRecord>(out, "TraceRecord", SaAttribute::kTraceRecord);
    records<InformInfoRecord>(out, "InformInfoRecord", SaAttribute::kInformInfoRecord);
    write_counters(out);
    write_congestion_control(out);
    messages<CmReq>(out, "REQ", CmAttribute::kReq);
    messages<CmRej>(out, "REJ", CmAttribute::kRej);
    messages<CmRep>(out, "REP", CmAttribute::kRep);
    messages<CmRtu>(out, "RTU", CmAttribute::kRtu);
    messages<CmDreq>(out, "DREQ", CmAttribute::kDreq);
    messages<CmDrep>(out, "DREP", CmAttribute::kDrep);
    write_packets(out);
    return out.good();
}

}  // namespace

}  // namespace softib::wire

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: write_samples FILE.pcap\n", stderr);
        return 2;
    }
    if (!softib::wire::write_all(argv[1])) {
        std::fprintf(stderr, "cannot write %s; is its folder there?\n", argv[1]);
        return 1;
    }
    return 0;
}
