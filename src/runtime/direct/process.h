// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// This process as a member of a fabric, in four parts: what it is there, the numbers that it gives
// to its objects, its memory, and its helper thread. A process attaches once and stays attached
// until it ends. A forked child is not attached; it cannot use the object that it inherited from
// its parent.

#include "runtime/direct/attachment.h"
#include "runtime/direct/memory/process_memory.h"
#include "runtime/direct/progress.h"
#include "runtime/direct/tables.h"

namespace softib::direct {

class Process {
  public:
    /// Returns the object of this process. Attaches first, if the process is not attached yet, to
    /// the fabric in the directory `dir`, as a program on these virtual hosts (names separated by
    /// commas). Returns nullptr, with errno set, if no fabric is given (ENODEV), if the daemon does
    /// not answer, or if a host does not exist.
    static Process* attach(const char* dir, const char* hosts);

    Attachment self;
    Tables tables{self};
    ProcessMemory memory{*this, self};
    Progress progress{*this, self};

  private:
    bool join(const char* dir, const char* hosts);
    void become_inherited();

    friend struct ForkHandlers;
};

/// Handlers around a fork. The C library calls them, or the preloaded library (memory_calls.h) if
/// it is a fork for which the C library runs no handlers.
struct ForkHandlers {
    static void prepare();
    static void parent();
    static void child();
};

}  // namespace softib::direct
