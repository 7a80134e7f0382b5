/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * Simulations of InfiniBand fabrics, for programs in any language: libsoftib.so.0.
 *
 * A program opens a simulation with the text of a scenario (the TOML that `softib sim` reads), runs
 * it in steps or to its end, and reads what happened as columns of numbers. Threads may have a
 * simulation each: nothing is shared between two. No function ends the process or prints.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct softib_simulation softib_simulation;

/* Returns the version of the library, such as "0.1.0". */
const char* softib_version(void);

/*
 * Opens the simulation of a scenario. Names of files in it are relative to `folder`. Returns NULL
 * if the scenario has a fault or is another kind of run than one simulation, and writes a sentence
 * for the user into `error`, cut to `error_bytes`.
 */
softib_simulation* softib_open(const char* scenario, const char* folder, char* error,
                               size_t error_bytes);
void softib_close(softib_simulation* simulation);

/*
 * Answers a question, a text in TOML, with what a command prints with --json. The caller gives the
 * answer back to softib_free. Returns NULL with a sentence in `error` as softib_open does.
 *
 * A scenario is a question: it is carried out as a run of any kind, which is one simulation, a
 * comparison (compare = ...), a what-if ([whatif]), a sweep ([vary] or seeds = N), or an all-reduce
 * in switches (pattern = "sharp-allreduce"); the answer is that of `softib sim --json`.
 *
 * A text with the key `ask` is a question to the planner, named as a subcommand of `softib plan`:
 * ask = "train", "search", "models", "presets", "show", "collective", "compare" or "expect". Its
 * keys are the flags of that subcommand with '_' for '-'; `cluster` and `what` are keys too, as are
 * `logs` (files) and `text` (a log itself) for "expect". A cluster and a model may also stand in
 * the question, as tables [cluster] and [model] with the keys of their files, or as texts with
 * those keys. ask = "describe" answers with all keys of a `cluster` or a `model` and their values.
 * A search takes all cores, and seconds.
 *
 * Any thread may ask, and several may at the same time. The library keeps the fabrics that it
 * routed for the last questions about training, so that further ones about these are quick.
 */
char* softib_ask(const char* question, const char* folder, char* error, size_t error_bytes);
void softib_free(char* answer);

/*
 * Runs until `until_ps` of virtual time, or for `events_max` events (0: any number), but not past
 * the end of the scenario. Returns 1 if everything until then has happened or nothing is left to
 * happen, else 0.
 */
int softib_run(softib_simulation* simulation, uint64_t until_ps, uint32_t events_max);
#define SOFTIB_FOREVER UINT64_MAX

/*
 * Writes the number with a name into `value`: now_ps, until_ps (end of the scenario), ends,
 * messages_planned, messages_ended, messages_unfinished, events, hops, packets_delivered,
 * packets_discarded, packets_lost, packets_resent, packets_marked, log_hash. Returns 0, or -1 if no
 * number has that name.
 */
int softib_number(const softib_simulation* simulation, const char* name, uint64_t* value);

/*
 * Returns the text with a name: engine, ends, links, notes, congestion, or basis, which says what
 * the figures are worth. Several lines are divided by "\n". The text is valid until the next call
 * for the same simulation. Returns NULL if no text has that name.
 */
const char* softib_text(softib_simulation* simulation, const char* name);

/*
 * Returns how many rows a table has: "messages" (in the order in which they began) or "links" (each
 * direction of each cable, as the text "links" names them). Returns -1 if there is no such table.
 */
int64_t softib_rows(const softib_simulation* simulation, const char* table);

/*
 * Copies a column of a table into `values`, which has room for `count` rows, and returns how many
 * it copied; -1 if no column has that name. Columns of messages: traffic, from, to (end ports,
 * as the text "ends" names them), bytes, started_ps, delivered_ps, ended_ps, failed,
 * arrived_bytes (those of a message under way, too). Columns of
 * links: bytes, packets, busy_ps, wait_ps, rate_mbps. A time that never came is SOFTIB_FOREVER.
 */
int64_t softib_column(const softib_simulation* simulation, const char* table, const char* column,
                      uint64_t* values, size_t count);

#ifdef __cplusplus
}
#endif
