// SPDX-License-Identifier: BSD-2-Clause
//
// Every function behind an exported symbol of libibverbs.so.1 (implemented.txt). The exported
// ibv_x is a generated trampoline to softib_ibv_x; declaring the latter with the type of the
// former lets the compiler reject a definition whose signature differs from the public header.
// Include this in each file that defines one.
#pragma once

#include <infiniband/sa.h>
#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "abi/verbs/abi64.h"

struct ib_user_path_rec;
struct ib_uverbs_ah_attr;
struct ib_uverbs_qp_attr;

namespace softib::abi {

template <class F>
struct EntryOf;

template <class R, class... A>
struct EntryOf<R(A...)> {
    using Type = R(A...) noexcept;
};

}  // namespace softib::abi

#define SOFTIB_ENTRY(name) softib::abi::EntryOf<decltype(::name)>::Type softib_##name

extern "C" {

// Devices
SOFTIB_ENTRY(ibv_get_device_list);
SOFTIB_ENTRY(ibv_free_device_list);
SOFTIB_ENTRY(ibv_get_device_name);
SOFTIB_ENTRY(ibv_get_device_index);
SOFTIB_ENTRY(ibv_get_device_guid);
SOFTIB_ENTRY(ibv_open_device);
SOFTIB_ENTRY(ibv_close_device);
SOFTIB_ENTRY(ibv_import_device);
SOFTIB_ENTRY(ibv_get_async_event);
SOFTIB_ENTRY(ibv_ack_async_event);

// Queries. The port attributes are an incomplete type here: exactly kPortAttrCompatBytes long.
SOFTIB_ENTRY(ibv_query_device);
SOFTIB_ENTRY(ibv_query_port);
SOFTIB_ENTRY(ibv_query_gid);
SOFTIB_ENTRY(_ibv_query_gid_ex);
SOFTIB_ENTRY(_ibv_query_gid_table);
SOFTIB_ENTRY(ibv_query_pkey);
SOFTIB_ENTRY(ibv_get_pkey_index);
int softib_ibv_query_port_speed(ibv_context* context, std::uint32_t port_num,
                                std::uint64_t* port_speed) noexcept;
int softib_ibv_query_gid_type(ibv_context* context, std::uint8_t port_num, unsigned int index,
                              std::uint32_t* type) noexcept;

// Protection domains and memory
SOFTIB_ENTRY(ibv_alloc_pd);
SOFTIB_ENTRY(ibv_dealloc_pd);
SOFTIB_ENTRY(ibv_import_pd);
SOFTIB_ENTRY(ibv_unimport_pd);
SOFTIB_ENTRY(ibv_reg_mr);
SOFTIB_ENTRY(ibv_reg_mr_iova);
SOFTIB_ENTRY(ibv_reg_mr_iova2);
SOFTIB_ENTRY(ibv_reg_dmabuf_mr);
SOFTIB_ENTRY(ibv_rereg_mr);
SOFTIB_ENTRY(ibv_dereg_mr);
SOFTIB_ENTRY(ibv_import_mr);
SOFTIB_ENTRY(ibv_unimport_mr);
SOFTIB_ENTRY(ibv_import_dm);
SOFTIB_ENTRY(ibv_unimport_dm);
ibv_mr* softib_ibv_reg_mr_ex(ibv_pd* pd, softib::abi::MrInitAttr* mr_init_attr) noexcept;
softib::abi::Dmah* softib_ibv_alloc_dmah(ibv_context* context,
                                         softib::abi::DmahInitAttr* attr) noexcept;
int softib_ibv_dealloc_dmah(softib::abi::Dmah* dmah) noexcept;
int softib_ibv_dm_export_dmabuf_fd(ibv_dm* dm) noexcept;
void* softib_ibv_alloc_buf(ibv_pd* pd, std::size_t size, softib::abi::Buf** buf) noexcept;
void softib_ibv_free_buf(softib::abi::Buf* buf) noexcept;
ibv_mr* softib_ibv_reg_buf_mr(ibv_pd* pd, softib::abi::Buf* buf, void* addr, std::size_t length,
                              int access) noexcept;

// Completion queues
SOFTIB_ENTRY(ibv_create_comp_channel);
SOFTIB_ENTRY(ibv_destroy_comp_channel);
SOFTIB_ENTRY(ibv_create_cq);
SOFTIB_ENTRY(ibv_resize_cq);
SOFTIB_ENTRY(ibv_destroy_cq);
SOFTIB_ENTRY(ibv_get_cq_event);
SOFTIB_ENTRY(ibv_ack_cq_events);

// Queue pairs and shared receive queues
SOFTIB_ENTRY(ibv_create_srq);
SOFTIB_ENTRY(ibv_modify_srq);
SOFTIB_ENTRY(ibv_query_srq);
SOFTIB_ENTRY(ibv_destroy_srq);
SOFTIB_ENTRY(ibv_create_qp);
SOFTIB_ENTRY(ibv_qp_to_qp_ex);
SOFTIB_ENTRY(ibv_modify_qp);
SOFTIB_ENTRY(ibv_query_qp);
SOFTIB_ENTRY(ibv_query_qp_data_in_order);
SOFTIB_ENTRY(ibv_destroy_qp);
SOFTIB_ENTRY(ibv_attach_mcast);
SOFTIB_ENTRY(ibv_detach_mcast);
SOFTIB_ENTRY(ibv_set_ece);
SOFTIB_ENTRY(ibv_query_ece);

// Address handles
SOFTIB_ENTRY(ibv_create_ah);
SOFTIB_ENTRY(ibv_init_ah_from_wc);
SOFTIB_ENTRY(ibv_create_ah_from_wc);
SOFTIB_ENTRY(ibv_destroy_ah);

// resolve_eth.cc
SOFTIB_ENTRY(ibv_resolve_eth_l2_from_gid);

// fork.cc
SOFTIB_ENTRY(ibv_fork_init);
SOFTIB_ENTRY(ibv_is_fork_initialized);
int softib_ibv_dontfork_range(void* base, std::size_t size) noexcept;
int softib_ibv_dofork_range(void* base, std::size_t size) noexcept;

// strings.cc
SOFTIB_ENTRY(ibv_node_type_str);
SOFTIB_ENTRY(ibv_port_state_str);
SOFTIB_ENTRY(ibv_event_type_str);
SOFTIB_ENTRY(ibv_wc_status_str);
SOFTIB_ENTRY(ibv_rate_to_mult);
SOFTIB_ENTRY(mult_to_ibv_rate);
SOFTIB_ENTRY(ibv_rate_to_mbps);
SOFTIB_ENTRY(mbps_to_ibv_rate);
const char* softib_ibv_wr_opcode_str(ibv_wr_opcode opcode) noexcept;

// sysfs_path.cc
const char* softib_ibv_get_sysfs_path() noexcept;
int softib_ibv_read_sysfs_file(const char* dir, const char* file, char* buf,
                               std::size_t size) noexcept;

// kern_attr.cc
void softib_ibv_copy_ah_attr_from_kern(ibv_ah_attr* dst, ib_uverbs_ah_attr* src) noexcept;
void softib_ibv_copy_qp_attr_from_kern(ibv_qp_attr* dst, ib_uverbs_qp_attr* src) noexcept;
void softib_ibv_copy_path_rec_from_kern(ibv_sa_path_rec* dst, ib_user_path_rec* src) noexcept;
void softib_ibv_copy_path_rec_to_kern(ib_user_path_rec* dst, ibv_sa_path_rec* src) noexcept;

}  // extern "C"

#undef SOFTIB_ENTRY
