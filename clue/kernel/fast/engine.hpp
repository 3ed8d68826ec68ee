// The replay: what every op does to virtual time. The meaning is that of clue/kernel/reference/simulation.py, actor.py, rank.py,
// transport.py, processors.py and turns.py, op by op, so that every rank's figures agree with theirs to the last bit.
//
// A rank runs until it must wait for something that is not known yet; whoever makes it known puts it on the stack of ranks
// that can go on. Only what must happen in the order of virtual time goes through a heap of events: turns to send where messages
// delay each other, and bursts on shared processors. Where there are none, there is no heap.
#pragma once

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "events.hpp"
#include "layout.hpp"
#include "memory.hpp"
#include "prepare.hpp"
#include "sharing.hpp"
#include "tape.hpp"
#include "turns.hpp"

namespace clue {

// Thrown when there are more messages at once than can be numbered.
struct TooMany {};

// Models of contention, by the numbers that clue.machine.contention gives them.
enum Network { UNSHARED = CONTENTION_NONE, FACTOR = CONTENTION_FACTOR, PORTS = CONTENTION_PORTS, FLOWS = CONTENTION_FLOWS };

// What is known of a message and its receive.
enum State : int32_t {
    POSTED = 1,      // its receive is posted
    LAUNCHED = 2,    // its send has begun
    RENDEZVOUS = 4,  // … and waits for the receive
    SENT = 8,        // when the sender of a rendezvous is free is known
    ARRIVED = 16,    // its arrival is known
};

struct Slot {
    double time;     // ARRIVED: its arrival; else RENDEZVOUS: when it was ready; else POSTED: when its receive was posted
    int32_t waiter;  // actor that waits at the receiving side, + 1
    int32_t state;
};

// The rest, for messages that are not just sent and received.
struct Details {
    double ready;
    double sent;
    double busy;
    double cost;           // of the receive, after a matched probe
    double occupation;     // of the receive port; flows: bytes that links which have been idle let through at once
    double through;        // ports: time from the head's coming in until arrival; flows: its own limit, bytes per second
    double envelope;       // of an eager message: when a probe can see it; kept where the program looks, or messages delay each other
    uint64_t order;        // actor and serial
    int32_t source, dest;  // among all instances
    int32_t size;
    int32_t sender;        // actor that waits for `sent`, + 1
};

struct Flow {
    double left, updated, rate;
    int32_t slot;
    uint32_t version;
};

struct Link {
    double ahead = 0.0;       // bytes that it has let through at once and not made up for
    double idle_since = 0.0;
    int32_t messages = 0;     // on it
};

struct Burst {
    int32_t actor;
    int32_t region;
    double left, updated, rate;
    uint32_t version;
};

struct SharedNode {
    std::vector<Burst> bursts;
    int64_t alive = 0;
};

enum Stage : uint8_t {
    START, BEGIN, FETCH, BURST_TURN, BURSTING, OP, SEND_ENDS, RECEIVE_ENDS, WAITING, SEEING, SEEING_RESERVED,
    ROUND, ROUND_SENDS, ROUND_WAITS, SINGLE_SEND, SINGLE_SEND_ENDS, SINGLE_RECEIVE_ENDS, ROUND_REDUCES, SPAWNED, END, DONE
};

// Whoever sends and receives on a clock of its own: a rank, or a nonblocking collective in its background.
struct Actor {
    double clock = 0.0;
    double communicate = 0.0;
    double compute = 0.0;
    double turn = -1.0;    // clock at which it last had its turn
    double cost = 0.0;     // of the receive under way
    double reduction = 0.0;
    double begin = 0.0;    // of the burst, or of the waits, under way
    int64_t row = 0, row_end = 0, round = 0, round_end = 0, index = 0;
    int32_t id = 0, rank = 0, number = 0, node = 0, type = 0, job = 0;
    uint32_t place = 0, launched = 0, backgrounds = 0;
    int32_t instance = -1, base = 0, comm = 0, slot = 0, waiter = 0;
    int32_t within = 0;  // of the entry of a wait under way
    int32_t unsent = 0;  // rendezvous that it has begun and not waited for
    Stage stage = START;
    bool background = false;
};

// RECORDER: who writes down what the replay does, if anybody (tape.hpp).
template <int NETWORK, bool SHARED, class RECORDER = Silent>
class Engine {
public:
    using A = Actor;

    Engine(const Program& program, const Machine& machine, Outcome& outcome)
        : tape_(program.ranks * machine.instances),
          p_(program),
          m_(machine),
          c_(machine.collectives),
          out_(outcome),
          numbers_(program.ranks * machine.instances),
          classes_(machine.types * machine.types + machine.types),
          own_slots_(program.slots * machine.instances),
          slots_(own_slots_, WITH_ZEROS),
          details_(own_slots_, WITH_ZEROS),
          forks_(static_cast<size_t>(program.fork_offsets[program.ranks] * machine.instances), 0),
          instance_base_(static_cast<size_t>(program.instances * machine.instances), -1),
          instance_left_(static_cast<size_t>(program.instances * machine.instances), 0),
          world_start_(static_cast<size_t>(program.worlds * machine.instances), -1.0),
          world_waiters_(static_cast<size_t>(program.worlds * machine.instances)),
          port_sends_(NETWORK == PORTS ? machine.nodes : 0, 0.0),
          port_receives_(NETWORK == PORTS ? machine.nodes : 0, 0.0),
          sharing_(machine.capacities, static_cast<int32_t>(NETWORK == FLOWS ? machine.links : 0)),
          links_(NETWORK == FLOWS ? machine.links : 0),
          nodes_(SHARED ? machine.nodes : 0),
          turns_(SHARED ? numbers_ : 0) {
        tape_.program_looks(program.probes);
    }

    void run() {
        std::fill_n(out_.by_region, numbers_ * p_.regions, 0.0);
        out_.most_simultaneous = 0;
        if (NETWORK == FLOWS) number_routes();
        if (SHARED)
            for (int64_t e = 1; e < m_.epochs; ++e)
                events_.push({m_.changes[e - 1], order_high(CHANGE, 0), 0, PARAMETERS, 0, 0});
        ranks_.resize(numbers_);
        for (int64_t number = numbers_ - 1; number >= 0; --number) start(ranks_[number], static_cast<int32_t>(number));
        drain();
        while (!events_.empty()) {
            go_on(out_.stop);
            const Event event = events_.pop();
            now_ = event.time;
            happen(event);
            drain();
        }
        finish();
    }

    RECORDER& recorder() { return tape_; }

private:
    // -- ranks and time -----------------------------------------------------------------------------------------------

    void start(A& a, int32_t number) {
        a.id = a.number = number;
        a.job = static_cast<int32_t>(number / p_.ranks);
        a.rank = static_cast<int32_t>(number % p_.ranks);
        a.node = m_.node[number];
        a.type = m_.type[number];
        a.row = p_.offsets[a.rank];
        a.row_end = p_.offsets[a.rank + 1];
        if (SHARED && m_.share[a.node] < 1.0) turns_[number] = Turns(m_.share[a.node], m_.time_slice[a.type]);
        ready_.push_back(number);
    }

    A& actor(int32_t id) { return id < numbers_ ? ranks_[id] : backgrounds_[id - numbers_]; }

    void drain() {
        while (!ready_.empty()) {
            const int32_t id = ready_.back();
            ready_.pop_back();
            fetch_ahead();
            A& a = actor(id);
            tape_.select(id);
            if (a.background) run_background(a);
            else run_rank(a);
        }
    }

    // Fetch what the next ones need from memory while this one runs: with thousands of ranks none of it is near.
    void fetch_ahead() {
        if (numbers_ < MANY) return;
        const size_t n = ready_.size();
        if (n > 0 && ready_[n - 1] < numbers_) {
            const A& next = ranks_[ready_[n - 1]];
            const int64_t end = next.row + AHEAD < next.row_end ? next.row + AHEAD : next.row_end;
            for (int64_t row = next.row; row < end; ++row)
                if (p_.rows[row].slot >= 0 && p_.rows[row].slot < p_.slots) __builtin_prefetch(&slots_[own(next, row)], 1);
        }
        if (n > 1 && ready_[n - 2] < numbers_) {
            const int64_t row = ranks_[ready_[n - 2]].row;
            for (int64_t ahead = 0; ahead < AHEAD; ahead += 8) {
                __builtin_prefetch(p_.rows + row + ahead);
                __builtin_prefetch(p_.cpu + row + ahead);
            }
        }
        if (n > 2 && ready_[n - 3] < numbers_) {
            const char* actor = reinterpret_cast<const char*>(&ranks_[ready_[n - 3]]);
            for (int line = 0; line < 3; ++line) __builtin_prefetch(actor + 64 * line);
        }
    }

    void wake(int32_t& waiter) {
        if (waiter) {
            ready_.push_back(waiter - 1);
            waiter = 0;
        }
    }

    int64_t epoch(double time) const {
        int64_t e = 0;
        while (e < m_.epochs - 1 && m_.changes[e] <= time) ++e;
        return e;
    }

    void spend(A& a, double seconds) {
        a.clock += seconds;
        a.communicate += seconds;
        if (takes_turns(a)) turns_[a.number].pass_time(seconds);
    }

    static void wait_until(A& a, double time) {
        if (time > a.clock) a.clock = time;
    }

    // Whether a rank has turns with background load; not so a nonblocking collective.
    bool takes_turns(const A& a) const { return SHARED && !a.background && turns_[a.number].any(); }

    // Wait until a time, if it has not come yet, and for a rank's turn.
    void sleep_until(A& a, double time) {
        const double since = a.clock;
        wait_until(a, time);
        wake_up(a, since);
    }

    // Wait for a rank's turn, if it has slept since a time.
    void wake_up(A& a, double since) {
        if (takes_turns(a) && a.clock > since) a.clock = turns_[a.number].wake(since, a.clock);
    }

    bool turn(A& a) {
        if (a.turn == a.clock) return true;
        a.turn = a.clock;
        events_.push({a.clock, order_high(ACTION, a.number), order_low(a.place, 0), TURN, a.id, 0});
        return false;
    }

    // -- costs --------------------------------------------------------------------------------------------------------

    int64_t link(int64_t e, int32_t source, int32_t dest) const {
        const int64_t types = m_.types;
        const int64_t cls = m_.node[source] == m_.node[dest] ? types * types + m_.type[source]
                                                             : m_.type[source] * types + m_.type[dest];
        return e * classes_ + cls;
    }

    double receive_cost(const A& a, int32_t source) const { return m_.receive[link(epoch(a.clock), source, a.number)]; }

    void pay_receive(A& a, int32_t source) {
        tape_.pay(RECEIVING, source, a.number);
        spend(a, receive_cost(a, source));
    }

    // Pay for a receive or probe call that names no partner.
    void poll(A& a) {
        tape_.pay(POLLING, a.number);
        spend(a, by_type(m_.poll, a, a.clock));
    }

    template <class Table>
    double by_type(const Table* table, const A& a, double time) const {
        return table[epoch(time) * m_.types + a.type];
    }

    // -- slots --------------------------------------------------------------------------------------------------------

    Slot& slot(int64_t s) { return s < own_slots_ ? slots_[s] : pool_[s - own_slots_]; }
    Details& details(int64_t s) { return s < own_slots_ ? details_[s] : pool_details_[s - own_slots_]; }

    // Of fewer ranks all is near; so many rows are looked at ahead.
    static constexpr int64_t MANY = 512, AHEAD = 12;

    // After so many ops it is asked whether to go on.
    static constexpr int64_t LOOK = 1024;

    int32_t own(const A& a, int64_t row) const { return static_cast<int32_t>(a.job * p_.slots + p_.rows[row].slot); }
    double burst(int64_t row) const { return p_.cpu[row] ? static_cast<double>(p_.cpu[row]) / 1e9 : 0.0; }
    const Shape& shape(int64_t row) const { return p_.shapes[p_.rows[row].shape]; }

    // -- messages -----------------------------------------------------------------------------------------------------

    bool takes_turns_with(const A& a, int32_t dest) const {
        return (NETWORK == FACTOR || NETWORK == PORTS) && m_.node[dest] != a.node;
    }

    // Begin to send; tells whether the sender is free of the message at its clock.
    bool launch(A& a, int32_t s, int32_t dest, int32_t size, uint16_t flags) {
        const int64_t l = link(epoch(a.clock), a.number, dest);
        a.launched++;
        if (out_.messages) observe(a.number, dest, size);
        const bool small = m_.bytes[size] <= m_.eager_limit[l];
        const bool eager = (small || flags & FLAG_BUFFERED) && !(flags & FLAG_SYNCHRONOUS);
        if (RECORDER::RECORDS) {
            const CostKind kind = flags & (FLAG_BUFFERED | FLAG_SYNCHRONOUS) ? ANY_SIZE : eager ? SMALL : LARGE;
            if (eager) tape_.send(s, kind, a.number, dest, size);
            else tape_.ready(s, kind, a.number, dest, size);
        }
        return eager ? launch_eager(a, s, dest, size, l) : launch_rendezvous(a, s, dest, size, l);
    }

    bool launch_eager(A& a, int32_t s, int32_t dest, int32_t size, int64_t l) {
        const double head = a.clock + m_.envelope[l];
        const double send = m_.send[l * m_.sizes + size], transmission = m_.transmission[l * m_.sizes + size];
        Slot& slot = this->slot(s);
        slot.state |= LAUNCHED;
        if (NETWORK == UNSHARED || m_.node[dest] == a.node) {
            slot.time = (a.clock + send) + transmission;
            slot.state |= ARRIVED;
            spend(a, send);
        } else if (NETWORK == FACTOR) {
            const Slowed slowed = slow_down(a.clock, send, transmission);
            slot.time = slowed.arrival;
            slot.state |= ARRIVED;
            spend(a, slowed.busy);
        } else {
            describe(a, s, dest, size);
            const double leaves = carry(s, a.clock, l), held = NETWORK == PORTS ? m_.held[l * m_.sizes + size] : 0.0;
            if (leaves > a.clock && held != 0.0) wait_until(a, a.clock + (leaves - a.clock) * held);
            details(s).envelope = leaves + m_.envelope[l];
            spend(a, send);
        }
        if (slot.state & ARRIVED) {
            if (p_.probes) details(s).envelope = slot.time < head ? slot.time : head;
            wake(slot.waiter);
        }
        return true;
    }

    bool launch_rendezvous(A& a, int32_t s, int32_t dest, int32_t size, int64_t l) {
        Slot& slot = this->slot(s);
        Details& d = describe(a, s, dest, size);
        d.ready = a.clock;
        d.busy = m_.send[l * m_.sizes + size];
        const double posted = slot.time;
        const bool met = slot.state & POSTED;
        slot.time = a.clock;
        slot.state |= LAUNCHED | RENDEZVOUS;
        if (met) open_rendezvous(s, posted);
        else wake(slot.waiter);  // a probe
        // Who is free at once had nothing to pay or to wait for: a tape does both, for machines where that takes time.
        return !RECORDER::RECORDS && slot.state & SENT && d.sent <= a.clock;
    }

    void pay_for_call(A& a, int32_t dest, int32_t size) {
        tape_.pay(BUSY, a.number, dest, size);
        spend(a, m_.send[link(epoch(a.clock), a.number, dest) * m_.sizes + size]);
    }

    Details& describe(const A& a, int32_t s, int32_t dest, int32_t size) {
        Details& d = details(s);
        d.source = a.number;
        d.dest = dest;
        d.size = size;
        d.order = order_low(a.place, a.launched);
        return d;
    }

    void open_rendezvous(int32_t s, double posted) {
        Details& d = details(s);
        const int64_t l = link(epoch(d.ready), d.source, d.dest);
        const double start = (posted > d.ready ? posted : d.ready) + m_.answer[l];
        if ((NETWORK == FACTOR || NETWORK == PORTS) && m_.node[d.source] != m_.node[d.dest])
            events_.push({start, order_high(ACTION, d.source), d.order, TRANSFER, s, 0});
        else
            transfer(s, start);
    }

    void transfer(int32_t s, double start) {
        Details& d = details(s);
        Slot& slot = this->slot(s);
        const int64_t l = link(epoch(start), d.source, d.dest);
        const double send = m_.send[l * m_.sizes + d.size], transmission = m_.transmission[l * m_.sizes + d.size];
        double leaves = start;
        tape_.transfer(s);
        if (NETWORK == UNSHARED || m_.node[d.source] == m_.node[d.dest]) {
            d.busy = send;
            slot.time = (start + send) + transmission;
            slot.state |= ARRIVED;
        } else if (NETWORK == FACTOR) {
            const Slowed slowed = slow_down(start, send, transmission);
            d.busy = slowed.busy;
            slot.time = slowed.arrival;
            slot.state |= ARRIVED;
        } else {
            d.busy = send;
            leaves = carry(s, start, l);
        }
        d.sent = leaves + d.busy;
        slot.state |= SENT;
        wake(d.sender);
        if (slot.state & ARRIVED) wake(slot.waiter);
    }

    void arrived(int32_t s, double time, double head) {
        Slot& slot = this->slot(s);
        slot.time = time;
        details(s).envelope = time < head ? time : head;
        slot.state |= ARRIVED;
        wake(slot.waiter);
    }

    void observe(int32_t source, int32_t dest, int32_t size) {
        out_.messages[source * numbers_ + dest]++;
        out_.volume[source * numbers_ + dest] += m_.bytes[size];
    }

    // Post a receive; `posted` is now.
    void post(A& a, int32_t s) {
        Slot& slot = this->slot(s);
        slot.state |= POSTED;
        if (!(slot.state & LAUNCHED)) {
            slot.time = a.clock;
            tape_.post(s);
        } else if ((slot.state & (RENDEZVOUS | SENT)) == RENDEZVOUS) {
            tape_.post(s);
            open_rendezvous(s, a.clock);
        }
    }

    // -- the network between nodes ------------------------------------------------------------------------------------

    struct Slowed { double busy, arrival; };

    // Let the data of a message start at a time, slowed by what is under way.
    Slowed slow_down(double time, double send, double transmission) {
        while (!ends_.empty() && ends_.first() <= time) ends_.pop();
        const int64_t simultaneous = static_cast<int64_t>(ends_.size()) + 1;
        const int64_t entry = simultaneous < m_.factors ? simultaneous : m_.factors;
        const double factor = m_.contention[epoch(time) * m_.factors + entry - 1];
        if (simultaneous > out_.most_simultaneous) out_.most_simultaneous = simultaneous;
        const double busy = factor * send, arrival = (time + busy) + factor * transmission;
        ends_.push(arrival);
        return {busy, arrival};
    }

    // Let the data of a message go through ports or links; returns when they leave.
    double carry(int32_t s, double start, int64_t l) {
        const Details& d = details(s);
        const double send = m_.send[l * m_.sizes + d.size], transmission = m_.transmission[l * m_.sizes + d.size];
        const double occupation = m_.occupation[l * m_.sizes + d.size];
        if (NETWORK == PORTS) return through_port(s, start, send + transmission, occupation, l);
        const int64_t bytes = m_.bytes[d.size];
        if (bytes == 0) {
            Slot& slot = this->slot(s);
            slot.time = (start + send) + transmission;
            slot.state |= ARRIVED;
        } else {
            details(s).through = occupation != 0.0 ? static_cast<double>(bytes) / occupation : std::numeric_limits<double>::infinity();
            const double travel = send + transmission, longer = occupation - travel;
            details(s).occupation = longer > 0 ? static_cast<double>(bytes) * (longer / occupation) : 0.0;
            push_message(s, start + (longer > 0 ? 0.0 : travel - occupation), ENTER);
        }
        return start;
    }

    double through_port(int32_t s, double start, double travel, double occupation, int64_t l) {
        Details& d = details(s);
        double& free = port_sends_[m_.node[d.source]];
        const double leaves = free > start ? free : start;
        free = leaves + m_.send_port[l * m_.sizes + d.size];
        const double through = travel < occupation ? travel : occupation;
        d.occupation = m_.receive_port[l * m_.sizes + d.size];
        d.through = through;
        push_message(s, leaves + (travel - through), HEAD);
        return leaves;
    }

    void push_message(int32_t s, double time, What what) {
        const Details& d = details(s);
        events_.push({time, order_high(ACTION, d.source), d.order, what, s, 0});
    }

    void at_receive_port(int32_t s) {
        const Details& d = details(s);
        double& free = port_receives_[m_.node[d.dest]];
        const double begin = free > now_ ? free : now_;
        free = begin + d.occupation;
        arrived(s, begin + d.through, begin > d.envelope ? begin : d.envelope);
    }

    void number_routes() {
        for (int64_t i = 0; i < m_.pairs; ++i)
            routes_.of({static_cast<int32_t>(m_.pair[i] / m_.nodes), static_cast<int32_t>(m_.pair[i] % m_.nodes), 0, 0});
    }

    void enter(int32_t s) {
        const Details& d = details(s);
        int32_t number;
        if (free_flows_.empty()) {
            number = static_cast<int32_t>(flows_.size());
            flows_.push_back({});
        } else {
            number = free_flows_.back();
            free_flows_.pop_back();
        }
        Flow& flow = flows_[number];
        flow.updated = now_;
        flow.rate = 0.0;
        flow.slot = s;
        const Way way = way_of(d);
        double let_through = d.occupation;
        for (const int32_t* l = way.begin; l != way.end; ++l) {
            Link& link = links_[*l];
            if (link.messages == 0) {
                const double ahead = link.ahead - (now_ - link.idle_since) * d.through;
                link.ahead = ahead > 0.0 ? ahead : 0.0;
            }
            const double here = d.occupation - link.ahead;
            if (here < let_through) let_through = here;
            if (!(let_through > 0.0)) let_through = 0.0;
        }
        for (const int32_t* l = way.begin; l != way.end; ++l) {
            ++links_[*l].messages;
            links_[*l].ahead += let_through;
        }
        flow.left = static_cast<double>(m_.bytes[d.size]) - let_through;
        sharing_.add(number, way.begin, static_cast<int32_t>(way.end - way.begin), d.through);
        settle_later();
    }

    struct Way { const int32_t *begin, *end; };
    Way way_of(const Details& d) {
        const int32_t pair = routes_.of({m_.node[d.source], m_.node[d.dest], 0, 0});
        return {m_.route + m_.first_link[pair], m_.route + m_.first_link[pair + 1]};
    }

    void leave(int32_t number) {
        Flow& flow = flows_[number];
        flow.version = next_version(flow.version);
        sharing_.remove(number);
        free_flows_.push_back(number);
        const Way way = way_of(details(flow.slot));
        for (const int32_t* l = way.begin; l != way.end; ++l) {
            --links_[*l].messages;
            links_[*l].idle_since = now_;
        }
        arrived(flow.slot, now_, now_);
        settle_later();
    }

    void settle_later() {
        if (!unsettled_) events_.push({now_, order_high(SETTLE, 0), 0, RATES, 0, 0});
        unsettled_ = true;
    }

    void settle() {
        unsettled_ = false;
        sharing_.settle([this](int32_t number, double rate) {
            Flow& flow = flows_[number];
            const double left = flow.left - (now_ - flow.updated) * flow.rate;
            flow.left = left > 0.0 ? left : 0.0;
            flow.updated = now_;
            flow.rate = rate;
            flow.version = next_version(flow.version);
            const Details& d = details(flow.slot);
            events_.push({now_ + flow.left / rate, order_high(ACTION, d.source), d.order, LEAVE, number, flow.version});
        });
    }

    // -- shared processors --------------------------------------------------------------------------------------------

    bool on_shared(const A& a) const { return SHARED && m_.shared[a.node]; }

    const double* rates(int32_t node) const {
        const SharedNode& shared = nodes_[node];
        const int64_t at = epoch(now_) * m_.types + m_.node_type[node];
        const int64_t ranks = m_.keeps_processor[at] ? shared.alive : static_cast<int64_t>(shared.bursts.size());
        return m_.rates + (at * (m_.most_ranks + 1) + ranks) * p_.regions;
    }

    void share_anew(int32_t node) {
        const double* rates = this->rates(node);
        for (Burst& burst : nodes_[node].bursts) {
            const double rate = rates[burst.region];
            if (rate == burst.rate) continue;
            const double left = burst.left - (now_ - burst.updated) * burst.rate;
            burst.left = left > 0.0 ? left : 0.0;
            burst.updated = now_;
            burst.rate = rate;
            burst.version = versions_ = next_version(versions_);
            events_.push({now_ + burst.left / rate, order_high(BURST, burst.actor), 0, BURST_ENDS, burst.actor, burst.version});
        }
    }

    void begin_burst(A& a, double cpu, int32_t region) {
        nodes_[a.node].bursts.push_back({a.id, region, cpu, now_, 0.0, 0});
        share_anew(a.node);
    }

    void burst_ends(int32_t id, uint32_t version) {
        A& a = ranks_[id];
        std::vector<Burst>& bursts = nodes_[a.node].bursts;
        for (size_t i = 0; i < bursts.size(); ++i) {
            if (bursts[i].actor != id || bursts[i].version != version) continue;
            bursts[i] = bursts.back();
            bursts.pop_back();
            share_anew(a.node);
            ready_.push_back(id);
            return;
        }
    }

    // -- events -------------------------------------------------------------------------------------------------------

    void happen(const Event& event) {
        switch (event.what) {
            case PARAMETERS:
                for (int64_t node = 0; node < m_.nodes; ++node)
                    if (m_.shared[node]) share_anew(static_cast<int32_t>(node));
                break;
            case BURST_ENDS: burst_ends(event.id, event.version); break;
            case TURN: ready_.push_back(event.id); break;
            case TRANSFER: transfer(event.id, event.time); break;
            case HEAD: at_receive_port(event.id); break;
            case ENTER: enter(event.id); break;
            case LEAVE:
                if (flows_[event.id].version == event.version) leave(event.id);
                break;
            case RATES: settle(); break;
        }
    }

    // -- a rank's program ---------------------------------------------------------------------------------------------

    // Block at the receiving side of a message until its arrival is known.
    bool until_arrived(A& a, int32_t s) {
        Slot& slot = this->slot(s);
        if (slot.state & ARRIVED) return true;
        return block(a, slot.waiter);
    }

    bool until_sent(A& a, int32_t s) {
        if (slot(s).state & SENT) return true;
        return block(a, details(s).sender);
    }

    bool block(A& a, int32_t& waiter) {
        waiter = a.id + 1;
        a.turn = -1.0;
        return false;
    }

    // End a blocking send of a rendezvous.
    void end_send(A& a, int32_t s) {
        const Details& d = details(s);
        tape_.await_sent(s);
        if (d.sent > a.clock) {
            const double since = a.clock;
            wait_until(a, d.sent - d.busy);
            const bool slept = a.clock > since;
            spend(a, d.sent - a.clock);
            a.clock = d.sent;  // others know that time: rounding must not make two of it
            if (slept) wake_up(a, since);
        }
    }

    void end_receive(A& a, int32_t s) {
        tape_.receive(s, a.number);
        sleep_until(a, slot(s).time);
        spend(a, a.cost);
    }

    void run_rank(A& a) {
        for (;;) {
            switch (a.stage) {
                case START:
                    if (p_.world[a.rank] && !begin_world(a)) return;
                    a.stage = BEGIN;
                    [[fallthrough]];
                case BEGIN:
                    if (on_shared(a)) {
                        if (!turn(a)) return;
                        nodes_[a.node].alive++;
                        share_anew(a.node);
                    }
                    a.stage = FETCH;
                    [[fallthrough]];
                case FETCH: {
                    if (a.row % LOOK == 0) go_on(out_.stop);
                    if (a.row == a.row_end) {
                        a.stage = END;
                        break;
                    }
                    const double cpu = burst(a.row);
                    if (cpu != 0.0) {
                        if (on_shared(a)) {
                            a.stage = BURST_TURN;
                            break;
                        }
                        const int32_t region = shape(a.row).region;
                        double seconds = cpu * m_.factor[a.type * p_.regions + region];
                        tape_.burst(cpu, a.row, a.number, region);
                        if (takes_turns(a)) {
                            const double begin = a.clock;
                            a.clock = turns_[a.number].run(begin, seconds);
                            seconds = a.clock - begin;
                        } else {
                            a.clock += seconds;
                        }
                        a.compute += seconds;
                        out_.by_region[a.number * p_.regions + region] += seconds;
                    }
                    a.stage = OP;
                    [[fallthrough]];
                }
                case OP:
                    if (!begin_op(a)) return;
                    break;
                case BURST_TURN:
                    if (!turn(a)) return;
                    a.begin = a.clock;
                    a.stage = BURSTING;
                    begin_burst(a, burst(a.row), shape(a.row).region);
                    return;
                case BURSTING: {
                    a.clock = now_;
                    a.turn = -1.0;
                    a.compute += a.clock - a.begin;
                    out_.by_region[a.number * p_.regions + shape(a.row).region] += a.clock - a.begin;
                    a.stage = OP;
                    break;
                }
                case SEND_ENDS:
                    if (!until_sent(a, a.slot)) return;
                    end_send(a, a.slot);
                    next(a);
                    break;
                case RECEIVE_ENDS:
                    if (!until_arrived(a, a.slot)) return;
                    end_receive(a, a.slot);
                    next(a);
                    break;
                case WAITING:
                    if (!wait_for_requests(a)) return;
                    wake_up(a, a.begin);
                    next(a);
                    break;
                case SEEING:
                    if (!see(a)) return;
                    pay_receive(a, offset(a) + shape(a.row).peer);
                    next(a);
                    break;
                case SEEING_RESERVED:
                    if (!see(a)) return;
                    tape_.pay_receive(a.slot, a.number);
                    spend(a, a.cost);
                    details(a.slot).cost = a.cost;
                    next(a);
                    break;
                case SPAWNED: {
                    const double started = world_start_[world_of(a)];
                    tape_.await_world(world_of(a));
                    sleep_until(a, started);
                    next(a);
                    break;
                }
                case END:
                    if (on_shared(a)) {
                        if (!turn(a)) return;
                        nodes_[a.node].alive--;
                        share_anew(a.node);
                    }
                    a.stage = DONE;
                    return;
                case DONE: return;
                default:
                    if (!run_rounds(a)) return;
                    next(a);
                    break;
            }
        }
    }

    static void next(A& a) {
        a.row++;
        a.stage = FETCH;
    }

    int32_t offset(const A& a) const { return a.number - a.rank; }

    bool begin_world(A& a) {
        const int64_t world = a.job * p_.worlds + p_.world[a.rank];
        if (world_start_[world] < 0.0) {
            world_waiters_[world].push_back(a.id);
            return false;
        }
        tape_.begin_world(world, a.number);
        sleep_until(a, world_start_[world] + by_type(m_.initialisation, a, world_start_[world]));
        return true;
    }

    // Do an op; false: the rank must wait, and goes on at its stage.
    bool begin_op(A& a) {
        const int64_t i = a.row;
        const Shape& s = shape(i);
        switch (s.op) {
            case OP_SEND:
            case OP_ISEND: return send(a, i, s);
            case OP_RECV:
            case OP_IRECV: receive(a, i, s); return true;
            case OP_WAIT:
                a.index = a.within = 0;
                a.begin = a.clock;
                a.stage = WAITING;
                return true;
            case OP_POLL:
                if (s.peer >= 0) {
                    pay_receive(a, offset(a) + s.peer);
                } else {
                    poll(a);
                }
                break;
            case OP_PROBE:
                if (s.peer < 0) break;
                a.slot = own(a, i);
                a.stage = SEEING;
                return true;
            case OP_MPROBE:
                if (s.peer < 0) break;
                a.slot = own(a, i);
                a.cost = receive_cost(a, offset(a) + s.peer);
                a.stage = SEEING_RESERVED;
                return true;
            case OP_MRECV: matched_receive(a, i, s); return true;
            case OP_PACK:
                tape_.scale(static_cast<double>(p_.nbytes[i]), PACKING, a.number);
                spend(a, static_cast<double>(p_.nbytes[i]) * by_type(m_.packing, a, a.clock));
                break;
            case OP_SLEEP: {
                const double seconds = static_cast<double>(p_.nbytes[i]) / 1e9;
                tape_.scale(seconds, SLEEPING, a.number);
                const double since = a.clock;
                a.clock += seconds;
                wake_up(a, since);
                break;
            }
            case OP_SPAWN: return spawn(a, i);
            default:
                if (is_collective(s.op)) {
                    collective(a, i, s);
                    return true;
                }
        }
        next(a);
        return true;
    }

    bool send(A& a, int64_t i, const Shape& call) {
        if (call.peer < 0) {
            next(a);
            return true;
        }
        const int32_t dest = offset(a) + call.peer;
        if (takes_turns_with(a, dest) && !turn(a)) return false;
        const int32_t s = own(a, i);
        const bool free = launch(a, s, dest, call.size, call.flags);
        if (!free && !call.requested) {
            a.slot = s;
            a.stage = SEND_ENDS;
            return true;
        }
        if (call.requested && slot(s).state & RENDEZVOUS) a.unsent++;
        if (!free) pay_for_call(a, dest, call.size);
        next(a);
        return true;
    }

    void receive(A& a, int64_t i, const Shape& call) {
        if (call.peer < 0 || call.flags & FLAG_CANCELLED) return next(a);
        a.slot = own(a, i);
        a.cost = receive_cost(a, offset(a) + call.peer);
        post(a, a.slot);
        if (!call.requested) {
            a.stage = RECEIVE_ENDS;
            return;
        }
        if (call.flags & FLAG_ANY_SOURCE) {
            // Whom it gets is not known when it is posted, so it costs the same whatever that is.
            poll(a);
        } else {
            tape_.pay(RECEIVING, offset(a) + call.peer, a.number);
            spend(a, a.cost);
        }
        next(a);
    }

    void matched_receive(A& a, int64_t i, const Shape& call) {
        if (p_.rows[i].slot < 0) return next(a);
        const int32_t s = own(a, i);
        a.cost = details(s).cost;
        Slot& slot = this->slot(s);
        if ((slot.state & (RENDEZVOUS | SENT)) == RENDEZVOUS) {
            // The data of a rendezvous start once the receive has come.
            if (!(slot.state & POSTED)) {
                tape_.post(s);
                open_rendezvous(s, a.clock);
            }
        }
        slot.state |= POSTED;
        if (call.flags & FLAG_NONBLOCKING) {
            tape_.pay_receive(s, a.number);
            spend(a, a.cost);
            return next(a);
        }
        a.slot = s;
        a.stage = RECEIVE_ENDS;
    }

    // Block in a probe until the message can be seen; eager: when its head is there; a rendezvous: when its envelope is.
    bool see(A& a) {
        Slot& slot = this->slot(a.slot);
        if (slot.state & RENDEZVOUS) {
            tape_.see(a.slot, a.number);
            sleep_until(a, envelope(a.slot));
            return true;
        }
        if (!(slot.state & ARRIVED)) return block(a, slot.waiter);
        tape_.look(a.slot, a.number);
        sleep_until(a, details(a.slot).envelope);
        return true;
    }

    double envelope(int64_t s) {
        const Slot& slot = this->slot(s);
        if (slot.state & RENDEZVOUS) {
            const Details& d = details(s);
            return d.ready + m_.envelope[link(epoch(d.ready), d.source, d.dest)];
        }
        return slot.state & ARRIVED ? details(s).envelope : std::numeric_limits<double>::quiet_NaN();
    }

    bool spawn(A& a, int64_t i) {
        const int64_t world = world_of(a);
        if (world < 0) {
            next(a);
            return true;
        }
        if (a.rank == shape(i).peer) {
            tape_.pay(SPAWNING, a.number);
            spend(a, by_type(m_.spawn, a, a.clock));
            tape_.open_world(world);
            world_start_[world] = a.clock;
            for (int32_t id : world_waiters_[world]) ready_.push_back(id);
            world_waiters_[world].clear();
            next(a);
            return true;
        }
        a.stage = SPAWNED;
        if (world_start_[world] >= 0.0) return true;
        world_waiters_[world].push_back(a.id);
        a.turn = -1.0;
        return false;
    }

    int64_t world_of(const A& a) const {
        const int64_t i = a.row;
        if (p_.count[i] == 0) return -1;
        const int64_t world = p_.extras[p_.extra_offsets[a.rank] + p_.extra[i]];
        return world > 0 && world < p_.worlds && is_world(world) ? a.job * p_.worlds + world : -1;
    }

    bool is_world(int64_t world) const { return std::find(p_.world, p_.world + p_.ranks, world) != p_.world + p_.ranks; }

    // -- requests -----------------------------------------------------------------------------------------------------

    // How many requests a rank stuck in a wait for several still waits for.
    int64_t open_requests(const A& a) const {
        if (!p_.count[a.row]) return 0;
        const Requests* waits = p_.waits + p_.rows[a.row].slot;
        int64_t open = -a.within;
        for (int64_t i = a.index; i < shape(a.row).size; ++i) open += waits[i].count;
        return open;
    }

    bool wait_for_requests(A& a) {
        const Requests* waits = p_.waits + p_.rows[a.row].slot;
        for (const int64_t n = shape(a.row).size; a.index < n; ++a.index, a.within = 0) {
            const int32_t first = waits[a.index].first >> 2, count = waits[a.index].count;
            switch (waits[a.index].first & 3) {
                case SEND_HELD:
                    // Mostly all are eager; then there is no need to look at them.
                    for (; a.unsent && a.within < count; ++a.within)
                        if (!wait_for_send(a, own(a, first + a.within))) return false;
                    break;
                case RECEIVE_HELD:
                    for (; a.within < count; ++a.within) {
                        const int32_t s = own(a, first + a.within);
                        if (!until_arrived(a, s)) return false;
                        tape_.await(s);
                        wait_until(a, slot(s).time);
                    }
                    break;
                default:
                    for (; a.within < count; ++a.within)
                        if (!wait_for_fork(a, first + a.within)) return false;
            }
        }
        return true;
    }

    bool wait_for_send(A& a, int32_t s) {
        if (!(slot(s).state & RENDEZVOUS)) return true;
        if (!until_sent(a, s)) return false;
        tape_.await_sent(s);
        wait_until(a, details(s).sent);
        a.unsent--;
        return true;
    }

    bool wait_for_fork(A& a, int32_t number) {
        const int32_t id = forks_[a.job * p_.fork_offsets[p_.ranks] + number];
        A& background = actor(id);
        if (background.stage != DONE) return block(a, background.waiter);
        tape_.join(id);
        wait_until(a, background.clock);
        free_backgrounds_.push_back(id);
        return true;
    }

    // -- collectives --------------------------------------------------------------------------------------------------

    void collective(A& a, int64_t i, const Shape& call) {
        if (!(call.flags & FLAG_NONBLOCKING)) {
            begin_rounds(a, i);
            return;
        }
        const int32_t id = new_background();
        A& b = actor(id);
        b.background = true;
        b.id = id;
        b.rank = a.rank;
        b.number = a.number;
        b.node = a.node;
        b.type = a.type;
        b.job = a.job;
        b.clock = a.clock;
        forks_[a.job * p_.fork_offsets[p_.ranks] + p_.fork_offsets[a.rank] + a.backgrounds] = id;
        b.place = ++a.backgrounds;
        tape_.fork(id);
        begin_rounds(b, i);
        ready_.push_back(id);
        next(a);
    }

    int32_t new_background() {
        if (free_backgrounds_.empty()) {
            backgrounds_.emplace_back();
            return static_cast<int32_t>(numbers_ + static_cast<int64_t>(backgrounds_.size()) - 1);
        }
        const int32_t id = free_backgrounds_.back();
        free_backgrounds_.pop_back();
        actor(id) = A{};
        return id;
    }

    void begin_rounds(A& a, int64_t i) {
        a.instance = static_cast<int32_t>(a.job * p_.instances + p_.rows[i].slot);
        const int32_t t = c_.instance_template[p_.rows[i].slot];
        if (instance_base_[a.instance] < 0) open_instance(a.instance, t);
        a.base = instance_base_[a.instance];
        a.comm = shape(i).size;
        const int64_t at = c_.position_base[t] + position(a.rank, a.comm);
        a.round = c_.first_round[at];
        a.round_end = c_.first_round[at + 1];
        a.reduction = 0.0;
        a.stage = ROUND;
    }

    int64_t position(int32_t rank, int32_t comm) const {
        const int32_t* first = p_.position_comm + p_.position_offsets[rank];
        const int32_t* last = p_.position_comm + p_.position_offsets[rank + 1];
        return p_.position[std::lower_bound(first, last, comm) - p_.position_comm];
    }

    void open_instance(int32_t instance, int32_t t) {
        const int64_t n = c_.slots[t];
        instance_left_[instance] = c_.members[t];
        if (static_cast<int32_t>(free_pool_.size()) <= t) free_pool_.resize(t + 1);
        std::vector<int32_t>& free = free_pool_[t];
        if (free.empty()) {
            if (own_slots_ + static_cast<int64_t>(pool_.size()) + n > std::numeric_limits<int32_t>::max()) throw TooMany();
            instance_base_[instance] = static_cast<int32_t>(own_slots_ + static_cast<int64_t>(pool_.size()));
            pool_.resize(pool_.size() + n, Slot{});
            pool_details_.resize(pool_.size(), Details{});
        } else {
            instance_base_[instance] = free.back();
            free.pop_back();
            std::fill_n(pool_.begin() + (instance_base_[instance] - own_slots_), n, Slot{});
            std::fill_n(pool_details_.begin() + (instance_base_[instance] - own_slots_), n, Details{});
            tape_.forget(instance_base_[instance], n);
        }
    }

    void close_instance(int32_t instance) {
        if (--instance_left_[instance] > 0) return;
        const int32_t t = c_.instance_template[instance % p_.instances];
        free_pool_[t].push_back(instance_base_[instance]);
    }

    void run_background(A& a) {
        if (a.stage == DONE || !run_rounds(a)) return;
        a.stage = DONE;
        wake(a.waiter);
    }

    int32_t member(const A& a, int32_t position) const { return offset(a) + p_.group[p_.group_offsets[a.comm] + position]; }

    // Run rounds until they end (true) or the actor must wait.
    bool run_rounds(A& a) {
        for (;;) {
            const int64_t r = a.round;
            switch (a.stage) {
                case ROUND: {
                    go_on(out_.stop);
                    if (r == a.round_end) {
                        close_instance(a.instance);
                        return true;
                    }
                    const int64_t sends = c_.first_send[r + 1] - c_.first_send[r];
                    const int64_t receives = c_.first_receive[r + 1] - c_.first_receive[r];
                    if (sends + receives == 1) {
                        if (sends) {
                            a.stage = SINGLE_SEND;
                        } else {
                            const int64_t at = c_.first_receive[r];
                            a.slot = a.base + c_.receive_slot[at];
                            a.cost = receive_cost(a, member(a, c_.receive_peer[at]));
                            post(a, a.slot);
                            a.stage = SINGLE_RECEIVE_ENDS;
                        }
                        break;
                    }
                    for (int64_t at = c_.first_receive[r]; at < c_.first_receive[r + 1]; ++at) {
                        const int32_t source = member(a, c_.receive_peer[at]);
                        const double cost = receive_cost(a, source);
                        post(a, a.base + c_.receive_slot[at]);
                        tape_.pay(RECEIVING, source, a.number);
                        spend(a, cost);
                    }
                    a.index = c_.first_send[r];
                    a.stage = ROUND_SENDS;
                    [[fallthrough]];
                }
                case ROUND_SENDS:
                    for (; a.index < c_.first_send[r + 1]; ++a.index) {
                        const int32_t dest = member(a, c_.send_peer[a.index]);
                        if (takes_turns_with(a, dest) && !turn(a)) return false;
                        const int32_t s = a.base + c_.send_slot[a.index];
                        if (!launch(a, s, dest, c_.send_size[a.index], 0)) pay_for_call(a, dest, c_.send_size[a.index]);
                    }
                    a.index = 0;
                    a.begin = a.clock;
                    a.stage = ROUND_WAITS;
                    [[fallthrough]];
                case ROUND_WAITS:
                    if (!wait_for_round(a)) return false;
                    wake_up(a, a.begin);
                    a.stage = ROUND_REDUCES;
                    break;
                case SINGLE_SEND: {
                    const int64_t at = c_.first_send[r];
                    const int32_t dest = member(a, c_.send_peer[at]);
                    if (takes_turns_with(a, dest) && !turn(a)) return false;
                    a.slot = a.base + c_.send_slot[at];
                    a.stage = launch(a, a.slot, dest, c_.send_size[at], 0) ? ROUND_REDUCES : SINGLE_SEND_ENDS;
                    break;
                }
                case SINGLE_SEND_ENDS:
                    if (!until_sent(a, a.slot)) return false;
                    end_send(a, a.slot);
                    a.stage = ROUND_REDUCES;
                    break;
                case SINGLE_RECEIVE_ENDS:
                    if (!until_arrived(a, a.slot)) return false;
                    end_receive(a, a.slot);
                    a.stage = ROUND_REDUCES;
                    [[fallthrough]];
                default:  // ROUND_REDUCES
                    if (c_.reduced[r]) {
                        if (a.reduction == 0.0) a.reduction = by_type(m_.reduction, a, a.clock);
                        tape_.scale(static_cast<double>(c_.reduced[r]), REDUCTION, a.number);
                        spend(a, static_cast<double>(c_.reduced[r]) * a.reduction);
                    }
                    a.round++;
                    a.stage = ROUND;
            }
        }
    }

    bool wait_for_round(A& a) {
        const int64_t r = a.round;
        const int64_t receives = c_.first_receive[r + 1] - c_.first_receive[r];
        const int64_t all = receives + c_.first_send[r + 1] - c_.first_send[r];
        for (; a.index < all; ++a.index) {
            if (a.index < receives) {
                const int32_t s = a.base + c_.receive_slot[c_.first_receive[r] + a.index];
                if (!until_arrived(a, s)) return false;
                tape_.await(s);
                wait_until(a, slot(s).time);
            } else {
                const int32_t s = a.base + c_.send_slot[c_.first_send[r] + a.index - receives];
                if (!(slot(s).state & RENDEZVOUS)) continue;
                if (!until_sent(a, s)) return false;
                tape_.await_sent(s);
                wait_until(a, details(s).sent);
            }
        }
        return true;
    }

    void finish() {
        for (int64_t i = 0; i < numbers_; ++i) {
            out_.finish[i] = ranks_[i].clock;
            out_.compute[i] = ranks_[i].compute;
            out_.communicate[i] = ranks_[i].communicate;
            out_.open[i] = ranks_[i].stage == WAITING ? open_requests(ranks_[i]) : 0;
            out_.blocked[i] = ranks_[i].stage == DONE ? -1 : ranks_[i].stage == START ? -2 : ranks_[i].row;
        }
        for (int64_t job = 0; job < m_.instances; ++job)
            for (int64_t i = 0; i < out_.seen_count; ++i) {
                const int64_t row = out_.seen_rows[i];
                out_.seen[job * out_.seen_count + i] =
                    envelope(job * p_.slots + p_.rows[row].slot);
            }
    }

    RECORDER tape_;
    const Program& p_;
    const Machine& m_;
    const Collectives& c_;
    Outcome& out_;
    const int64_t numbers_, classes_, own_slots_;
    Pages<Slot> slots_;
    Pages<Details> details_;
    std::vector<Slot> pool_;
    std::vector<Details> pool_details_;
    std::vector<std::vector<int32_t>> free_pool_;
    std::vector<int32_t> forks_;  // who carries out each nonblocking collective
    std::vector<int32_t> instance_base_, instance_left_;
    std::vector<double> world_start_;
    std::vector<std::vector<int32_t>> world_waiters_;
    std::vector<A> ranks_;
    std::deque<A> backgrounds_;
    std::vector<int32_t> free_backgrounds_;
    std::vector<int32_t> ready_;
    Heap<Event> events_;
    double now_ = 0.0;
    Heap<double> ends_;  // of messages under way between nodes
    std::vector<double> port_sends_, port_receives_;
    FairSharing sharing_;
    Numbering routes_;
    std::vector<Flow> flows_;
    std::vector<int32_t> free_flows_;
    std::vector<Link> links_;
    bool unsettled_ = false;
    std::vector<SharedNode> nodes_;
    std::vector<Turns> turns_;  // of each rank
    uint32_t versions_ = 0;
};

}  // namespace clue
