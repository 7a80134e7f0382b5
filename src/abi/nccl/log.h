// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Writes lines into NCCL's log (NCCL_DEBUG), by the function that NCCL gives its plug-ins.

#include "abi/nccl/plugin_abi.h"

namespace softib::abi::nccl {

void set_logger(Logger logger);

/// Writes a line that NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=INIT or NET shows.
__attribute__((format(printf, 1, 2))) void inform(const char* format, ...);
/// Writes a line that NCCL_DEBUG=WARN shows.
__attribute__((format(printf, 1, 2))) void warn(const char* format, ...);

}  // namespace softib::abi::nccl
