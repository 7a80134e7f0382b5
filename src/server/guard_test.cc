// SPDX-License-Identifier: BSD-2-Clause
#include "server/guard.h"

#include <gtest/gtest.h>

namespace softib::server {
namespace {

int status(const Guard& guard, const Request& request) {
    const auto refusal = guard.check(request);
    return refusal ? refusal->status : 0;
}

Request get(std::string host) {
    return {.method = "GET",
            .path = "/",
            .query = {},
            .headers = {{"host", std::move(host)}},
            .body = ""};
}

Request post(std::map<std::string, std::string> more) {
    Request request{.method = "POST",
                    .path = "/api/v1/links/sw0:1",
                    .query = {},
                    .headers = {{"host", "localhost:8080"},
                                {"content-type", "application/json"},
                                {"authorization", "Bearer secret"}},
                    .body = "{}"};
    for (auto& [name, value] : more) {
        request.headers[name] = value;
    }
    return request;
}

const Guard kGuard({.token = "secret", .allow_control = true, .is_loopback = true, .names = {}});

TEST(Guard, OnlyNamesOfThisServerAreAnswered) {
    EXPECT_EQ(status(kGuard, get("localhost:8080")), 0);
    EXPECT_EQ(status(kGuard, get("127.0.0.1")), 0);
    EXPECT_EQ(status(kGuard, get("[::1]:8080")), 0);
    EXPECT_EQ(status(kGuard, get("evil.example:8080")), 421);
    EXPECT_EQ(status(kGuard, get("localhost.evil.example")), 421);
    EXPECT_EQ(status(kGuard, get("")), 421);
    const Guard named(
        {.token = "s", .allow_control = false, .is_loopback = true, .names = {"head.cluster"}});
    EXPECT_EQ(status(named, get("head.cluster:80")), 0);
}

TEST(Guard, AWriteOfAnotherSitesPageIsRefused) {
    EXPECT_EQ(status(kGuard, post({})), 0);
    EXPECT_EQ(status(kGuard, post({{"origin", "http://localhost:8080"}})), 0);
    EXPECT_EQ(status(kGuard, post({{"origin", "http://evil.example"}})), 403);
    EXPECT_EQ(status(kGuard, post({{"origin", "http://localhost:9999"}})), 403);
    EXPECT_EQ(status(kGuard, post({{"origin", "null"}})), 403);
    EXPECT_EQ(status(kGuard, post({{"sec-fetch-site", "cross-site"}})), 403);
}

TEST(Guard, AFormCannotWrite) {
    EXPECT_EQ(status(kGuard, post({{"content-type", "application/x-www-form-urlencoded"}})), 415);
    EXPECT_EQ(status(kGuard, post({{"content-type", "text/plain"}})), 415);
}

TEST(Guard, AFileToCompareWithIsTheOnlyFormAndNeedsTheToken) {
    Request form = post({{"content-type", "multipart/form-data; boundary=x"}});
    EXPECT_EQ(status(kGuard, form), 415);
    form.path = "/ufmRest/Topology_Compare/networkdiff";
    EXPECT_EQ(status(kGuard, form), 0);
    form.headers["origin"] = "http://evil.example";
    EXPECT_EQ(status(kGuard, form), 403);
    form.headers.erase("origin");
    form.headers["authorization"] = "";
    EXPECT_EQ(status(kGuard, form), 401);
}

TEST(Guard, AWriteNeedsTheTokenInAnyOfItsForms) {
    EXPECT_EQ(status(kGuard, post({{"authorization", ""}})), 401);
    EXPECT_EQ(status(kGuard, post({{"authorization", "Bearer wrong!"}})), 401);
    EXPECT_EQ(status(kGuard, post({{"authorization", "Basic secret"}})), 0);
    EXPECT_EQ(status(kGuard, post({{"authorization", "Basic YWRtaW46c2VjcmV0"}})), 0);
    EXPECT_EQ(status(kGuard, post({{"authorization", "Basic YWRtaW46d3Jvbmch"}})), 401);
}

TEST(Guard, WithoutControlNothingIsWritten) {
    const Guard shows(
        {.token = "secret", .allow_control = false, .is_loopback = true, .names = {}});
    EXPECT_EQ(status(shows, post({})), 403);
    EXPECT_EQ(status(shows, get("localhost")), 0);
}

TEST(Guard, AnEmptyTokenMatchesNothing) {
    const Guard open({.token = "", .allow_control = true, .is_loopback = true, .names = {}});
    EXPECT_EQ(status(open, post({{"authorization", "Bearer "}})), 401);
}

TEST(Guard, BeyondLoopbackReadingNeedsTheTokenToo) {
    const Guard open(
        {.token = "secret", .allow_control = false, .is_loopback = false, .names = {"head"}});
    Request request = get("head");
    EXPECT_EQ(status(open, request), 401);
    request.headers["authorization"] = "Bearer secret";
    EXPECT_EQ(status(open, request), 0);
}

TEST(Guard, TokensAreLongAndDiffer) {
    EXPECT_EQ(make_token().size(), 48U);
    EXPECT_NE(make_token(), make_token());
}

}  // namespace
}  // namespace softib::server
