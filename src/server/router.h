// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Finds the row that a request is for, and checks the request against it: 404 for a path that no
// row has, 405 for another method, 400 for a parameter or field that the row does not take. Errors
// name it, and the nearest that would act.
//
// Thread rule: any thread may call handle() after the last add().

#include <string>
#include <string_view>
#include <vector>

#include "server/route.h"

namespace softib::server {

class Router {
  public:
    /// Rows of one kind, under a heading of docs/api.md. Their paths may stand below any of the
    /// prefixes, or below none.
    struct Table {
        std::string_view title;
        std::vector<std::string_view> prefixes;
        std::vector<Route> routes;
    };
    /// Adds a table. If several rows have a path and a method, the first one answers.
    void add(Table table) { tables_.push_back(std::move(table)); }

    Response handle(const Request& request) const;
    const std::vector<Table>& tables() const { return tables_; }

  private:
    std::vector<Table> tables_;
};

/// Returns a table of docs/api.md: a row for each route.
std::string markdown(const Router::Table& table);

}  // namespace softib::server
