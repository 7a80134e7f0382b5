// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/netlink/rdma_resources.h"

#include <netinet/in.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>

namespace softib::daemon {

namespace {

/// Returns whether an owner number is that of a live process. The number is not trusted, since any
/// process can write to the arena.
bool is_live(const shm::Arena& arena, shm::Owner owner) {
    return owner != 0 && owner <= shm::kProcsMax &&
           arena.proc(owner).state.load(std::memory_order_acquire) == shm::ProcState::kLive;
}

/// Calls see(owner, index, entry) for every entry of a table whose batch belongs to a live process.
template <typename Entry, typename See>
void for_each_owned(const shm::Arena& arena, const std::atomic<shm::Owner>* batches,
                    std::uint32_t batch_count, Entry* entries, See see) {
    for (std::uint32_t b = 0; b < batch_count; ++b) {
        const shm::Owner owner = batches[b].load(std::memory_order_acquire);
        if (!is_live(arena, owner)) {
            continue;
        }
        for (std::uint32_t i = b * shm::kBatchEntries; i < (b + 1) * shm::kBatchEntries; ++i) {
            see(owner, i, entries[i]);
        }
    }
}

template <typename See>
void for_each_qp(const shm::Arena& arena, std::uint32_t hca, See see) {
    const std::uint32_t batches =
        std::min(arena.header->qp_batches_top.load(std::memory_order_acquire),
                 shm::kQpsMax / shm::kBatchEntries);
    for_each_owned(arena, arena.qp_batches, batches, arena.qps,
                   [&](shm::Owner owner, std::uint32_t, const shm::QpShared& qp) {
                       if (qp.owner == owner && qp.hca == hca) {
                           see(owner, qp);
                       }
                   });
}

template <typename See>
void for_each_cq(const shm::Arena& arena, std::uint32_t hca, See see) {
    for_each_owned(arena, arena.cq_batches, shm::kCqsMax / shm::kBatchEntries, arena.cqs,
                   [&](shm::Owner owner, std::uint32_t index, const shm::CqShared& cq) {
                       if (cq.owner == owner && cq.hca == hca) {
                           see(owner, index, cq);
                       }
                   });
}

template <typename See>
void for_each_region(const shm::Arena& arena, std::uint32_t hca, See see) {
    for_each_owned(arena, arena.mr_batches, shm::kMrsMax / shm::kBatchEntries, arena.mrs,
                   [&](shm::Owner owner, std::uint32_t index, const shm::MrShared& mr) {
                       if (mr.key.load(std::memory_order_acquire) != 0 && mr.hca == hca &&
                           !hca::is_window(mr.kind)) {
                           see(owner, index, mr);
                       }
                   });
}

template <typename See>
void for_each_srq(const shm::Arena& arena, std::uint32_t hca, See see) {
    for_each_owned(arena, arena.srq_batches, shm::kSrqsMax / shm::kBatchEntries, arena.srqs,
                   [&](shm::Owner owner, std::uint32_t, const shm::SrqShared& srq) {
                       if (srq.live.load(std::memory_order_acquire) != 0 && srq.hca == hca) {
                           see(owner, srq);
                       }
                   });
}

void put_program(shm::AttributeList& out, const shm::Arena& arena, shm::Owner owner) {
    out.put_number(RDMA_NLDEV_ATTR_RES_PID, arena.proc(owner).pid);
}

/// Returns the number of an open context, unique among all processes. `entry` is its index in
/// ProcSlot::async_channels.
std::uint32_t context_number(shm::Owner owner, std::size_t entry) {
    return (std::uint32_t{owner} - 1) * shm::kAsyncChannels + static_cast<std::uint32_t>(entry);
}

/// Adds the number of the context with this event channel. Adds nothing if async_channels had no
/// room for the context.
void put_context(shm::AttributeList& out, const shm::Arena& arena, shm::Owner owner,
                 std::uint32_t channel) {
    const auto& contexts = arena.proc(owner).async_channels;
    for (std::size_t i = 0; i < shm::kAsyncChannels; ++i) {
        if (channel != 0 && contexts[i].channel.load(std::memory_order_relaxed) == channel) {
            out.put_number(RDMA_NLDEV_ATTR_RES_CTXN, context_number(owner, i));
            return;
        }
    }
}

bool is_connected_type(hca::QpType type) {
    return type == hca::QpType::kRc || type == hca::QpType::kUc;
}

std::vector<Resource> list_qps(const NetlinkView& view, std::uint32_t hca) {
    std::vector<Resource> out;
    for_each_qp(view.arena, hca, [&](shm::Owner owner, const shm::QpShared& qp) {
        const hca::QpState state = qp.state.load(std::memory_order_relaxed);
        // A queue pair gets its port on the way out of RESET.
        Resource& each =
            out.emplace_back(Resource{.id = qp.qpn, .port = state != hca::QpState::kReset});
        shm::AttributeList& a = each.attributes;
        if (each.port != 0) {
            a.put_number(RDMA_NLDEV_ATTR_PORT_INDEX, each.port);
        }
        a.put_number(RDMA_NLDEV_ATTR_RES_LQPN, qp.qpn);
        if (is_connected_type(qp.type)) {
            a.put_number(RDMA_NLDEV_ATTR_RES_RQPN, qp.dest_qpn.load(std::memory_order_relaxed));
        }
        if (qp.type != hca::QpType::kUd) {
            a.put_number(RDMA_NLDEV_ATTR_RES_RQ_PSN, qp.rq_psn);
        }
        a.put_number(RDMA_NLDEV_ATTR_RES_SQ_PSN, qp.sq_psn);
        if (qp.type != hca::QpType::kUd) {
            a.put_number(RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE, qp.path_mig_state);
        }
        a.put_number(RDMA_NLDEV_ATTR_RES_TYPE, static_cast<std::uint8_t>(qp.type));
        a.put_number(RDMA_NLDEV_ATTR_RES_STATE, static_cast<std::uint8_t>(state));
        a.put_number(RDMA_NLDEV_ATTR_RES_PDN, qp.pd);
        put_program(a, view.arena, owner);
    });
    return out;
}

/// Returns how many queues write completions into each completion queue, by its index.
std::map<std::uint32_t, std::uint64_t> users_of_cqs(const shm::Arena& arena, std::uint32_t hca) {
    std::map<std::uint32_t, std::uint64_t> users;
    for_each_qp(arena, hca, [&](shm::Owner, const shm::QpShared& qp) {
        if (qp.type != hca::QpType::kXrcRecv) {
            ++users[qp.sq.cq];
        }
        if (qp.type != hca::QpType::kXrcRecv && qp.type != hca::QpType::kXrcSend) {
            ++users[qp.recv_cq];
        }
    });
    for_each_srq(arena, hca, [&](shm::Owner, const shm::SrqShared& srq) {
        if (srq.xrcd != 0) {
            ++users[srq.recv_cq];
        }
    });
    return users;
}

std::vector<Resource> list_cqs(const NetlinkView& view, std::uint32_t hca) {
    std::vector<Resource> out;
    std::map<std::uint32_t, std::uint64_t> users = users_of_cqs(view.arena, hca);
    for_each_cq(view.arena, hca,
                [&](shm::Owner owner, std::uint32_t index, const shm::CqShared& cq) {
                    shm::AttributeList& a = out.emplace_back(Resource{.id = index}).attributes;
                    a.put_number(RDMA_NLDEV_ATTR_RES_CQE, cq.entries);
                    a.put_number(RDMA_NLDEV_ATTR_RES_USECNT, users[index]);
                    a.put_number(RDMA_NLDEV_ATTR_DEV_DIM, std::uint8_t{0});
                    a.put_number(RDMA_NLDEV_ATTR_RES_CQN, index);
                    put_context(a, view.arena, owner, cq.async_channel);
                    put_program(a, view.arena, owner);
                });
    return out;
}

std::vector<Resource> list_regions(const NetlinkView& view, std::uint32_t hca) {
    std::vector<Resource> out;
    for_each_region(view.arena, hca,
                    [&](shm::Owner owner, std::uint32_t index, const shm::MrShared& mr) {
                        shm::AttributeList& a = out.emplace_back(Resource{.id = index}).attributes;
                        const std::uint32_t key = mr.key.load(std::memory_order_relaxed);
                        a.put_number(RDMA_NLDEV_ATTR_RES_RKEY, key);
                        a.put_number(RDMA_NLDEV_ATTR_RES_LKEY, key);
                        a.put_number(RDMA_NLDEV_ATTR_RES_MRLEN, mr.length);
                        a.put_number(RDMA_NLDEV_ATTR_RES_MRN, index);
                        a.put_number(RDMA_NLDEV_ATTR_RES_PDN, mr.pd);
                        put_program(a, view.arena, owner);
                    });
    return out;
}

/// Lists protection domains. They are not in the arena, so that only those with an object are
/// known.
std::vector<Resource> list_pds(const NetlinkView& view, std::uint32_t hca) {
    struct Domain {
        shm::Owner owner = 0;
        std::uint64_t users = 0;
        std::uint32_t channel = 0;
    };
    std::map<std::uint32_t, Domain> domains;
    const auto use = [&](shm::Owner owner, std::uint32_t pd, std::uint32_t channel) {
        Domain& domain = domains[pd];
        domain.owner = owner;
        ++domain.users;
        domain.channel = std::max(domain.channel, channel);
    };
    for_each_qp(view.arena, hca, [&](shm::Owner owner, const shm::QpShared& qp) {
        use(owner, qp.pd, qp.async_channel);
    });
    for_each_srq(view.arena, hca, [&](shm::Owner owner, const shm::SrqShared& srq) {
        use(owner, srq.pd, srq.async_channel);
    });
    for_each_region(view.arena, hca, [&](shm::Owner owner, std::uint32_t, const shm::MrShared& mr) {
        use(owner, mr.pd, 0);
    });
    std::vector<Resource> out;
    for (const auto& [number, domain] : domains) {
        shm::AttributeList& a = out.emplace_back(Resource{.id = number}).attributes;
        a.put_number(RDMA_NLDEV_ATTR_RES_USECNT, domain.users);
        a.put_number(RDMA_NLDEV_ATTR_RES_PDN, number);
        put_context(a, view.arena, domain.owner, domain.channel);
        put_program(a, view.arena, domain.owner);
    }
    return out;
}

std::vector<Resource> list_contexts(const NetlinkView& view, std::uint32_t hca) {
    std::vector<Resource> out;
    for (std::uint32_t p = 0; p < procs_used(view.arena); ++p) {
        const auto owner = static_cast<shm::Owner>(p + 1);
        if (!is_live(view.arena, owner)) {
            continue;
        }
        for (std::size_t i = 0; i < shm::kAsyncChannels; ++i) {
            const auto& context = view.arena.procs[p].async_channels[i];
            if (context.channel.load(std::memory_order_acquire) != 0 && context.hca == hca) {
                Resource& each = out.emplace_back(Resource{.id = context_number(owner, i)});
                each.attributes.put_number(RDMA_NLDEV_ATTR_RES_CTXN, each.id);
                put_program(each.attributes, view.arena, owner);
            }
        }
    }
    return out;
}

std::vector<Resource> list_srqs(const NetlinkView& view, std::uint32_t hca) {
    std::vector<Resource> out;
    for_each_srq(view.arena, hca, [&](shm::Owner owner, const shm::SrqShared& srq) {
        shm::AttributeList& a = out.emplace_back(Resource{.id = srq.srqn}).attributes;
        const bool is_xrc = srq.xrcd != 0;
        a.put_number(RDMA_NLDEV_ATTR_RES_SRQN, srq.srqn);
        a.put_number(RDMA_NLDEV_ATTR_RES_TYPE, static_cast<std::uint8_t>(is_xrc ? 1 : 0));
        a.put_number(RDMA_NLDEV_ATTR_RES_PDN, srq.pd);
        if (is_xrc) {
            a.put_number(RDMA_NLDEV_ATTR_RES_CQN, srq.recv_cq);
        }
        put_program(a, view.arena, owner);
    });
    return out;
}

/// Adds an address as a whole sockaddr_storage, as Linux does. Adds nothing if there is no address.
void put_address(shm::AttributeList& out, std::uint16_t type, const cm::Address& address) {
    sockaddr_storage storage{};
    if (address.family == cm::Family::kIp4) {
        sockaddr_in ip{};
        ip.sin_family = AF_INET;
        ip.sin_port = htons(address.port);
        std::memcpy(&ip.sin_addr, address.bytes.bytes.data(), sizeof ip.sin_addr);
        std::memcpy(&storage, &ip, sizeof ip);
    } else if (address.family == cm::Family::kIp6) {
        sockaddr_in6 ip{};
        ip.sin6_family = AF_INET6;
        ip.sin6_port = htons(address.port);
        std::memcpy(&ip.sin6_addr, address.bytes.bytes.data(), sizeof ip.sin6_addr);
        std::memcpy(&storage, &ip, sizeof ip);
    } else {
        return;
    }
    out.put(type, {reinterpret_cast<const char*>(&storage), sizeof storage});
}

/// Returns whether an endpoint is on an HCA. A listener that is bound to none is on all of its
/// host.
bool is_on(const NetlinkView& view, const CmEndpoint& one, std::uint32_t hca) {
    const bool listens = one.endpoint.state == cm::Host::Endpoint::kListen;
    return one.hca == hca ||
           (one.hca == UINT32_MAX && listens && one.host == view.arena.hcas[hca].host);
}

std::vector<Resource> list_endpoints(const NetlinkView& view, std::uint32_t hca) {
    std::vector<Resource> out;
    for (const CmEndpoint& one : view.endpoints()) {
        if (!is_on(view, one, hca)) {
            continue;
        }
        const cm::Host::Endpoint& endpoint = one.endpoint;
        Resource& each = out.emplace_back(Resource{.id = endpoint.handle, .port = 1});
        shm::AttributeList& a = each.attributes;
        a.put_number(RDMA_NLDEV_ATTR_PORT_INDEX, each.port);
        if (endpoint.qpn.value != 0) {
            a.put_number(RDMA_NLDEV_ATTR_RES_LQPN, endpoint.qpn.value);
            a.put_number(RDMA_NLDEV_ATTR_RES_TYPE, static_cast<std::uint8_t>(endpoint.type));
        }
        a.put_number(RDMA_NLDEV_ATTR_RES_PS, static_cast<std::uint32_t>(endpoint.space));
        a.put_number(RDMA_NLDEV_ATTR_RES_STATE, static_cast<std::uint8_t>(endpoint.state));
        put_address(a, RDMA_NLDEV_ATTR_RES_SRC_ADDR, endpoint.source);
        put_address(a, RDMA_NLDEV_ATTR_RES_DST_ADDR, endpoint.destination);
        a.put_number(RDMA_NLDEV_ATTR_RES_CM_IDN, each.id);
        a.put_number(RDMA_NLDEV_ATTR_RES_PID, one.pid);
    }
    return out;
}

constexpr ResourceKind kKinds[] = {
    {"pd", RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PD, RDMA_NLDEV_ATTR_RES_PD_ENTRY,
     RDMA_NLDEV_ATTR_RES_PDN, list_pds},
    {"cq", RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQ, RDMA_NLDEV_ATTR_RES_CQ_ENTRY,
     RDMA_NLDEV_ATTR_RES_CQN, list_cqs},
    {"qp", RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY,
     RDMA_NLDEV_ATTR_RES_LQPN, list_qps},
    {"cm_id", RDMA_NLDEV_CMD_RES_CM_ID_GET, RDMA_NLDEV_ATTR_RES_CM_ID,
     RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY, RDMA_NLDEV_ATTR_RES_CM_IDN, list_endpoints},
    {"mr", RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MR, RDMA_NLDEV_ATTR_RES_MR_ENTRY,
     RDMA_NLDEV_ATTR_RES_MRN, list_regions},
    {"ctx", RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_ATTR_RES_CTX, RDMA_NLDEV_ATTR_RES_CTX_ENTRY,
     RDMA_NLDEV_ATTR_RES_CTXN, list_contexts},
    {"srq", RDMA_NLDEV_CMD_RES_SRQ_GET, RDMA_NLDEV_ATTR_RES_SRQ, RDMA_NLDEV_ATTR_RES_SRQ_ENTRY,
     RDMA_NLDEV_ATTR_RES_SRQN, list_srqs},
};

}  // namespace

std::span<const ResourceKind> resource_kinds() {
    return kKinds;
}

}  // namespace softib::daemon
