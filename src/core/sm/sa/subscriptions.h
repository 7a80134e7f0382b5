// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// InformInfo and InformInfoRecord: which ports have subscribed to which notices (IBA vol. 1,
// 13.4.11 and 15.2.5.12).

#include <cstdint>
#include <map>
#include <vector>

#include "core/sm/sa/query.h"
#include "core/wire/mad/inform_info.h"
#include "core/wire/mad/notice.h"

namespace softib::sm {

struct SaSubscriptionLimits {
    std::size_t subscriptions_max = 65'536;
    std::size_t subscriptions_per_client_max = 64;
};

/// A notice, and the partitions whose members may get it.
struct SaNotice {
    wire::GmpNotice notice;
    /// P_Keys of these partitions; empty if all subscribers may get the notice.
    std::vector<PKey> partitions;
};

class SaSubscriptions {
  public:
    struct Subscription {
        Guid port{};
        Gid gid{};
        Qpn qp{};
        std::uint16_t enumeration = 0;  ///< Number that tells the subscriptions of a port apart.
        bool trusted = false;
        wire::InformInfo info;
    };

    explicit SaSubscriptions(const SaSubscriptionLimits& limits) : limits_(limits) {}

    std::size_t count() const { return count_; }
    const std::map<Guid, std::vector<Subscription>>& all() const { return by_port_; }

    /// Handles SubnAdmSet(InformInfo): subscribes, or ends a subscription.
    SaStatus handle_set(const SaQuery& query, SaTable& table);
    /// Handles SubnAdmGet and SubnAdmGetTable of InformInfoRecord.
    SaStatus handle_get(const SaQuery& query, SaTable& table) const;

    /// Calls fn(const Subscription&) for each subscription that wants the notice and may get it.
    template <typename Fn>
    void for_each_listener(const Subnet& subnet, const SaNotice& notice, Fn&& fn) const {
        for (const auto& [port, subscriptions] : by_port_) {
            for (const Subscription& subscription : subscriptions) {
                if (wants(subscription, notice.notice) && may_hear(subnet, subscription, notice)) {
                    fn(subscription);
                }
            }
        }
    }

    void remove_port(Guid port);
    void restore(const Subscription& subscription);

  private:
    SaStatus subscribe(const SaQuery& query, const wire::InformInfo& asked);
    SaStatus unsubscribe(const SaQuery& query, const wire::InformInfo& asked);
    static bool wants(const Subscription& subscription, const wire::GmpNotice& notice);
    static bool may_hear(const Subnet& subnet, const Subscription& subscription,
                         const SaNotice& notice);

    SaSubscriptionLimits limits_;
    std::map<Guid, std::vector<Subscription>> by_port_;
    std::size_t count_ = 0;
};

}  // namespace softib::sm
