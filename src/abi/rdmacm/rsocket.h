// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Sockets over RDMA: streams here, datagrams in rsocket_datagram.h. A socket's number is the
// descriptor of its event channel. The data of a stream travels as SENDs of at most kSlotBytes
// bytes into receives that the peer has posted. The immediate data of a SEND says what kind of
// message it is, and returns credits: how many receives the sender has posted again. A side that
// has no credits left waits. The protocol is our own, so both ends must be this library.
//
// Thread rule: any thread may call. Each socket has a lock, which no thread holds while it waits.
// Of the threads that wait on one socket, one waits in the kernel and wakes the others.

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
/// Receives beyond those for data, for messages that only return credits or announce the end. There
/// are at most two of the former per kSlots messages of data, and one of the latter.
inline constexpr std::uint32_t kControlSlots = 8;
inline constexpr std::uint32_t kReceives = kSlots + kControlSlots;
inline constexpr int kResolveTimeoutMs = 5000;

enum class SocketState : std::uint8_t {
    kNew,
    kBound,
    kListening,
    kConnecting,
    kConnected,
    kClosed,  ///< The peer has closed the connection; what it sent before can be read.
    kFailed,  ///< The connection failed; `error` says why.
};

/// A message that was received and not read yet.
struct Received {
    std::uint32_t slot = 0;
    std::uint32_t bytes = 0;
};

/// A message that tells the peer of memory that this side has mapped (riomap), to which the peer
/// may write.
inline constexpr std::size_t kNoticeBytes = 32;
using Notice = std::array<std::uint8_t, kNoticeBytes>;

/// Memory of this process that the program has mapped for the peer to write to.
struct LocalMap {
    void* memory = nullptr;
    std::size_t bytes = 0;
    std::uint64_t offset = 0;
    bool announced = false;
    ibv_mr* mr = nullptr;
};

/// Memory of the peer that this side may write to, at the offset at which the peer has mapped it.
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
    /// `ms` is the time from now; -1 means without limit.
    explicit Patience(int ms);
    /// Returns the time that is left; 0 if it is over, -1 if there is no limit.
    int left_ms() const;

  private:
    std::int64_t end_ns_;
};

/// The objects of verbs and rdma_cm that a socket uses.
struct SocketQueue {
    rdma_cm_id* id = nullptr;
    ibv_comp_channel* completions = nullptr;
    ibv_cq* cq = nullptr;
    std::uint8_t* memory = nullptr;  ///< Slots to send from, then slots to receive into.
    std::size_t memory_bytes = 0;
    ibv_mr* mr = nullptr;
    std::uint64_t free_sends = 0;  ///< A bit for each send slot that is free.
};

/// Gives a queue, which has an id already, `memory_bytes` of registered memory and a non-blocking
/// completion channel. Returns false, with errno set, if one of them cannot be made.
bool fill_queue(SocketQueue& queue, std::size_t memory_bytes);
/// Gives a queue, which has been filled, a queue pair and a completion queue with room for all its
/// completions. Returns false, with errno set, if one of them cannot be made.
bool make_queue_pair(SocketQueue& queue, ibv_qp_type type, std::uint32_t sends,
                     std::uint32_t receives);
/// Frees everything that a queue has, and its queue pair.
void close_queue(const SocketQueue& queue);

struct Rsocket : SocketQueue {
    std::mutex mutex;
    std::condition_variable changed;
    bool somebody_waits = false;
    int users = 0;  ///< The number of calls under way; guarded by the table's lock.
    SocketState state = SocketState::kNew;
    bool nonblocking = false;
    int receive_timeout_ms = -1;  ///< SO_RCVTIMEO; -1: without limit.
    int send_timeout_ms = -1;     ///< SO_SNDTIMEO; -1: without limit.
    bool established = false;     ///< The peer knows that it is connected.
    bool sent_end = false;        ///< This side sends no more.
    bool received_end = false;    ///< The peer sends no more.
    bool reads_no_more = false;
    int error = 0;
    int type = 0;
    rdma_event_channel* channel = nullptr;
    std::uint32_t transfers = 0;   ///< Transfers since a transfer last looked for events.
    std::uint32_t vain_spins = 0;  ///< Spins in a row in which nothing happened.
    std::uint64_t changes = 0;     ///< Grows when events or completions are taken.
    std::uint32_t sends_under_way = 0;
    std::uint32_t credits = 0;  ///< Receives of the peer that this side may still use.
    std::uint32_t owed = 0;     ///< Receives posted again that the peer has not been told of.
    Received queue[kReceives];  ///< A ring of the messages that were received and not read.
    std::uint32_t queue_first = 0;
    std::uint32_t queue_count = 0;
    std::uint32_t read_offset = 0;     ///< Bytes of the first message that were read.
    rdma_cm_event* request = nullptr;  ///< In a listener, a request that is not accepted yet.
    std::vector<LocalMap> maps;
    std::vector<RemoteMap> remote_maps;
    std::deque<Notice> notices;      ///< Notices to send before any later data.
    Datagrams* datagrams = nullptr;  ///< The datagram part; nullptr in a stream socket.
};

/// Finds a socket by its number and keeps it from being freed while this object lives. Converts to
/// false, with errno EBADF, if there is no such socket.
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

/// Enters a socket into the table and returns its number; -1, with errno set, if that fails.
int add_socket(Rsocket* socket);
/// Takes a socket out of the table, and waits until no call uses it any more. Returns nullptr, with
/// errno EBADF, if there is no such socket.
Rsocket* remove_socket(int number);
bool is_socket(int number);

// The caller of every function below holds the socket's lock.

/// Makes memory, queue pair and receives for a connection. Returns 0, or -1 with errno set.
int prepare(Rsocket& socket);
void release(Rsocket& socket);

/// Handles the events and completions that have arrived. Never waits.
void progress(Rsocket& socket);
/// Does what progress() does, for a call that moves data: looks for events only from time to time,
/// because that takes a system call, and a thread that has to wait sees them anyway.
void progress_transfer(Rsocket& socket);
/// Arms the completion queue. Returns false if completions had arrived already.
bool arm(Rsocket& socket);
/// Waits until something may have happened to the socket. Returns false if no time is left.
bool wait(Rsocket& socket, std::unique_lock<std::mutex>& lock,
          const Patience& patience = Patience(-1));

/// Returns the descriptor that becomes readable when completions come after arm(); -1 if none can
/// come.
int completion_fd(const Rsocket& socket);

bool is_readable(const Rsocket& socket);
bool is_writable(const Rsocket& socket);
/// Sends a message without data, which returns credits; with `end`, also announces the end.
void send_control(Rsocket& socket, bool end);

/// Sends as many of the waiting notices as can be sent now.
void send_notices(Rsocket& socket);
/// Handles a notice of the peer: enters, or removes, memory that this side may write to.
void take_notice(Rsocket& socket, std::span<const std::uint8_t> notice);
/// Writes `data`, at most as much as fits into a send slot, to memory of the peer. The caller has
/// checked that a slot is free. Returns the number of bytes.
std::size_t write_remote(Rsocket& socket, std::span<const std::uint8_t> data, std::uint64_t address,
                         std::uint32_t rkey);

}  // namespace softib::abi::rdmacm
