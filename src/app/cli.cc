// SPDX-License-Identifier: BSD-2-Clause
// The command line of `softib`. The only file that compiles CLI11, which is slow.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "app/cli_tree.h"
#include "app/commands.h"
#include "app/complete.h"
#include "app/fabric_dir.h"
#include "app/term.h"
#include "spec/scenario/scenario.h"

namespace softib::app {
namespace {

constexpr char kFooter[] =
    "A fabric is a set of virtual hosts with InfiniBand HCAs, joined by switches.\n"
    "  softib up --hosts 4                     start one\n"
    "  softib exec h0 -- ibv_devinfo           run a program on a host\n"
    "  softib run --hosts 2 -- ./test.sh       a private fabric for one command\n"
    "  softib down                             end it\n"
    "Every command has --help. Manual: man softib\n";

/// A subcommand and what to do when it was given.
struct Command {
    CLI::App* app;
    std::function<int()> act;
};

/// Everything the command line can say.
struct Parsed {
    UpOptions up;
    DownOptions down;
    ListOptions list;
    StatusOptions status;
    LogOptions log;
    AddrOptions addr;
    TopoOptions topo;
    ExecOptions exec;
    ExecOptions env;
    RunOptions run;
    MpirunOptions mpirun;
    RouteOptions route;
    RoutesOptions routes;
    LinkOptions link;
    FaultOptions fault;
    CaptureOptions capture;
    SwitchOptions power;
    SimOptions sim;
    SmOptions sm;
    std::string help_about;
    std::vector<std::string> command;  ///< What stands behind "--".
};

/// Refuses what can be no fabric's name.
std::string check_name(const std::string& name) {
    const auto checked = spec::check_fabric_name(name);
    return checked ? std::string() : checked.error();
}

/// One of the names between the bars: "up|down".
void only(CLI::Option* option, const std::string& choices) {
    std::vector<std::string> names;
    for (std::size_t begin = 0; begin <= choices.size();) {
        const std::size_t end = std::min(choices.find('|', begin), choices.size());
        names.push_back(choices.substr(begin, end - begin));
        begin = end + 1;
    }
    option->type_name(choices)->check(CLI::IsMember(names).description(""));
}

void add_json(CLI::App& app, bool& json) {
    app.add_flag("--json", json, "print JSON");
}

void add_fabric_choice(CLI::App& app, std::optional<std::string>& fabric) {
    app.add_option("-f,--fabric", fabric,
                   "which fabric (default: $SOFTIB_FABRIC, else 'default', else the only one up)")
        ->type_name("FABRIC")
        ->check(check_name);
}

void add_hostname_choice(CLI::App& app, bool& real_hostname) {
    app.add_flag("--real-hostname", real_hostname,
                 "leave it the machine's name, instead of the host's");
}

void add_fabric_flags(CLI::App& app, FabricFlags& flags) {
    app.add_option("-c,--config", flags.config, "description of the fabric (TOML)")
        ->type_name("FILE")
        ->group("Fabric");
    for (const spec::ConfigKey& key : spec::config_keys()) {
        if (key.name == "name") {
            continue;
        }
        const auto keep = [&flags, name = std::string(key.name)](const std::string& value) {
            flags.keys.emplace_back(name, value);
        };
        if (key.operand.empty()) {
            app.add_flag_callback(
                   spec::flag_name(key.name), [keep] { keep("true"); }, std::string(key.help))
                ->group("Fabric");
            continue;
        }
        const std::string help = key.initial.empty()
                                     ? std::string(key.help)
                                     : fmt::format("{} (default: {})", key.help, key.initial);
        app.add_option_function<std::string>(spec::flag_name(key.name), keep, help)
            ->type_name(std::string(key.operand))
            ->group("Fabric");
    }
}

Command add_up(CLI::App& app, Parsed& parsed) {
    UpOptions& up = parsed.up;
    CLI::App* const sub = app.add_subcommand("up", "Start a fabric");
    sub->add_option("name", up.name, "name of the fabric (default: $SOFTIB_FABRIC, else 'default')")
        ->type_name("NAME")
        ->check(check_name);
    sub->add_flag("--foreground", up.foreground, "stay on the terminal and log there");
    add_json(*sub, up.json);
    add_fabric_flags(*sub, up.flags);
    return {sub, [&up] { return cmd_up(up); }};
}

Command add_down(CLI::App& app, Parsed& parsed) {
    DownOptions& down = parsed.down;
    CLI::App* const sub = app.add_subcommand("down", "End fabrics");
    sub->add_option("name", down.names,
                    "which (default: $SOFTIB_FABRIC, else 'default', else the only one up)")
        ->type_name("FABRIC")
        ->check(check_name);
    sub->add_option_function<std::string>(
           "-f,--fabric", [&down](const std::string& name) { down.names.push_back(name); },
           "the same fabric, by the flag of other commands")
        ->type_name("FABRIC")
        ->check(check_name);
    sub->add_flag("--all", down.all, "end all of them");
    add_json(*sub, down.json);
    return {sub, [&down] { return cmd_down(down); }};
}

Command add_list(CLI::App& app, Parsed& parsed) {
    ListOptions& list = parsed.list;
    CLI::App* const sub = app.add_subcommand("list", "List the fabrics");
    add_json(*sub, list.json);
    return {sub, [&list] { return cmd_list(list); }};
}

Command add_status(CLI::App& app, Parsed& parsed) {
    StatusOptions& status = parsed.status;
    CLI::App* const sub = app.add_subcommand("status", "Show hosts, ports and attached programs");
    add_fabric_choice(*sub, status.fabric);
    sub->add_flag("-v,--verbose", status.verbose, "all hosts; what each program holds");
    add_json(*sub, status.json);
    return {sub, [&status] { return cmd_status(status); }};
}

Command add_log(CLI::App& app, Parsed& parsed) {
    LogOptions& log = parsed.log;
    CLI::App* const sub = app.add_subcommand("log", "Show what the daemon of a fabric did");
    sub->add_option("fabric", log.fabric, "which fabric (default: $SOFTIB_FABRIC, else 'default')")
        ->type_name("NAME");
    sub->add_flag("-f,--follow", log.follow, "go on with what it does, until the fabric ends");
    sub->add_option("-n,--lines", log.lines, "only the last lines")->type_name("N");
    return {sub, [&log] { return cmd_log(log); }};
}

Command add_addr(CLI::App& app, Parsed& parsed) {
    AddrOptions& addr = parsed.addr;
    CLI::App* const sub =
        app.add_subcommand("addr", "Show the hosts' IP addresses for rdma_cm, and who listens");
    add_fabric_choice(*sub, addr.fabric);
    add_json(*sub, addr.json);
    return {sub, [&addr] { return cmd_addr(addr); }};
}

Command add_topo(CLI::App& app, Parsed& parsed) {
    TopoOptions& topo = parsed.topo;
    CLI::App* const sub =
        app.add_subcommand("topo", "Draw a fabric: the running one, or one that flags describe");
    add_fabric_choice(*sub, topo.fabric);
    sub->add_option("--dot", topo.dot, "write Graphviz DOT ('-': standard output)")
        ->type_name("FILE");
    sub->add_option("--svg", topo.svg, "write a picture ('-': standard output)")->type_name("FILE");
    sub->add_option("--ibnetdiscover", topo.ibnetdiscover, "write it as ibnetdiscover prints it")
        ->type_name("FILE");
    sub->add_option("--ibsim", topo.ibsim, "write a netlist for ibsim")->type_name("FILE");
    sub->add_flag("--report", topo.report,
                  "count switches, cables by kind and reach, bisection, diameter, LIDs");
    sub->add_option("--rack-hosts", topo.rack_hosts, "hosts in a rack, for --report")
        ->type_name("N")
        ->check(CLI::Range(1, 1000));
    add_json(*sub, topo.json);
    add_fabric_flags(*sub, topo.flags);
    return {sub, [&topo] { return cmd_topo(topo); }};
}

Command add_exec(CLI::App& app, Parsed& parsed) {
    ExecOptions& exec = parsed.exec;
    CLI::App* const sub = app.add_subcommand("exec", "Run a program on a host");
    add_fabric_choice(*sub, exec.fabric);
    sub->add_flag("--ns", exec.use_namespace,
                  "give it real /sys and /dev paths by a mount namespace instead of a preload");
    sub->add_flag("--rsockets", exec.rsockets, "take its TCP connections over the fabric");
    sub->add_flag("--enforce-memlock", exec.enforce_memlock,
                  "count registered memory against the limit of locked memory");
    add_hostname_choice(*sub, exec.real_hostname);
    sub->add_option("host", exec.host, "which host, as in softib status")
        ->type_name("HOST")
        ->required();
    sub->prefix_command();
    return {sub, [&exec, &parsed, sub] {
                exec.command = parsed.command.empty() ? sub->remaining() : parsed.command;
                return cmd_exec(exec);
            }};
}

Command add_env(CLI::App& app, Parsed& parsed) {
    ExecOptions& env = parsed.env;
    CLI::App* const sub =
        app.add_subcommand("env", "Print what a shell must export to be on a host");
    add_fabric_choice(*sub, env.fabric);
    sub->add_flag("--rsockets", env.rsockets, "as in softib exec");
    sub->add_flag("--enforce-memlock", env.enforce_memlock, "as in softib exec");
    add_json(*sub, env.json);
    add_hostname_choice(*sub, env.real_hostname);
    sub->add_option("host", env.host, "which host")->type_name("HOST")->required();
    return {sub, [&env] { return cmd_env(env); }};
}

Command add_run(CLI::App& app, Parsed& parsed) {
    RunOptions& run = parsed.run;
    CLI::App* const sub =
        app.add_subcommand("run", "Run a command on the first host of a private fabric");
    sub->add_flag("--ns", run.use_namespace, "as in softib exec");
    sub->add_flag("--enforce-memlock", run.enforce_memlock, "as in softib exec");
    add_hostname_choice(*sub, run.real_hostname);
    add_fabric_flags(*sub, run.flags);
    sub->prefix_command();
    return {sub, [&run, &parsed, sub] {
                run.command = parsed.command.empty() ? sub->remaining() : parsed.command;
                return cmd_run(run);
            }};
}

Command add_mpirun(CLI::App& app, Parsed& parsed) {
    MpirunOptions& mpirun = parsed.mpirun;
    CLI::App* const sub =
        app.add_subcommand("mpirun", "Run an MPI program, each rank on a host of its own");
    add_fabric_choice(*sub, mpirun.fabric);
    sub->add_option("-n,--ranks", mpirun.ranks,
                    "ranks, 1 to 65536; more than hosts: in turn (default: hosts)")
        ->type_name("N")
        ->check(CLI::Range(1, 65536).description(""));
    only(sub->add_option("--mpi", mpirun.mpi,
                         "whose mpirun (default: what the program is linked with)"),
         "openmpi|mpich");
    add_hostname_choice(*sub, mpirun.real_hostname);
    sub->prefix_command();
    return {sub, [&mpirun, &parsed, sub] {
                mpirun.command = parsed.command.empty() ? sub->remaining() : parsed.command;
                return cmd_mpirun(mpirun);
            }};
}

Command add_mpi_rank(CLI::App& app, Parsed& parsed) {
    CLI::App* const sub = app.add_subcommand("mpi-rank")->group("");  // Not for people.
    add_hostname_choice(*sub, parsed.mpirun.real_hostname);
    return {sub, [&parsed] {
                parsed.mpirun.command = parsed.command;
                return cmd_mpi_rank(parsed.mpirun);
            }};
}

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
        operand(one, name, value, type)->required()->check(CLI::NonNegativeNumber.description(""));
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

/// The keys of a scenario, each where its section keeps it.
void add_scenario_flags(CLI::App& app, SimOptions& sim) {
    using Section = spec::ScenarioKey::Section;
    for (const spec::ScenarioKey& key : spec::scenario_keys()) {
        KeyTexts& keys = key.section == Section::kFail      ? sim.failures
                         : key.section == Section::kTraffic ? sim.traffic_keys
                                                            : sim.keys;
        const char* const group = key.section == Section::kFail      ? "Failures"
                                  : key.section == Section::kTraffic ? "Traffic"
                                  : key.section == Section::kHosts   ? "Adapters"
                                                                     : "Simulation";
        if (key.name == "pattern") {
            app.add_option("--traffic", sim.traffics,
                           "who sends to whom, and its keys: PATTERN,KEY=VALUE,... (repeatable)")
                ->type_name("PATTERN")
                ->group(group);
            continue;
        }
        const std::string flag = spec::flag_name(key.name);
        const std::string help = key.initial.empty()
                                     ? std::string(key.help)
                                     : fmt::format("{} (default: {})", key.help, key.initial);
        if (key.operand.empty()) {
            app.add_flag_callback(
                   flag, [&keys, name = std::string(key.name)] { keys.emplace_back(name, "true"); },
                   help)
                ->group(group);
            continue;
        }
        const auto keep = [&keys,
                           name = std::string(key.name)](const std::vector<std::string>& values) {
            for (const std::string& value : values) {
                keys.emplace_back(name, value);
            }
        };
        CLI::Option* const option =
            app.add_option_function<std::vector<std::string>>(flag, keep, help);
        option->type_name(std::string(key.operand))->group(group);
        if (key.section != Section::kFail) {
            option->expected(1);
        }
    }
}

Command add_sim(CLI::App& app, Parsed& parsed) {
    SimOptions& sim = parsed.sim;
    CLI::App* const sub =
        app.add_subcommand("sim", "Simulate traffic on a fabric at packet level, in virtual time");
    sub->add_option("scenario", sim.scenario, "a scenario (TOML); flags win over it")
        ->type_name("FILE");
    add_json(*sub, sim.json);
    sub->add_option("--csv", sim.csv, "write all messages ('-': standard output)")
        ->type_name("FILE");
    sub->add_option("--csv-links", sim.csv_links, "write all links")->type_name("FILE");
    sub->add_option("--html", sim.html, "write a report with plots")->type_name("FILE");
    sub->add_flag("--schema", sim.schema, "print the JSON schema of scenarios, for editors");
    add_scenario_flags(*sub, sim);
    add_fabric_flags(*sub, sim.flags);
    CLI::App* const whatif = sub->add_subcommand(
        "whatif", "compare with the fabric that has lost something, and rank what hurts most");
    whatif->fallthrough();
    whatif->parse_complete_callback([&sim] { sim.whatif = true; });
    whatif->add_option("--seeds", sim.seeds, "draws of --fail-random (default: 1)")
        ->type_name("N")
        ->check(CLI::Range(1, 1000).description(""));
    return {sub, [&sim] { return cmd_sim(sim); }};
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
    sub->add_option("port", link.port, "its port (default: 1)")->type_name("PORT");
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
        ->check(CLI::Range(14, 65535).description(""));
    sub->add_flag("--bare", capture.bare,
                  "bare packets (link type 247), which Wireshark cannot read");
    sub->add_option("-c,--count", capture.count, "stop after N packets (default: never)")
        ->type_name("N");
    add_json(*sub, capture.json);
    return {sub, [&capture] { return cmd_capture(capture); }};
}

int show_help(CLI::App& app, const std::string& about) {
    if (about.empty()) {
        app.clear();  // Else it would explain "help".
        fmt::print("{}", app.help());
        return 0;
    }
    for (const CLI::App* const sub : app.get_subcommands({})) {
        if (sub->get_name() == about) {
            fmt::print("{}", sub->help());
            return 0;
        }
    }
    return misuse(fmt::format("no command '{}'; see: softib help", about));
}

Command add_help(CLI::App& app, Parsed& parsed) {
    CLI::App* const sub = app.add_subcommand("help", "Explain a command");
    sub->add_option("command", parsed.help_about)->type_name("COMMAND");
    return {sub, [&app, &parsed] { return show_help(app, parsed.help_about); }};
}

/// Splits off what stands behind the first "--": it is the user's, not ours to parse.
std::vector<std::string> split(int argc, char** argv, Parsed& parsed) {
    std::vector<std::string> ours(argv + 1, argv + argc);
    const auto dashes = std::ranges::find(ours, "--");
    if (dashes != ours.end()) {
        parsed.command.assign(std::next(dashes), ours.end());
        ours.erase(dashes, ours.end());
    }
    std::ranges::reverse(ours);  // CLI11 takes them from the back.
    return ours;
}

bool is_command(const std::vector<Command>& commands, const std::string& name) {
    return std::ranges::any_of(
        commands, [&](const Command& command) { return command.app->get_name() == name; });
}

int run(int argc, char** argv) {
    CLI::App app{"InfiniBand in user space: no hardware, no kernel module, no root", "softib"};
    app.set_version_flag("--version", std::string("softib ") + SOFTIB_VERSION);
    app.require_subcommand(1);
    app.formatter(std::make_shared<UsageFormatter>());
    Parsed parsed;
    const std::vector<Command> commands{
        add_up(app, parsed),     add_down(app, parsed),   add_list(app, parsed),
        add_status(app, parsed), add_topo(app, parsed),   add_exec(app, parsed),
        add_run(app, parsed),    add_env(app, parsed),    add_mpirun(app, parsed),
        add_route(app, parsed),  add_routes(app, parsed), add_link(app, parsed),
        add_switch(app, parsed), add_sm(app, parsed),     add_mpi_rank(app, parsed),
        add_addr(app, parsed),   add_fault(app, parsed),  add_capture(app, parsed),
        add_log(app, parsed),    add_sim(app, parsed),    add_help(app, parsed)};
    app.footer(kFooter);  // After the subcommands, which would inherit it.
    if (argc > 1 && std::string_view(argv[1]) == "__complete") {
        const std::vector<std::string> words(argv + 2, argv + argc);
        fmt::print("{}", complete::answer(describe_command(app), words));
        return 0;
    }
    std::vector<std::string> args = split(argc, argv, parsed);
    if (!args.empty() && !args.back().starts_with('-') && !is_command(commands, args.back())) {
        note(fmt::format("no command '{}'; see: softib help", args.back()));
        return 2;
    }
    try {
        app.parse(std::move(args));
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {
            return app.exit(error);
        }
        const auto used = app.get_subcommands();
        const std::string where = used.empty() ? "" : " " + used.front()->get_name();
        note(fmt::format("{}; see: softib{} --help", error.what(), where));
        return 2;
    }
    const auto given = std::ranges::find_if(
        commands, [](const Command& command) { return command.app->parsed(); });
    return given->act();
}

}  // namespace
}  // namespace softib::app

int main(int argc, char** argv) {
    try {
        return softib::app::finish_output(softib::app::run(argc, argv));
    } catch (const std::system_error& error) {  // fmt::print() could not write.
        return softib::app::fail(error.what());
    }
}
