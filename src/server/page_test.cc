// SPDX-License-Identifier: BSD-2-Clause
#include "server/page.h"

#include <gtest/gtest.h>

#include "page/page_files.h"
#include "server/encoding.h"
#include "server/router.h"
#include "zip/gzip.h"

namespace softib::server {
namespace {

Request asked(std::string path, std::map<std::string, std::string> headers = {}) {
    return {"GET", std::move(path), {}, std::move(headers), ""};
}

std::optional<Response> page_response(const Request& request) {
    Router router;
    router.add({.title = "page", .prefixes = {}, .routes = page_routes()});
    Response response = router.handle(request);
    return response.status < 400 ? std::optional(std::move(response)) : std::nullopt;
}

TEST(Page, TheDocumentComesPackedOrPlainAndOnce) {
    const auto packed = page_response(asked("/", {{"accept-encoding", "gzip, br"}}));
    const auto plain = page_response(asked("/"));
    ASSERT_TRUE(packed && plain);
    EXPECT_EQ(packed->headers.at("Content-Encoding"), "gzip");
    EXPECT_EQ(zip::gunzip(packed->body, 1 << 20), plain->body);
    EXPECT_TRUE(plain->body.starts_with("<!DOCTYPE html>"));
    const auto again = page_response(asked("/", {{"if-none-match", plain->headers.at("ETag")}}));
    EXPECT_EQ(again->status, 304);
    EXPECT_TRUE(again->body.empty());
}

TEST(Page, NothingInTheDocumentRunsOrStylesByItself) {
    const auto document = page_response(asked("/"));
    const std::string& policy = document->headers.at("Content-Security-Policy");
    EXPECT_NE(policy.find("default-src 'none'"), std::string::npos);
    EXPECT_EQ(policy.find("unsafe"), std::string::npos);
    EXPECT_EQ(document->body.find("<script>"), std::string::npos);
    EXPECT_EQ(document->body.find("style="), std::string::npos);
}

TEST(Page, AllFilesAreThereAndNamesOfOthersAreNot) {
    for (const page::PageFile& file : page::page_files()) {
        const auto answer = page_response(asked("/page/" + std::string(file.name)));
        ASSERT_TRUE(answer) << file.name;
        EXPECT_FALSE(answer->body.empty()) << file.name;
        EXPECT_EQ(answer->body.find("https://"), std::string::npos) << file.name;
    }
    EXPECT_FALSE(page_response(asked("/page/../api.cc")));
    EXPECT_FALSE(page_response(asked("/page/")));
    EXPECT_FALSE(page_response({"POST", "/", {}, {}, ""}));
}

TEST(Encoding, LongAnswersArePackedForWhoTakesIt) {
    Response answer = Response::json(std::string(5000, 'a'));
    encode_for(asked("/"), answer);
    EXPECT_EQ(answer.body.size(), 5000U);
    encode_for(asked("/", {{"accept-encoding", "gzip"}}), answer);
    EXPECT_LT(answer.body.size(), 100U);
    EXPECT_EQ(zip::gunzip(answer.body, 5000), std::string(5000, 'a'));
    EXPECT_FALSE(zip::gunzip(answer.body, 4999)) << "more comes out than is allowed";
    EXPECT_FALSE(zip::gunzip("no gzip", 100));
    const std::string packed = answer.body;
    encode_for(asked("/", {{"accept-encoding", "gzip"}}), answer);
    EXPECT_EQ(answer.body, packed) << "once is enough";
}

}  // namespace
}  // namespace softib::server
