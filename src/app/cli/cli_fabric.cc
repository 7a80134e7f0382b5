// SPDX-License-Identifier: BSD-2-Clause
// Subcommands that start and show fabrics and run programs on them.
#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "app/cli/cli_options.h"
#include "app/cli/commands.h"

namespace softib::app {
namespace {

/// Adds the fabric as an operand, and as the flag of other commands. Only one of both may be there.
void add_fabric_operand(CLI::App& app, std::optional<std::string>& fabric) {
    CLI::Option* const operand =
        app.add_option("name", fabric,
                       "which fabric (default: $SOFTIB_FABRIC, else 'default', else the only one "
                       "up)");
    operand->type_name("FABRIC")->check(check_name);
    app.add_option("-f,--fabric", fabric, "the same fabric, by the flag of other commands")
        ->type_name("FABRIC")
        ->check(check_name)
        ->excludes(operand);
}

Command add_up(CLI::App& app, Parsed& parsed) {
    UpOptions& up = parsed.up;
    CLI::App* const sub = app.add_subcommand("up", "Start a fabric");
    sub->add_option("name", up.name, "name of the fabric (default: $SOFTIB_FABRIC, else 'default')")
        ->type_name("NAME")
        ->check(check_name);
    sub->add_option("-f,--fabric", up.name, "the same name, by the flag of other commands")
        ->type_name("FABRIC")
        ->check(check_name)
        ->excludes(sub->get_option("name"));
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
    add_fabric_operand(*sub, log.fabric);
    sub->add_flag("-F,--follow", log.follow, "go on with what it does, until the fabric ends");
    sub->add_option("-n,--lines", log.lines, "only the last lines (default: all)")
        ->type_name("N")
        ->check(whole_number(0, UINT32_MAX));
    sub->add_flag("--json", log.json, "print JSON, an object for each line");
    return {sub, [&log] { return cmd_log(log); }};
}

Command add_addr(CLI::App& app, Parsed& parsed) {
    AddrOptions& addr = parsed.addr;
    CLI::App* const sub =
        app.add_subcommand("addr", "Show the hosts' IP addresses for rdma_cm, and who listens");
    add_fabric_operand(*sub, addr.fabric);
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
        ->check(whole_number(1, 1000));
    add_json(*sub, topo.json);
    add_fabric_flags(*sub, topo.flags);
    return {sub, [&topo] { return cmd_topo(topo); }};
}

/// Returns the program and its arguments: the words behind "--", or else the first word that is no
/// option of ours and all behind it. Throws if that word looks like an option.
std::vector<std::string> program_words(const CLI::App& sub, const Parsed& parsed) {
    std::vector<std::string> words = sub.remaining();
    if (words.empty()) {
        return parsed.command;
    }
    if (words.front().starts_with('-')) {
        throw CLI::ExtrasError(sub.get_name(), {words.front()});
    }
    if (!parsed.command.empty()) {
        words.emplace_back("--");
        words.insert(words.end(), parsed.command.begin(), parsed.command.end());
    }
    return words;
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
    add_json_report(*sub, exec.json);
    add_hostname_choice(*sub, exec.real_hostname);
    sub->add_option("host", exec.host, "which host, as in softib status")
        ->type_name("HOST")
        ->required();
    sub->prefix_command();
    return {sub, [&exec, &parsed, sub] {
                exec.command = program_words(*sub, parsed);
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
    add_json_report(*sub, run.json);
    add_hostname_choice(*sub, run.real_hostname);
    add_fabric_flags(*sub, run.flags);
    sub->prefix_command();
    return {sub, [&run, &parsed, sub] {
                run.command = program_words(*sub, parsed);
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
        ->check(whole_number(1, 65536));
    only(sub->add_option("--mpi", mpirun.mpi,
                         "whose mpirun (default: what the program is linked with)"),
         "openmpi|mpich");
    add_json_report(*sub, mpirun.json);
    add_hostname_choice(*sub, mpirun.real_hostname);
    sub->prefix_command();
    return {sub, [&mpirun, &parsed, sub] {
                mpirun.command = program_words(*sub, parsed);
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

}  // namespace

std::span<const Subcommand> fabric_subcommands() {
    static constexpr Subcommand kAll[]{
        {"up", add_up},         {"down", add_down},
        {"list", add_list},     {"status", add_status},
        {"topo", add_topo},     {"exec", add_exec},
        {"run", add_run},       {"env", add_env},
        {"mpirun", add_mpirun}, {"mpi-rank", add_mpi_rank},
        {"addr", add_addr},     {"log", add_log},
    };
    return kAll;
}

}  // namespace softib::app
