// SPDX-License-Identifier: BSD-2-Clause
#include "core/hca/qp_attr.h"

namespace softib::hca {

namespace {

constexpr std::uint8_t kPortOnly = 1;
constexpr std::uint8_t kRetryMax = 7;
constexpr std::uint8_t kTimerCodeMax = 31;
constexpr std::uint32_t kQpnMax = 0xFFFFFF;

}  // namespace

std::uint32_t ignored_attributes(QpType type) {
    switch (type) {
        case QpType::kXrcSend:
            return qp_attr::kMaxDestRdAtomic | qp_attr::kMinRnrTimer;
        case QpType::kXrcRecv:
            return qp_attr::kMaxQpRdAtomic | qp_attr::kRetryCnt | qp_attr::kRnrRetry;
        default:
            return 0;
    }
}

bool values_are_valid(const QpAttr& attr, std::uint32_t mask, std::uint32_t pkeys) {
    const auto bad = [&](std::uint32_t bit, bool wrong) { return (mask & bit) != 0 && wrong; };
    return !(bad(qp_attr::kPort, attr.port != kPortOnly) ||
             bad(qp_attr::kPkeyIndex, attr.pkey_index >= pkeys) ||
             bad(qp_attr::kPathMtu, attr.path_mtu < kMtuCodeMin || attr.path_mtu > kMtuCodeMax) ||
             bad(qp_attr::kMaxQpRdAtomic, attr.max_rd_atomic > kRdAtomicMax) ||
             bad(qp_attr::kMaxDestRdAtomic, attr.max_dest_rd_atomic > kRdAtomicMax) ||
             bad(qp_attr::kRetryCnt, attr.retry_cnt > kRetryMax) ||
             bad(qp_attr::kRnrRetry, attr.rnr_retry > kRetryMax) ||
             bad(qp_attr::kTimeout, attr.timeout > kTimerCodeMax) ||
             bad(qp_attr::kMinRnrTimer, attr.min_rnr_timer > kTimerCodeMax) ||
             bad(qp_attr::kDestQpn, attr.dest_qpn > kQpnMax) ||
             bad(qp_attr::kAv, attr.av_port > kPortOnly));
}

void apply_attributes(QpAttr& to, const QpAttr& from, std::uint32_t mask) {
    const auto take = [&](std::uint32_t bit, auto member) {
        if ((mask & bit) != 0) {
            to.*member = from.*member;
        }
    };
    take(qp_attr::kEnSqdAsyncNotify, &QpAttr::sq_async_notify);
    take(qp_attr::kAccessFlags, &QpAttr::access);
    take(qp_attr::kPkeyIndex, &QpAttr::pkey_index);
    take(qp_attr::kPort, &QpAttr::port);
    take(qp_attr::kQkey, &QpAttr::qkey);
    take(qp_attr::kAv, &QpAttr::av);
    take(qp_attr::kAv, &QpAttr::av_port);
    take(qp_attr::kAv, &QpAttr::av_static_rate);
    take(qp_attr::kPathMtu, &QpAttr::path_mtu);
    take(qp_attr::kTimeout, &QpAttr::timeout);
    take(qp_attr::kRetryCnt, &QpAttr::retry_cnt);
    take(qp_attr::kRnrRetry, &QpAttr::rnr_retry);
    take(qp_attr::kRqPsn, &QpAttr::rq_psn);
    take(qp_attr::kSqPsn, &QpAttr::sq_psn);
    take(qp_attr::kMaxQpRdAtomic, &QpAttr::max_rd_atomic);
    take(qp_attr::kMaxDestRdAtomic, &QpAttr::max_dest_rd_atomic);
    take(qp_attr::kAltPath, &QpAttr::alt_av);
    take(qp_attr::kAltPath, &QpAttr::alt_port);
    take(qp_attr::kAltPath, &QpAttr::alt_pkey_index);
    take(qp_attr::kAltPath, &QpAttr::alt_timeout);
    take(qp_attr::kMinRnrTimer, &QpAttr::min_rnr_timer);
    take(qp_attr::kPathMigState, &QpAttr::path_mig_state);
    take(qp_attr::kDestQpn, &QpAttr::dest_qpn);
}

}  // namespace softib::hca
