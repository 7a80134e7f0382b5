// SPDX-License-Identifier: BSD-2-Clause
// How NCCL's plug-in makes connections where an HCA refuses to send.
#include <cerrno>

#include "abi/nccl/rendezvous.h"
#include "verbs_rig.h"

namespace softib::test {
namespace {

namespace nccl = abi::nccl;

int refuse_send(ibv_qp*, ibv_send_wr* request, ibv_send_wr** bad) {
    *bad = request;
    return ENOMEM;
}

/// A device as the plug-in has it, which can refuse to send.
struct NcclDevice {
    explicit NcclDevice(unsigned host) : context(open_host(host)) {
        device.context = context.get();
        device.pd = pd.get();
        device.lid = lid_of(context.get());
        device.gid = gid_of(context.get());
    }
    void refuse(bool on) { context->ops.post_send = on ? refuse_send : usual; }

    Owned<ibv_context> context;
    Owned<ibv_pd> pd{ibv_alloc_pd(context.get())};
    nccl::Device device;
    decltype(ibv_context_ops::post_send) usual = context->ops.post_send;
};

TEST(NcclMailbox, SendsAgainAfterTheHcaHasRefused) {
    NcclDevice here(0);
    const NcclDevice there(1);
    nccl::Mailbox from(here.device);
    nccl::Mailbox to(there.device);
    nccl::Letter letter{};
    letter.token = 4711;
    here.refuse(true);
    EXPECT_FALSE(from.send(to.address(), letter));
    EXPECT_FALSE(from.send(to.address(), letter));
    here.refuse(false);
    ASSERT_TRUE(from.send(to.address(), letter));
    const auto limit = std::chrono::steady_clock::now() + kLong;
    std::optional<nccl::Letter> received;
    while (!(received = to.receive())) {
        ASSERT_LT(std::chrono::steady_clock::now(), limit);
    }
    EXPECT_EQ(received->token, 4711U);
}

TEST(NcclMailbox, AListenerThatCannotReplySaysSo) {
    NcclDevice here(0);
    const NcclDevice there(1);
    nccl::Listener listener(here.device);
    nccl::Connecting attempt(there.device);
    here.refuse(true);
    std::unique_ptr<nccl::SendEnd> sender;
    std::unique_ptr<nccl::ReceiveEnd> receiver;
    const auto limit = std::chrono::steady_clock::now() + kLong;
    nccl::Result result = nccl::kSuccess;
    while (result == nccl::kSuccess) {
        ASSERT_LT(std::chrono::steady_clock::now(), limit);
        ASSERT_EQ(attempt.go_on(listener.handle(), sender), nccl::kSuccess);
        result = listener.accept(receiver);
    }
    EXPECT_EQ(result, nccl::kSystemError);
}

}  // namespace
}  // namespace softib::test
