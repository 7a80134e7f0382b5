// SPDX-License-Identifier: BSD-2-Clause
#include <optional>

#include "app/cli/commands.h"
#include "app/cli/sim/page_server.h"
#include "app/cli/sim/progress.h"
#include "app/cli/sim/write.h"
#include "app/cli/sweep/sweep.h"
#include "app/cli/text_file.h"
#include "app/fabric/environment.h"
#include "app/fabric/term.h"
#include "parallel/job.h"
#include "run/execute.h"
#include "run/make.h"
#include "run/schema.h"

namespace softib::app {

namespace {

/// Carries out a run and writes its outcome. Returns the exit status.
int execute(const run::Run& run) {
    std::optional<sim::PageServer> page;
    std::string recording = run.outputs.record;
    if (run.outputs.serve) {
        page.emplace(run.outputs.record, run.outputs.port);
        auto path = page->recording();
        if (!path) {
            return fail(path.error());
        }
        recording = *std::move(path);
    }
    std::expected<std::optional<run::Outcome>, std::string> outcome;
    {
        sim::TerminalWatch watch(run.outputs, recording, page ? &*page : nullptr);
        outcome = run::execute(run, watch);
    }
    if (!outcome) {
        return fail_describing(outcome.error());
    }
    const int status = *outcome ? sim::write_outcome(run.outputs, **outcome) : 0;
    return page ? status | page->wait() : status;
}

}  // namespace

int cmd_sim(const SimOptions& options) {
    if (options.schema) {
        return options.asked.flags.empty() && options.asked.file.empty()
                   ? write_text("-", run::scenario_schema())
                   : misuse(
                         "--schema prints the schema of scenarios and nothing else: leave out "
                         "all other flags and files");
    }
    run::Asked asked = options.asked;
    asked.config = options.flags.config;
    asked.flags.insert(asked.flags.end(), options.flags.keys.begin(), options.flags.keys.end());
    asked.job = parallel::job_size() > 1;
    asked.libraries = library_dir();
    const auto run = run::make_run(asked);
    if (!run) {
        return run.error().misuse ? misuse(run.error().text) : fail(run.error().text);
    }
    if (const int wrong = sim::check_files(*run, {asked.file, asked.config}); wrong != 0) {
        return wrong;
    }
    return run->kind_name() == spec::RunKind::kSweep ? sweep::run_sweep(*run) : execute(*run);
}

}  // namespace softib::app
