// Contention between messages. A policy is one of
//
//   Unshared   no contention
//   Factor     between nodes, each is slowed by the number of messages under way when it starts
//   Ports      between nodes, they queue for the ports of their nodes
//   Flows      they share links max-min fairly: between nodes those of a topology, within nodes the memory
//   Copying    within nodes they share the memory; between nodes another policy holds
//
// COUPLED says whether messages affect each other at all, WITHIN whether they may do so within nodes, IN_TURN whether data start in
// the order of virtual time between nodes, LATER whether arrivals are events, so that details of messages must be kept; `start`
// starts a message.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core.hpp"
#include "sharing.hpp"

namespace clue {

// Times of a message alone, and the index of its link and size in the machine's tables.
struct Fare {
    double send, transmission;
    int64_t at;
};

// When a message's data leave its sender's node, when an eager sender begins to send them (which is after its share of the wait),
// how long the sender is then busy with them, when they have left, and whether the sender learns that time later.
struct Departure {
    double leaves, begins, busy, sent;
    bool later;
};

// Start a message without contention: its arrival is known at once.
inline Departure go_alone(Slot& slot, double time, const Fare& fare) {
    const double sent = time + fare.send;
    slot.time = sent + fare.transmission;
    slot.state |= ARRIVED;
    return {time, time, fare.send, sent, false};
}

struct Unshared {
    static constexpr bool COUPLED = false, WITHIN = false, IN_TURN = false, LATER = false;

    explicit Unshared(const Machine&, Outcome&) {}

    Departure start(Core& core, int32_t s, double time, bool, const Fare& fare) {
        return go_alone(core.slot(s), time, fare);
    }
    void happen(Core&, const Event&) {}
};

class Factor {
public:
    static constexpr bool COUPLED = true, WITHIN = false, IN_TURN = true, LATER = false;

    Factor(const Machine& machine, Outcome& outcome) : m_(machine), out_(outcome) {}

    Departure start(Core& core, int32_t s, double time, bool, const Fare& fare) {
        while (!ends_.empty() && ends_.first() <= time) ends_.pop();
        const int64_t simultaneous = static_cast<int64_t>(ends_.size()) + 1;
        const int64_t entry = simultaneous < m_.factors ? simultaneous : m_.factors;
        const double factor = m_.contention[core.epoch(time) * m_.factors + entry - 1];
        if (simultaneous > out_.most_simultaneous) out_.most_simultaneous = simultaneous;
        const double busy = factor * fare.send, sent = time + busy, arrival = sent + factor * fare.transmission;
        ends_.push(arrival);
        Slot& slot = core.slot(s);
        slot.time = arrival;
        slot.state |= ARRIVED;
        return {time, time, busy, sent, false};
    }
    void happen(Core&, const Event&) {}

private:
    const Machine& m_;
    Outcome& out_;
    Heap<double> ends_;  // ends of messages under way between nodes
};

// A port of a node: it serves messages in turn, but short ones pass long ones.
class Port {
public:
    // When a message that is there at a time gets the port.
    double enter(int32_t source, int32_t dest, double time, double occupation, double ahead, double passes) {
        const double ready = free_ - ahead, turn = ready > time ? ready : time, rounding = ROUNDING * turn;
        while (!under_way_.empty() && under_way_.front().end <= time + rounding) {
            std::pop_heap(under_way_.begin(), under_way_.end(), later);
            under_way_.pop_back();
        }
        const double passed = free_ - last_;
        double begin = turn;
        if (occupation < passes) passes = occupation;
        if (time + static_cast<double>(under_way_.size()) * occupation + rounding < turn &&
            passed + occupation <= PASSING * (turn - time) + rounding) {
            // With a fair share of the port, each of the others goes on for as long as this one takes, or until it ends.
            beside_.clear();
            for (const UnderWay& each : under_way_)
                beside_.push_back(std::min(std::min(occupation, each.occupation), each.end - time));
            std::sort(beside_.begin(), beside_.end());
            double beside = 0.0;
            for (const double each : beside_) beside += each;
            begin = time + beside;
            for (const UnderWay& each : under_way_)
                if (each.source == source && each.dest == dest && each.gone > begin) begin = each.gone;
        }
        if (begin + rounding < turn) {
            free_ += occupation;
            add({begin + occupation, occupation, begin + passes, source, dest});
            return begin;
        }
        free_ = last_ = (turn > free_ ? turn : free_) + occupation;
        add({free_, occupation, turn + passes, source, dest});
        return turn;
    }

private:
    static constexpr double PASSING = 0.25, ROUNDING = 1e-12;  // as in transport.py
    struct UnderWay {
        double end;         // when it is through
        double occupation;  // for how long it occupies the port
        double gone;        // when its last byte has passed
        int32_t source, dest;
    };

    static bool later(const UnderWay& one, const UnderWay& other) { return one.end > other.end; }
    void add(const UnderWay& message) {
        under_way_.push_back(message);
        std::push_heap(under_way_.begin(), under_way_.end(), later);
    }

    double free_ = 0.0;                // when it has served all messages so far
    double last_ = 0.0;                // when the last one that it served in turn is through
    std::vector<UnderWay> under_way_;  // a heap
    std::vector<double> beside_;       // used in enter only
};

class Ports {
public:
    static constexpr bool COUPLED = true, WITHIN = false, IN_TURN = true, LATER = true;

    Ports(const Machine& machine, Outcome&) : m_(machine), sends_(machine.nodes), receives_(machine.nodes) {}

    HOT Departure start(Core& core, int32_t s, double time, bool rendezvous, const Fare& fare) {
        Details& d = core.details(s);
        const double travel = fare.send + fare.transmission, occupation = m_.occupation[fare.at];
        const double through = travel < occupation ? travel : occupation;
        const double leaves = sends_[m_.node[d.source]].enter(d.source, d.dest, time, m_.send_port[fare.at], m_.ahead[fare.at], through);
        d.through = travel - m_.head[fare.at];
        d.occupation = m_.receive_port[fare.at];
        d.ahead = m_.ahead[fare.at];
        core.later(s, leaves + m_.head[fare.at], HEAD);
        if (rendezvous) return {leaves, leaves, fare.send, leaves + (fare.send < through ? through : fare.send), false};
        const double begins = time + (leaves - time) * m_.held[fare.at];
        return {leaves, begins, fare.send, begins + fare.send, false};
    }

    // The head of a message has reached the receive port.
    void happen(Core& core, const Event& event) {
        const Details& d = core.details(event.id);
        const double begin = receives_[m_.node[d.dest]].enter(d.source, d.dest, core.now, d.occupation, d.ahead, d.through);
        core.arrived(event.id, begin + d.through, begin > d.envelope ? begin : d.envelope);
    }

private:
    const Machine& m_;
    std::vector<Port> sends_, receives_;
};

class Flows {
public:
    static constexpr bool COUPLED = true, WITHIN = true, IN_TURN = false, LATER = true;

    Flows(const Machine& machine, Outcome&)
        : m_(machine), sharing_(machine.capacities, static_cast<int32_t>(machine.links)), links_(machine.links) {
        for (int64_t i = 0; i < m_.pairs; ++i)
            routes_.of({static_cast<int32_t>(m_.pair[i] / m_.nodes), static_cast<int32_t>(m_.pair[i] % m_.nodes), 0, 0});
    }

    HOT Departure start(Core& core, int32_t s, double time, bool rendezvous, const Fare& fare) {
        const Details& d = core.details(s);
        const bool empty = m_.bytes[d.size] == 0;
        if ((empty && !in_order(d)) || (m_.copies && shares_nothing(d))) return go_alone(core.slot(s), time, fare);
        core.later(s, time, ENTER);
        return {time, time, fare.send, time + fare.send, !empty && held(rendezvous, fare.at) != 0.0};
    }

    HOT void happen(Core& core, const Event& event) {
        if (event.what == ENTER) come(core, event.id);
        else if (event.what == RATES) settle(core);
        else if (event.what == PASS) pass(core, event);
        else if (flows_[event.id].version == event.version) leave(core, event.id);
    }

private:
    struct Flow {
        double left, updated, rate;
        double kept;    // remaining bytes at the time when its sender is free
        double rest;    // time for which its sender is busy after that; below 0: it is free
        double last;    // time of its last byte after the links
        double leaves, busy;
        int32_t slot;
        uint32_t version;
    };

    struct Link {
        double missing = 0.0;     // bytes missing in its token bucket
        double idle_since = 0.0;
        int32_t messages = 0;     // number of messages on it
    };

    struct Way { const int32_t *begin, *end; };

    // A message that is there.
    struct Ready {
        int32_t slot;
        int64_t link;  // its link then
        double since;
    };

    // What carries the messages from one rank to another, one after the other.
    struct Connection {
        std::vector<Ready> messages;  // from `next` on they wait
        size_t next = 0;
        bool carries = false;
    };

    // Whether a message waits for those before it between the same ranks.
    bool in_order(const Details& d) const { return m_.in_order && m_.node[d.source] != m_.node[d.dest]; }

    int32_t connection_of(const Details& d) {
        const int32_t number = pairs_.of({d.source, d.dest, 0, 0});
        if (number == static_cast<int32_t>(connections_.size())) connections_.push_back({});
        return number;
    }

    // Let a message enter its route, in order as soon as its connection has carried those before.
    void come(Core& core, int32_t s) {
        const Details& d = core.details(s);
        const Ready ready{s, core.link(core.epoch(core.now), d.source, d.dest), core.now};
        if (!in_order(d)) return enter(core, ready);
        const int32_t connection = connection_of(d);
        connections_[connection].messages.push_back(ready);
        if (!connections_[connection].carries) carry(core, connection);
    }

    // Let the messages that wait for a connection enter their routes, up to one that takes time there.
    void carry(Core& core, int32_t number) {
        Connection& connection = connections_[number];
        while (connection.next < connection.messages.size()) {
            const Ready ready = connection.messages[connection.next++];
            if (connection.next == connection.messages.size()) {
                connection.messages.clear();
                connection.next = 0;
            }
            const int64_t at = ready.link * m_.sizes + core.details(ready.slot).size;
            connection.carries = m_.bytes[core.details(ready.slot).size] != 0;
            if (connection.carries) return enter(core, ready);
            core.arrived(ready.slot, core.now + m_.send[at] + m_.transmission[at], core.now + m_.envelope[ready.link]);
        }
        connection.carries = false;
    }

    Way way_of(const Details& d) {
        const int32_t pair = routes_.of({m_.node[d.source], m_.node[d.dest], 0, 0});
        return {m_.route + m_.first_link[pair], m_.route + m_.first_link[pair + 1]};
    }

    // Whether its route has no links: within a node without stated memory bandwidth, or between nodes without a topology.
    bool shares_nothing(const Details& d) {
        const Way way = way_of(d);
        return way.begin == way.end;
    }

    int32_t new_flow() {
        if (free_.empty()) {
            flows_.push_back({});
            return static_cast<int32_t>(flows_.size()) - 1;
        }
        const int32_t number = free_.back();
        free_.pop_back();
        return number;
    }

    // Return the share of a message that must be through before its sender is free.
    double held(bool rendezvous, int64_t at) const { return rendezvous ? 1.0 : m_.held[at]; }

    void enter(Core& core, const Ready& ready) {
        const int32_t s = ready.slot;
        const Details& d = core.details(s);
        const int64_t l = ready.link, at = l * m_.sizes + d.size;
        const double bytes = static_cast<double>(m_.bytes[d.size]), occupation = m_.occupation[at], travel = m_.travel[at];
        const double limit = occupation != 0.0 ? bytes / occupation : std::numeric_limits<double>::infinity();
        const double bucket = m_.bucket[at], alone = travel < occupation ? travel : occupation;
        const int32_t number = new_flow();
        const Way way = way_of(d);
        // The bytes that a link's bandwidth alone does not let through in time.
        const auto beyond = [&](int32_t link) {
            const double capacity = m_.capacities[link];
            return bytes - (limit < capacity ? limit : capacity) * alone;
        };
        double wanted = 0.0, allowed = bucket;
        for (const int32_t* l = way.begin; l != way.end; ++l) {
            Link& link = links_[*l];
            if (link.messages == 0) {
                const double missing = link.missing - (core.now - link.idle_since) * m_.capacities[*l];
                link.missing = missing > 0.0 ? missing : 0.0;
            }
            const double more = beyond(*l), here = bucket - link.missing;
            if (more > wanted) wanted = more;
            if (here < allowed) allowed = here;
        }
        const double least = wanted < allowed ? wanted : allowed, let_through = least > 0.0 ? least : 0.0;
        for (const int32_t* l = way.begin; l != way.end; ++l) {
            const double more = beyond(*l), own = more > 0.0 ? more : 0.0;
            ++links_[*l].messages;
            links_[*l].missing += let_through < own ? let_through : own;
        }
        Flow& flow = flows_[number];
        const double held = this->held(core.slot(s).state & RENDEZVOUS, at), rest = m_.send[at] - held * occupation;
        flow = {bytes - let_through, core.now, 0.0, bytes * (1.0 - held), held == 0.0 ? -1.0 : rest > 0.0 ? rest : 0.0,
                (travel > occupation ? travel - occupation : 0.0) + m_.further[l], ready.since, m_.send[at], s, flow.version};
        if (flow.left <= flow.kept) let_go(core, flow);
        sharing_.add(number, way.begin, static_cast<int32_t>(way.end - way.begin), limit);
        settle_later(core);
    }

    // The data of a message have left its sender.
    void let_go(Core& core, Flow& flow) {
        if (flow.rest < 0.0) return;
        const double own = flow.leaves + flow.busy, passed = core.now + flow.rest;
        core.gone(flow.slot, passed > own ? passed : own);
        flow.rest = -1.0;
    }

    void leave(Core& core, int32_t number) {
        Flow& flow = flows_[number];
        flow.version = next_version(flow.version);
        sharing_.remove(number);
        free_.push_back(number);
        const Way way = way_of(core.details(flow.slot));
        for (const int32_t* l = way.begin; l != way.end; ++l) {
            --links_[*l].messages;
            links_[*l].idle_since = core.now;
        }
        let_go(core, flow);
        const double arrival = core.now + flow.last;
        const Details& d = core.details(flow.slot);
        const int32_t connection = in_order(d) ? connection_of(d) : -1;
        core.arrived(flow.slot, arrival, arrival);
        settle_later(core);
        if (connection >= 0) carry(core, connection);
    }

    void settle_later(Core& core) {
        if (!unsettled_) core.events.push({core.now, order_high(SETTLE, 0), 0, RATES, 0, 0});
        unsettled_ = true;
    }

    void settle(Core& core) {
        unsettled_ = false;
        sharing_.settle([this, &core](int32_t number, double rate) {
            Flow& flow = flows_[number];
            const double left = flow.left - (core.now - flow.updated) * flow.rate;
            flow.left = left > 0.0 ? left : 0.0;
            flow.updated = core.now;
            flow.rate = rate;
            go_on(core, number);
        });
    }

    // Let a flow proceed until its sender is free, or to its end.
    void go_on(Core& core, int32_t number) {
        Flow& flow = flows_[number];
        const double kept = flow.rest < 0.0 ? 0.0 : flow.kept, left = flow.left - kept;
        flow.version = next_version(flow.version);
        const Details& d = core.details(flow.slot);
        const double time = flow.updated + (left > 0.0 ? left : 0.0) / flow.rate;
        core.events.push({time, order_high(ACTION, d.owner), d.order, kept != 0.0 ? PASS : LEAVE, number, flow.version});
    }

    // A flow has proceeded so far that its sender is free.
    void pass(Core& core, const Event& event) {
        Flow& flow = flows_[event.id];
        if (flow.version != event.version) return;
        if (flow.kept < flow.left) flow.left = flow.kept;
        flow.updated = core.now;
        let_go(core, flow);
        go_on(core, event.id);
    }

    const Machine& m_;
    FairSharing sharing_;
    Numbering routes_, pairs_;
    std::vector<Connection> connections_;
    std::vector<Flow> flows_;
    std::vector<int32_t> free_;
    std::vector<Link> links_;
    bool unsettled_ = false;
};

template <class BETWEEN>
class Copying {
public:
    static constexpr bool COUPLED = true, WITHIN = true, IN_TURN = BETWEEN::IN_TURN, LATER = true;

    Copying(const Machine& machine, Outcome& outcome) : m_(machine), between_(machine, outcome), copies_(machine, outcome) {}

    Departure start(Core& core, int32_t s, double time, bool rendezvous, const Fare& fare) {
        const Details& d = core.details(s);
        if (m_.node[d.source] != m_.node[d.dest]) return between_.start(core, s, time, rendezvous, fare);
        return copies_.start(core, s, time, rendezvous, fare);
    }

    void happen(Core& core, const Event& event) {
        if (event.what == HEAD) between_.happen(core, event);
        else copies_.happen(core, event);
    }

private:
    const Machine& m_;
    BETWEEN between_;
    Flows copies_;
};

}  // namespace clue
