// SPDX-License-Identifier: BSD-2-Clause
#include "kill_survivor.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/shm/hooks.h"

namespace faults {
namespace {

using softib::shm::ParkPoint;

constexpr std::uint64_t kSharedRecv = 1ULL << 56;
constexpr std::uint64_t kOwnRecv = 2ULL << 56;
constexpr std::uint64_t kOwnSend = 3ULL << 56;
constexpr std::uint64_t kKindMask = 0xFFULL << 56;

/// Returns the park points that an operation of this kind passes while it changes memory of other
/// processes.
std::vector<ParkPoint> points_of(Op op, Role role, bool calls_survivor) {
    if (role == Role::kVictimReceives) {
        return {ParkPoint::kServiceRunning};
    }
    std::vector<ParkPoint> points;
    if (calls_survivor || op == Op::kRead || op == Op::kAtomic) {
        points = {ParkPoint::kServiceClaimed, ParkPoint::kServicePosted};
    }
    if (op == Op::kWrite || op == Op::kWriteImm) {
        points.push_back(ParkPoint::kWriteHalfDone);
    }
    if (takes_receive(op)) {
        points.insert(points.end(), {ParkPoint::kCqBeforePublish, ParkPoint::kCqAfterPublish,
                                     ParkPoint::kCqBeforeNotify, ParkPoint::kCqNotifying,
                                     ParkPoint::kSoleAdding, ParkPoint::kCqEntryPublished});
    }
    if (op == Op::kSend || op == Op::kWriteImm || op == Op::kLarge) {
        points.insert(points.end(), {ParkPoint::kSendBeforeCopy, ParkPoint::kSendAfterCopy,
                                     ParkPoint::kSendAfterCompletion});
    }
    if (op == Op::kSharedQueue) {
        points.insert(points.end(), {ParkPoint::kSendBeforeCopy, ParkPoint::kSendAfterCopy,
                                     ParkPoint::kRingLocked, ParkPoint::kSrqHeadMoved,
                                     ParkPoint::kSrqAfterTake, ParkPoint::kSrqBeforeDelivered});
    }
    if (op == Op::kDatagram) {
        points.insert(points.end(), {ParkPoint::kRingLocked, ParkPoint::kDatagramTaken,
                                     ParkPoint::kDatagramCompleted, ParkPoint::kDatagramHeadMoved});
    }
    return points;
}

/// Kills a victim that parks while the survivor waits for it and could not kill it itself.
void kill_when_parked(const Child& victim, const std::string& park_file) {
    struct stat st{};
    for (int ms = 0; ms < 100 && stat(park_file.c_str(), &st) != 0; ++ms) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    kill(victim.pid, SIGKILL);
}

}  // namespace

/// One life of a victim, as its survivor sees it.
struct Survivor::Session {
    Plan plan{};
    Address victim;
    ibv_qp* qp = nullptr;
    ibv_ah* ah = nullptr;
    bool event_driven = false;
    std::array<bool, kRecvSlots> recv_posted{};
    std::uint32_t received = 0;  ///< Number of the newest message.
    std::uint32_t sent = 0;
    std::uint32_t sends_done = 0;
    std::uint32_t flushed = 0;
    bool failed = false;        ///< A send ended in an error, so no more are posted.
    bool refill = true;         ///< Post receives again as they complete.
    std::uint64_t fetched = 0;  ///< Newest result of an atomic.
};

Survivor::Survivor(const Settings& settings)
    : settings_(settings),
      random_(settings.seed),
      device_(4096),
      shared_memory_(std::size_t{kSrqSlots} * kSlotBytes),
      target_(kLargeBytes),
      source_(std::size_t{kWindow} * kLargeBytes),
      ring_(std::size_t{kRecvSlots} * (kLargeBytes + kGrhBytes)) {
    shared_mr_ = device_.reg(shared_memory_.data(), shared_memory_.size());
    target_mr_ = device_.reg(target_.data(), target_.size());
    source_mr_ = device_.reg(source_.data(), source_.size());
    ring_mr_ = device_.reg(ring_.data(), ring_.size());
    ibv_srq_init_attr init{};
    init.attr = {kSrqSlots, 1, 0};
    srq_ = ibv_create_srq(device_.pd, &init);
    EXPECT(srq_ != nullptr, "ibv_create_srq");
    for (std::uint32_t i = 0; i < kSrqSlots; ++i) {
        post_shared(i);
    }
    start_buddy();
}

void Survivor::run() {
    for (std::uint32_t k = settings_.first; k < settings_.kills; ++k) {
        kill_one(k);
    }
    end_buddy();
    std::printf(
        "%u kills: %u at random moments, %u while starting, %u parked in a critical section\n",
        settings_.kills, at_random_, while_starting_, parked_);
}

void Survivor::post_shared(std::uint32_t slot) {
    EXPECT(!shared_posted_[slot], "a slot is posted twice");
    post_srq_recv(srq_, kSharedRecv | slot, shared_memory_.data() + std::size_t{slot} * kSlotBytes,
                  kSlotBytes, shared_mr_->lkey);
    shared_posted_[slot] = true;
}

void Survivor::post_own(Session& session, std::uint32_t slot) {
    EXPECT(!session.recv_posted[slot], "a slot is posted twice");
    const std::size_t stride = session.plan.bytes + kGrhBytes;
    post_recv(session.qp, kOwnRecv | slot, ring_.data() + slot * stride, stride, ring_mr_->lkey);
    session.recv_posted[slot] = true;
}

void Survivor::start_buddy() {
    g_story = "starting the buddy";
    buddy_ = start_child({"buddy"}, {{"SOFTIB_HOST", "h2"}, {"SOFTIB_MEMORY_TIER", "1"}});
    Address address;
    EXPECT(get(buddy_.fd, address), "no buddy");
    buddy_qp_ = device_.make_qp({.srq = srq_});
    to_init(buddy_qp_);
    to_rts(buddy_qp_, address);
    EXPECT(put(buddy_.fd, device_.address(buddy_qp_)), "no buddy");
}

void Survivor::end_buddy() {
    shutdown(buddy_.fd, SHUT_WR);
    const int status = end_child(buddy_, 0);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the buddy failed");
}

void Survivor::check_message(const void* at, std::uint32_t bytes, std::uint32_t message,
                             const char* whose) {
    const std::size_t wrong = first_wrong(at, bytes, message);
    EXPECT(wrong == SIZE_MAX, std::string(whose) + " message " + std::to_string(message) +
                                  " is wrong at word " + std::to_string(wrong));
}

void Survivor::handle_shared(Session* session, const ibv_wc& wc) {
    const auto slot = static_cast<std::uint32_t>(wc.wr_id & ~kKindMask);
    EXPECT(slot < kSrqSlots && shared_posted_[slot], "a shared receive is completed twice");
    EXPECT(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
    shared_posted_[slot] = false;
    const std::byte* const at = shared_memory_.data() + std::size_t{slot} * kSlotBytes;
    if (wc.qp_num == buddy_qp_->qp_num) {
        check_message(at, wc.byte_len, ++buddy_received_, "the buddy's");
    } else if (wc.qp_num == probe_qpn_) {
        ++probed_;
    } else {
        EXPECT(session != nullptr && wc.qp_num == session->qp->qp_num, "a completion of nobody");
        check_message(at, wc.byte_len, ++session->received, "the victim's");
    }
    if (refill_shared_) {
        post_shared(slot);
    }
}

void Survivor::handle_own(Session& session, const ibv_wc& wc) {
    const auto slot = static_cast<std::uint32_t>(wc.wr_id & ~kKindMask);
    EXPECT(slot < kRecvSlots && session.recv_posted[slot], "a receive is completed twice");
    session.recv_posted[slot] = false;
    if (wc.status == IBV_WC_WR_FLUSH_ERR) {
        ++session.flushed;
        return;
    }
    EXPECT(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
    EXPECT(session.flushed == 0, "a message after a flush");
    const std::byte* at = ring_.data() + slot * (session.plan.bytes + kGrhBytes);
    ++session.received;
    if (session.plan.op == Op::kDatagram) {
        at += kGrhBytes;  // Datagrams may be lost, not swapped.
        const auto message =
            static_cast<std::uint32_t>(*reinterpret_cast<const std::uint64_t*>(at) >> 32);
        EXPECT(message >= session.received, "a datagram came twice");
        session.received = message;
    }
    if (session.plan.op == Op::kWriteImm) {
        EXPECT(wc.imm_data == session.received, "an immediate is out of order");
    } else {
        check_message(at, session.plan.bytes, session.received, "the victim's");
    }
    if (session.refill) {
        post_own(session, slot);
    }
}

void Survivor::handle_send(Session& session, const ibv_wc& wc) {
    const auto message = static_cast<std::uint32_t>(wc.wr_id & ~kKindMask);
    EXPECT(message == ++session.sends_done, "a send completion is missing or out of order");
    if (wc.status != IBV_WC_SUCCESS) {
        const ibv_wc_status first =
            session.plan.op == Op::kDatagram ? IBV_WC_SUCCESS : IBV_WC_RETRY_EXC_ERR;
        EXPECT(wc.status == (session.failed ? IBV_WC_WR_FLUSH_ERR : first),
               std::string("a send to the dead ended in: ") + ibv_wc_status_str(wc.status));
        session.failed = true;
        return;
    }
    EXPECT(!session.failed, "a success after an error");
    std::byte* const at = source_.data() + std::size_t{message % kWindow} * session.plan.bytes;
    if (session.plan.op == Op::kRead && session.plan.role == Role::kVictimReceives) {
        EXPECT(
            std::all_of(at, at + session.plan.bytes, [](std::byte b) { return b == std::byte{0}; }),
            "a read brought bytes that are not there");
    } else if (session.plan.op == Op::kAtomic && session.plan.role == Role::kVictimReceives) {
        EXPECT(*reinterpret_cast<const std::uint64_t*>(at) == session.fetched,
               "an atomic ran twice or not at all");
        ++session.fetched;
    }
}

void Survivor::handle(Session* session, const ibv_wc& wc) {
    if ((wc.wr_id & kKindMask) == kSharedRecv) {
        handle_shared(session, wc);
        return;
    }
    EXPECT(session != nullptr, "a completion of nobody");
    if ((wc.wr_id & kKindMask) == kOwnRecv) {
        handle_own(*session, wc);
    } else {
        handle_send(*session, wc);
    }
}

/// Takes the completions that are there. Returns true if there was one.
bool Survivor::pump(Session* session) {
    std::array<ibv_wc, 32> done;
    const int n = device_.poll(done);
    for (int i = 0; i < n; ++i) {
        handle(session, done[static_cast<std::size_t>(i)]);
    }
    return n != 0;
}

void Survivor::wait_until(Session* session, const char* what, const auto& done) {
    const Deadline deadline;
    const bool sleeps = session != nullptr && session->event_driven;
    while (!done()) {
        if (pump(session)) {
            continue;
        }
        EXPECT(!deadline.over(), std::string("this never happens: ") + what);
        if (sleeps && !done()) {
            // The survivor waits by events only, so a lost event is a hang.
            EXPECT(device_.wait_event(20'000), std::string("no event announces: ") + what);
        }
    }
}

/// Keeps the victim busy with operations on its memory and queues.
void Survivor::top_up(Session& session) {
    while (!session.failed && session.sent - session.sends_done < kWindow) {
        ++session.sent;
        std::byte* const from =
            source_.data() + std::size_t{session.sent % kWindow} * session.plan.bytes;
        if (session.plan.op != Op::kRead && session.plan.op != Op::kAtomic) {
            fill_pattern(from, session.plan.bytes, session.sent);
        }
        post_op(session.qp, session.plan.op, kOwnSend | session.sent, from, session.plan.bytes,
                source_mr_->lkey, session.victim, session.ah);
    }
}

Survivor::Session Survivor::open_session(std::uint32_t number) {
    Session session;
    const std::uint32_t op =
        settings_.only_op >= 0 ? static_cast<std::uint32_t>(settings_.only_op) : number % kOps;
    session.plan.op = static_cast<Op>(op);
    session.plan.role = number / kOps % 3 == 2 && session.plan.op != Op::kSharedQueue
                            ? Role::kVictimReceives
                            : Role::kVictimSends;
    session.event_driven = random_.below(2) != 0;
    session.plan.bytes = session.plan.op == Op::kLarge ? kLargeBytes : kSmallBytes;
    fill_pattern(target_.data(), target_.size(), 0);
    std::memset(source_.data(), 0, source_.size());
    session.qp =
        device_.make_qp({.type = session.plan.op == Op::kDatagram ? IBV_QPT_UD : IBV_QPT_RC,
                         .srq = session.plan.op == Op::kSharedQueue ? srq_ : nullptr});
    session.plan.survivor = device_.address(session.qp, target_mr_);
    to_init(session.qp);
    if (session.plan.op != Op::kSharedQueue) {
        for (std::uint32_t i = 0; i < kRecvSlots; ++i) {
            post_own(session, i);
        }
    }
    return session;
}

void Survivor::traffic(Session& session, const std::string& park_file, bool parks) {
    const bool with_buddy = random_.below(2) != 0;
    if (with_buddy) {
        const std::uint32_t burst = 40;
        EXPECT(put(buddy_.fd, burst), "the buddy is gone");
        buddy_sent_ += burst;
        buddy_busy_ = true;
    }
    const auto start = Clock::now();
    const auto moment = std::chrono::microseconds(random_.below(2500));
    const auto patience = std::chrono::milliseconds(100);  // The victim may never pass the point.
    for (;;) {
        if (session.plan.role == Role::kVictimReceives) {
            top_up(session);
        }
        if (!pump(&session) && session.event_driven) {
            device_.wait_event(1);
        }
        const auto gone = Clock::now() - start;
        struct stat st{};
        if (parks ? gone > patience || stat(park_file.c_str(), &st) == 0 : gone > moment) {
            break;
        }
    }
}

void Survivor::kill_one(std::uint32_t number) {
    Session session = open_session(number);
    const char* const own_tier = std::getenv("SOFTIB_MEMORY_TIER");
    const std::vector<ParkPoint> points =
        points_of(session.plan.op, session.plan.role, own_tier != nullptr && *own_tier == '3');
    bool parks = number % 2 != 0;
    ParkPoint point = points[random_.below(static_cast<std::uint32_t>(points.size()))];
    if (settings_.only_point >= 0) {
        point = static_cast<ParkPoint>(settings_.only_point);
        parks = settings_.only_point != 0;
    }
    const bool starting = !parks && random_.below(8) == 0;
    const std::uint32_t passage = 1 + random_.below(24);
    const bool serves = parks && session.plan.role == Role::kVictimReceives;
    const std::uint32_t tier = serves ? 3 : 1 + random_.below(3);
    const std::string park_file = settings_.scratch + "/parked";
    unlink(park_file.c_str());
    g_story = "seed " + std::to_string(settings_.seed) + ", kill " + std::to_string(number) + ", " +
              kOpNames[static_cast<int>(session.plan.op)] +
              (session.plan.role == Role::kVictimSends ? ", victim sends" : ", victim receives") +
              (session.event_driven ? ", events" : ", polling") + ", victim's tier " +
              std::to_string(tier) +
              (parks ? ", parked at point " + std::to_string(static_cast<int>(point)) +
                           " passage " + std::to_string(passage)
               : starting ? ", while starting"
                          : ", at random");
    Child victim = start_child(
        {"victim"}, {{"SOFTIB_HOST", "h1"},
                     {"SOFTIB_MEMORY_TIER", std::to_string(tier)},
                     {"SOFTIB_TEST_PARK", parks ? std::to_string(static_cast<int>(point)) + ":" +
                                                      std::to_string(passage) + ":" + park_file
                                                : ""}});
    EXPECT(put(victim.fd, session.plan), "the victim is gone");
    bool connected = false;
    if (starting) {
        std::this_thread::sleep_for(std::chrono::microseconds(random_.below(20'000)));
        ++while_starting_;
    } else {
        connected = get(victim.fd, session.victim);
        EXPECT(connected, "the victim ended by itself");
        if (session.plan.op == Op::kDatagram) {
            session.ah = make_ah(device_.pd, static_cast<std::uint16_t>(session.victim.lid));
        }
        to_rts(session.qp, session.victim);
        EXPECT(put(victim.fd, 'g'), "the victim is gone");
        std::thread killer;
        if (parks && session.plan.role == Role::kVictimReceives) {
            killer = std::thread(kill_when_parked, victim, park_file);
        }
        traffic(session, park_file, parks);
        if (killer.joinable()) {
            killer.join();
        }
        ++(parks && access(park_file.c_str(), F_OK) == 0 ? parked_ : at_random_);
    }
    const int status = end_child(victim, SIGKILL);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the victim failed by itself");
    if (connected) {
        settle(session);
    }
    wait_until(nullptr, "the buddy's messages", [this] { return buddy_received_ == buddy_sent_; });
    if (buddy_busy_) {
        std::uint32_t completed = 0;
        EXPECT(get(buddy_.fd, completed) && completed == buddy_sent_, "the buddy failed");
        buddy_busy_ = false;
    }
    close_session(session);
    check_shared_queue();
    unlink(park_file.c_str());
}

/// Checks the survivor after the victim's death: requests under way end in errors, then every
/// receive request is completed exactly once.
void Survivor::settle(Session& session) {
    if (session.plan.op == Op::kDatagram) {
        settle_datagrams(session);
        return;
    }
    session.refill = false;
    const Deadline deadline;
    while (!session.failed) {
        EXPECT(!deadline.over(), "sends to the dead do not fail");
        top_up(session);
        wait_until(&session, "the end of a send to the dead",
                   [&] { return session.failed || session.sent - session.sends_done < kWindow; });
    }
    wait_until(&session, "the end of all sends",
               [&] { return session.sends_done == session.sent; });
    if (session.plan.op != Op::kSharedQueue) {
        wait_until(&session, "the end of all receives", [&] {
            return std::ranges::none_of(session.recv_posted, [](bool posted) { return posted; });
        });
    }
    check_memory(session);
}

/// Checks datagrams after the victim's death: their sender is told nothing, but no receive request
/// may be lost or used twice.
void Survivor::settle_datagrams(Session& session) {
    wait_attached(2);
    session.event_driven = false;
    wait_until(&session, "the end of all sends",
               [&] { return session.sends_done == session.sent; });
    while (pump(&session)) {
    }
    session.refill = false;
    const auto posted = static_cast<std::uint32_t>(std::ranges::count(session.recv_posted, true));
    EXPECT(posted == kRecvSlots, "a receive request is lost");
    Session probe;
    probe.plan = session.plan;
    probe.qp = device_.make_qp({.type = IBV_QPT_UD});
    to_init(probe.qp);
    to_rts(probe.qp, {});
    ibv_ah* const ah = make_ah(device_.pd, device_.lid);
    const std::uint32_t base = session.received;
    for (std::uint32_t i = 1; i <= posted + 2; ++i) {
        fill_pattern(source_.data(), session.plan.bytes, base + i);
        post_op(probe.qp, Op::kDatagram, kOwnSend | ++session.sent, source_.data(),
                session.plan.bytes, source_mr_->lkey, device_.address(session.qp), ah);
    }
    wait_until(&session, "the end of all sends",
               [&] { return session.sends_done == session.sent; });
    while (pump(&session)) {
    }
    EXPECT(std::ranges::count(session.recv_posted, true) == 0 && session.received == base + posted,
           "the dead took " + std::to_string(base + posted - session.received) +
               " receive requests along");
    ibv_destroy_qp(probe.qp);
    ibv_destroy_ah(ah);
    check_memory(session);
}

void Survivor::check_memory(const Session& session) {
    target_.check_guards("target");
    source_.check_guards("source");
    ring_.check_guards("receive ring");
    shared_memory_.check_guards("shared receive queue");
    if (session.plan.role != Role::kVictimSends || session.plan.op == Op::kAtomic) {
        return;
    }
    // Writes go up in addresses: first come words of the newest message, then words of the one
    // before.
    const auto* const words = target_.at<const std::uint64_t>(0);
    const std::size_t count = target_.size() / 8;
    const std::size_t written = session.plan.bytes / 8;
    for (std::size_t i = 0; i < count; ++i) {
        const auto message = static_cast<std::uint32_t>(words[i] >> 32);
        EXPECT(words[i] == pattern(message, i), "a word is torn or misplaced");
        const auto newest = static_cast<std::uint32_t>(words[0] >> 32);
        EXPECT(i >= written ? message == 0 : message == newest || message + 1 == newest,
               "a word is of the wrong message");
        EXPECT(i == 0 || message <= words[i - 1] >> 32, "a write did not go up in addresses");
    }
}

void Survivor::close_session(Session& session) {
    wait_attached(2);
    while (pump(&session)) {
    }
    EXPECT(ibv_destroy_qp(session.qp) == 0, "ibv_destroy_qp");
    if (session.ah != nullptr) {
        ibv_destroy_ah(session.ah);
    }
}

/// Checks that exactly as many messages fit into the shared queue as requests are posted and not
/// completed.
void Survivor::check_shared_queue() {
    ibv_qp* const from = device_.make_qp({});
    ibv_qp* const to = device_.make_qp({.srq = srq_});
    to_init(from);
    to_init(to);
    to_rts(from, device_.address(to), {.rnr_retry = 0});
    to_rts(to, device_.address(from));
    probe_qpn_ = to->qp_num;
    probed_ = 0;
    refill_shared_ = false;
    Session session;
    session.plan.op = Op::kSend;
    session.plan.bytes = kSmallBytes;
    session.qp = from;
    const auto posted = static_cast<std::uint32_t>(std::ranges::count(shared_posted_, true));
    for (std::uint32_t i = 0; i < posted; ++i) {
        post_op(from, Op::kSend, kOwnSend | ++session.sent, source_.data(), kSmallBytes,
                source_mr_->lkey, {}, nullptr);
        wait_until(&session, "the probe", [&] { return session.sends_done == session.sent; });
    }
    EXPECT(!session.failed && probed_ == posted, "the shared queue lost requests");
    post_op(from, Op::kSend, kOwnSend | 99, source_.data(), kSmallBytes, source_mr_->lkey, {},
            nullptr);
    std::array<ibv_wc, 1> wc;
    const Deadline deadline;
    while (device_.poll(wc) == 0) {
        EXPECT(!deadline.over(), "the last probe hangs");
    }
    EXPECT(wc[0].wr_id == (kOwnSend | 99) && wc[0].status == IBV_WC_RNR_RETRY_EXC_ERR,
           "the shared queue holds a request too many");
    ibv_destroy_qp(from);
    ibv_destroy_qp(to);
    refill_shared_ = true;
    for (std::uint32_t i = 0; i < kSrqSlots; ++i) {
        if (!shared_posted_[i]) {
            post_shared(i);
        }
    }
}

}  // namespace faults
