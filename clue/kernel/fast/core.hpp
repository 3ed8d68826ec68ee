// Common to all parts of a replay: the program and the machine, its messages, the actors that can continue, and pending events.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "accesses.hpp"
#include "events.hpp"
#include "layout.hpp"
#include "prepare.hpp"
#include "slots.hpp"

// Code that runs for every message: by default the compiler does not inline it where several engines share it.
#define HOT [[gnu::always_inline]]

namespace clue {

enum Stage : uint8_t {
    START, FETCH, BURST_TURN, BURSTING, OP, SEND_ENDS, RECEIVE_ENDS, WAITING, SEEING, SEEING_RESERVED,
    ROUND, ROUND_SENDS, ROUND_WAITS, ROUND_COMPLETES, SINGLE_SEND, SINGLE_SEND_ENDS, SINGLE_RECEIVE_ENDS, ROUND_REDUCES, SPAWNED, END, DONE
};

// Sends and receives on a clock of its own: a rank, or a nonblocking collective in its background.
struct Actor {
    double clock = 0.0;
    double communicate = 0.0;
    double compute = 0.0;
    double turn = -1.0;    // clock at which it last had its turn
    double cost = 0.0;     // cost of the receive under way
    double begin = 0.0;    // start of the burst, or of the waits, under way
    int64_t row = 0, row_end = 0, round = 0, round_end = 0, index = 0;
    int32_t id = 0, rank = 0, number = 0, node = 0, type = 0, job = 0;
    uint32_t place = 0, launched = 0, backgrounds = 0;
    int32_t instance = -1, base = 0, comm = 0, slot = 0, waiter = 0;
    int32_t within = 0;  // position within the entry of a wait under way
    int32_t unsent = 0;  // sends and accesses begun that do not end with their calls, and not waited for
    Stage stage = START;
    bool background = false;

    void wait_until(double time) {
        if (time > clock) clock = time;
    }
};

// Absence of a rank from MPI: from the first burst, sleep or call that only starts something after a call that waits or tests to
// the next such call. Queried in the order of virtual time.
struct Absence {
    // A pending event of a message, or of a nonblocking collective.
    struct Waiting {
        int32_t id;
        What what;
    };

    // Its rank computes, sleeps or only starts something; an absence that is under way continues.
    void begin(double time) {
        if (under_way) return;
        under_way = true;
        since = time;
    }

    // Its rank makes a call that waits or tests, or ends.
    void end(double time) {
        under_way = false;
        if (time > since) noted.emplace_back(since, time);
    }

    // Return the time itself, or the end of the absence at that time; at the start of an absence the call still lasts.
    double after(double time) {
        while (!noted.empty() && noted.front().second <= time) noted.pop_front();
        return !noted.empty() && noted.front().first < time ? noted.front().second : time;
    }

    std::deque<std::pair<double, double>> noted;
    std::vector<Waiting> waiting;  // events that wait for the end of the current absence
    bool under_way = false;
    double since = 0.0;  // start of the current absence
};

struct Core {
    Core(const Program& program, const Machine& machine, Outcome& outcome)
        : p(program),
          m(machine),
          c(machine.collectives),
          out(outcome),
          numbers(program.ranks * machine.instances),
          classes(all_classes(machine)),
          slots(program.slots * machine.instances),
          accesses(program, machine),
          ranks(numbers),
          modes(machine.overheads || machine.acknowledges),
          in_turn(machine.in_calls || machine.network != CONTENTION_NONE || machine.copies || machine.copies_in_turn),
          absences(machine.in_calls ? numbers : 0) {}

    Actor& actor(int32_t id) { return id < numbers ? ranks[id] : backgrounds[id - numbers]; }
    Slot& slot(int64_t s) { return slots.slot(s); }
    Details& details(int64_t s) { return slots.details(s); }

    // -- actors that can continue, and when ---------------------------------------------------------------------------

    void wake(int32_t& waiter) {
        if (waiter) {
            ready.push_back(waiter - 1);
            waiter = 0;
        }
    }

    bool block(Actor& a, int32_t& waiter) {
        waiter = a.id + 1;
        a.turn = -1.0;
        return false;
    }

    // Whether all events before an actor's clock have happened; if not, it continues when they have.
    bool turn(Actor& a) {
        if (a.turn == a.clock) return true;
        a.turn = a.clock;
        events.push({a.clock, order_high(ACTION, a.number), order_low(a.place, 0), TURN, a.id, 0});
        return false;
    }

    // Schedule an event of a message.
    HOT void later(int32_t s, double time, What what) {
        const Details& d = details(s);
        events.push({time, order_high(ACTION, d.owner), d.order, what, s, 0});
    }

    void arrived(int32_t s, double time, double head) {
        Slot& slot = this->slot(s);
        slot.time = time;
        details(s).envelope = time < head ? time : head;
        slot.state |= ARRIVED;
        wake(slot.waiter);
        if (slot.state & CONFIRMED) acknowledge(s);
    }

    // The data of a message have left its sender.
    void gone(int32_t s, double time) {
        if (slot(s).state & CONFIRMED) return;
        Details& d = details(s);
        d.sent = time;
        slot(s).state |= SENT;
        wake(d.sender);
    }

    // Let the receiver's library tell the sender that an eager message has arrived, or that it has read the data.
    void acknowledge(int32_t s) {
        if (slot(s).state & ONE_SIDED) slot(s).state & BACK ? come_back(s) : reach(s);
        else if (m.in_calls) later(s, slot(s).time, ACKNOWLEDGED);
        else acknowledged(s, slot(s).time);
    }

    void acknowledged(int32_t s, double time) {
        Details& d = details(s);
        d.sent = time + m.answer[link(epoch(d.ready), d.source, d.dest)];
        slot(s).state |= SENT;
        wake(d.sender);
    }

    // -- one-sided operations -----------------------------------------------------------------------------------------

    // Let those of an origin reach a target that have arrived there, as have all before them.
    [[gnu::noinline]] void reach(int32_t s) {
        const int64_t pair = accesses.pair(s);
        for (int32_t first; (first = accesses.first_sent(pair)) >= 0 && slot(first).state & ARRIVED;) {
            const double time = accesses.reach(pair, slot(first).time);
            if (in_turn || accesses.of(first).lock >= 0) later(first, time, REACHES);
            else answer_alone(first, time);
        }
    }

    // Answer an operation that concerns nobody else.
    void answer_alone(int32_t s, double time) {
        const Details& d = details(s);
        const int64_t at = link(epoch(time), d.dest, d.source) * m.sizes + accesses.of(s).back;
        slot(s).time = (time + m.send[at]) + m.transmission[at];
        come_back(s);
    }

    // The time at which the answer arrives is known.
    void come_back(int32_t s) {
        Details& d = details(s);
        d.sent = slot(s).time;
        slot(s).state |= SENT;
        wake(d.sender);
    }

    // -- costs --------------------------------------------------------------------------------------------------------

    HOT int64_t epoch(double time) const {
        int64_t e = 0;
        while (e < m.epochs - 1 && m.changes[e] <= time) ++e;
        return e;
    }

    HOT int64_t link(int64_t e, int32_t source, int32_t dest) const {
        const int64_t types = m.types;
        const int64_t cls = m.node[source] == m.node[dest] ? within(types, m.type[source], m.domain[source] != m.domain[dest])
                                                           : m.type[source] * types + m.type[dest];
        return e * classes + cls + (m.apart && m.part[source] != m.part[dest] ? near_classes(types) : 0);
    }

    HOT double receive_cost(const Actor& a, int32_t source) const { return m.receive[link(epoch(a.clock), source, a.number)]; }

    double completion(const Actor& a, int32_t source) const { return m.completion[link(epoch(a.clock), source, a.number)]; }

    template <class Table>
    double by_type(const Table* table, const Actor& a, double time) const {
        return table[epoch(time) * m.types + a.type];
    }

    const Program& p;
    const Machine& m;
    const Collectives& c;
    Outcome& out;
    const int64_t numbers, classes;
    Slots slots;
    Accesses accesses;
    std::vector<Actor> ranks;
    const bool modes;    // whether sends may end at another time than when their data have left
    const bool in_turn;  // whether one-sided operations are executed in the order of virtual time
    std::vector<Absence> absences;  // of each rank; empty if libraries progress at any time
    std::deque<Actor> backgrounds;
    std::vector<int32_t> ready;
    Heap<Event> events;
    double now = 0.0;
};

}  // namespace clue
