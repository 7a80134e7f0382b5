// SPDX-License-Identifier: BSD-2-Clause
// The protocols of the send path that use no locked instruction, in every order of their steps:
// sole producers (sole_producer.h), favoured locks (favoured_lock.h), arming (Cq::arm), waking of
// senders (ring_wake_sender). Each test of a protocol has mutants: the model must find what is
// wrong with them.

#include <gtest/gtest.h>

#include <string>

#include "runtime/shm/test_interleavings.h"

namespace softib::shm {
namespace {

std::string told(const Explored& explored) {
    std::string text = explored.wrong;
    for (const std::string& step : explored.order) {
        text += "\n  " + step;
    }
    return text;
}

// --- Sole producers ------------------------------------------------------------------------------

enum class Flaw {
    kNone,
    kNoBarrier,       ///< The dismissal does not have the producer execute a barrier.
    kLeavesTooEarly,  ///< The producer is no longer adding before it has counted its entry.
    kForgetsLeaving,  ///< The name is taken away before it is kept.
    kDoesNotMend,     ///< A producer that died while it was adding is not noticed.
    kNoSecondLook,    ///< The producer looks for its name only before it says that it is adding.
};

/// A producer that is the sole one at first (thread A), another producer (B) and the queue's owner
/// (C), who adds one too. A and B may die anywhere.
struct SoleModel {
    enum Variable : std::uint8_t {
        kLock,
        kSole,
        kLeaving,
        kAdding,
        kProduced,
        kSeq,
        kId = 10,
        kTorn = 15
    };
    static constexpr std::uint8_t kEntries = 5;
    // Registers: how many entries were added, `produced`, the other's name, the dead lock holder.
    enum Register : std::uint8_t { kAdded, kAt, kName, kTookFrom };
    static constexpr std::uint8_t kLocked = 20;  ///< The step where the path with the lock begins.

    Flaw flaw;

    bool add_alone(Cpu& c) const {
        const bool early = flaw == Flaw::kLeavesTooEarly;
        switch (c.at()) {
            case 0:
                c.reg(kName) = flaw == Flaw::kNoSecondLook ? c.load(kSole) : 0;
                return c.next();
            case 1:
                c.store(kAdding, 1);
                return c.next();
            case 2:
                c.reg(kName) = flaw == Flaw::kNoSecondLook ? c.reg(kName) : c.load(kSole);
                return c.reg(kName) == 1 ? c.next() : c.go(9);
            case 3:
                c.reg(kAt) = c.load(kProduced);
                return c.next();
            case 4:
                return write(c, static_cast<std::uint8_t>(c.reg(kAdded) + 1));
            case 5:
                c.store(kSeq + c.reg(kAt), 1);
                return c.next();
            case 6:
                early ? c.store(kAdding, 0)
                      : c.store(kProduced, static_cast<std::uint8_t>(c.reg(kAt) + 1));
                return c.next();
            case 7:
                early ? c.store(kProduced, static_cast<std::uint8_t>(c.reg(kAt) + 1))
                      : c.store(kAdding, 0);
                return c.next();
            case 8:
                return ++c.reg(kAdded) == 2 ? c.end() : c.go(0);
            default:
                c.store(kAdding, 0);
                return c.go(kLocked);
        }
    }

    /// Writes an entry, which no consumer may be able to read yet.
    static bool write(Cpu& c, std::uint8_t id) {
        if (c.load(kSeq + c.reg(kAt)) != 0) {
            c.store(kTorn, 1);
        }
        c.store(kId + c.reg(kAt), id);
        return c.next();
    }

    bool take_lock(Cpu& c, std::uint8_t me) const {
        if (c.compare_exchange(kLock, 0, me)) {
            c.reg(kTookFrom) = 0;
            return c.next();
        }
        const std::uint8_t holder = c.load(kLock);
        if (holder != me && c.dead(holder - 1U) && c.compare_exchange(kLock, holder, me)) {
            c.reg(kTookFrom) = holder;
            return c.next();
        }
        return Cpu::wait();
    }

    static bool mend(Cpu& c) {
        if (c.load(kSeq + c.reg(kAt)) != 0) {
            c.store(kProduced, static_cast<std::uint8_t>(c.reg(kAt) + 1));
        }
        return c.next();
    }

    /// dismiss_sole() and what cq_lock() does around it.
    bool dismiss(Cpu& c, std::uint8_t me) const {
        const bool forgets = flaw == Flaw::kForgetsLeaving;
        switch (c.at()) {
            case kLocked:
                return take_lock(c, me);
            case 21:
                c.reg(kName) = c.load(kSole);
                return c.reg(kName) != 0 ? c.next() : c.go(24);
            case 22:
                forgets ? c.store(kSole, 0) : c.store(kLeaving, c.reg(kName));
                return c.next();
            case 23:
                forgets ? c.store(kLeaving, c.reg(kName)) : c.store(kSole, 0);
                return c.next();
            case 24:
                c.reg(kName) = c.load(kLeaving);
                return c.reg(kName) != 0 ? c.next() : c.go(32);
            case 25:
            case 26:
            case 27:
                if (flaw != Flaw::kNoBarrier) {
                    c.barrier_at(c.at() - 25U);
                }
                return c.next();
            case 28:
                return c.dead(c.reg(kName) - 1U) || c.load(kAdding) == 0 ? c.next() : Cpu::wait();
            case 29:
                c.reg(kAt) = c.load(kProduced);
                return flaw == Flaw::kDoesNotMend ? c.go(31) : c.next();
            case 30:
                return mend(c);
            case 31:
                c.store(kLeaving, 0);
                return c.next();
            case 32:
                c.reg(kAt) = c.load(kProduced);
                return c.reg(kTookFrom) != 0 ? c.next() : c.go(34);
            default:
                return mend(c);
        }
    }

    /// Adds the entry `id` under the lock.
    bool add_locked(Cpu& c, std::uint8_t me, std::uint8_t id) const {
        if (c.at() < 34) {
            return dismiss(c, me);
        }
        switch (c.at()) {
            case 34:
                c.reg(kAt) = c.load(kProduced);
                return c.next();
            case 35:
                return write(c, id);
            case 36:
                c.store(kSeq + c.reg(kAt), 1);
                return c.next();
            case 37:
                c.store(kProduced, static_cast<std::uint8_t>(c.reg(kAt) + 1));
                return c.next();
            case 38:
                if (me == 1) {
                    c.store(kSole, 1);  // Its streak is long enough again.
                }
                return c.next();
            default:
                c.exchange(kLock, 0);
                ++c.reg(kAdded);
                return me == 1 && c.reg(kAdded) < 2 ? c.go(0) : c.end();
        }
    }

    /// Every entry that was added whole is there once, and the count is that of the entries.
    static std::string check(const Machine& m) {
        const auto entry = [&m](std::size_t i) { return m.memory[kId + i]; };
        const std::size_t produced = m.memory[kProduced];
        std::size_t published = 0;
        std::array<int, 5> seen{};
        for (; published < kEntries && m.memory[kSeq + published] != 0; ++published) {
            if (entry(published) == 0 || entry(published) > 4) {
                return "an entry was published before it was written";
            }
            ++seen[entry(published)];
        }
        for (std::size_t id = 1; id <= 4; ++id) {
            const bool whole = id < 3 ? m.threads[0].registers[kAdded] >= id
                                      : m.threads[id - 2].registers[kAdded] != 0;
            if (seen[id] > 1 || (whole && seen[id] == 0)) {
                return "an entry is missing, or is there twice";
            }
        }
        if (m.memory[kTorn] != 0) {
            return "an entry was written again that a consumer may have read";
        }
        // The last entry of a producer that died is counted by the next holder of the lock.
        return produced == published || (m.deaths != 0 && produced + 1 == published)
                   ? std::string{}
                   : "the count is wrong";
    }

    Explored run() const {
        Model model;
        model.start.memory[kSole] = 1;
        model.deaths_max = 2;
        model.programs = {
            {[this](Cpu& c) {
                 return c.at() < kLocked
                            ? add_alone(c)
                            : add_locked(c, 1, static_cast<std::uint8_t>(c.reg(kAdded) + 1));
             },
             true},
            {[this](Cpu& c) { return c.at() < kLocked ? c.go(kLocked) : add_locked(c, 2, 3); },
             true},
            {[this](Cpu& c) { return c.at() < kLocked ? c.go(kLocked) : add_locked(c, 3, 4); },
             false}};
        model.at_end = check;
        return explore(model);
    }
};

TEST(Interleavings, ASoleProducerIsDismissedInAnyOrder) {
    const Explored explored = SoleModel{Flaw::kNone}.run();
    EXPECT_EQ(explored.wrong, "") << told(explored);
    EXPECT_GT(explored.states, 10'000U);
}

TEST(Interleavings, TheModelOfSoleProducersFindsPlantedFlaws) {
    for (const Flaw flaw : {Flaw::kNoBarrier, Flaw::kLeavesTooEarly, Flaw::kForgetsLeaving,
                            Flaw::kDoesNotMend, Flaw::kNoSecondLook}) {
        EXPECT_NE(SoleModel{flaw}.run().wrong, "") << static_cast<int>(flaw);
    }
}

// --- Favoured locks ------------------------------------------------------------------------------

/// The favourite (thread A) and another thread (B) add to a number under the lock, twice and once.
struct LockModel {
    enum Variable : std::uint8_t { kWord, kHeld, kFavourite, kSlow, kNumber };
    enum Register : std::uint8_t { kRounds, kValue };
    static constexpr std::uint8_t kTakeWord = 20;

    bool barrier = true;
    bool second_look = true;

    static bool done(Cpu& c, std::uint8_t rounds) {
        return ++c.reg(kRounds) == rounds ? c.end() : c.go(0);
    }

    bool fast(Cpu& c, std::uint8_t me, std::uint8_t rounds) const {
        switch (c.at()) {
            case 0:
                return c.load(kFavourite) == me ? c.next() : c.go(kTakeWord);
            case 1:
                c.store(kHeld, 1);
                return c.next();
            case 2:
                return !second_look || c.load(kFavourite) == me ? c.next() : c.go(8);
            case 3:
                c.reg(kValue) = c.load(kNumber);
                return c.next();
            case 4:
                c.store(kNumber, static_cast<std::uint8_t>(c.reg(kValue) + 1));
                return c.next();
            case 5:
                return c.load(kSlow) == 0 ? c.next() : c.go(30);
            case 6:
                c.store(kHeld, 0);
                return done(c, rounds);
            default:
                c.store(kHeld, 0);
                return c.go(kTakeWord);
        }
    }

    bool slow(Cpu& c, std::uint8_t me, std::uint8_t rounds) const {
        switch (c.at()) {
            case kTakeWord:
                return c.compare_exchange(kWord, 0, 1) ? c.next() : Cpu::wait();
            case 21:
                return c.load(kFavourite) != 0 ? c.next() : c.go(26);
            case 22:
                c.store(kFavourite, 0);
                return c.next();
            case 23:
            case 24:
                if (barrier) {
                    c.barrier_at(c.at() - 23U);
                }
                return c.next();
            case 25:
                return c.load(kHeld) == 0 ? c.next() : Cpu::wait();
            case 26:
                c.store(kSlow, 1);
                return c.next();
            case 27:
                c.store(kFavourite, me);  // Its streak is long enough.
                return c.next();
            case 28:
                c.reg(kValue) = c.load(kNumber);
                return c.next();
            case 29:
                c.store(kNumber, static_cast<std::uint8_t>(c.reg(kValue) + 1));
                return c.next();
            case 30:
                c.store(kSlow, 0);
                return c.next();
            default:
                c.store(kWord, 0);
                return done(c, rounds);
        }
    }

    Explored run() const {
        Model model;
        model.start.memory[kFavourite] = 1;
        for (std::uint8_t t = 0; t < 2; ++t) {
            const auto me = static_cast<std::uint8_t>(t + 1);
            const auto rounds = static_cast<std::uint8_t>(3 - me);
            model.programs.push_back({[this, me, rounds](Cpu& c) {
                return c.at() < kTakeWord ? fast(c, me, rounds) : slow(c, me, rounds);
            }});
        }
        model.at_end = [](const Machine& m) {
            return m.memory[kNumber] == 3 ? std::string{} : "two threads had the lock";
        };
        return explore(model);
    }
};

TEST(Interleavings, AFavouredLockIsHeldByOneThreadInAnyOrder) {
    const Explored explored = LockModel{}.run();
    EXPECT_EQ(explored.wrong, "") << told(explored);
    EXPECT_GT(explored.states, 300U);
}

TEST(Interleavings, TheModelOfFavouredLocksFindsPlantedFlaws) {
    EXPECT_NE((LockModel{.barrier = false}.run().wrong), "");
    EXPECT_NE((LockModel{.second_look = false}.run().wrong), "");
}

// --- Arming a queue, and waking a sender ---------------------------------------------------------

/// A producer (thread A) adds an entry and looks whether to raise an event; the owner (B) arms the
/// queue for the first time and looks whether it holds an entry.
Explored arm(bool barrier) {
    enum Variable : std::uint8_t { kEntry, kEver, kArmed, kEvent };
    Model model;
    model.programs = {{[](Cpu& c) {
                          switch (c.at()) {
                              case 0:
                                  c.store(kEntry, 1);
                                  return c.next();
                              case 1:
                                  return c.load(kEver) != 0 ? c.next() : c.end();
                              case 2:
                                  c.fence();
                                  return c.next();
                              case 3:
                                  return c.load(kArmed) != 0 ? c.next() : c.end();
                              default:
                                  c.exchange(kEvent, 1);
                                  return c.end();
                          }
                      }},
                      {[barrier](Cpu& c) {
                          switch (c.at()) {
                              case 0:
                                  c.store(kEver, 1);
                                  return c.next();
                              case 1:
                              case 2:
                                  if (barrier) {
                                      c.barrier_at(c.at() - 1U);
                                  }
                                  return c.next();
                              case 3:
                                  c.exchange(kArmed, 1);
                                  return c.next();
                              case 4:
                                  return c.load(kEntry) != 0 ? c.next() : c.end();
                              default:
                                  c.exchange(kEvent, 1);
                                  return c.end();
                          }
                      }}};
    model.at_end = [](const Machine& m) {
        return m.memory[kEvent] != 0 ? std::string{} : "the event of the entry is lost";
    };
    return explore(model);
}

/// A receiver (thread A) posts a request and looks whether a sender waits; a sender (B) says that
/// it waits, and looks for the last time.
Explored wake(bool barrier) {
    enum Variable : std::uint8_t { kPosted, kWaiter, kAwake };
    Model model;
    model.programs = {{[](Cpu& c) {
                          switch (c.at()) {
                              case 0:
                                  c.store(kPosted, 1);
                                  return c.next();
                              case 1:
                                  return c.load(kWaiter) != 0 ? c.next() : c.end();
                              default:
                                  c.exchange(kAwake, 1);
                                  return c.end();
                          }
                      }},
                      {[barrier](Cpu& c) {
                          switch (c.at()) {
                              case 0:
                                  c.store(kWaiter, 1);
                                  return c.next();
                              case 1:
                              case 2:
                                  if (barrier) {
                                      c.barrier_at(c.at() - 1U);
                                  }
                                  return c.next();
                              case 3:
                                  return c.load(kPosted) != 0 ? c.next() : c.end();
                              default:
                                  c.exchange(kAwake, 1);
                                  return c.end();
                          }
                      }}};
    model.at_end = [](const Machine& m) {
        return m.memory[kAwake] != 0 ? std::string{} : "the sender sleeps on";
    };
    return explore(model);
}

TEST(Interleavings, TheFirstArmingLosesNoEvent) {
    const Explored explored = arm(true);
    EXPECT_EQ(explored.wrong, "") << told(explored);
    EXPECT_NE(arm(false).wrong, "");
}

TEST(Interleavings, APostWakesTheSenderThatWaits) {
    const Explored explored = wake(true);
    EXPECT_EQ(explored.wrong, "") << told(explored);
    EXPECT_NE(wake(false).wrong, "");
}

}  // namespace
}  // namespace softib::shm
