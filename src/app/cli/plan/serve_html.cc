// SPDX-License-Identifier: BSD-2-Clause
// A service as a page: of what the time to the first token consists, and its distribution.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "app/cli/html_page.h"
#include "app/cli/plan/fabric_html.h"
#include "app/cli/plan/page.h"
#include "app/cli/plan/serve_report.h"
#include "plan/units.h"

namespace softib::app::service {

namespace {

constexpr std::array<std::size_t, 8> kShades{3, 0, 8, 6, 7, 5, 9, 11};

std::vector<const plan::ServeRow*> rows_of(const plan::ServeAnswer& answer) {
    std::vector<const plan::ServeRow*> rows;
    for (const plan::ServeRow& row : answer.rows) {
        if (row.why.empty()) {
            rows.push_back(&row);
        }
    }
    return rows;
}

std::string rails_text(const plan::ServeRow& row) {
    return plan::counted(row.rails, "rail");
}

/// Returns the parts of the time to the first token for each number of rails, on one scale.
std::string parts_picture(const std::vector<const plan::ServeRow*>& rows,
                          plan::FirstTokenParts plan::ServeRow::* which) {
    double most = 0;
    for (const plan::ServeRow* row : rows) {
        most = std::max(most, (row->*which).sum());
    }
    std::string out;
    for (const plan::ServeRow* row : rows) {
        std::vector<Part> parts;
        const auto named = named_parts(row->*which);
        for (std::size_t i = 0; i < named.size(); ++i) {
            constexpr double kSeen = 1e-6;  // Nobody would see less.
            if (named[i].second < kSeen * (row->*which).sum()) {
                continue;
            }
            parts.push_back(
                {named[i].first, named[i].second, kShades[i], time_text(named[i].second)});
        }
        out += fmt::format("<h3>{}: {}</h3>\n", rails_text(*row), time_text((row->*which).sum())) +
               stacked_bar(parts, {.value = (row->*which).sum(), .scale = most});
    }
    return out;
}

std::string distribution_plot(const std::vector<const plan::ServeRow*>& rows) {
    constexpr int kPoints = 200;
    std::vector<Series> series;
    for (const plan::ServeRow* row : rows) {
        Series& each = series.emplace_back(Series{rails_text(*row), {}});
        const std::size_t count = row->first_tokens.size();
        for (int i = 1; i <= kPoints && count > 0; ++i) {
            const double part = static_cast<double>(i) / kPoints;
            const auto at = static_cast<std::size_t>(part * static_cast<double>(count - 1));
            each.points.emplace_back(row->first_tokens[at], 100 * part);
        }
    }
    return share_plot(series, "% of requests", "time to the first token", time_text);
}

/// Returns bars of requests by how many transfers met, in groups of twice the size.
std::string incast_bars(const plan::ServeRow& row) {
    std::vector<std::pair<std::string, double>> bars;
    constexpr std::size_t kLast = 17;
    for (std::size_t from = 1; from <= kLast; from = from < 3 ? from + 1 : 2 * from - 1) {
        const std::size_t to = from < 3 ? from : from < kLast ? 2 * from - 2 : row.senders.size();
        double part = 0;
        for (std::size_t i = from; i <= std::min(to, row.senders.size()); ++i) {
            part += row.senders[i - 1];
        }
        bars.emplace_back(from == 1      ? "alone"
                          : from == 2    ? "2 at once"
                          : from < kLast ? fmt::format("{} to {}", from, to)
                                         : fmt::format("{} or more", from),
                          100 * part);
    }
    return bar_plot(bars, "%");
}

std::string incast_picture(const std::vector<const plan::ServeRow*>& rows) {
    std::string out = "<div class=\"multiples\">\n";
    for (const plan::ServeRow* row : rows) {
        out += fmt::format("<div><h3>{}</h3>\n{}</div>\n", rails_text(*row), incast_bars(*row));
    }
    return out +
           "</div>\n<p class=\"muted\">Requests by the most transfers that their decode "
           "instance received at once while theirs was under way.</p>\n";
}

std::string rows_table(const plan::ServeAnswer& answer) {
    std::vector<Cells> rows;
    for (const plan::ServeRow& row : answer.rows) {
        if (!row.why.empty()) {
            rows.push_back({std::to_string(row.rails), row.why});
            continue;
        }
        rows.push_back({std::to_string(row.rails), spread_text(row.first_token[0]),
                        spread_text(row.first_token[1]), spread_text(row.first_token[2]),
                        part_text(row.fabric_share.middle), part_text(row.fabric_share_tail.middle),
                        spread_text(row.transfer[2]), spread_text(row.token[0]),
                        spread_text(row.token[2])});
    }
    return page_table({"rails", "first token, median", "95 %", "99 %", "fabric's share",
                       "of the slowest", "KV cache, 99 %", "token, median", "99 %"},
                      rows);
}

}  // namespace

std::string to_html(const plan::ServeAnswer& answer) {
    const plan::ServeRequest& request = answer.request;
    const std::vector<const plan::ServeRow*> rows = rows_of(answer);
    std::string body = page_head(
        fmt::format("{} served on {}", request.model.name, request.cluster.name), describe(answer));
    if (!rows.empty()) {
        const plan::ServeRow& last = *rows.back();
        const plan::ServeRow& first = *rows.front();
        body += tiles(
            {{"First token, median", time_text(last.first_token[0].middle), rails_text(last)},
             {"First token, 99 %", time_text(last.first_token[2].middle),
              rows.size() > 1 ? fmt::format("{} on {}", time_text(first.first_token[2].middle),
                                            rails_text(first))
                              : rails_text(last)},
             {"The fabric's share", part_text(last.fabric_share.middle),
              rows.size() > 1
                  ? fmt::format("{} on {}", part_text(first.fabric_share.middle), rails_text(first))
                  : rails_text(last)},
             {"A token, median", time_text(last.token[0].middle),
              fmt::format("batches of {:.1f}", answer.decode_batch)},
             {"Prefill pool", part_text(answer.prefill_busy), "busy"}});
        body +=
            panel("Of what the mean time to the first token consists",
                  parts_picture(rows, &plan::ServeRow::parts)) +
            panel("The same of the slowest 1 %", parts_picture(rows, &plan::ServeRow::tail)) +
            panel("Requests with their first token after a time", distribution_plot(rows)) +
            panel("Incast: transfers that meet at a decode instance", incast_picture(rows)) +
            panel(fmt::format("The fabric, on {}", rails_text(first)), fabric_picture(first.load));
    }
    body += panel("As a table", rows_table(answer));
    return body + notes_html("What the figures stand on", answer.notes) + page_foot();
}

}  // namespace softib::app::service
