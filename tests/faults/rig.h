// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What the fault programs share: an endpoint on public verbs, connections whose addresses travel
// over a socket, memory between guards, and checks that end the program with a line that says
// what broke. Every wait has a limit, and reaching it means that something hangs.

#include <infiniband/verbs.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace faults {

/// The limit of every wait. Nothing here takes seconds unless it hangs; sanitizers and loaded
/// machines get ten times more.
inline constexpr std::chrono::seconds kHang{20};

[[noreturn]] void fail(const char* file, int line, const std::string& text);

#define EXPECT(condition, text)                         \
    do {                                                \
        if (!(condition)) {                             \
            ::faults::fail(__FILE__, __LINE__, (text)); \
        }                                               \
    } while (false)

using Clock = std::chrono::steady_clock;

class Deadline {
  public:
    Deadline() : end_(Clock::now() + kHang) {}
    bool over() const { return Clock::now() > end_; }

  private:
    Clock::time_point end_;
};

/// A description of the run, set by main(). Every failure prints it, so that the run can be
/// repeated.
extern std::string g_story;

/// Memory with a guard of a little more than one page on each side; on demand the inside starts
/// unaligned.
class Memory {
  public:
    explicit Memory(std::size_t bytes);
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    std::byte* data() { return inside_; }
    std::size_t size() const { return bytes_; }
    template <typename T>
    T* at(std::size_t offset) {
        return reinterpret_cast<T*>(inside_ + offset);
    }
    void check_guards(const char* whose) const;

  private:
    std::byte* mapping_ = nullptr;
    std::size_t mapped_ = 0;
    std::byte* inside_ = nullptr;
    std::size_t bytes_ = 0;
};

/// The address of one end, as it is sent over the socket.
struct Address {
    std::uint32_t qpn = 0;
    std::uint32_t lid = 0;
    std::uint32_t rkey = 0;
    std::uint32_t word = 0;  ///< A word for the program's own use.
    std::uint64_t addr = 0;
    std::uint64_t bytes = 0;
    ibv_gid gid{};  ///< The GID on Ethernet; zero elsewhere.
};

struct Options {
    ibv_qp_type type = IBV_QPT_RC;
    std::uint32_t send_wr = 64;
    std::uint32_t recv_wr = 64;
    ibv_srq* srq = nullptr;
};

/// A device with a completion queue.
class Device {
  public:
    explicit Device(int cq_entries, int index = 0);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    /// The region lives until dereg() or the end of the device.
    ibv_mr* reg(void* at, std::size_t bytes);
    void dereg(ibv_mr* mr);
    ibv_qp* make_qp(const Options& options);
    Address address(ibv_qp* qp, const ibv_mr* mr = nullptr) const;

    int poll(std::span<ibv_wc> out);
    /// Sleeps on the channel until an event has come, then arms again. Returns false if none came
    /// within `limit_ms`.
    bool wait_event(int limit_ms);

    ibv_context* context = nullptr;
    ibv_pd* pd = nullptr;
    ibv_comp_channel* channel = nullptr;
    ibv_cq* cq = nullptr;
    std::uint16_t lid = 0;
    ibv_gid gid{};  ///< The GID, which is the address on Ethernet.

  private:
    std::vector<ibv_mr*> regions_;
};

inline constexpr std::uint32_t kQKey = 0x5EED;

/// Moves a queue pair to INIT, so that receives may be posted.
void to_init(ibv_qp* qp);
struct Retry {
    std::uint8_t timeout = 10;  ///< 4 ms
    std::uint8_t retry_cnt = 1;
    std::uint8_t rnr_retry = 7;
};
void to_rts(ibv_qp* qp, const Address& peer, const Retry& retry = {});
ibv_ah* make_ah(ibv_pd* pd, std::uint16_t lid);
void post_recv(ibv_qp* qp, std::uint64_t wr_id, const void* at, std::size_t bytes,
               std::uint32_t lkey);
void post_srq_recv(ibv_srq* srq, std::uint64_t wr_id, const void* at, std::size_t bytes,
                   std::uint32_t lkey);

// Plain messages over a socket. They return false if the other end is gone.
bool put_bytes(int fd, const void* data, std::size_t bytes);
bool get_bytes(int fd, void* data, std::size_t bytes);
template <typename T>
bool put(int fd, const T& value) {
    return put_bytes(fd, &value, sizeof value);
}
template <typename T>
bool get(int fd, T& value) {
    return get_bytes(fd, &value, sizeof value);
}

/// A child that runs this same program with other arguments; its end of the socket is fd 3.
struct Child {
    int pid = -1;
    int fd = -1;
};
inline constexpr int kChildFd = 3;
using Variables = std::vector<std::pair<std::string, std::string>>;
Child start_child(const std::vector<std::string>& args, const Variables& variables);
/// Waits for the end of a child. Returns the wait status.
int end_child(Child& child, int signal_number);

/// Returns the number of process slots in use, also those that the daemon has not freed yet.
std::size_t attached_processes();
void wait_attached(std::size_t count);

/// A small random generator: the same seed gives the same run everywhere.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
    std::uint32_t next() {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::uint32_t>(state_ >> 33);
    }
    std::uint32_t below(std::uint32_t limit) { return next() % limit; }

  private:
    std::uint64_t state_;
};

/// Returns the word that belongs at word `index` of message `message`.
inline std::uint64_t pattern(std::uint32_t message, std::uint64_t index) {
    return std::uint64_t{message} << 32 | ((index * 2654435761U) & 0xFFFFFFFF);
}
void fill_pattern(void* at, std::size_t bytes, std::uint32_t message);
/// Returns the index of the first wrong word, or SIZE_MAX.
std::size_t first_wrong(const void* at, std::size_t bytes, std::uint32_t message);

}  // namespace faults
