// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// ServiceRecord: which port offers which service, and until when (IBA vol. 1, 15.2.5.14). A service
// belongs to the port that registered it. That port, requesters that know its ServiceKey, and
// trusted requesters may change it.

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>

#include "core/sm/sa/query.h"
#include "core/wire/sa/service_record.h"

namespace softib::sm {

struct SaServiceLimits {
    std::size_t services_max = 65'536;
    std::size_t services_per_client_max = 256;
};

class SaServices {
  public:
    static constexpr std::uint64_t kNever = UINT64_MAX;

    /// The fields that tell services apart.
    struct Key {
        std::uint64_t id = 0;
        Gid gid{};
        PKey pkey{};
        friend auto operator<=>(const Key&, const Key&) = default;
    };
    struct Service {
        wire::ServiceRecord record;
        Guid owner{};  ///< The port that registered it.
        std::uint64_t expires_ns = kNever;
    };
    /// Finds the port that has a GUID, as its own or as an alias.
    using FindPort = std::function<std::optional<EndPort>(Guid)>;

    SaServices(FindPort find_port, const SaServiceLimits& limits)
        : find_port_(std::move(find_port)), limits_(limits) {}

    const std::map<Key, Service>& all() const { return services_; }
    const FindPort& find_port() const { return find_port_; }

    SaStatus handle_set(const SaQuery& query, SaTable& table);
    SaStatus handle_get(const SaQuery& query, SaTable& table);
    SaStatus handle_delete(const SaQuery& query, SaTable& table);

    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;
    void remove_port(Guid owner);
    void restore(const Service& service);

  private:
    using Services = std::map<Key, Service>;

    SaStatus check_rights(const SaQuery& query, const wire::ServiceRecord& asked) const;
    bool visible(const SaQuery& query, const Service& service) const;
    bool may_change(const SaQuery& query, const Service& service,
                    const wire::ServiceRecord& asked) const;
    template <typename Found>
    void for_each_match(const SaQuery& query, const wire::ServiceRecord& asked, Found&& found);
    void show(const SaQuery& query, const Service& service, SaTable& table) const;
    void insert(const Service& service);
    Services::iterator erase(Services::iterator at);

    FindPort find_port_;
    SaServiceLimits limits_;
    Services services_;
    std::multimap<std::uint64_t, Key> expiries_;
    std::unordered_map<std::uint64_t, std::size_t> per_owner_;
};

}  // namespace softib::sm
