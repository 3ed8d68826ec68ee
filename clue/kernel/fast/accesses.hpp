// One-sided operations under way: which of them have reached their targets, and the locks on the memory of ranks. Defined by
// clue/kernel/reference/accesses.py; their times are in core.hpp.
//
// A program's operations have the last slots of each of its copies. An operation is in at most one queue at a time: until it
// reaches its target, behind others of its origin; then, outside calls, until its target's next call; then until it has its lock.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "layout.hpp"
#include "slots.hpp"

namespace clue {

class Accesses {
public:
    Accesses(const Program& program, const Machine& machine)
        : p_(program),
          next_(of_all(program.one_sided, machine)),
          pairs_(of_all(program.pairs, machine)),
          locks_(of_all(program.locks, machine)),
          holds_(of_all(program.holds, machine), 0),
          waiting_(program.one_sided && machine.in_calls ? of_all(program.ranks, machine) : 0) {}

    const Access& of(int32_t s) const { return p_.accesses[at(s).number]; }

    // The number of its origin and target, over all copies.
    int64_t pair(int32_t s) const { return at(s).job * p_.pairs + of(s).pair; }

    // -- until they reach their targets -------------------------------------------------------------------------------

    void send(int32_t s) { push(pairs_[pair(s)].sent, s); }

    // Return the first operation of a pair that has not reached its target, -1: none.
    int32_t first_sent(int64_t pair) const { return pairs_[pair].sent.first; }

    // It has arrived; return when it reaches its target, which is not before those before it.
    double reach(int64_t pair, double arrival) {
        Pair& its = pairs_[pair];
        pop(its.sent);
        if (arrival > its.reached) its.reached = arrival;
        return its.reached;
    }

    // -- until their target's next call -------------------------------------------------------------------------------

    void await_call(int32_t target, int32_t s) { push(waiting_[target], s); }
    int32_t next_in_call(int32_t target) { return pop(waiting_[target]); }

    // -- locks --------------------------------------------------------------------------------------------------------

    // Ask for a lock, behind those that wait for it.
    void ask(int32_t s) { push(lock(s).waiting, s); }

    // Release the lock that its origin holds, if it holds one.
    void release(int32_t s) {
        uint8_t& held = hold(s);
        if (!held) return;
        Lock& its = lock(s);
        held = 0;
        its.holders--;
        its.exclusive = false;
    }

    // Give the lock of an operation to the first that waits for it, if that can have it now, and return that; -1: to none.
    int32_t grant(int32_t s) {
        Lock& its = lock(s);
        const int32_t first = its.waiting.first;
        if (first < 0) return -1;
        const bool exclusive = of(first).kind == ACCESS_EXCLUSIVE_LOCK;
        if (its.holders && (exclusive || its.exclusive)) return -1;
        pop(its.waiting);
        its.exclusive = exclusive;
        its.holders += !std::exchange(hold(first), 1);
        return first;
    }

private:
    struct Queue {
        int32_t first = -1, last = -1;
    };

    // An origin and a target.
    struct Pair {
        double reached = 0.0;  // when its latest operation reached the target
        Queue sent;            // those that have not, in order
    };

    struct Lock {
        Queue waiting;
        int32_t holders = 0;
        bool exclusive = false;  // whether its one holder has it exclusively
    };

    struct Place {
        int64_t job, number;
    };

    static size_t of_all(int64_t count, const Machine& machine) { return static_cast<size_t>(count * machine.instances); }

    Place at(int32_t s) const { return {s / p_.slots, s % p_.slots - (p_.slots - p_.one_sided)}; }

    Lock& lock(int32_t s) { return locks_[at(s).job * p_.locks + of(s).lock]; }
    uint8_t& hold(int32_t s) { return holds_[at(s).job * p_.holds + of(s).hold]; }
    int32_t& next(int32_t s) { return next_[at(s).job * p_.one_sided + at(s).number]; }

    void push(Queue& queue, int32_t s) {
        (queue.first < 0 ? queue.first : next(queue.last)) = s;
        queue.last = s;
        next(s) = -1;
    }

    int32_t pop(Queue& queue) { return std::exchange(queue.first, next(queue.first)); }

    const Program& p_;
    std::vector<int32_t> next_;  // of each operation, the next one in its queue
    std::vector<Pair> pairs_;
    std::vector<Lock> locks_;
    std::vector<uint8_t> holds_;  // of each origin that may hold a lock, whether it does
    std::vector<Queue> waiting_;  // of each target, if libraries progress in calls only
};

}  // namespace clue
