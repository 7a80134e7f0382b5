// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// InfiniBand's congestion control (IBA vol. 1, annex A10) as the controller of a flow: the delays
// of the table that the congestion manager wrote (injection.h).

#include "core/link/congestion.h"
#include "core/link/injection.h"

namespace softib::link {

class CcaController final : public Controller {
  public:
    explicit CcaController(const FlowFacts& facts) : settings_(facts.injection), sl_(facts.sl) {}

    void handle_notification(TimePs now) override {
        flow_.handle_becn((*settings_)->rules[sl_], (*settings_)->table, now);
    }
    TimePs delay(std::uint32_t, TimePs took, TimePs now) override {
        return flow_.delay((*settings_)->rules[sl_], (*settings_)->table, took, now);
    }

  private:
    const InjectionControl* const* settings_;
    std::uint8_t sl_;
    Injection flow_;
};

}  // namespace softib::link
