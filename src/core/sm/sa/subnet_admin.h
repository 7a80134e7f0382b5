// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Subnet administration (IBA vol. 1, chapter 15): what the subnet's database answers to a request
// of class SubnAdm. Knows the versions, keys, methods and attributes; each kind of record has a
// file of its own.
//
// Sans-I/O. A request is a whole message: MAD header, RMPP header, SA header, and as much data as
// came. So is the answer; where its RMPP header has the flag Active it goes by RMPP, however
// short. Time is an argument.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/sm/sa/guids.h"
#include "core/sm/sa/multicast.h"
#include "core/sm/sa/path_records.h"
#include "core/sm/sa/query.h"
#include "core/wire/sm_info_record.h"

namespace softib::sm {

struct SaConfig {
    std::uint64_t sm_key = 1;  ///< Who gives it is trusted.
    PathSettings paths{};
    SaMulticastLimits multicast{};
    std::size_t table_bytes_max = std::size_t{64} << 20;
};

class SubnetAdmin {
  public:
    /// `subnet` outlives this.
    SubnetAdmin(const Subnet& subnet, SaConfig config);
    SubnetAdmin(const SubnetAdmin&) = delete;

    /// The answer to one request, if it gets any: what is no request, comes from nowhere, or has a
    /// wrong SM_Key, does not.
    std::optional<std::vector<std::uint8_t>> handle(std::span<const std::uint8_t> request, Lid slid,
                                                    Qpn qp, std::uint64_t now_ns);

    /// All managers that there are, the own one too.
    void set_managers(std::vector<wire::SmInfoRecord> managers) { managers_ = std::move(managers); }

    SaMulticast& multicast() { return multicast_; }
    const SaMulticast& multicast() const { return multicast_; }
    SaGuids& guids() { return guids_; }

  private:
    SaStatus dispatch(const SaQuery& query, wire::SaAttribute attribute, SaTable& table);
    SaStatus dispatch_get(const SaQuery& query, wire::SaAttribute attribute, SaTable& table);
    SaStatus handle_guids(const SaQuery& query, SaTable& table);
    SaStatus handle_mc_member(const SaQuery& query, SaTable& table);
    SaStatus handle_managers(const SaQuery& query, SaTable& table) const;
    SaPort port_of(EndPort end) const;
    std::optional<SaPort> port_of(const Gid& gid) const;

    const Subnet& subnet_;
    SaConfig config_;
    SaGuids guids_;
    SaMulticast multicast_;
    std::vector<wire::SmInfoRecord> managers_;
};

}  // namespace softib::sm
