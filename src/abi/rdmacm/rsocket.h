// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Sockets over RDMA. A socket's number is the descriptor of its event channel. Datagrams are in
// rsocket_datagram.h. The data of a stream travels as SENDs of at most kSlotBytes into receives
// that the other side has posted; the immediate data of each says what it is and gives back
// receives that were read. A sender without receives left waits. The protocol is our own: both ends
// must be this library.
//
// Thread rule: any thread may call; each socket has a lock, which no thread holds while waiting.
// Among the threads that wait on one socket, one waits in the kernel and wakes the others.

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

namespace softib::abi::rdmacm {

inline constexpr std::uint32_t kSlots = 64;
inline constexpr std::uint32_t kSlotBytes = 16384;
/// Receives beyond those for data, for messages that only give back or say the end. There are at
/// most two of the first kind per kSlots of data, and one of the other.
inline constexpr std::uint32_t kControlSlots = 8;
inline constexpr std::uint32_t kReceives = kSlots + kControlSlots;
inline constexpr int kResolveTimeoutMs = 5000;

enum class SocketState : std::uint8_t {
    kNew,
    kBound,
    kListening,
    kConnecting,
    kConnected,
    kClosed,  ///< The other side is gone; what came before can be read.
    kFailed,  ///< `error` says why.
};

struct Received {
    std::uint32_t slot = 0;
    std::uint32_t bytes = 0;
};

/// What tells the other side of memory of ours that it may write.
inline constexpr std::size_t kNoticeBytes = 32;
using Notice = std::array<std::uint8_t, kNoticeBytes>;

/// Memory of ours that the program mapped.
struct LocalMap {
    void* memory = nullptr;
    std::size_t bytes = 0;
    std::uint64_t offset = 0;
    bool announced = false;
    ibv_mr* mr = nullptr;
};

/// Memory of theirs, by the offset at which they mapped it.
struct RemoteMap {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t address = 0;
    std::uint32_t rkey = 0;
};

struct Datagrams;

/// How long a call may wait.
class Patience {
  public:
    /// -1: for ever.
    explicit Patience(int ms);
    /// -1: for ever; 0: no longer.
    int left_ms() const;

  private:
    std::int64_t end_ns_;
};

/// What a socket has of the fabric.
struct SocketQueue {
    rdma_cm_id* id = nullptr;
    ibv_comp_channel* completions = nullptr;
    ibv_cq* cq = nullptr;
    std::uint8_t* memory = nullptr;  ///< Slots to send from, then slots to receive into.
    std::size_t memory_bytes = 0;
    ibv_mr* mr = nullptr;
    std::uint64_t free_sends = 0;  ///< A bit per slot.
};

/// Gives a queue, whose id exists, `memory_bytes` of registered memory and a completion channel
/// that never blocks. Returns false with errno if something is missing.
bool fill_queue(SocketQueue& queue, std::size_t memory_bytes);
/// Gives all of it back, with its queue pair.
void close_queue(const SocketQueue& queue);

struct Rsocket : SocketQueue {
    std::mutex mutex;
    std::condition_variable changed;
    bool somebody_waits = false;
    int users = 0;  ///< Calls under way; under the table's lock.
    SocketState state = SocketState::kNew;
    bool nonblocking = false;
    int receive_timeout_ms = -1;  ///< Both -1: a call waits for ever.
    int send_timeout_ms = -1;
    bool established = false;   ///< The other side knows that it is connected.
    bool sent_end = false;      ///< We send no more.
    bool received_end = false;  ///< They send no more.
    bool reads_no_more = false;
    int error = 0;
    int type = 0;
    rdma_event_channel* channel = nullptr;
    std::uint32_t transfers = 0;   ///< Since the last look for events.
    std::uint32_t vain_spins = 0;  ///< In a row.
    std::uint64_t changes = 0;     ///< Grows when events or completions are taken.
    std::uint32_t sends_under_way = 0;
    std::uint32_t credits = 0;  ///< Receives of theirs that we may use.
    std::uint32_t owed = 0;     ///< Receives of ours to give back.
    Received queue[kReceives];  ///< What came and was not read: a ring.
    std::uint32_t queue_first = 0;
    std::uint32_t queue_count = 0;
    std::uint32_t read_offset = 0;     ///< Into the first.
    rdma_cm_event* request = nullptr;  ///< At a listener: one that nobody accepted yet.
    std::vector<LocalMap> maps;
    std::vector<RemoteMap> remote_maps;
    std::deque<Notice> notices;      ///< To be sent, before any data that is sent later.
    Datagrams* datagrams = nullptr;  ///< Only in a datagram socket.
};

/// Finds a socket by its number and keeps it until this ends. Otherwise it is false.
class SocketUse {
  public:
    explicit SocketUse(int number);
    ~SocketUse();
    SocketUse(const SocketUse&) = delete;
    SocketUse& operator=(const SocketUse&) = delete;
    explicit operator bool() const { return socket_ != nullptr; }
    Rsocket* operator->() const { return socket_; }
    Rsocket& operator*() const { return *socket_; }

  private:
    Rsocket* socket_;
};

/// Gives a socket its number; -1 and errno.
int add_socket(Rsocket* socket);
/// Takes it out of the table, when nobody uses it any more.
Rsocket* remove_socket(int number);
bool is_socket(int number);

// All below: under the socket's lock.

/// Memory, queue pair and receives for a connection. 0 or -1.
int prepare(Rsocket& socket);
void release(Rsocket& socket);

/// Takes events and completions that are there. Never waits.
void progress(Rsocket& socket);
/// The same for a call that moves data: completions, and events only from time to time. To look for
/// events takes a system call, and a thread that has to wait sees them anyway.
void progress_transfer(Rsocket& socket);
/// Arms the completion queue. Returns false if there is a completion already.
bool arm(Rsocket& socket);
/// Waits until something has happened to the socket. Returns false if the time is up.
bool wait(Rsocket& socket, std::unique_lock<std::mutex>& lock,
          const Patience& patience = Patience(-1));

/// What becomes readable when completions come, after arm; -1: nothing can come.
int completion_fd(const Rsocket& socket);

bool is_readable(const Rsocket& socket);
bool is_writable(const Rsocket& socket);
/// Sends what is not data: receives given back, or the end.
void send_control(Rsocket& socket, bool end);

/// Sends notices as far as they can be sent now.
void send_notices(Rsocket& socket);
void take_notice(Rsocket& socket, std::span<const std::uint8_t> notice);
/// Writes what fits into a slot to their memory; the caller knows that one is free. How many bytes.
std::size_t write_remote(Rsocket& socket, std::span<const std::uint8_t> data, std::uint64_t address,
                         std::uint32_t rkey);

}  // namespace softib::abi::rdmacm
