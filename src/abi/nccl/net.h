// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The functions of the Net plug-in that the CollNet plug-in uses too, in the shape of the newest
// version of NCCL's interface.

#include "abi/nccl/plugin_abi.h"

namespace softib::abi::nccl::net {

Result listen(int device, void* handle, void** listen_comm) noexcept;
Result connect(int device, void* handle, void** send_comm) noexcept;
Result accept(void* listen_comm, void** receive_comm) noexcept;
Result register_memory(void* comm, void* data, std::size_t bytes, int type,
                       void** mhandle) noexcept;
Result deregister(void* comm, void* mhandle) noexcept;
Result send(void* comm, void* data, std::size_t bytes, int tag, void* mhandle, void* profiler,
            void** request) noexcept;
Result receive(void* comm, int count, void** data, std::size_t* bytes, int* tags, void** mhandles,
               void** profilers, void** request) noexcept;
Result test(void* request, int* done, int* bytes) noexcept;
Result close_connection(void* comm) noexcept;
Result close_listen(void* listen_comm) noexcept;

/// Writes a device's properties, as version 11 of the interface has them.
Result properties(int device, PropertiesV11* out) noexcept;
/// Writes a device's properties, as version 10 of the interface has them.
Result properties_v10(int device, PropertiesV10* out) noexcept;
/// Writes a device's properties, as version 8 of the interface has them.
Result properties_v8(int device, PropertiesV8* out) noexcept;

}  // namespace softib::abi::nccl::net
