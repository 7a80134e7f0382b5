#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Wireshark reads our packets and MADs: every field that it knows must have the value that we
wrote.

test_tshark.py WRITE_SAMPLES: write_samples makes a capture of random packets and says what is in
them; tshark, whose authors read the specification without us, says what it sees. It shows check
sums but does not compute them; the ICRC, a CRC-32 over masked bytes, zlib does, and the VCRC we
divide here.
"""
import collections
import ipaddress
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
import zlib
from pathlib import Path

SKIPPED = 77
COMPLAINTS_SHOWN = 40
ERF_INFINIBAND = 21

# Our struct -> where tshark has its fields; each is the field's name in lower case, unless RENAMED.
PREFIX = {
    "MADHeader": "mad", "SMP": "smplid", "DR": "smpdirected", "RMPP": "rmpp", "RMPP_ACK": "rmpp",
    "SA": "sa", "GUIDInfo": "switchinfo", "PortCountersExtended": "portcounters_ext",
    "ServiceRecord": "linkrecord", "NodeRecord": "sa", "PortInfoRecord": "sa",
    "SLtoVLMappingTableRecord": "sa", "SwitchInfoRecord": "sa", "LinearForwardingTableRecord": "sa",
    "MulticastForwardingTableRecord": "sa", "SMInfoRecord": "sa", "GUIDInfoRecord": "sa",
    "P_KeyTableRecord": "sa", "VLArbitrationTableRecord": "sa",
    "REQ": "cm.req", "PrimaryPath": "cm.req", "AlternatePath": "cm.req", "REJ": "cm.rej",
    "REP": "cm.rep", "RTU": "cm.rtu", "DREQ": "cm.dreq", "DREP": "cm.drsp",
}

CM_NAMES = {
    "LocalCommunicationID": "localcommid", "RemoteCommunicationID": "remotecommid",
    "PrivateData": "private", "LocalQ_Key": "localqkey", "PartitionKey": "pkey",
    "ResponderResources": "responderres", "InitiatorDepth": "initdepth",
    "RemoteCMResponseTimeout": "remoteresptout", "LocalCMResponseTimeout": "localresptout",
    "TransportServiceType": "transpsvctype", "EndToEndFlowControl": "e2eflowctrl",
    "StartingPSN": "startpsn", "RetryCount": "retrcount", "PathPacketPayloadMTU": "pppmtu",
    "RDCExists": "rdcexist", "RNRRetryCount": "rnrretrcount", "MaxCMRetries": "maxcmretr",
    "ExtendedTransportType": "ext_transport", "MessageRejected": "msgrej",
    "RejectInfoLength": "rejinfolen", "LocalEEContextNumber": "localeecn",
    "TargetACKDelay": "tgtackdelay", "FailoverAccepted": "failoveracc",
}
PATH_NAMES = {
    "LocalPortLID": "locallid", "RemotePortLID": "remotelid", "LocalPortGID": "localgid",
    "RemotePortGID": "remotegid", "FlowLabel": "flowlabel", "PacketRate": "pktrate",
    "TrafficClass": "tfcclass", "HopLimit": "hoplim", "SL": "sl", "SubnetLocal": "subnetlocal",
    "LocalACKTimeout": "localacktout",
}
RENAMED = {
    "DR.Status": "smpstatus",
    "SA.SM_Key": "smkey",
    "SMP.M_Key": "mkey",
    "SwitchInfo.EnhancedPort0": "enhancedportzero",
    "MulticastForwardingTable.PortMask": "portmask",
    "RMPP_ACK.PayloadLength": "newwindowlast",
    "LinearForwardingTableRecord.BlockNum": "blocknum_sixteenbit",
    "P_KeyTableRecord.BlockNum": "blocknum_sixteenbit",
    "MulticastForwardingTableRecord.BlockNum": "blocknum_ninebit",
    "GUIDInfoRecord.BlockNum": "blocknum_eightbit",
    "VLArbitrationTableRecord.BlockNum": "blocknum_eightbit",
    "ClassPortInfo.RedirectP_Key": "redirectpkey", "ClassPortInfo.RedirectQ_Key": "redirectqkey",
    "ClassPortInfo.TrapP_Key": "trappkey", "ClassPortInfo.TrapQ_Key": "trapqkey",
    "InformInfo.ProducerType": "producertypevendorid",
    "Notice.ProducerType": "producertypevendorid",
    "InformInfo.TrapNumber": "trapnumberdeviceid", "Notice.TrapNumber": "trapnumberdeviceid",
    "Trap144.LinkSpeedEnabledChange": "linkspeecenabledchange",
    "PortInfo.GidPrefix": "guid",
    "REP.ResponderResources": "respres",
    "CRC.Invariant": "invariant.crc", "CRC.Variant": "variant.crc",
}
RENAMED |= {f"{struct}.{ours}": theirs for struct in ("REQ", "REJ", "REP", "RTU", "DREQ", "DREP")
            for ours, theirs in CM_NAMES.items() if f"{struct}.{ours}" not in RENAMED}
RENAMED |= {f"{struct}.{ours}": f"{part}_{theirs}"
            for struct, part in (("PrimaryPath", "prim"), ("AlternatePath", "alt"))
            for ours, theirs in PATH_NAMES.items()}


def from_parts(high, low, low_bits):
    """Reads a field that tshark shows in two parts."""
    return lambda values: [str(int(a, 0) << low_bits | int(b, 0))
                           for a, b in zip(values[high], values[low])]


def alternating(first, second):
    """Reads a list whose elements tshark shows under two names by turns."""
    return lambda values: [v for pair in zip(values[first], values[second]) for v in pair]


COMPOSED = {
    "P_KeyTable.P_Key": from_parts("infiniband.p_keytable.membershiptype",
                                   "infiniband.p_keytable.p_keybase", 15),
    "SLtoVLMappingTable.VL": alternating("infiniband.sltovlmappingtable.sltovlhighbits",
                                         "infiniband.sltovlmappingtable.sltovllowbits"),
}

# Fields that tshark 4.0 does not show.
UNKNOWN = {
    "BTH.FECN", "BTH.BECN",
    "ClassPortInfo.TrapHL", "PathRecord.ServiceID", "PathRecord.QoSClass",
    "MultiPathRecord.QoSClass", "MultiPathRecord.ServiceID56LSB", "MultiPathRecord.ServiceID8MSB",
    "PortInfo.CapabilityMask2", "PortInfo.LinkSpeedExtActive", "PortInfo.LinkSpeedExtSupported",
    "PortInfo.LinkSpeedExtEnabled", "PortInfo.LinkSpeedExtActive2",
    "PortInfo.LinkSpeedExtSupported2",
    "PortInfo.LinkSpeedExtEnabled2", "PortInfo.MulticastPKeyTrapSuppressionEnabled",
    "PortInfoRecord.Options", "SwitchInfo.MulticastFDBTop", "Notice.DataDetails",
    "Trap144.CAPABILITYMASK2", "Trap144.CapabilityMask2Change", "Trap144.HierarchyInfoChange",
    "Trap144.SMPriorityChange", "PortCounters.CounterSelect2", "PortCounters.QP1Dropped",
    "PortCounters.PortXmitWait", "PortCountersExtended.CounterSelect2", "REQ.SAPSupported",
    "REQ.VendorID", "REP.VendorIDHigh", "REP.VendorIDMiddle", "REP.VendorIDLow",
    "ServiceRecord.ServiceData8", "ServiceRecord.ServiceData16", "ServiceRecord.ServiceData32",
    "ServiceRecord.ServiceData64",
}
UNKNOWN |= {f"PortCountersExtended.{name}" for name in (
    "SymbolErrorCounter", "LinkErrorRecoveryCounter", "LinkDownedCounter", "PortRcvErrors",
    "PortRcvRemotePhysicalErrors", "PortRcvSwitchRelayErrors", "PortXmitDiscards",
    "PortXmitConstraintErrors", "PortRcvConstraintErrors", "LocalLinkIntegrityErrors",
    "ExcessiveBufferOverrunErrors", "VL15Dropped", "PortXmitWait", "QP1Dropped")}

# Structs that tshark does not know; test_libibmad.py checks them.
UNKNOWN_STRUCTS = {
    "CC", "CongestionInfo", "CongestionKeyInfo", "SwitchCongestionLog", "CaCongestionLog",
    "SwitchCongestionSetting", "SwitchPortCongestionSetting", "CaCongestionSetting",
    "CongestionControlTable", "Timestamp", "PortInfoExtended", "MlnxExtendedPortInfo",
    "PortSamplesControl", "PortSamplesResult", "PortRcvErrorDetails", "PortXmitDiscardDetails",
    "PortOpRcvCounters", "PortFlowCtlCounters", "PortVLOpPackets", "PortVLOpData",
    "PortVLXmitFlowCtlUpdateErrors", "PortVLXmitWaitCounters", "PortExtendedSpeedsCounters",
    "PortExtendedSpeedsRsFecCounters", "SwPortVLCongestion", "PortRcvConCtrl", "PortSLRcvFECN",
    "PortSLRcvBECN", "PortXmitConCtrl", "PortVLXmitTimeCong", "PortXmitDataSL", "PortRcvDataSL",
}

# Fields that tshark reads wrongly.
MISREAD = {
    "DR.D",  # Takes the bit from another byte.
    "DR.Status",  # Shows the D bit with it.
    "RMPP.RRespTime", "RMPP.RMPPFlags",  # Cuts the byte 4 and 4, not 5 and 3.
    "RMPP_ACK.RRespTime", "RMPP_ACK.RMPPFlags",
    "MulticastForwardingTable.PortMask",  # Stops at half of the block.
    "PrimaryPath.FlowLabel", "AlternatePath.FlowLabel",  # Shifts three bytes as if they were four.
    "PrimaryPath.PacketRate", "AlternatePath.PacketRate",  # Takes the flow label's first byte.
}


def tshark_name(struct, field):
    """Returns the name under which tshark shows the field."""
    if struct == "FlowControl":
        return f"infiniband_link.{field.lower()}"
    if struct in ("ImmDt", "IETH"):
        return f"infiniband.{struct.lower()}"
    if struct == "CRC":
        return f"infiniband.{RENAMED[f'{struct}.{field}']}"
    if struct == "AtomicETH" and field in ("VA", "R_Key"):
        return f"infiniband.reth.{field.lower()}"
    if struct == "DREQ" and field == "RemoteQPNEECN":
        return "infiniband.cm.req.remoteqpneecn"
    if struct in ("REQ", "REP") and field == "LocalCommunicationID":
        return f"infiniband.cm.{struct.lower()}"
    prefix = PREFIX.get(struct, "trap" if struct.startswith("Trap") else struct.lower())
    return f"infiniband.{prefix}.{RENAMED.get(f'{struct}.{field}', field.lower())}"


def frames_of(capture, *options):
    """Returns, by frame number and field name, the values in order, as tshark prints them."""
    # A random payload may look like RPC over RDMA.
    xml = subprocess.run(["tshark", "-r", capture, "-T", "pdml", "--disable-protocol", "rpcordma",
                          *options], check=True, capture_output=True).stdout
    frames = {}
    for number, packet in enumerate(ElementTree.fromstring(xml).iter("packet"), 1):
        values = collections.defaultdict(list)
        for field in packet.iter("field"):
            values[field.get("name")].append(field.get("show"))
        frames[number] = values
    return frames


def same(ours, theirs):
    """Returns whether the values of a field, one or several, are the same in both notations."""
    if ours.startswith('"'):
        text = bytes.fromhex(theirs[0].replace(":", "")).decode() if ":" in theirs[0] else theirs[0]
        return text.rstrip("\0") == ours.strip('"')
    numbers = ours.split(",")
    if len(numbers) > 1 and ":" in theirs[0]:
        return bytes(map(int, numbers)) == bytes.fromhex(theirs[0].replace(":", ""))
    if ":" in ours:
        gid = ipaddress.IPv6Address(ours)
        raw = theirs[0].replace(":", "") if theirs[0].count(":") == 15 else None
        return gid.packed == bytes.fromhex(raw) if raw else gid == ipaddress.IPv6Address(theirs[0])
    if ":" in theirs[0]:  # A number that it shows as bytes.
        return int(ours) == int(theirs[0].replace(":", ""), 16)
    return [int(n) for n in numbers] == [int(n, 0) for n in theirs][:len(numbers)]


def compare(expected, frames):
    """Returns complaints, and how many values agreed."""
    complaints, agreed = [], 0
    for line in expected.splitlines():
        number, struct, field, ours = line.split(" ", 3)
        what = f"{struct}.{field}"
        if struct in UNKNOWN_STRUCTS or what in UNKNOWN or what in MISREAD:
            continue
        values = frames[int(number)]
        theirs = (COMPOSED[what](values) if what in COMPOSED
                  else values.get(tshark_name(struct, field)))
        if not theirs:
            complaints.append(f"frame {number}: tshark does not show {what}")
        elif not same(ours, theirs):
            complaints.append(f"frame {number}: {what} is {ours}, tshark reads {theirs}")
        else:
            agreed += 1
    return complaints, agreed


def packets_of(capture):
    """Returns the IBA packets of the capture: what follows the pcap and ERF headers of their
    records."""
    data = Path(capture).read_bytes()
    at = 24
    while at < len(data):
        size = int.from_bytes(data[at + 8:at + 12], "little")
        if data[at + 16 + 8] == ERF_INFINIBAND:
            yield data[at + 32:at + 16 + size]
        at += 16 + size


def icrc_is_right(packet):
    """Returns whether zlib finds the same ICRC, with ones for fields that may change on the way."""
    masked = bytearray(packet[:-6])
    if masked[1] & 3 == 3:
        masked[:8] = b"\xff" * 8
        masked[8] |= 0x0f
        masked[9:12] = b"\xff" * 3
        masked[15] = masked[8 + 40 + 4] = 0xff
    else:
        masked[0] |= 0xf0
        masked[8 + 4] = 0xff
    return zlib.crc32(masked).to_bytes(4, "little") == packet[-6:-2]


def vcrc_is_right(packet):
    """Whether the packet and its VCRC leave the rest that every right one leaves: a division by
    x^16 + x^12 + x^3 + x + 1, which begins with ones, takes each byte's lowest bit first, and ends
    with the rest turned round (IBA vol. 1, 7.8.2)."""
    rest = 0xffff
    for byte in packet[:-2]:
        for bit in range(8):
            carry = (rest >> 15) ^ (byte >> bit & 1)
            rest = rest << 1 & 0xffff ^ (0x100b if carry else 0)
    sent = "".join(str(byte >> bit & 1) for byte in packet[-2:] for bit in range(8))
    return int(sent, 2) == rest ^ 0xffff


def main():
    if shutil.which("tshark") is None:
        print("skipped: tshark is not installed")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        capture = str(Path(folder) / "samples.pcap")
        expected = subprocess.run([sys.argv[1], capture], check=True, capture_output=True,
                                  text=True).stdout
        complaints, agreed = compare(expected, frames_of(capture))
        complaints += [f"packet {number}: zlib computes another ICRC"
                       for number, packet in enumerate(packets_of(capture), 1)
                       if not icrc_is_right(packet)]
        complaints += [f"packet {number}: its VCRC is another one"
                       for number, packet in enumerate(packets_of(capture), 1)
                       if not vcrc_is_right(packet)]
    print("\n".join(complaints[:COMPLAINTS_SHOWN]))
    print(f"{agreed} values agree, {len(complaints)} do not")
    return 1 if complaints or not agreed else 0


if __name__ == "__main__":
    sys.exit(main())
