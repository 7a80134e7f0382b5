// SPDX-License-Identifier: BSD-2-Clause
// One run of a job, from event to event.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/prng.h"
#include "plan/goodput/goodput.h"

namespace softib::plan {

namespace {

constexpr double kNeverS = std::numeric_limits<double>::infinity();

/// What the job does.
enum class Doing : std::uint8_t { kTrains, kSaves, kNotices, kWaits, kRestarts };

/// A NIC of which planes are down, or a node of which NICs are.
struct Degraded {
    std::uint64_t where = 0;
    std::uint32_t down = 0;  ///< Paths that are down, at least 1.
    double until = 0;        ///< When the last of them is back.
    std::size_t kind = 0;    ///< What failed last.
};

/// The numbers that a failure draws. Each draws all of them, so that jobs which differ in how they
/// handle failures have the same ones.
struct Draw {
    std::size_t kind = 0;
    std::uint64_t where = 0;
    double repair_s = 0;
};

class Run {
  public:
    Run(const GoodputJob& job, std::uint64_t seed)
        : job_(job), prng_(seed), interval_(job.interval()) {
        for (const FailureKind& kind : job.failures.kinds) {
            rates_.push_back(rate_of(job, kind));
            rate_ += rates_.back();
        }
        result_.kinds.resize(rates_.size());
        next_failure_ = draw_gap();
        until_ = interval_;
    }

    RunResult play() {
        while (now_ < job_.horizon_s) {
            const double next =
                std::min({until_, next_failure_, durable_at_, next_repair(), job_.horizon_s});
            pass(next - now_);
            now_ = next;
            if (now_ >= job_.horizon_s) {
                break;
            }
            end_repairs();
            if (now_ >= durable_at_) {
                unsaved_ -= saving_;
                saving_ = 0;
                durable_at_ = kNeverS;
            }
            if (now_ >= until_ || (doing_ == Doing::kWaits && has_nodes())) {
                go_on();
            }
            if (now_ >= next_failure_) {
                const Draw draw = draw_failure();
                next_failure_ = now_ + draw_gap();
                fail(draw);
            }
        }
        return std::move(result_);
    }

  private:
    double uniform() { return static_cast<double>(prng_.next() >> 11) * 0x1p-53; }
    double exponential(double mean) { return -mean * std::log1p(-uniform()); }
    double draw_gap() { return rate_ > 0 ? exponential(1 / rate_) : kNeverS; }

    Draw draw_failure() {
        Draw draw;
        double at = uniform() * rate_;
        while (draw.kind + 1 < rates_.size() && at >= rates_[draw.kind]) {
            at -= rates_[draw.kind++];
        }
        draw.where = prng_.next();
        const FailureKind& kind = job_.failures.kinds[draw.kind];
        const bool replaced = uniform() < kind.replaced;
        draw.repair_s = exponential(
            kHourS * (replaced ? job_.failures.replace_hours : job_.failures.reset_hours));
        return draw;
    }

    double& lost(std::size_t kind, LostBy loss) {
        return result_.kinds[kind].lost_s[static_cast<std::size_t>(loss)];
    }
    bool has_nodes() const { return repaired_at_.size() <= job_.spares; }
    double next_repair() const {
        double next = kNeverS;
        for (const double at : repaired_at_) {
            next = std::min(next, at);
        }
        for (const Degraded& each : degraded_) {
            next = std::min(next, each.until);
        }
        return next;
    }
    void end_repairs() {
        std::erase_if(repaired_at_, [this](double at) { return at <= now_; });
        std::erase_if(degraded_, [this](const Degraded& each) { return each.until <= now_; });
    }

    /// Counts the time that passes as what the job does.
    void pass(double seconds) {
        switch (doing_) {
            case Doing::kTrains:
                train(seconds);
                break;
            case Doing::kSaves:
                result_.checkpoint_s += seconds;
                break;
            case Doing::kNotices:
                lost(cause_, LostBy::kDetection) += seconds;
                break;
            case Doing::kWaits:
                lost(cause_, LostBy::kWaiting) += seconds;
                break;
            case Doing::kRestarts:
                lost(cause_, LostBy::kRestart) += seconds;
                break;
        }
    }
    /// Returns the part by which steps are longer now.
    double slower() const {
        std::uint32_t down = 0;
        for (const Degraded& each : degraded_) {
            down = std::max(down, each.down);
        }
        const std::size_t known = std::min<std::size_t>(down, job_.slower.size());
        return known == 0 ? 0 : job_.slower[known - 1];
    }
    /// All nodes go at the pace of the one with the fewest paths.
    void train(double seconds) {
        const double trained = seconds / (1 + slower());
        if (trained < seconds) {
            const auto worst = std::ranges::max_element(degraded_, {}, &Degraded::down);
            lost(worst->kind, LostBy::kSlowLinks) += seconds - trained;
        }
        result_.productive_s += trained;
        unsaved_ += trained;
    }

    /// Begins what follows on what the job did.
    void go_on() {
        switch (doing_) {
            case Doing::kTrains:
                save();
                break;
            case Doing::kSaves:
                if (stops_) {
                    stop(true);
                } else {
                    begin_training();
                }
                break;
            case Doing::kNotices:
            case Doing::kWaits:
                doing_ = has_nodes() ? Doing::kRestarts : Doing::kWaits;
                until_ = has_nodes() ? now_ + job_.resume_s() : kNeverS;
                break;
            case Doing::kRestarts:
                begin_training();
                break;
        }
    }
    void begin_training() {
        doing_ = Doing::kTrains;
        until_ = now_ + interval_;
    }
    void save() {
        doing_ = Doing::kSaves;
        until_ = now_ + job_.stall_s();
        saving_ = unsaved_;
        durable_at_ = now_ + std::max(job_.write_s(), job_.stall_s());
    }
    /// Stops the job, which loses what it has not saved. `told`: it knows, and waits for no notice.
    void stop(bool told) {
        stops_ = false;
        swap_nodes();
        ++result_.kinds[cause_].interruptions;
        lost(cause_, LostBy::kRepeated) += unsaved_;
        result_.productive_s -= unsaved_;
        unsaved_ = saving_ = 0;
        durable_at_ = kNeverS;
        const FailureKind& kind = job_.failures.kinds[cause_];
        doing_ = Doing::kNotices;
        until_ = now_ + (told ? 0 : kind.hangs ? job_.timeout_s : job_.detect_s);
    }
    /// Takes spare nodes for those with links that are down, while there are any.
    void swap_nodes() {
        while (!degraded_.empty() && repaired_at_.size() < job_.spares) {
            repaired_at_.push_back(degraded_.back().until);
            degraded_.pop_back();
        }
    }

    void fail(const Draw& draw) {
        const FailureKind& kind = job_.failures.kinds[draw.kind];
        const bool runs = doing_ == Doing::kTrains || doing_ == Doing::kSaves;
        // What does not run has no failures of its software, and is not told to stop.
        if (kind.loses == Loses::kNothing && !runs) {
            return;
        }
        ++result_.kinds[draw.kind].failures;
        if (kind.planned) {
            plan_stop(draw.kind);
            return;
        }
        if (fails_over(draw)) {
            if (runs && !stops_ && swap_pays(kind)) {
                plan_stop(draw.kind);
            }
            return;
        }
        if (kind.loses != Loses::kNothing) {
            repaired_at_.push_back(now_ + draw.repair_s);
        }
        if (runs || doing_ == Doing::kRestarts) {
            cause_ = draw.kind;
            stop(false);
        }
    }
    /// Saves the work, with the whole time that writing takes, and stops then.
    void plan_stop(std::size_t kind) {
        if (stops_) {
            return;
        }
        cause_ = kind;
        stops_ = true;
        save();
        until_ = durable_at_;
    }
    /// Returns whether a stop for a spare node costs less than slow steps until the repair.
    bool swap_pays(const FailureKind& kind) const {
        const double repair_s = kHourS * (kind.replaced * job_.failures.replace_hours +
                                          (1 - kind.replaced) * job_.failures.reset_hours);
        return repaired_at_.size() < job_.spares &&
               slower() * repair_s > job_.write_s() + job_.resume_s();
    }
    /// Returns whether the job goes on with other paths.
    bool fails_over(const Draw& draw) {
        const FailureKind& kind = job_.failures.kinds[draw.kind];
        if (interrupts(job_, kind)) {
            return false;
        }
        const std::uint64_t places =
            job_.failover == Failover::kRail
                ? job_.nodes
                : static_cast<std::uint64_t>(job_.nodes) * job_.nics_per_node;
        const std::uint64_t where = draw.where % places;
        auto found = std::ranges::find(degraded_, where, &Degraded::where);
        if (found == degraded_.end()) {
            found = degraded_.insert(found, {.where = where});
        }
        ++found->down;
        found->kind = draw.kind;
        found->until = std::max(found->until, now_ + draw.repair_s);
        if (found->down < job_.paths()) {
            return true;
        }
        degraded_.erase(found);
        return false;
    }

    const GoodputJob& job_;
    Prng prng_;
    double interval_;
    std::vector<double> rates_;
    double rate_ = 0;
    RunResult result_;

    double now_ = 0;
    Doing doing_ = Doing::kTrains;
    double until_ = 0;  ///< When the job is done with it.
    double next_failure_ = 0;
    double durable_at_ = kNeverS;      ///< When the checkpoint is whole that is being written.
    double unsaved_ = 0;               ///< Training since the last whole checkpoint.
    double saving_ = 0;                ///< The part of it that is being written.
    bool stops_ = false;               ///< Whether the job stops when it has saved its work.
    std::size_t cause_ = 0;            ///< What stopped the job last.
    std::vector<double> repaired_at_;  ///< Ends of repairs of nodes.
    std::vector<Degraded> degraded_;
};

}  // namespace

RunResult simulate(const GoodputJob& job, std::uint64_t seed) {
    return Run(job, seed).play();
}

}  // namespace softib::plan
