// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Queries for records that only repeat what the SM has found and written: one function for each
// kind of record. Each adds to the table the records that match the query and that the requester
// may see, and returns a status.

#include "core/sm/sa/query.h"

namespace softib::sm {

// node_records.cc
SaStatus query_node_records(const SaQuery& query, SaTable& table);
// port_records.cc
SaStatus query_port_info_records(const SaQuery& query, SaTable& table);
SaStatus query_pkey_table_records(const SaQuery& query, SaTable& table);
// switch_records.cc
SaStatus query_switch_info_records(const SaQuery& query, SaTable& table);
SaStatus query_linear_table_records(const SaQuery& query, SaTable& table);
SaStatus query_multicast_table_records(const SaQuery& query, SaTable& table);
// link_records.cc
SaStatus query_link_records(const SaQuery& query, SaTable& table);
// qos_records.cc
SaStatus query_sl_to_vl_records(const SaQuery& query, SaTable& table);
SaStatus query_vl_arbitration_records(const SaQuery& query, SaTable& table);

}  // namespace softib::sm
