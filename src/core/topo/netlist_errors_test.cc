// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "core/topo/netlist.h"

namespace softib::topo {
namespace {

struct Wrong {
    const char* name;
    const char* text;
    const char* message;  ///< The expected message, without the name of the file.
};

void PrintTo(const Wrong& wrong, std::ostream* out) {
    *out << wrong.name;
}

class WrongNetlist : public testing::TestWithParam<Wrong> {};

TEST_P(WrongNetlist, IsRefusedWithPlaceAndRemedy) {
    const auto fabric = read_netlist(GetParam().text, "lab.net");
    ASSERT_FALSE(fabric);
    EXPECT_EQ(fabric.error().message, std::string("lab.net") + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Lines, WrongNetlist,
    testing::Values(
        Wrong{"Nothing", "\n# only a comment\n",
              ": no node in it; expected what ibnetdiscover prints, or a netlist of ibsim"},
        Wrong{"ForeignLine", "\nibwarn: [7] something\n",
              ": no node in it; expected what ibnetdiscover prints, or a netlist of ibsim; 1 line "
              "was left out before: line 2 is no line of ibnetdiscover or of an ibsim netlist: "
              "'ibwarn: [7] something'"},
        Wrong{"LongAndBinaryLine", "\x01\xff\"0123456789012345678901234567890123456789",
              ": no node in it; expected what ibnetdiscover prints, or a netlist of ibsim; 1 line "
              "was left out before: line 1 is no line of ibnetdiscover or of an ibsim netlist: "
              "'??\"0123456789012345678901234567890123456...'"},
        Wrong{"MisspeltNode", "Swich 8 \"a\"\n[1] \"b\"[1]\n",
              ":2: a port before the first node; begin with a line like: Switch 36 \"id\"; 1 line "
              "was left out before: line 1 is no line of ibnetdiscover or of an ibsim netlist: "
              "'Swich 8 \"a\"'"},
        Wrong{"ListOfNodes", "Ca\t : 0x0002c90300001234 ports 1 devid 0x1011 vendid 0x2c9 \"x\"\n",
              ":1: this is a list of nodes without cables; dump the fabric with 'ibnetdiscover' "
              "without -l"},
        Wrong{"NoPortCount", "Switch \"a\"\n",
              ":1: expected the number of ports behind 'Switch', from 1 to 254, not '\"a\"'"},
        Wrong{"TooManyPorts", "Hca 255 \"a\"\n",
              ":1: expected the number of ports behind 'Hca', from 1 to 254, not '255 \"a\"'"},
        Wrong{"PortCountOverflows", "Rt 99999999999999999999 \"a\"\n",
              ":1: expected the number of ports behind 'Rt', from 1 to 254, not "
              "'99999999999999999999 \"a\"'"},
        Wrong{"NoId", "Switch 8 a\n", ":1: expected the id of a node in quotes, not 'a'"},
        Wrong{"IdWithoutEnd", "Switch 8 \"a\n", ":1: expected the id of a node in quotes, not 'a'"},
        Wrong{"EmptyId", "Switch 8 \"\"\n", ":1: expected the id of a node in quotes, not ''"},
        Wrong{"LongId",
              "Switch 8 \"01234567890123456789012345678901234567890123456789012345678901234\"\n",
              ":1: the id '0123456789012345678901234567890123456789...' has 65 characters; 64 is "
              "the most"},
        Wrong{"ReservedId", "Switch 8 \"a#b\"\n",
              ":1: the id 'a#b' has '#' or '@' in it, which ibsim keeps for itself"},
        Wrong{"TextBehindId", "Switch 8 \"a\" leaf\n",
              ":1: 'leaf' behind the id is not understood; put '#' in front of it"},
        Wrong{"SameId", "Switch 8 \"a\"\n\nSwitch 8 \"a\"\n",
              ":3: the node \"a\" is already in line 1; an id is there once"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Ports, WrongNetlist,
    testing::Values(
        Wrong{"BeforeAnyNode", "[1] \"a\"[1]\n",
              ":1: a port before the first node; begin with a line like: Switch 36 \"id\""},
        Wrong{"NoNumber", "Switch 8 \"a\"\n[x] \"b\"[1]\n",
              ":2: expected a port in brackets, from [1] to [254], not '[x] \"b\"[1]'"},
        Wrong{"PortZero", "Switch 8 \"a\"\n[0] \"b\"[1]\n",
              ":2: expected a port in brackets, from [1] to [254], not '[0] \"b\"[1]'"},
        Wrong{"BracketWithoutEnd", "Switch 8 \"a\"\n[1 \"b\"\n",
              ":2: expected a port in brackets, from [1] to [254], not '[1 \"b\"'"},
        Wrong{"PeerPort", "Switch 8 \"a\"\n[1] \"b\"[-2]\n",
              ":2: expected a port in brackets, from [1] to [254], not '[-2]'"},
        Wrong{"BeyondItsNode", "Switch 8 \"a\"\n[9] \"b\"[1]\n",
              ":2: \"a\" has 8 ports, there is no port 9; correct line 1 or this one"},
        Wrong{"Twice", "Switch 8 \"a\"\n[1] \"b\"[1]\n[2] \"b\"[2]\n[1] \"b\"[3]\n",
              ":4: port 1 of \"a\" is already in line 2; a port has one cable"},
        Wrong{"TwiceAtTheEnd", "Switch 1 \"a\"\n[1] \"b\"[1]\n[1] \"b\"[1]\nrubbish\n",
              ":3: port 1 of \"a\" is already in line 2; a port has one cable"},
        Wrong{"Guid", "Ca 1 \"a\"\n[1](2c9xyz) \"b\"[1]\n",
              ":2: expected a GUID of up to 16 hexadecimal digits and ')', not '2c9xyz) \"b\"[1]'"},
        Wrong{"LongGuid", "Ca 1 \"a\"\n[1](12345678901234567) \"b\"[1]\n",
              ":2: expected a GUID of up to 16 hexadecimal digits and ')', not "
              "'12345678901234567) \"b\"[1]'"},
        Wrong{"PeerGuid", "Switch 8 \"a\"\n[1] \"b\"[1](\n",
              ":2: expected a GUID of up to 16 hexadecimal digits and ')', not ''"},
        Wrong{"NoPeer", "Switch 8 \"a\"\n[1]\n", ":2: expected the id of a node in quotes, not ''"},
        Wrong{"PeerAlias", "Switch 8 \"a\"\n[1] \"row@door\"\n",
              ":2: aliases of ports ('@') are not read; name the node and its port"},
        Wrong{"Alias", "Switch 8 \"a\"\n@[1] \"door\"\n",
              ":2: aliases of ports ('@') are not read; name the node and its port"},
        Wrong{"UnknownOption", "Switch 8 \"a\"\n[1] \"b\"[1] x=3\n",
              ":2: 'x=3' is not understood; a port has the options w=, s= and e="},
        Wrong{"OptionOutOfRange", "Switch 8 \"a\"\n[1] \"b\"[1] w=32\n",
              ":2: 'w=32' is out of range; w= goes from 1 to 31"},
        Wrong{"OptionWithoutNumber", "Switch 8 \"a\"\n[1] \"b\"[1] e=\n",
              ":2: 'e=' is out of range; e= goes from 0 to 15"},
        Wrong{"Width", "Switch 8 \"a\"\n[1] \"b\"[1] # \"b\" lid 1 3xHDR\n",
              ":2: unknown link width in '3xHDR'; widths are 1x, 2x, 4x, 8x, 12x"},
        Wrong{"Speed", "Switch 8 \"a\"\n[1] \"b\"[1] # \"b\" lid 1 4xUDR\n",
              ":2: unknown link speed in '4xUDR'; speeds are SDR, DDR, QDR, FDR10, FDR, EDR, HDR, "
              "NDR, XDR and GDR"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Settings, WrongNetlist,
    testing::Values(
        Wrong{"NoEqualsSign", "vendid 0x2c9\n", ":1: expected '=' behind 'vendid'"},
        Wrong{"PlusIsForGuids", "vendid+3\n", ":1: expected '=' behind 'vendid'"},
        Wrong{"NoNumber", "devid=zero\n",
              ":1: expected a number from 0 to 0xffffffff for 'devid', not 'zero'"},
        Wrong{"OutOfRange", "width=32\n",
              ":1: expected a number from 1 to 0x1f for 'width', not '32'"},
        Wrong{"GuidOverflows", "switchguid=0x10000000000000000\n",
              ":1: expected a number from 0 to 0xffffffffffffffff for 'switchguid', not "
              "'0x10000000000000000'"},
        Wrong{"PortGuid", "switchguid=0x1(zzz)\n",
              ":1: expected a GUID of up to 16 hexadecimal digits and ')', not 'zzz)'"},
        Wrong{"TextBehind", "caguid=0x1 and more\n",
              ":1: 'and more' behind 'caguid' is not understood; put '#' in front of it"},
        Wrong{"Module", "module=row2\n",
              ":1: expected module=\"name\" of at most 20 characters, without '#' and '@'"},
        Wrong{"LongModule", "module=\"012345678901234567890\"\n",
              ":1: expected module=\"name\" of at most 20 characters, without '#' and '@'"},
        Wrong{"Include", "include \"other.net\"\n",
              ":1: other files are not read; put the text of the included one here"},
        Wrong{"Command", "do Link \"a\"[1] \"b\"[1]\n",
              ":1: commands of ibsim are not supported; remove the line"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Cables, WrongNetlist,
    testing::Values(
        Wrong{"ToNobody", "Switch 8 \"a\"\n[1] \"b\"[1]\n",
              ":2: the cable leads to \"b\", which is not in the file; add that node or remove the "
              "line"},
        Wrong{"ToNoPort", "Switch 8 \"a\"\n[1] \"b\"[3]\nSwitch 2 \"b\"\n",
              ":2: the cable leads to port 3 of \"b\", which has 2; correct this line or line 3"},
        Wrong{"ToItself", "Switch 8 \"a\"\n[1] \"a\"[1]\n",
              ":2: the cable leads from the port to itself; remove the line"},
        Wrong{"OneEndOnly", "Switch 8 \"a\"\n[1] \"b\"[2]\n\nSwitch 2 \"b\"\n",
              ":2: the other end of the cable is missing; add to \"b\" (line 4): [2] \"a\"[1]"},
        Wrong{"EndsDisagree",
              "Switch 8 \"a\"\n[1] \"b\"[1]\nSwitch 2 \"b\"\n[1] \"c\"[2]\nHca 2 \"c\"\n"
              "[2] \"b\"[1]\n",
              ":2: the cable leads to \"b\"[1], but in line 4 that leads to \"c\"[2]; let both "
              "lines say the same"},
        Wrong{
            "UnknownSpeed",
            "Switch 8 \"a\"\n[1] \"b\"[1] # \"b\" lid 1 4x???\nSwitch 8 \"b\"\n"
            "[1] \"a\"[1] # \"a\" lid 2 4x???\n",
            ":2: the speed of the link is unknown, here and in line 4; replace the question marks, "
            "as in 4xHDR"},
        Wrong{"NoCommonSpeed",
              "Switch 8 \"a\"\n[1] \"b\"[1] s=1\nSwitch 8 \"b\"\n[1] \"a\"[1] s=4\n",
              ":2: this end and the one in line 4 have no speed in common; let both lines say the "
              "same"},
        Wrong{"NoCommonWidth",
              "Switch 8 \"a\"\n[1] \"b\"[1] # \"b\" lid 1 8xHDR\nSwitch 8 \"b\"\n"
              "[1] \"a\"[1] # \"a\" lid 2 4xHDR\n",
              ":2: this end and the one in line 4 have no width in common; let both lines say the "
              "same"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Guids, WrongNetlist,
    testing::Values(
        Wrong{"Zero", "switchguid=0\nSwitch 8 \"a\"\n",
              ":2: its GUID is 0; every node and port needs one of its own"},
        Wrong{"OfAnotherNode", "switchguid=7\nSwitch 8 \"a\"\ncaguid=7\nCa 1 \"b\"\n",
              ":4: its GUID 0x0000000000000007 is already that of line 2; every node and port "
              "needs one of its own"},
        Wrong{"OfAnotherPort",
              "switchguid=8\nSwitch 8 \"a\"\n[1] \"b\"[1]\ncaguid=7\nCa 1 \"b\"\n[1] \"a\"[1]\n",
              ":6: its GUID 0x0000000000000008 is already that of line 2; every node and port "
              "needs one of its own"},
        Wrong{"OfTheSamePort", "Ca 2 \"a\"\n[1](5) \"a\"[2]\n[2](5) \"a\"[1]\n",
              ":3: its GUID 0x0000000000000005 is already that of line 2; every node and port "
              "needs one of its own"}),
    [](const auto& test) { return test.param.name; });

TEST(WrongNetlists, MoreNodesThanLids) {
    std::string text;
    for (std::uint32_t i = 0; i <= kLidUnicastMax.value; ++i) {
        text += "Ca 1 \"h" + std::to_string(i) + "\"\n";
    }
    const auto nodes = read_netlist(text, "n");
    ASSERT_FALSE(nodes);
    EXPECT_EQ(nodes.error().message,
              "n:49152: more than 49151 nodes; a subnet has no LIDs for more");
    text.clear();
    for (std::uint32_t i = 0; i < 30000; ++i) {
        const std::string id = std::to_string(i);
        text += "Ca 2 \"" + id + "\"\n[1] \"" + id + "\"[2]\n[2] \"" + id + "\"[1]\n";
    }
    const auto ports = read_netlist(text, "n");
    ASSERT_FALSE(ports);
    EXPECT_EQ(ports.error().message,
              "n: 60000 switches and ports of adapters need as many LIDs, a subnet has 49151; take "
              "a part of the fabric");
}

}  // namespace
}  // namespace softib::topo
