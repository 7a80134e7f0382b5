// SPDX-License-Identifier: BSD-2-Clause
#include "plan/serve/serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace softib::plan {

namespace {

using net::TimePs;

constexpr double kPs = 1e12;
constexpr std::uint32_t kEventsAtOnce = 1;  ///< A delivery makes events, which come first.

enum class Happens : std::uint8_t { kArrival, kPart, kPrefilled, kStep };

struct Event {
    TimePs at = 0;
    std::uint64_t order = 0;  ///< Events of one time happen in the order of their making.
    Happens what = Happens::kArrival;
    std::uint32_t which = 0;  ///< A request, or a decode instance.

    friend bool operator>(const Event& a, const Event& b) {
        return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
};

/// A decode instance.
struct Decoder {
    std::vector<std::uint32_t> batch = {};  ///< Sequences of the step that goes on.
    std::deque<std::uint32_t> come = {};    ///< Sequences whose KV caches have come.
    double tokens = 0;                      ///< Tokens of KV caches for which there is room kept.
    double context = 0;                     ///< Tokens of the contexts of `batch`.
    std::uint32_t receiving = 0;            ///< Transfers under way to it.
    bool busy = false;
};

/// A transfer that is under way.
struct Transfer {
    std::uint32_t request = 0;
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t messages = 0;  ///< Messages that have not been delivered.
    TimePs looked = 0;           ///< Until when the shares of its ends are added up.
    double in = 0;  ///< Time lost where more transfers share its receiver than its sender.
    double out = 0;
    std::uint32_t most = 0;
};

class Service : public net::MessageListener {
  public:
    Service(const ServeSetup& setup, net::Model& network,
            const std::function<double(std::uint32_t, std::uint32_t, double)>& alone_s)
        : setup_(setup),
          network_(network),
          alone_s_(alone_s),
          sending_(setup.prefill.size()),
          decoders_(setup.decode.size()),
          generated_(setup.requests),
          first_at_(setup.requests),
          place_(setup.requests),
          goes_to_(setup.requests),
          parts_(setup.requests),
          ready_(setup.requests) {
        for (std::uint32_t i = 0; i < setup.prefill.size(); ++i) {
            free_.push_back(i);
        }
        make_requests();
    }

    std::expected<ServeRun, std::string> run() {
        network_.set_listener(this);
        while (!fault_ && done_ < setup_.requests) {
            const TimePs next = events_.empty() ? net::kNever : events_.top().at;
            // A delivery makes events that may come before the next one.
            delivered_ = false;
            bool through = network_.idle();
            while (!through && !delivered_) {
                through = network_.run_some(next, kEventsAtOnce);
            }
            if (events_.empty()) {
                if (through) {
                    return std::unexpected("a transfer of a KV cache did not end");
                }
                continue;
            }
            if (!through && events_.top().at > network_.now()) {
                continue;
            }
            const Event event = events_.top();
            events_.pop();
            now_ = std::max(now_, event.at);
            handle(event);
        }
        network_.set_listener(nullptr);
        if (fault_) {
            return std::unexpected(*fault_);
        }
        run_.seconds = static_cast<double>(now_) / kPs;
        run_.prefill_busy /= run_.seconds * static_cast<double>(setup_.prefill.size());
        run_.decode_batch = steps_ > 0 ? run_.decode_batch / static_cast<double>(steps_) : 0;
        return std::move(run_);
    }

    void handle_message(std::uint64_t tag, net::MessageEvent event, TimePs at) override {
        if (event == net::MessageEvent::kFailed) {
            fault_ =
                "a KV cache does not reach its decode node: the routes of the fabric do not "
                "join the NICs of both pools";
            delivered_ = true;
        } else if (event == net::MessageEvent::kDelivered) {
            Transfer& transfer = transfers_.at(tag);
            delivered_ = true;
            if (--transfer.messages == 0) {
                arrive(transfer, at);
                transfers_.erase(tag);
            }
        }
    }

  private:
    static TimePs ps(double seconds) { return static_cast<TimePs>(std::llround(seconds * kPs)); }
    static double seconds(TimePs time) { return static_cast<double>(time) / kPs; }

    void add(TimePs at, Happens what, std::uint32_t which) {
        events_.push({at, order_++, what, which});
    }

    void make_requests() {
        Prng random(setup_.seed);
        double at = 0;
        for (std::uint32_t i = 0; i < setup_.requests; ++i) {
            at += draw_exponential(random, 1 / setup_.requests_per_s);
            run_.requests.push_back({.arrived = at,
                                     .prompt = setup_.prompt.draw(random),
                                     .answer = setup_.answer.draw(random)});
            add(ps(at), Happens::kArrival, i);
        }
    }

    void handle(const Event& event) {
        switch (event.what) {
            case Happens::kArrival:
                waiting_.push_back(event.which);
                start_prefills();
                break;
            case Happens::kPart:
                send_part(event.which);
                break;
            case Happens::kPrefilled:
                free_.push_back(place_[event.which]);
                ready_[event.which] = now_;
                if (setup_.parts > 1) {
                    send_part(event.which);
                } else {
                    prefilled_.push_back(event.which);
                    start_transfers();
                }
                start_prefills();
                break;
            case Happens::kStep:
                end_step(event.which);
                break;
        }
    }

    void start_prefills() {
        while (!waiting_.empty() && !free_.empty()) {
            const std::uint32_t i = waiting_.front();
            Served& request = run_.requests[i];
            if (setup_.parts > 1) {
                const auto to = find_decoder(request);
                if (!to) {
                    return;
                }
                keep_room(i, *to);
            }
            waiting_.pop_front();
            place_[i] = free_.front();
            free_.pop_front();
            request.waited = seconds(now_ - ps(request.arrived));
            const double known = std::floor(setup_.reuse * request.prompt);
            request.prefill = setup_.prefill_s(request.prompt - known, known);
            run_.prefill_busy += request.prefill;
            for (std::uint32_t part = 1; part < setup_.parts; ++part) {
                add(now_ + ps(request.prefill * part / setup_.parts), Happens::kPart, i);
            }
            add(now_ + ps(request.prefill), Happens::kPrefilled, i);
        }
    }

    void keep_room(std::uint32_t i, std::uint32_t to) {
        const Served& request = run_.requests[i];
        decoders_[to].tokens += static_cast<double>(request.prompt) + request.answer;
        goes_to_[i] = to;
    }

    /// Returns the decode instance with most room, if it has room for a request.
    std::optional<std::uint32_t> find_decoder(const Served& request) const {
        const auto least = std::ranges::min_element(decoders_, {}, &Decoder::tokens);
        const double needs = static_cast<double>(request.prompt) + request.answer;
        // A request that is larger than all room is alone.
        return least->tokens == 0 || least->tokens + needs <= setup_.kv_tokens_most
                   ? std::optional(static_cast<std::uint32_t>(least - decoders_.begin()))
                   : std::nullopt;
    }

    void start_transfers() {
        while (!prefilled_.empty()) {
            const std::uint32_t i = prefilled_.front();
            Served& request = run_.requests[i];
            const auto to = find_decoder(request);
            if (!to) {
                return;
            }
            prefilled_.pop_front();
            request.room = seconds(now_ - ready_[i]);
            keep_room(i, *to);
            send_part(i);
        }
    }

    /// Sends the next part of a KV cache, the same number of bytes by each NIC.
    void send_part(std::uint32_t i) {
        Served& request = run_.requests[i];
        const std::uint32_t from = place_[i];
        const std::uint32_t to = goes_to_[i];
        const double tokens = request.prompt - std::floor(setup_.decode_reuse * request.prompt);
        const double bytes = tokens * setup_.kv_bytes / setup_.parts;
        request.bytes += bytes;
        run_.sent_bytes += bytes;
        const std::vector<std::uint32_t>& out = setup_.prefill[from].ends;
        const std::vector<std::uint32_t>& in = setup_.decode[to].ends;
        const auto nics = static_cast<std::uint32_t>(std::max(out.size(), in.size()));
        const auto each = static_cast<std::uint64_t>(std::ceil(bytes / nics / setup_.speed_factor));
        if (each == 0) {
            if (++parts_[i] == setup_.parts) {
                decoders_[to].come.push_back(i);
                ready_[i] = now_;
                start_step(to);
            }
            return;
        }
        look(now_);
        const auto [found, added] =
            transfers_.try_emplace(i, Transfer{.request = i,
                                               .from = from,
                                               .to = to,
                                               .messages = nics * setup_.parts,
                                               .looked = now_});
        if (added) {
            ++sending_[from];
            ++decoders_[to].receiving;
            for (auto& [tag, transfer] : transfers_) {
                transfer.most = std::max(transfer.most, decoders_[transfer.to].receiving);
            }
        }
        for (std::uint32_t nic = 0; nic < nics; ++nic) {
            network_.send({.from = out[nic % out.size()],
                           .to = in[nic % in.size()],
                           .bytes = each,
                           .tag = i,
                           .connection = i},
                          std::max(now_, network_.now()));
        }
    }

    /// Adds up, for each transfer under way, the time that its ends' shares have cost since the
    /// last look: the end with more transfers holds it back.
    void look(TimePs at) {
        for (auto& [tag, transfer] : transfers_) {
            const double passed = seconds(at - std::min(at, transfer.looked));
            const double in = decoders_[transfer.to].receiving;
            const double out = sending_[transfer.from];
            (in >= out ? transfer.in : transfer.out) += passed * (1 - 1 / std::max(in, out));
            transfer.looked = std::max(transfer.looked, at);
        }
    }

    void arrive(Transfer& transfer, TimePs at) {
        now_ = std::max(now_, at);
        look(now_);
        --sending_[transfer.from];
        --decoders_[transfer.to].receiving;
        Served& request = run_.requests[transfer.request];
        // What goes on while the prompt is computed costs no time.
        const TimePs sent = ready_[transfer.request] + ps(request.room);
        const double took = seconds(at - std::min(at, sent));
        request.alone =
            std::min(took, alone_s_(transfer.from, transfer.to, request.bytes / setup_.parts));
        request.crowded = took - request.alone;
        request.most_senders = transfer.most;
        const double ends = transfer.in + transfer.out;
        const double factor = ends > request.crowded ? request.crowded / ends : 1;
        request.crowded_in = transfer.in * factor;
        request.crowded_out = transfer.out * factor;
        request.crowded_within =
            std::max(0.0, request.crowded - request.crowded_in - request.crowded_out);
        decoders_[transfer.to].come.push_back(transfer.request);
        ready_[transfer.request] = at;
        start_step(transfer.to);
    }

    /// Begins a step of a decode instance, with the sequences that have come, unless one goes on.
    void start_step(std::uint32_t which) {
        Decoder& decoder = decoders_[which];
        if (decoder.busy) {
            return;
        }
        while (!decoder.come.empty() && decoder.batch.size() < setup_.batch_most) {
            const std::uint32_t i = decoder.come.front();
            decoder.come.pop_front();
            decoder.batch.push_back(i);
            decoder.context += run_.requests[i].prompt;
        }
        if (decoder.batch.empty()) {
            return;
        }
        decoder.busy = true;
        run_.decode_batch += static_cast<double>(decoder.batch.size());
        ++steps_;
        add(now_ + ps(setup_.step_s(static_cast<std::uint32_t>(decoder.batch.size()),
                                    decoder.context)),
            Happens::kStep, which);
    }

    void end_step(std::uint32_t which) {
        Decoder& decoder = decoders_[which];
        decoder.busy = false;
        decoder.context += static_cast<double>(decoder.batch.size());
        std::erase_if(decoder.batch, [&](std::uint32_t i) {
            Served& request = run_.requests[i];
            if (generated_[i]++ == 0) {
                first_at_[i] = now_;
                request.joining = seconds(now_ - ready_[i]);
            }
            if (generated_[i] < request.answer) {
                return false;
            }
            request.token =
                request.answer > 1 ? seconds(now_ - first_at_[i]) / (request.answer - 1) : 0;
            const double tokens = static_cast<double>(request.prompt) + request.answer;
            decoder.tokens -= tokens;
            decoder.context -= tokens;
            ++done_;
            return true;
        });
        start_transfers();
        start_prefills();
        start_step(which);
    }

    const ServeSetup& setup_;
    net::Model& network_;
    const std::function<double(std::uint32_t, std::uint32_t, double)>& alone_s_;
    ServeRun run_ = {};
    TimePs now_ = 0;
    std::uint64_t order_ = 0;
    std::uint64_t steps_ = 0;
    std::uint32_t done_ = 0;
    bool delivered_ = false;
    std::optional<std::string> fault_ = {};
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_ = {};
    std::deque<std::uint32_t> waiting_ = {};    ///< Requests without a prefill instance.
    std::deque<std::uint32_t> free_ = {};       ///< Prefill instances that compute nothing.
    std::deque<std::uint32_t> prefilled_ = {};  ///< Requests without a decode instance.
    std::vector<std::uint32_t> sending_;        ///< Transfers under way, by prefill instance.
    std::vector<Decoder> decoders_;
    std::map<std::uint64_t, Transfer> transfers_ = {};
    std::vector<std::uint32_t> generated_;  ///< Tokens of each request's answer so far.
    std::vector<TimePs> first_at_;          ///< When each first token was there.
    std::vector<std::uint32_t> place_;      ///< Prefill instance of each request.
    std::vector<std::uint32_t> goes_to_;    ///< Decode instance of each request.
    std::vector<std::uint32_t> parts_;      ///< Parts of each KV cache that have no bytes.
    std::vector<TimePs> ready_;             ///< When each could go on to the next instance.
};

}  // namespace

std::expected<ServeRun, std::string> serve(
    const ServeSetup& setup, net::Model& network,
    const std::function<double(std::uint32_t, std::uint32_t, double)>& alone_s) {
    return Service(setup, network, alone_s).run();
}

}  // namespace softib::plan
