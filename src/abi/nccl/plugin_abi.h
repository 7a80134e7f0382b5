// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// NCCL's interface for network plug-ins, with names of our own: the tables of functions that NCCL
// looks up by name (ncclNetPlugin_vN, ncclCollNetPlugin_vN), in versions 8, 10 and 11. NCCL 2.20 to
// 2.30 each use one of them. Tables have the same order as NCCL's, and structures the same offsets
// (tests/abi).

#include <cstddef>
#include <cstdint>

namespace softib::abi::nccl {

enum Result : int {
    kSuccess = 0,
    kSystemError = 2,
    kInternalError = 3,
    kInvalidArgument = 4,
    kInvalidUsage = 5,
    kRemoteError = 6,
};

/// NCCL's function that writes a line into its log.
using Logger = void (*)(int level, unsigned long flags, const char* file, int line,
                        const char* format, ...);

inline constexpr int kPointerHost = 1;
inline constexpr int kPointerCuda = 2;
inline constexpr int kPointerDmaBuf = 4;

inline constexpr std::size_t kHandleBytes = 128;
inline constexpr int kReceivesMax = 8;  ///< Most receives in one call.
inline constexpr std::size_t kPointToPointBytesMax = std::size_t{1} << 30;
inline constexpr std::size_t kCollectiveBytesMax = std::size_t{1} << 40;

enum DataType : int {
    kInt8 = 0,
    kUint8 = 1,
    kInt32 = 2,
    kUint32 = 3,
    kInt64 = 4,
    kUint64 = 5,
    kFloat16 = 6,
    kFloat32 = 7,
    kFloat64 = 8,
    kBfloat16 = 9,
};
enum ReduceOp : int { kSum = 0, kProd = 1, kMax = 2, kMin = 3 };

/// What the properties of all versions begin with.
struct DeviceProperties {
    char* name;
    char* pci_path;
    std::uint64_t guid;
    int pointer_support;
    int registration_is_global;
};

/// What the properties of all versions go on with, though not at the same place.
struct LinkProperties {
    int speed_mbps;
    int port;
    float latency_us;
    int comms_max;
    int receives_max;
    int net_device_type;  ///< 0 if the host, not a GPU, drives the device.
    int net_device_version;
};

struct PropertiesV8 {
    DeviceProperties device;
    LinkProperties link;
};

struct VirtualDevice {
    int count;
    int devices[4];
};

struct PropertiesV10 {
    DeviceProperties device;
    int force_flush;
    LinkProperties link;
    VirtualDevice virtual_device;
    std::size_t point_to_point_bytes_max;
    std::size_t collective_bytes_max;
};

struct PropertiesV11 : PropertiesV10 {
    int multi_request_max;
};

struct PartV8 {
    void* mhandle;
    void* address;
    std::uint32_t bytes;
};

struct Part {
    void* mhandle;
    void* address;
    std::size_t bytes;
};

// Functions that several tables have.
using Devices = Result (*)(int* count);
using Connect = Result (*)(int device, void* handle, void** send_comm, void** device_comm);
using Listen = Result (*)(int device, void* handle, void** listen_comm);
using ListenIn = Result (*)(void* context, int device, void* handle, void** listen_comm);
using Accept = Result (*)(void* listen_comm, void** receive_comm, void** device_comm);
using Register = Result (*)(void* comm, void* data, std::size_t bytes, int type, void** mhandle);
using RegisterDmaBuf = Result (*)(void* comm, void* data, std::size_t bytes, int type,
                                  std::uint64_t offset, int fd, void** mhandle);
using Deregister = Result (*)(void* comm, void* mhandle);
using Send = Result (*)(void* comm, void* data, std::size_t bytes, int tag, void* mhandle,
                        void* profiler, void** request);
using Receive = Result (*)(void* comm, int count, void** data, std::size_t* bytes, int* tags,
                           void** mhandles, void** profilers, void** request);
using Flush = Result (*)(void* comm, int count, void** data, int* bytes, void** mhandles,
                         void** request);
using Test = Result (*)(void* request, int* done, int* bytes);
using Close = Result (*)(void* comm);
using DeviceRegion = Result (*)(void* comm, void* mhandle, void** on_device);
using Consumed = Result (*)(void* comm, int count, void* request);
using MakeDevice = Result (*)(int* device, VirtualDevice* parts);

struct NetV8 {
    const char* name;
    Result (*init)(Logger logger);
    Devices devices;
    Result (*properties)(int device, PropertiesV8* properties);
    Listen listen;
    Connect connect;
    Accept accept;
    Register register_memory;
    RegisterDmaBuf register_dma_buf;
    Deregister deregister;
    Result (*send)(void* comm, void* data, int bytes, int tag, void* mhandle, void** request);
    Result (*receive)(void* comm, int count, void** data, int* bytes, int* tags, void** mhandles,
                      void** request);
    Flush flush;
    Test test;
    Close close_send;
    Close close_receive;
    Close close_listen;
    DeviceRegion device_region;
    Consumed consumed;
};

struct NetV10 {
    const char* name;
    Result (*init)(Logger logger, void* profiler);
    Devices devices;
    Result (*properties)(int device, PropertiesV10* properties);
    Listen listen;
    Result (*connect)(int device, void* config, void* handle, void** send_comm, void** device_comm);
    Accept accept;
    Register register_memory;
    RegisterDmaBuf register_dma_buf;
    Deregister deregister;
    Send send;
    Receive receive;
    Flush flush;
    Test test;
    Close close_send;
    Close close_receive;
    Close close_listen;
    DeviceRegion device_region;
    Consumed consumed;
    MakeDevice make_device;
};

struct NetV11 {
    const char* name;
    Result (*init)(void** context, std::uint64_t comm_id, void* config, Logger logger,
                   void* profiler);
    Devices devices;
    Result (*properties)(int device, PropertiesV11* properties);
    ListenIn listen;
    Result (*connect)(void* context, int device, void* handle, void** send_comm,
                      void** device_comm);
    Accept accept;
    Register register_memory;
    RegisterDmaBuf register_dma_buf;
    Deregister deregister;
    Send send;
    Receive receive;
    Flush flush;
    Test test;
    Close close_send;
    Close close_receive;
    Close close_listen;
    DeviceRegion device_region;
    Consumed consumed;
    MakeDevice make_device;
    Result (*finalize)(void* context);
    Result (*set_attributes)(void* context, void* attributes);
};

using ConnectAll = Result (*)(void* handles[], int ranks, int rank, void* listen_comm, void** comm);
using ReduceSupport = Result (*)(int type, int op, int* supported);
using FlushOne = Result (*)(void* comm, void* data, int bytes, void* mhandle, void** request);
using AllReduce = Result (*)(void* comm, void* from, void* to, std::size_t count, int type, int op,
                             void* from_mhandle, void* to_mhandle, void** request);
using AllGather = Result (*)(void* comm, void* from, int parts, Part* to,
                             std::size_t bytes_per_rank, std::size_t window_offset,
                             std::size_t window_bytes, void* from_mhandle, void** request);
using ReduceScatter = Result (*)(void* comm, int parts, Part* from, void* to,
                                 std::size_t bytes_per_rank, std::size_t window_offset,
                                 std::size_t window_bytes, int type, int op, void* to_mhandle,
                                 void** request);

struct CollNetV8 {
    const char* name;
    Result (*init)(Logger logger);
    Devices devices;
    Result (*properties)(int device, PropertiesV8* properties);
    Listen listen;
    ConnectAll connect;
    ReduceSupport reduce_support;
    Register register_memory;
    RegisterDmaBuf register_dma_buf;
    Deregister deregister;
    Result (*all_reduce)(void* comm, void* from, void* to, int count, int type, int op,
                         void* from_mhandle, void* to_mhandle, void** request);
    Result (*all_gather)(void* comm, void* from, int parts, PartV8* to, std::size_t bytes_per_rank,
                         std::size_t window_offset, std::size_t window_bytes, void* from_mhandle,
                         void** request);
    Result (*reduce_scatter)(void* comm, int parts, PartV8* from, void* to,
                             std::size_t bytes_per_rank, std::size_t window_offset,
                             std::size_t window_bytes, int type, int op, void* to_mhandle,
                             void** request);
    FlushOne flush;
    Test test;
    Close close_collective;
    Close close_listen;
};

struct CollNetV10 {
    const char* name;
    Result (*init)(Logger logger);
    Devices devices;
    Result (*properties)(int device, PropertiesV10* properties);
    Listen listen;
    ConnectAll connect;
    ReduceSupport reduce_support;
    Register register_memory;
    RegisterDmaBuf register_dma_buf;
    Deregister deregister;
    AllReduce all_reduce;
    AllGather all_gather;
    ReduceScatter reduce_scatter;
    FlushOne flush;
    Test test;
    Close close_collective;
    Close close_listen;
    MakeDevice make_device;
};

struct CollNetV11 {
    const char* name;
    Result (*init)(void** context, std::uint64_t comm_id, Logger logger);
    Devices devices;
    Result (*properties)(int device, PropertiesV11* properties);
    ListenIn listen;
    ConnectAll connect;
    ReduceSupport reduce_support;
    Register register_memory;
    RegisterDmaBuf register_dma_buf;
    Deregister deregister;
    AllReduce all_reduce;
    AllGather all_gather;
    ReduceScatter reduce_scatter;
    FlushOne flush;
    Test test;
    Close close_collective;
    Close close_listen;
    MakeDevice make_device;
    Result (*finalize)(void* context);
};

}  // namespace softib::abi::nccl
