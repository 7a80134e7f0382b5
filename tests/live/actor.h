// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// One side of an integrity run: a buffer, regions in it, queue pairs, and threads that go on
// writing to the buffer. An actor obeys commands, in the test's process or in a process of its own,
// so that one test drives both kinds alike.

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "verbs_rig.h"

namespace softib::test {

inline constexpr std::size_t kActorBytes = 64 * kPage;
/// Pages of the buffer that are MAP_SHARED; the others are private.
inline constexpr std::size_t kSharedBegin = 16 * kPage;
inline constexpr std::size_t kSharedEnd = 40 * kPage;
inline constexpr std::size_t kWordsWritten = 64;  ///< Words that each writer thread changes.

struct Command {
    enum Op : std::uint32_t {
        kStart,       ///< arg[0]: host.
        kMakeQp,      ///< arg[0]: type. Reply: index, QPN, LID.
        kConnect,     ///< arg[0]: queue pair, [1]: QPN, [2]: LID.
        kRegister,    ///< arg[0]: offset, [1]: bytes. Reply: index, rkey, address.
        kDeregister,  ///< arg[0]: region.
        kReceive,     ///< arg[0]: queue pair; sges.
        kSend,        ///< arg[0]: queue pair, [1]: opcode, [2]: flags, [3]: remote address,
                      ///< [4]: rkey, [5]: compare or add, [6]: swap; UD: [3] QPN, [4] LID; sges.
        kPoll,        ///< arg[0]: 0 sends, 1 receives. Reply: status, byte length, immediate.
        kFill,        ///< arg[0]: seed.
        kShow,        ///< Copies the buffer to memory that the test sees.
        kWrite,       ///< Starts threads that write to the words at arg[0], arg[0] + arg[1], …
        kCheck,       ///< Stops these threads. Reply: the number of writes that were lost.
        kStop,
    };
    Op op = kStop;
    std::uint64_t arg[8]{};
    std::uint32_t sges = 0;
    struct {
        std::uint64_t region;
        std::uint64_t offset;
        std::uint32_t bytes;
    } sge[4]{};
};

struct Reply {
    std::uint64_t value[4]{};
};

class Actor {
  public:
    virtual ~Actor() = default;
    virtual Reply run(const Command& command) = 0;
    /// The buffer's contents as of the last kShow.
    virtual std::span<const std::byte> shown() = 0;
};

class LocalActor : public Actor {
  public:
    explicit LocalActor(std::span<std::byte> show) : show_(show) {}
    ~LocalActor() override;
    Reply run(const Command& command) override;
    std::span<const std::byte> shown() override { return show_; }

  private:
    void start(unsigned host);
    Reply make_qp(ibv_qp_type type);
    void connect_to(ibv_qp* qp, std::uint32_t qpn, std::uint16_t lid);
    Reply add_region(std::uint64_t offset, std::uint64_t bytes);
    Reply send(const Command& c);
    Reply poll(ibv_cq* cq);
    void start_writers(std::uint64_t first, std::uint64_t step);
    std::uint64_t stop_writers();
    std::vector<ibv_sge> sges_of(const Command& c) const;

    std::span<std::byte> show_;
    Owned<ibv_context> context_;
    Owned<ibv_pd> pd_;
    Owned<ibv_cq> send_cq_;
    Owned<ibv_cq> recv_cq_;
    std::unique_ptr<Buffer> memory_;
    std::vector<Owned<ibv_mr>> regions_;
    std::vector<Owned<ibv_qp>> qps_;
    std::vector<std::uint16_t> dest_lid_;
    std::atomic<bool> stop_writing_{false};
    std::vector<std::thread> writers_;
    std::atomic<std::uint64_t> lost_{0};
};

/// Makes an actor in this process (`remote` false) or in a new one, started with `--actor`.
std::unique_ptr<Actor> make_actor(unsigned host, bool remote);

/// Runs a remote actor. main() must call it first; it returns if this process is not one.
void run_if_actor(int argc, char** argv);

}  // namespace softib::test
