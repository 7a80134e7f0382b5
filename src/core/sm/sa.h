// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Subnet administration: what the subnet's database answers to a MAD of class SubnAdm. Knows the
// versions, methods and attributes; each kind of record has a file of its own.

#include "core/sm/sa_multicast.h"
#include "core/wire/mad.h"

namespace softib::sm {

class SubnetAdmin {
  public:
    explicit SubnetAdmin(SaPortLookup ports) : multicast_(std::move(ports)) {}

    /// The answer to one request, whatever bytes it is made of. Only for a method that wants a
    /// response.
    wire::MadBytes handle(const wire::MadBytes& request, const SaPort& requester);

    const SaMulticast& multicast() const { return multicast_; }

  private:
    wire::MadBytes handle_mc_member(const wire::MadBytes& request, const SaPort& requester);

    SaMulticast multicast_;
};

}  // namespace softib::sm
