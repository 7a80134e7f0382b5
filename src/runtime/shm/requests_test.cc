// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/requests.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>
#include <variant>

#include "runtime/shm/any_request.h"

namespace softib::shm {
namespace {

template <typename Request>
Message message_of(const Request& request) {
    Message message;
    message.request = Request::kId;
    EXPECT_TRUE(encode(request, message));
    return message;
}

/// Calls action with an empty request of each alternative of AnyRequest.
template <typename Action, typename... Requests>
void for_each_request(Action action, const std::variant<Requests...>*) {
    (action(Requests{}), ...);
}
template <typename Action>
void for_each_request(Action action) {
    for_each_request(action, static_cast<const AnyRequest*>(nullptr));
}

TEST(Requests, EachIsReadAsWhatItIs) {
    std::set<RequestId> ids;
    for_each_request([&](const auto& request) {
        using Request = std::remove_cvref_t<decltype(request)>;
        EXPECT_TRUE(ids.insert(Request::kId).second);
        const auto read = decode_request(message_of(request));
        ASSERT_TRUE(read);
        EXPECT_TRUE(std::holds_alternative<Request>(*read));
    });
}

TEST(Requests, OneThatIsCutOrTooLongIsRefused) {
    for_each_request([](const auto& request) {
        Message message = message_of(request);
        const std::uint32_t bytes = message.body_bytes;
        for (std::uint32_t cut = 0; cut < bytes; ++cut) {
            message.body_bytes = cut;
            EXPECT_EQ(decode_request(message).error(), EINVAL);
        }
        message.body_bytes = bytes + 1;
        EXPECT_EQ(decode_request(message).error(), EINVAL);
        message.body_bytes = kBodyMax + 1;
        EXPECT_EQ(decode_request(message).error(), EINVAL);
    });
}

TEST(Requests, UnknownOneIsToldAndAnswered) {
    Message message;
    message.request = static_cast<RequestId>(4711);
    EXPECT_EQ(decode_request(message).error(), ENOSYS);
    EXPECT_TRUE(is_answered(message.request));
    EXPECT_TRUE(is_answered(RequestId::kAttach));
    EXPECT_TRUE(is_answered(RequestId::kMad)) << "by another MAD, or by a refusal";
    EXPECT_FALSE(is_answered(RequestId::kRefused));
}

TEST(Requests, EventsComeFromTheDaemonAlone) {
    EXPECT_EQ(decode_request(message_of(request::CmEvent{})).error(), ENOSYS);
}

TEST(Requests, FieldsComeBackAsTheyWere) {
    const Message message = message_of(
        request::SetFaults{.node = "leaf0", .port = 3, .faults = {.lost_ppm = 7, .delay_ns = 9}});
    const auto read = decode_request(message);
    ASSERT_TRUE(read);
    const auto& faults = std::get<request::SetFaults>(*read);
    EXPECT_EQ(faults.node, "leaf0");
    EXPECT_EQ(faults.port, 3);
    EXPECT_EQ(faults.faults.lost_ppm, 7U);
    EXPECT_EQ(faults.faults.broken_ppm, WantedFaults::kAsBefore);
    EXPECT_EQ(faults.faults.delay_ns, 9U);
}

TEST(Requests, TextMayHaveAnyBytesButMustFit) {
    const std::string odd("h0\0\xFF", 4);
    const Message message = message_of(request::SysfsRead{.host = odd, .path = ""});
    const auto read = decode_request(message);
    ASSERT_TRUE(read);
    EXPECT_EQ(std::get<request::SysfsRead>(*read).host, odd);
    Message full;
    EXPECT_FALSE(encode(request::Attach{.hosts = std::string(kBodyMax, 'x')}, full));
    EXPECT_EQ(errno, EMSGSIZE);
}

TEST(Requests, TextThatClaimsToBeLongerThanTheMessageIsRefused) {
    Message message = message_of(request::Attach{.hosts = "h0"});
    message.body[0] = 3;
    EXPECT_EQ(decode_request(message).error(), EINVAL);
    message.body[3] = '\xFF';
    EXPECT_EQ(decode_request(message).error(), EINVAL);
}

TEST(Requests, YesAndNoAreOneAndZero) {
    Message message = message_of(request::SetPower{.switch_name = "sw0", .on = true});
    ASSERT_TRUE(decode_request(message));
    message.body[message.body_bytes - 1] = 2;
    EXPECT_EQ(decode_request(message).error(), EINVAL);
}

TEST(Requests, ListOfHelpersEndsWhereItsCountSays) {
    request::Health::Reply reply;
    reply.count = 2;
    reply.helpers[0] = {.name = "carrier", .pid = 12, .restarts = 3, .reason = "signal 9"};
    reply.helpers[1] = {.name = "opensm"};
    Message message;
    ASSERT_TRUE(encode(reply, message));
    request::Health::Reply read;
    ASSERT_TRUE(decode(message, read));
    EXPECT_EQ(read.count, 2U);
    EXPECT_EQ(read.helpers[0].reason, "signal 9");
    EXPECT_EQ(read.helpers[1].name, "opensm");
    message.body[0] = 9;
    EXPECT_FALSE(decode(message, read));
}

}  // namespace
}  // namespace softib::shm
