// Durations of bursts on processors, and the clocks of actors. A policy is one of
//
//   Alone    every rank has a processor to itself
//   Shared   on some nodes ranks slow each other at every instant, take turns with background load, or start cold
//
// and Clocks advances time by it.
#pragma once

#include <cstdint>
#include <vector>

#include "cold.hpp"
#include "core.hpp"
#include "tape.hpp"
#include "turns.hpp"

namespace clue {

struct Alone {
    explicit Alone(Core&) {}

    void place(const Actor&) {}
    bool shared(const Actor&) const { return false; }
    double run(const Core&, Actor& a, double seconds) {
        a.clock += seconds;
        return seconds;
    }
    void pass(const Actor&, double) {}
    void warm(const Actor&) {}
    void wake_up(Actor&, double) {}
    void count(Core&, const Actor&, int) {}
    void begin_burst(Core&, const Actor&, double, int32_t) {}
    void happen(Core&, const Event&) {}
};

class Shared {
public:
    explicit Shared(Core& core) : m_(core.m), nodes_(core.m.nodes), turns_(core.numbers), cold_(core.numbers) {
        for (int64_t e = 1; e < m_.epochs; ++e) core.events.push({m_.changes[e - 1], order_high(CHANGE, 0), 0, PARAMETERS, 0, 0});
    }

    void place(const Actor& a) {
        if (m_.share[a.node] < 1.0) turns_[a.number] = Turns(m_.share[a.node], m_.time_slice[a.type]);
    }

    // Whether ranks slow each other on a rank's node at every instant.
    bool shared(const Actor& a) const { return m_.shared[a.node]; }

    // Run a burst on a node where they do not; return its duration.
    double run(const Core& core, Actor& a, double seconds) {
        if (m_.cold[a.type]) seconds += cold(core, a, seconds);
        if (takes_turns(a)) {
            const double begin = a.clock;
            a.clock = turns_[a.number].run(begin, seconds);
            return a.clock - begin;
        }
        a.clock += seconds;
        return seconds;
    }

    // Count waits from a rank's clock on.
    void warm(const Actor& a) { cold_[a.number].end(a.clock, a.communicate); }

    void pass(const Actor& a, double seconds) {
        if (takes_turns(a)) turns_[a.number].pass_time(seconds);
    }

    // Wait for a rank's turn if it has slept since a time.
    void wake_up(Actor& a, double since) {
        if (takes_turns(a) && a.clock > since) a.clock = turns_[a.number].wake(since, a.clock);
    }

    // The program of a rank begins on its node (1) or ends (-1).
    void count(Core& core, const Actor& a, int ranks) {
        nodes_[a.node].alive += ranks;
        share_anew(core, a.node);
    }

    void begin_burst(Core& core, const Actor& a, double cpu, int32_t region) {
        if (m_.cold[a.type]) {
            const double factor = m_.factor[(core.epoch(a.clock) * m_.types + a.type) * core.p.regions + region];
            cpu += cold(core, a, cpu * factor) / factor;
        }
        nodes_[a.node].bursts.push_back({a.id, region, cpu, core.now, 0.0, 0});
        share_anew(core, a.node);
    }

    void happen(Core& core, const Event& event) {
        if (event.what == BURST_ENDS) return burst_ends(core, event.id, event.version);
        if (event.what == JOINS) return count(core, core.ranks[event.id], 1);
        for (int64_t node = 0; node < m_.nodes; ++node)
            if (m_.shared[node]) share_anew(core, static_cast<int32_t>(node));
    }

private:
    struct Burst {
        int32_t actor;
        int32_t region;
        double left, updated, rate;
        uint32_t version;
    };

    struct Node {
        std::vector<Burst> bursts;
        int64_t alive = 0;
    };

    // Return the extra time of a burst that begins now because its rank has waited.
    double cold(const Core& core, const Actor& a, double seconds) {
        const ColdStart start(m_, core.epoch(a.clock) * m_.types + a.type);
        return cold_[a.number].begin(start, a.clock, a.communicate, seconds);
    }

    // Whether a rank takes turns with background load; a nonblocking collective does not.
    bool takes_turns(const Actor& a) const { return !a.background && turns_[a.number].any(); }

    const double* rates(const Core& core, int32_t node) const {
        const int64_t at = core.epoch(core.now) * m_.types + m_.node_type[node];
        const int64_t ranks = m_.keeps_processor[at] ? nodes_[node].alive : static_cast<int64_t>(nodes_[node].bursts.size());
        return m_.rates + (at * (m_.most_ranks + 1) + ranks) * core.p.regions;
    }

    void share_anew(Core& core, int32_t node) {
        const double *rates = this->rates(core, node), now = core.now;
        for (Burst& burst : nodes_[node].bursts) {
            const double rate = rates[burst.region];
            if (rate == burst.rate) continue;
            const double left = burst.left - (now - burst.updated) * burst.rate;
            burst.left = left > 0.0 ? left : 0.0;
            burst.updated = now;
            burst.rate = rate;
            burst.version = versions_ = next_version(versions_);
            core.events.push({now + burst.left / rate, order_high(BURST, burst.actor), 0, BURST_ENDS, burst.actor, burst.version});
        }
    }

    void burst_ends(Core& core, int32_t id, uint32_t version) {
        const int32_t node = core.ranks[id].node;
        std::vector<Burst>& bursts = nodes_[node].bursts;
        for (size_t i = 0; i < bursts.size(); ++i) {
            if (bursts[i].actor != id || bursts[i].version != version) continue;
            bursts[i] = bursts.back();
            bursts.pop_back();
            share_anew(core, node);
            core.ready.push_back(id);
            return;
        }
    }

    const Machine& m_;
    std::vector<Node> nodes_;
    std::vector<Turns> turns_;  // of each rank
    std::vector<Cold> cold_;    // the same
    uint32_t versions_ = 0;
};

// The clocks of actors. RECORDER: records the operations of the replay, or nothing (tape.hpp).
template <class PROCESSORS, class RECORDER>
class Clocks : protected Core {
protected:
    Clocks(const Program& program, const Machine& machine, Outcome& outcome)
        : Core(program, machine, outcome), tape(numbers), processors(core()) {}

    Core& core() { return *this; }

    void spend(Actor& a, double seconds) {
        a.clock += seconds;
        a.communicate += seconds;
        processors.pass(a, seconds);
    }

    // Wait until a time, if it is later than the clock, and then for the rank's turn.
    void sleep_until(Actor& a, double time) {
        const double since = a.clock;
        a.wait_until(time);
        processors.wake_up(a, since);
    }

    void pay_receive(Actor& a, int32_t source) {
        tape.pay(RECEIVING, source, a.number);
        spend(a, receive_cost(a, source));
    }

    // Pay for a receive or probe call that names no partner.
    void poll(Actor& a) {
        tape.pay(POLLING, a.number);
        spend(a, by_type(m.poll, a, a.clock));
    }

    RECORDER tape;
    PROCESSORS processors;
};

}  // namespace clue
