// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// All requests that the daemon takes, in one variant: code that visits an AnyRequest compiles only
// if it handles each of them.

#include <cerrno>
#include <expected>
#include <type_traits>
#include <variant>

#include "runtime/shm/codec.h"
#include "runtime/shm/requests.h"

namespace softib::shm {

using AnyRequest =
    std::variant<request::Attach, request::Observe, request::McastAttach, request::McastDetach,
                 request::SysfsRead, request::SetRoute, request::SetLink, request::SetPKey,
                 request::Shutdown, request::MadOpen, request::Mad, request::MadRegister,
                 request::MadUnregister, request::IsManager, request::SetPower, request::Manager,
                 request::Routes, request::Refused, request::BadLink, request::CmOpen, request::Cm,
                 request::CmChannel, request::CmNext, request::CmDescribe, request::SetFaults,
                 request::NetlinkOpen, request::FindHost, request::Health, request::Carrying,
                 request::Settle, request::Sharp, request::SharpDescribe, request::SharpPlane,
                 request::SharpMemory, request::Notices, request::ReloadPartitions>;

namespace detail {

template <typename Request>
bool decode_as(const Message& message, std::expected<AnyRequest, int>& result) {
    if (message.request != Request::kId) {
        return false;
    }
    Request request{};
    if (decode(message, request)) {
        result = request;
    } else {
        result = std::unexpected(EINVAL);
    }
    return true;
}

template <typename... Requests>
std::expected<AnyRequest, int> decode_any(const Message& message,
                                          const std::variant<Requests...>*) {
    std::expected<AnyRequest, int> result = std::unexpected(ENOSYS);
    (decode_as<Requests>(message, result) || ...);
    return result;
}

template <typename... Requests>
constexpr bool is_answered(RequestId id, const std::variant<Requests...>*) {
    return ((id != Requests::kId || !std::is_same_v<typename Requests::Reply, request::NoReply>) &&
            ...);
}

}  // namespace detail

/// Reads a request. The error is EINVAL if the message does not have exactly the request's fields,
/// ENOSYS if the request is unknown.
inline std::expected<AnyRequest, int> decode_request(const Message& message) {
    return detail::decode_any(message, static_cast<const AnyRequest*>(nullptr));
}

/// Returns whether the sender of this request waits for a reply. True also for an unknown request,
/// to which the reply is ENOSYS.
constexpr bool is_answered(RequestId id) {
    return detail::is_answered(id, static_cast<const AnyRequest*>(nullptr));
}

}  // namespace softib::shm
