// SPDX-License-Identifier: BSD-2-Clause
// Names of the numbers in MADs (classes, methods, attributes, statuses), as in the IBA
// specification.
#include <endian.h>
#include <infiniband/umad.h>
#include <infiniband/umad_str.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>

namespace {

constexpr char kUnknown[] = "<unknown>";

struct Name {
    unsigned number;
    const char* text;
};

constexpr Name kClasses[] = {
    {0x01, "Subn"},   {0x81, "Subn"},    {0x03, "SubnAdm"}, {0x04, "Perf"},
    {0x05, "BM"},     {0x06, "DevMgt"},  {0x07, "ComMgt"},  {0x08, "SNMP"},
    {0x10, "DevAdm"}, {0x11, "BootMgt"}, {0x12, "BIS"},     {0x21, "CongestionManagment"},
};

constexpr Name kMethods[] = {
    {0x01, "Get"},  {0x02, "Set"},    {0x81, "GetResp"},    {0x03, "Send"},
    {0x05, "Trap"}, {0x06, "Report"}, {0x86, "ReportResp"}, {0x07, "TrapRepress"},
};

constexpr Name kSaMethods[] = {
    {0x12, "GetTable"},     {0x92, "GetTableResp"}, {0x13, "GetTraceTable"}, {0x14, "GetMulti"},
    {0x94, "GetMultiResp"}, {0x15, "Delete"},       {0x95, "DeleteResp"},
};

constexpr Name kAttributes[] = {
    {0x01, "Class Port Info"},
    {0x02, "Notice"},
    {0x03, "Inform Info"},
};

constexpr Name kSmAttributes[] = {
    {0x10, "NodeDescription"},
    {0x11, "NodeInfo"},
    {0x12, "SwitchInfo"},
    {0x14, "GUIDInfo"},
    {0x15, "PortInfo"},
    {0x16, "P_KeyTable"},
    {0x17, "SLtoVLMappingTable"},
    {0x18, "VLArbitrationTable"},
    {0x19, "LinearForwardingTable"},
    {0x1A, "RandomForwardingTable"},
    {0x1B, "MulticastForwardingTable"},
    {0x1C, "LinkSpeedWidthPairsTable"},
    {0x1D, "VendorSpecificMadsTable"},
    {0x1E, "HierarchyInfo"},
    {0x20, "SMInfo"},
    {0x30, "VendorDiag"},
    {0x31, "LedInfo"},
    {0x32, "CableInfo"},
    {0x33, "PortInfoExtended"},
};

constexpr Name kSaAttributes[] = {
    {0x11, "NodeRecord"},
    {0x12, "PortInfoRecord"},
    {0x13, "SLtoVLMappingTableRecord"},
    {0x14, "SwitchInfoRecord"},
    {0x15, "LinearForwardingTableRecord"},
    {0x16, "RandomForwardingTableRecord"},
    {0x17, "MulticastForwardingTableRecord"},
    {0x18, "SMInfoRecord"},
    {0x19, "LinkSpeedWidthPairsTableRecord"},
    {0x20, "LinkRecord"},
    {0x30, "GuidInfoRecord"},
    {0x31, "ServiceRecord"},
    {0x33, "P_KeyTableRecord"},
    {0x35, "PathRecord"},
    {0x36, "VLArbitrationTableRecord"},
    {0x38, "MCMemberRecord"},
    {0x39, "TraceRecord"},
    {0x3A, "MultiPathRecord"},
    {0x3B, "ServiceAssociationRecord"},
    {0x3C, "HierarchyInfoRecord"},
    {0x3D, "CableInfoRecord"},
    {0x3E, "PortInfoExtendedRecord"},
    {0xF3, "InformInfoRecord"},
};

constexpr Name kCmAttributes[] = {
    {0x10, "ConnectRequest"},
    {0x11, "MsgRcptAck"},
    {0x12, "ConnectReject"},
    {0x13, "ConnectReply"},
    {0x14, "ReadyToUse"},
    {0x15, "DisconnectRequest"},
    {0x16, "DisconnectReply"},
    {0x17, "ServiceIDResReq"},
    {0x18, "ServiceIDResReqResp"},
    {0x19, "LoadAlternatePath"},
    {0x1A, "AlternatePathResponse"},
    {0x1B, "SuggestAlternatePath"},
    {0x1C, "SuggestPathResponse"},
};

constexpr Name kFieldStatuses[] = {
    {1, "Bad Version"},
    {2, "Method not supported"},
    {3, "Method/Attribute combo not supported"},
    {7, "Invalid attribute/modifier field"},
};

constexpr Name kSaStatuses[] = {
    {0, "Success"},
    {1, "No Resources"},
    {2, "Request Invalid"},
    {3, "No Records"},
    {4, "Too Many Records"},
    {5, "Invalid GID"},
    {6, "Insufficient Components"},
    {7, "Request Denied"},
    {8, "Priority Suggested"},
};

const char* find(std::span<const Name> names, unsigned number, const char* otherwise) {
    const auto found = std::ranges::find(names, number, &Name::number);
    return found == names.end() ? otherwise : found->text;
}

}  // namespace

extern "C" {

const char* umad_class_str(uint8_t mgmt_class) {
    const bool vendor =
        (mgmt_class >= 0x09 && mgmt_class <= 0x0F) || (mgmt_class >= 0x30 && mgmt_class <= 0x4F);
    const bool application = mgmt_class >= 0x10 && mgmt_class <= 0x2F;
    return find(kClasses, mgmt_class, vendor ? "Vendor" : application ? "Application" : kUnknown);
}

const char* umad_method_str(uint8_t mgmt_class, uint8_t method) {
    const char* const common = find(kMethods, method, kUnknown);
    return mgmt_class == 0x03 ? find(kSaMethods, method, common) : common;
}

const char* umad_attribute_str(uint8_t mgmt_class, __be16 attr_id) {
    const unsigned id = be16toh(attr_id);
    const char* const common = find(kAttributes, id, kUnknown);
    switch (mgmt_class) {
        case 0x01:
        case 0x81:
            return find(kSmAttributes, id, common);
        case 0x03:
            return find(kSaAttributes, id, common);
        case 0x07:
            return find(kCmAttributes, id, common);
        default:
            return common;
    }
}

const char* umad_common_mad_status_str(__be16 status) {
    const unsigned bits = be16toh(status);
    if ((bits & 1) != 0) {
        return "Busy";
    }
    if ((bits & 2) != 0) {
        return "Redirection required";
    }
    return find(kFieldStatuses, bits >> 2 & 7, "Success");
}

const char* umad_sa_mad_status_str(__be16 status) {
    return find(kSaStatuses, be16toh(status) >> 8, "Undefined Error");
}

}  // extern "C"
