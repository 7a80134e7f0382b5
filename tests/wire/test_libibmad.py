#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""libibmad reads our MADs: every field that it knows must have the value that we wrote.

test_libibmad.py WRITE_SAMPLES: as test_tshark.py, for what perfquery, ibccquery and smpquery read.
libibmad numbers its fields; the numbers belong to its interface and never change.
"""
import ctypes
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
COMPLAINTS_SHOWN = 40
# Of a frame in the capture: its pcap and ERF headers, and LRH, BTH, DETH.
FILE_HEADER, FRAME_HEADER, PACKET_HEADER, MAD, TRAILER = 24, 32, 28, 256, 6

# Our struct -> first and last number of its fields.
FIELDS = {
    "NodeInfo": [(75, 86)], "PortInfo": [(27, 73), (323, 326)], "SwitchInfo": [(88, 105)],
    "SMInfo": [(142, 146)], "ClassPortInfo": [(206, 227)], "GUIDInfo": [(305, 312)],
    "PortInfoExtended": [(616, 621), (660, 661), (663, 664)], "MlnxExtendedPortInfo": [(515, 518)],
    "PortCounters": [(119, 140), (659, 659)], "PortCountersExtended": [(194, 203), (643, 657)],
    "PortXmitDataSL": [(228, 243)], "PortRcvDataSL": [(245, 260)],
    "PortXmitDiscardDetails": [(262, 265)], "PortRcvErrorDetails": [(267, 272)],
    "PortSamplesControl": [(274, 303)], "PortSamplesResult": [(598, 614)],
    "PortExtendedSpeedsCounters": [(328, 367)], "PortExtendedSpeedsRsFecCounters": [(623, 641)],
    "PortOpRcvCounters": [(369, 370)], "PortFlowCtlCounters": [(372, 373)],
    "PortVLOpPackets": [(375, 390)], "PortVLOpData": [(392, 407)],
    "PortVLXmitFlowCtlUpdateErrors": [(409, 424)], "PortVLXmitWaitCounters": [(426, 441)],
    "SwPortVLCongestion": [(443, 458)], "PortRcvConCtrl": [(460, 461)],
    "PortSLRcvFECN": [(463, 478)], "PortSLRcvBECN": [(480, 495)], "PortXmitConCtrl": [(497, 497)],
    "PortVLXmitTimeCong": [(499, 513)],
    "CongestionInfo": [(521, 522)], "CongestionKeyInfo": [(524, 527)],
    "SwitchCongestionLog": [(529, 530), (532, 534), (536, 539)],
    "CaCongestionLog": [(529, 530), (541, 543), (545, 551)],
    "SwitchCongestionSetting": [(553, 560)], "SwitchPortCongestionSetting": [(562, 566)],
    "CaCongestionSetting": [(568, 569), (571, 574)],
    "CongestionControlTable": [(576, 576), (578, 579)], "Timestamp": [(581, 581)],
}
# The offset of the struct in the MAD, where it differs.
DATA = 64
OFFSET = {"SwitchCongestionLog": 32, "CaCongestionLog": 32, "ClassPortInfo": 56}
# Structs with a list of smaller ones: the offset of the list, the distance of two elements, a field
# of them.
LISTS = {
    "SwitchCongestionLog": (40, 12, ("SLID", "DLID", "SL", "Timestamp")),
    "CaCongestionLog": (12, 16, ("Local_QP_CN_Entry", "SL_CN_Entry", "Service_Type_CN_Entry",
                                 "Remote_QP_Number_CN_Entry", "Local_LID_CN", "Remote_LID_CN_Entry",
                                 "Timestamp_CN_Entry")),
    "SwitchPortCongestionSetting": (0, 4, ("Valid", "Control_Type", "Threshold", "Packet_Size",
                                           "Cong_Parm_Marking_Rate")),
    "CaCongestionSetting": (4, 8, ("CCTI_Timer", "CCTI_Increase", "Trigger_Threshold", "CCTI_Min")),
    "CongestionControlTable": (4, 2, ("CCT_Shift", "CCT_Multiplier")),
}
RENAMED = {
    "BaseVersion": "BaseVers", "ClassVersion": "ClassVers", "SystemImageGUID": "SystemGuid",
    "NodeGUID": "Guid", "PortGUID": "PortGuid", "PartitionCap": "PartCap", "DeviceID": "DevId",
    "LocalPortNum": "LocalPort", "VendorID": "VendorId",
    "M_Key": "Mkey", "LID": "Lid", "MasterSMLID": "SMLid", "CapabilityMask": "CapMask",
    "M_KeyLeasePeriod": "MkeyLeasePeriod", "PortState": "LinkState",
    "PortPhysicalState": "PhysLinkState", "LinkDownDefaultState": "LinkDownDefState",
    "M_KeyProtectBits": "ProtectBits", "MasterSMSL": "SMSL", "VLArbitrationHighCap": "VLArbHighCap",
    "VLArbitrationLowCap": "VLArbLowCap", "InitTypeReply": "InitReply", "MTUCap": "MtuCap",
    "HOQLife": "HoqLife", "OperationalVLs": "OperVLs",
    "PartitionEnforcementInbound": "PartEnforceInb",
    "PartitionEnforcementOutbound": "PartEnforceOutb",
    "FilterRawInbound": "FilterRawInb", "FilterRawOutbound": "FilterRawOutb",
    "M_KeyViolations": "MkeyViolations", "P_KeyViolations": "PkeyViolations",
    "Q_KeyViolations": "QkeyViolations", "GUIDCap": "GuidCap",
    "MulticastPKeyTrapSuppressionEnabled": "McastPkeyTrapSuppressionEnabled",
    "SubnetTimeOut": "SubnetTimeout", "RespTimeValue": "RespTimeVal",
    "LocalPhyErrors": "LocalPhysErr",
    "OverrunErrors": "OverrunErr", "LinkRoundTripLatency": "RoundTrip",
    "LinearFDBCap": "LinearFdbCap", "RandomFDBCap": "RandomFdbCap",
    "MulticastFDBCap": "McastFdbCap",
    "LinearFDBTop": "LinearFdbTop", "DefaultPort": "DefPort",
    "DefaultMulticastPrimaryPort": "DefMcastPrimPort",
    "DefaultMulticastNotPrimaryPort": "DefMcastNotPrimPort", "LifeTimeValue": "LifeTime",
    "PortStateChange": "StateChange", "OptimizedSLtoVLMappingProgramming": "OptSLtoVLMapping",
    "LIDsPerPort": "LidsPerPort", "PartitionEnforcementCap": "PartEnforceCap",
    "InboundEnforcementCap": "InboundPartEnf", "OutboundEnforcementCap": "OutboundPartEnf",
    "FilterRawInboundCap": "FilterRawInbound", "FilterRawOutboundCap": "FilterRawOutbound",
    "SMInfo.GUID": "SmInfoGuid", "SM_Key": "SmInfoKey", "ActCount": "SmActivity",
    "Priority": "SmPriority", "SMState": "SmState",
    "RedirectP_Key": "RedirectPKey", "RedirectQ_Key": "RedirectQKey", "TrapP_Key": "TrapPKey",
    "TrapQ_Key": "TrapQKey", "PortMalformedPacketErrors": "PortMalformedPktErrors",
    "PortXmitDataSL": "XmtDataSL", "PortRcvDataSL": "RcvDataSL",
    "ClassPortInfo.BaseVersion": "BaseVersion", "ClassPortInfo.ClassVersion": "ClassVersion",
    "ClassPortInfo.CapabilityMask": "CapabilityMask",
}
# Fields that libibmad 44 does not have by themselves.
UNKNOWN = {"PortSamplesControl.CounterMask", "PortSamplesControl.CounterMask10",
           "PortInfo.LinkSpeedExtActive2", "PortInfo.LinkSpeedExtSupported2",
           "PortInfo.LinkSpeedExtEnabled2"}
# Fields that it reads from the other half of their 32 bits.
MISREAD = {"PortCounters.QP1Dropped", "PortInfoExtended.HDRFECModeSupported",
           "PortInfoExtended.HDRFECModeEnabled", "PortInfoExtended.NDRFECModeSupported",
           "PortInfoExtended.NDRFECModeEnabled"}
# It names these for one attribute and finds them in the others at the same place.
COMMON = {"PortSelect": "PortCounters", "CounterSelect": "PortCounters",
          "OpCode": "PortSamplesControl"}


class Mad:
    """The library's view of one of our MADs."""

    def __init__(self, library):
        self.library = library
        library.mad_field_name.restype = ctypes.c_char_p

    def numbers(self, struct):
        """Returns the fields of the struct: name -> number."""
        return {self.library.mad_field_name(number).decode(): number
                for first, last in FIELDS[struct] for number in range(first, last + 1)}

    def read(self, data, number):
        """Returns the field's value as a number, and as bytes."""
        value = ctypes.create_string_buffer(64)
        self.library.mad_decode_field(ctypes.create_string_buffer(data, 512), number, value)
        return int.from_bytes(value.raw[:8], "little"), value.raw


def mads_of(capture):
    """Returns the MAD of each frame, by its number."""
    data = Path(capture).read_bytes()
    size = FRAME_HEADER + PACKET_HEADER + MAD + TRAILER
    begin = FILE_HEADER + FRAME_HEADER + PACKET_HEADER
    count = (len(data) - FILE_HEADER) // size
    return {i + 1: data[begin + i * size:begin + i * size + MAD] for i in range(count)}


def read_field(mad, struct, field, ours, data):
    """Returns what the library reads, in our notation; None if it does not know the field."""
    numbers = mad.numbers(struct)
    if field in COMMON and field not in numbers and "," not in ours:
        numbers = mad.numbers(COMMON[field])
    name = RENAMED.get(f"{struct}.{field}", RENAMED.get(field, field))
    name = field if field in numbers else name
    elements = ours.split(",")
    begin, step, listed = LISTS.get(struct, (0, 0, ()))
    if field in listed:
        return ",".join(str(mad.read(data[begin + i * step:], numbers[name])[0])
                        for i in range(len(elements)))
    if ":" in ours and name in numbers:
        raw = mad.read(data, numbers[name])[1][:16].hex()
        return ":".join(raw[i:i + 4] for i in range(0, 32, 4))
    if name in numbers and len(elements) > 1:
        return ",".join(map(str, mad.read(data, numbers[name])[1][:len(elements)]))
    if len(elements) > 1 and f"{name}0" in numbers:
        return ",".join(str(mad.read(data, numbers[f"{name}{i}"])[0]) for i in range(len(elements)))
    return str(mad.read(data, numbers[name])[0]) if name in numbers else None


def compare(mad, expected, mads):
    """Returns complaints, and how many values agreed."""
    complaints, agreed, seen = [], 0, set()
    lines = [line.split(" ", 3) for line in expected.splitlines()]
    # There the struct stands inside, at another place.
    in_record = {number for number, struct, _, _ in lines if struct.endswith("Record")}
    for number, struct, field, ours in lines:
        if struct not in FIELDS or number in in_record or f"{struct}.{field}" in UNKNOWN | MISREAD:
            continue
        theirs = read_field(mad, struct, field, ours, mads[int(number)][OFFSET.get(struct, DATA):])
        if theirs != ours:
            complaints.append(
                f"frame {number}: {struct}.{field} is {ours}, libibmad reads {theirs}")
        agreed += theirs == ours
        seen.add(struct)
    complaints += [f"no sample of {struct}" for struct in FIELDS.keys() - seen]
    return complaints, agreed


def main():
    try:
        library = ctypes.CDLL("libibmad.so.5")
    except OSError:
        print("skipped: libibmad is not installed")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        capture = str(Path(folder) / "samples.pcap")
        expected = subprocess.run([sys.argv[1], capture], check=True, capture_output=True,
                                  text=True).stdout
        complaints, agreed = compare(Mad(library), expected, mads_of(capture))
    print("\n".join(complaints[:COMPLAINTS_SHOWN]))
    print(f"{agreed} values agree, {len(complaints)} do not")
    return 1 if complaints or not agreed else 0


if __name__ == "__main__":
    sys.exit(main())
