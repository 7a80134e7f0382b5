// SPDX-License-Identifier: BSD-2-Clause
#include "server/router.h"

#include <gtest/gtest.h>

namespace softib::server {
namespace {

Response echo(const Call& call) {
    std::string said;
    for (const std::string_view name : call.names) {
        said += "[" + std::string(name) + "]";
    }
    return Response::json(said + to_text(call.body));
}

Router router() {
    using enum ValueKind;
    Router made;
    made.add({.title = "one",
              .prefixes = {"v1"},
              .routes = {
                  get("/ports/{port...}/history", echo, "", {{"ring", kNumber}}),
                  get("/ports/{port...}", echo, "",
                      {{"active", kFlag}, {"sort", kText, "", false, {"up"}}}),
                  post("/ports", echo, "",
                       {{"up", kFlag, "", true},
                        {"names", kTexts},
                        {"to", kAny},
                        {"sl", kNumber, "", false, {}, "there are no lanes"}}),
                  get("/old", echo, "", {{"wide", kFlag, "", false, {}, "too wide"}}),
              }});
    return made;
}

Response ask(std::string method, std::string path, std::map<std::string, std::string> query = {},
             std::string body = "") {
    return router().handle(
        {std::move(method), std::move(path), std::move(query), {}, std::move(body)});
}

void expect_refusal(const Response& response, const char* names) {
    EXPECT_EQ(response.status, 400) << response.body;
    EXPECT_NE(response.body.find(names), std::string::npos) << response.body;
}

TEST(Router, NamesMayHaveSlashesAndTheLongestRowIsFoundFirst) {
    EXPECT_EQ(ask("GET", "/ports/h0/mlx5_0:1").body, "[h0/mlx5_0:1]{}");
    EXPECT_EQ(ask("GET", "/v1/ports/h0/mlx5_0:1/history/").body, "[h0/mlx5_0:1]{}");
    EXPECT_EQ(ask("HEAD", "//ports/x").status, 200);
}

TEST(Router, AnotherPathIs404AndAnotherMethod405WithTheOnesAllowed) {
    EXPECT_EQ(ask("GET", "/nothing").status, 404);
    EXPECT_EQ(ask("GET", "/v2/old").status, 404);
    EXPECT_EQ(ask("GET", "/").status, 404);
    const Response refusal = ask("DELETE", "/ports");
    EXPECT_EQ(refusal.status, 405);
    EXPECT_EQ(refusal.headers.at("Allow"), "POST");
    EXPECT_EQ(ask("PATCH", "/old").headers.at("Allow"), "GET, HEAD");
}

TEST(Router, AnUnknownParameterIsRefusedWithTheNearest) {
    expect_refusal(ask("GET", "/ports/x", {{"activ", "true"}}), "did you mean 'active'");
    expect_refusal(ask("GET", "/ports/x/history", {{"active", "true"}}), "'active'");
    expect_refusal(ask("POST", "/ports", {{"up", "true"}}, R"({"up": true})"),
                   "takes no query parameters");
    expect_refusal(ask("POST", "/ports", {}, R"({"up": true, "nams": ["a"]})"),
                   "did you mean 'names'");
}

TEST(Router, AParameterThatOthersImplementIsRefusedByNameUnlessItIsFalse) {
    expect_refusal(ask("GET", "/old", {{"wide", "true"}}),
                   "'wide' is not implemented here: too wide");
    EXPECT_EQ(ask("GET", "/old", {{"wide", "False"}}).status, 200);
    expect_refusal(ask("POST", "/ports", {}, R"({"up": true, "sl": 1})"), "there are no lanes");
}

TEST(Router, AValueOfTheWrongKindIsRefusedWithTheRightOne) {
    expect_refusal(ask("GET", "/ports/x/history", {{"ring", "-1"}}), "a whole number");
    expect_refusal(ask("GET", "/ports/x", {{"active", "maybe"}}), "true or false");
    expect_refusal(ask("GET", "/ports/x", {{"sort", "down"}}), "one of up, not 'down'");
    expect_refusal(ask("POST", "/ports", {}, R"({"up": 1})"), "true or false");
    expect_refusal(ask("POST", "/ports", {}, R"({"up": true, "names": [1]})"), "a list of texts");
}

TEST(Router, WhatIsNeededMustBeThereAndNullIsAsIfItWereNot) {
    expect_refusal(ask("POST", "/ports", {}, "{}"), "'up' is missing");
    expect_refusal(ask("POST", "/ports", {}, R"({"up": null})"), "'up' is missing");
    expect_refusal(ask("POST", "/ports", {}, "[]"), "a JSON object with: up");
    EXPECT_EQ(ask("POST", "/ports", {}, R"({"up": true, "names": null, "to": null})").body,
              R"({"up":true,"to":null})");
}

TEST(Router, AParameterThatIsGivenTwiceIsRefused) {
    Request request{"GET", "/ports/x", {{"active", "true"}}, {}, ""};
    request.repeated = "active";
    expect_refusal(router().handle(request), "'active' is in the query twice");
}

}  // namespace
}  // namespace softib::server
