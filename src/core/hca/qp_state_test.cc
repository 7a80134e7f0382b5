// SPDX-License-Identifier: BSD-2-Clause
#include "core/hca/qp_state.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <tuple>

namespace softib::hca {
namespace {

using namespace qp_attr;
using enum QpState;
using enum QpType;

constexpr std::array kAllTypes{kRc, kUc, kUd, kXrcSend, kXrcRecv};
constexpr std::array kAllStates{kReset, kInit, kRtr, kRts, kSqd, kSqe, kErr};

struct Rule {
    QpType type;
    QpState from;
    QpState to;
    std::uint32_t required;
    std::uint32_t optional;
};

// The rules written out for each type; the code derives them from roles.
constexpr std::uint32_t kToRtr = kAv | kPathMtu | kDestQpn | kRqPsn;
constexpr std::uint32_t kToRts = kTimeout | kRetryCnt | kRnrRetry | kSqPsn | kMaxQpRdAtomic;
constexpr std::uint32_t kInRts = kCurState | kAltPath | kAccessFlags | kPathMigState;
constexpr std::uint32_t kInSqd = kAv | kAltPath | kAccessFlags | kPkeyIndex | kPathMigState;
constexpr Rule kRules[] = {
    {kRc, kReset, kInit, kPkeyIndex | kPort | kAccessFlags, 0},
    {kUc, kReset, kInit, kPkeyIndex | kPort | kAccessFlags, 0},
    {kUd, kReset, kInit, kPkeyIndex | kPort | kQkey, 0},
    {kXrcSend, kReset, kInit, kPkeyIndex | kPort | kAccessFlags, 0},
    {kXrcRecv, kReset, kInit, kPkeyIndex | kPort | kAccessFlags, 0},

    {kRc, kInit, kInit, 0, kPkeyIndex | kPort | kAccessFlags},
    {kUc, kInit, kInit, 0, kPkeyIndex | kPort | kAccessFlags},
    {kUd, kInit, kInit, 0, kPkeyIndex | kPort | kQkey},
    {kXrcSend, kInit, kInit, 0, kPkeyIndex | kPort | kAccessFlags},
    {kXrcRecv, kInit, kInit, 0, kPkeyIndex | kPort | kAccessFlags},

    {kRc, kInit, kRtr, kToRtr | kMaxDestRdAtomic | kMinRnrTimer,
     kAltPath | kAccessFlags | kPkeyIndex},
    {kUc, kInit, kRtr, kToRtr, kAltPath | kAccessFlags | kPkeyIndex},
    {kUd, kInit, kRtr, 0, kPkeyIndex | kQkey},
    {kXrcSend, kInit, kRtr, kToRtr, kAltPath | kAccessFlags | kPkeyIndex},
    {kXrcRecv, kInit, kRtr, kToRtr | kMaxDestRdAtomic | kMinRnrTimer,
     kAltPath | kAccessFlags | kPkeyIndex},

    {kRc, kRtr, kRts, kToRts, kInRts | kMinRnrTimer},
    {kUc, kRtr, kRts, kSqPsn, kInRts},
    {kUd, kRtr, kRts, kSqPsn, kCurState | kQkey},
    {kXrcSend, kRtr, kRts, kToRts, kInRts},
    {kXrcRecv, kRtr, kRts, kTimeout | kSqPsn, kInRts | kMinRnrTimer},

    {kRc, kRts, kRts, 0, kInRts | kMinRnrTimer},
    {kUc, kRts, kRts, 0, kInRts},
    {kUd, kRts, kRts, 0, kCurState | kQkey},
    {kXrcSend, kRts, kRts, 0, kInRts},
    {kXrcRecv, kRts, kRts, 0, kInRts | kMinRnrTimer},

    {kRc, kRts, kSqd, 0, kEnSqdAsyncNotify},
    {kUc, kRts, kSqd, 0, kEnSqdAsyncNotify},
    {kUd, kRts, kSqd, 0, kEnSqdAsyncNotify},
    {kXrcSend, kRts, kSqd, 0, kEnSqdAsyncNotify},
    {kXrcRecv, kRts, kSqd, 0, kEnSqdAsyncNotify},

    {kRc, kSqd, kRts, 0, kInRts | kMinRnrTimer},
    {kUc, kSqd, kRts, 0, kInRts},
    {kUd, kSqd, kRts, 0, kCurState | kQkey},
    {kXrcSend, kSqd, kRts, 0, kInRts},
    {kXrcRecv, kSqd, kRts, 0, kInRts | kMinRnrTimer},

    {kRc, kSqd, kSqd, 0,
     kInSqd | kPort | kTimeout | kRetryCnt | kRnrRetry | kMaxQpRdAtomic | kMaxDestRdAtomic |
         kMinRnrTimer},
    {kUc, kSqd, kSqd, 0, kInSqd},
    {kUd, kSqd, kSqd, 0, kPkeyIndex | kQkey},
    {kXrcSend, kSqd, kSqd, 0, kInSqd | kPort | kTimeout | kRetryCnt | kRnrRetry | kMaxQpRdAtomic},
    {kXrcRecv, kSqd, kSqd, 0, kInSqd | kPort | kTimeout | kMaxDestRdAtomic | kMinRnrTimer},

    {kUc, kSqe, kRts, 0, kCurState | kAccessFlags},
    {kUd, kSqe, kRts, 0, kCurState | kQkey},
};

TEST(QpState, TableHasTheAttributesOfEveryTransition) {
    for (const Rule& rule : kRules) {
        const auto found = transition_rule(rule.type, rule.from, rule.to);
        const std::string where = std::string(to_string(rule.from)) + " to " + to_string(rule.to) +
                                  ", type " + std::to_string(static_cast<int>(rule.type));
        ASSERT_TRUE(found) << where;
        EXPECT_EQ(found->required, rule.required) << where;
        EXPECT_EQ(found->optional, rule.optional) << where;
    }
}

TEST(QpState, NoOtherTransitionExists) {
    std::set<std::tuple<QpType, QpState, QpState>> known;
    for (const Rule& rule : kRules) {
        known.emplace(rule.type, rule.from, rule.to);
    }
    for (const QpType type : kAllTypes) {
        for (const QpState from : kAllStates) {
            for (const QpState to : kAllStates) {
                const bool expected =
                    to == kReset || to == kErr || known.contains({type, from, to});
                EXPECT_EQ(transition_rule(type, from, to).has_value(), expected)
                    << to_string(from) << " to " << to_string(to);
            }
        }
    }
}

TEST(QpState, ResetAndErrorAreReachableFromEverywhereWithNothingElse) {
    for (const QpType type : kAllTypes) {
        for (const QpState from : kAllStates) {
            EXPECT_TRUE(check_transition(type, from, kReset, kState).ok());
            EXPECT_TRUE(check_transition(type, from, kErr, kState).ok());
            const TransitionResult result = check_transition(type, from, kErr, kState | kAv);
            EXPECT_EQ(result.error, TransitionError::kUnexpectedAttribute);
            EXPECT_EQ(result.offending_mask, kAv);
        }
    }
}

TEST(QpState, EachRequiredAttributeIsMissedByName) {
    for (const Rule& rule : kRules) {
        EXPECT_TRUE(check_transition(rule.type, rule.from, rule.to, kState | rule.required).ok());
        EXPECT_TRUE(
            check_transition(rule.type, rule.from, rule.to, kState | rule.required | rule.optional)
                .ok());
        for (std::uint32_t bit = 1; bit != 0; bit <<= 1) {
            if ((rule.required & bit) != 0) {
                const TransitionResult result = check_transition(rule.type, rule.from, rule.to,
                                                                 kState | (rule.required & ~bit));
                EXPECT_EQ(result.error, TransitionError::kMissingAttribute);
                EXPECT_EQ(result.offending_mask, bit);
            }
        }
    }
}

TEST(QpState, EachForeignAttributeIsRefusedByName) {
    for (const Rule& rule : kRules) {
        const std::uint32_t allowed = kState | rule.required | rule.optional;
        for (std::uint32_t bit = 1; bit != 0; bit <<= 1) {
            const TransitionResult result =
                check_transition(rule.type, rule.from, rule.to, kState | rule.required | bit);
            if ((allowed & bit) != 0) {
                EXPECT_TRUE(result.ok());
            } else {
                EXPECT_EQ(result.error, TransitionError::kUnexpectedAttribute);
                EXPECT_EQ(result.offending_mask, bit);
            }
        }
    }
}

TEST(QpState, SkippingAStateIsInvalid) {
    EXPECT_EQ(check_transition(kRc, kReset, kRtr, kState).error,
              TransitionError::kInvalidTransition);
    EXPECT_EQ(check_transition(kUd, kInit, kRts, kState | kSqPsn).error,
              TransitionError::kInvalidTransition);
    EXPECT_EQ(check_transition(kRc, kErr, kInit, kState).error,
              TransitionError::kInvalidTransition);
}

TEST(QpState, ValuesOutsideTheEnumerationsAreInvalid) {
    EXPECT_FALSE(transition_rule(static_cast<QpType>(8), kReset, kInit));
    EXPECT_FALSE(transition_rule(kRc, static_cast<QpState>(7), kReset));
    EXPECT_FALSE(transition_rule(kRc, kReset, static_cast<QpState>(255)));
}

}  // namespace
}  // namespace softib::hca
