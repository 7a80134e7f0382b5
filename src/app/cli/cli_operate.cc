// SPDX-License-Identifier: BSD-2-Clause
// Subcommands that change a running fabric or watch it closely.
#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "app/cli/cli_options.h"
#include "app/cli/commands.h"

namespace softib::app {
namespace {

Command add_route(CLI::App& app, Parsed& parsed) {
    RouteOptions& route = parsed.route;
    CLI::App* const sub =
        app.add_subcommand("route", "Show and change a switch's forwarding table");
    add_fabric_choice(*sub, route.fabric);
    add_json(*sub, route.json);
    sub->require_subcommand(1);
    const auto action = [&](const char* name, const char* help) {
        CLI::App* const one = sub->add_subcommand(name, help);
        one->fallthrough();
        one->parse_complete_callback([&route, name] { route.action = name; });
        return one;
    };
    const auto operand = [](CLI::App* one, const char* name, std::string& value, const char* type) {
        return one->add_option(name, value)->type_name(type);
    };
    const auto number = [&](CLI::App* one, const char* name, std::string& value, const char* type) {
        operand(one, name, value, type)->required()->check(whole_number(0, UINT16_MAX));
    };
    CLI::App* const show = action("show", "print the table, or the switches if none is named");
    operand(show, "switch", route.switch_name, "SWITCH");
    CLI::App* const set = action("set", "send a LID out of a port");
    operand(set, "switch", route.switch_name, "SWITCH")->required();
    number(set, "lid", route.lid, "LID");
    number(set, "port", route.port, "PORT");
    CLI::App* const clear = action("clear", "remove the route to a LID: the path is dead");
    operand(clear, "switch", route.switch_name, "SWITCH")->required();
    number(clear, "lid", route.lid, "LID");
    return {sub, [&route] { return cmd_route(route); }};
}

Command add_routes(CLI::App& app, Parsed& parsed) {
    RoutesOptions& routes = parsed.routes;
    CLI::App* const sub =
        app.add_subcommand("routes", "Check the routes of all switches, or write them to files");
    add_fabric_choice(*sub, routes.fabric);
    add_json(*sub, routes.json);
    sub->require_subcommand(1);
    const auto action = [&](const char* name, const char* help) {
        CLI::App* const one = sub->add_subcommand(name, help);
        one->fallthrough();
        one->parse_complete_callback([&routes, name] { routes.action = name; });
        return one;
    };
    CLI::App* const check = action(
        "check", "check that every pair is reached and that packets cannot block each other");
    check->add_flag("-a,--all", routes.all,
                    "credit loops: count what switches send and receive too");
    check->add_flag("-p,--permutations", routes.permutations,
                    "how many flows share the busiest link when all hosts send to others");
    check
        ->add_option("--ranks", routes.ranks,
                     "with --permutations: only these hosts, in this order, one a line")
        ->type_name("FILE")
        ->needs("--permutations");
    CLI::App* const dump = action("dump", "write them as OpenSM does, for ibdmchk");
    dump->add_option("directory", routes.directory)->type_name("DIR")->required();
    return {sub, [&routes] { return cmd_routes(routes); }};
}

Command add_switch(CLI::App& app, Parsed& parsed) {
    SwitchOptions& power = parsed.power;
    CLI::App* const sub = app.add_subcommand("switch", "Kill a switch, or wake it up again");
    add_fabric_choice(*sub, power.fabric);
    add_json(*sub, power.json);
    only(sub->add_option("action", power.action)->required(), "kill|revive");
    sub->add_option("name", power.name, "the switch")->type_name("SWITCH")->required();
    return {sub, [&power] { return cmd_switch(power); }};
}

Command add_sm(CLI::App& app, Parsed& parsed) {
    SmOptions& sm = parsed.sm;
    CLI::App* const sub = app.add_subcommand("sm", "Ask the subnet manager, or tell it what to do");
    add_fabric_choice(*sub, sm.fabric);
    sm.action = "status";
    only(sub->add_option("action", sm.action,
                         "show it, sweep again, or hand over to another manager (default: status)"),
         "status|resweep|handover");
    add_json(*sub, sm.json);
    return {sub, [&sm] { return cmd_sm(sm); }};
}

Command add_link(CLI::App& app, Parsed& parsed) {
    LinkOptions& link = parsed.link;
    CLI::App* const sub = app.add_subcommand("link", "Pull a cable, or put it back");
    add_fabric_choice(*sub, link.fabric);
    add_json(*sub, link.json);
    only(sub->add_option("action", link.action)->required(), "up|down");
    sub->add_option("node", link.node, "a switch, a host, or HOST/DEVICE; with :PORT behind it")
        ->type_name("NODE")
        ->required();
    sub->add_option("port", link.port, "its port (default: 1)")
        ->type_name("PORT")
        ->check(whole_number(1, 254));
    return {sub, [&link] { return cmd_link(link); }};
}

Command add_fault(CLI::App& app, Parsed& parsed) {
    FaultOptions& fault = parsed.fault;
    CLI::App* const sub = app.add_subcommand(
        "fault", "Let a cable lose, break or delay packets (with --data-path packet)");
    add_fabric_choice(*sub, fault.fabric);
    sub->add_option("link", fault.link, "the cable at this port; none: show what was set")
        ->type_name("NODE:PORT");
    sub->add_option("--drop", fault.drop, "part of the packets that is lost, as 1e-4 or 0.01%")
        ->type_name("PART");
    sub->add_option("--corrupt", fault.corrupt, "part of them that arrives broken")
        ->type_name("PART");
    sub->add_option("--delay", fault.delay, "how much longer the cable takes, as 10us; at most 4ms")
        ->type_name("TIME");
    sub->add_option("--rate", fault.rate, "bits per second, as 10G; 0: what the link has")
        ->type_name("RATE");
    sub->add_flag("--clear", fault.clear, "as it was");
    add_json(*sub, fault.json);
    return {sub, [&fault] { return cmd_fault(fault); }};
}

Command add_capture(CLI::App& app, Parsed& parsed) {
    CaptureOptions& capture = parsed.capture;
    CLI::App* const sub = app.add_subcommand(
        "capture", "Write packets to a file for Wireshark (with --data-path packet)");
    add_fabric_choice(*sub, capture.fabric);
    sub->add_option("port", capture.ports,
                    "both directions at these ports; none: what all HCAs send")
        ->type_name("NODE:PORT");
    sub->add_option("-w,--write", capture.file, "the pcap file; -: standard output, for a pipe")
        ->type_name("FILE")
        ->required();
    sub->add_option("-s,--snaplen", capture.snap_bytes,
                    "bytes kept of each packet, 14 to 65535 (default: 65535)")
        ->type_name("BYTES")
        ->check(whole_number(14, 65535));
    sub->add_flag("--bare", capture.bare,
                  "bare packets (link type 247), which Wireshark cannot read");
    sub->add_option("-c,--count", capture.count, "stop after N packets (default: never)")
        ->type_name("N")
        ->check(whole_number(1, UINT64_MAX));
    add_json(*sub, capture.json);
    return {sub, [&capture] { return cmd_capture(capture); }};
}

}  // namespace

std::span<const Subcommand> operation_subcommands() {
    static constexpr Subcommand kAll[]{
        {"route", add_route},     {"routes", add_routes}, {"link", add_link},
        {"switch", add_switch},   {"sm", add_sm},         {"fault", add_fault},
        {"capture", add_capture},
    };
    return kAll;
}

}  // namespace softib::app
