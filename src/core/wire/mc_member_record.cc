// SPDX-License-Identifier: BSD-2-Clause
#include "core/wire/mc_member_record.h"

#include <fmt/format.h>

namespace softib::wire {

McMemberRecordRepr McMemberRecordRepr::parse(const McMemberRecord<const std::uint8_t>& record) {
    return {.mgid = record.mgid(),
            .port_gid = record.port_gid(),
            .qkey = record.qkey(),
            .mlid = record.mlid(),
            .mtu_selector = record.mtu_selector(),
            .mtu = record.mtu(),
            .tclass = record.tclass(),
            .pkey = record.pkey(),
            .rate_selector = record.rate_selector(),
            .rate = record.rate(),
            .life_time_selector = record.life_time_selector(),
            .life_time = record.life_time(),
            .sl = record.sl(),
            .flow_label = record.flow_label(),
            .hop_limit = record.hop_limit(),
            .scope = record.scope(),
            .join_state = record.join_state(),
            .proxy_join = record.proxy_join()};
}

void McMemberRecordRepr::emit(const McMemberRecord<std::uint8_t>& record) const {
    record.set_mgid(mgid);
    record.set_port_gid(port_gid);
    record.set_qkey(qkey);
    record.set_mlid(mlid);
    record.set_mtu(mtu_selector, mtu);
    record.set_tclass(tclass);
    record.set_pkey(pkey);
    record.set_rate(rate_selector, rate);
    record.set_life_time(life_time_selector, life_time);
    record.set_sl_flow_hop(sl, flow_label, hop_limit);
    record.set_scope_and_join_state(scope, join_state);
    record.set_proxy_join(proxy_join);
    record.clear_reserved();
}

std::string to_string(const McMemberRecordRepr& repr) {
    return fmt::format(
        "mgid {} port {} mlid {} qkey {:#010x} pkey {:#06x} mtu {} rate {} sl {} join {:#x}",
        to_string(repr.mgid), to_string(repr.port_gid), repr.mlid.value, repr.qkey.value,
        repr.pkey.value, repr.mtu, repr.rate, repr.sl, repr.join_state);
}

}  // namespace softib::wire
