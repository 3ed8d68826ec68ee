// The state of messages. Each pair of a send and its receive has a slot: those of the program's own calls are numbered once
// (prepare.hpp), those of a collective exist while it is under way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "memory.hpp"

namespace clue {

// Thrown when there are more simultaneous messages than can be numbered.
struct TooMany {};

// The known facts about a message and its receive.
enum State : int32_t {
    POSTED = 1,      // its receive is posted
    LAUNCHED = 2,    // its send has begun
    RENDEZVOUS = 4,  // … and waits for the receive
    SENT = 8,        // the time at which the sender of a rendezvous is free is known
    ARRIVED = 16,    // its arrival is known
    HELD = 32,       // eager, but its sender is not free at the end of the call
    CONFIRMED = 64,  // … before the receiver's library has acknowledged it, or has read its data
    ONE_SIDED = 128, // … before its answer is there: no receive takes it
    BACK = 256,      // … and is on its way
};

struct Slot {
    double time;     // ARRIVED: its arrival; else RENDEZVOUS: when it was ready; else POSTED: when its receive was posted
    int32_t waiter;  // actor that waits at the receiving side, + 1
    int32_t state;
};

// Details of messages that are not simply sent and received.
struct Details {
    double ready;
    double sent;
    double busy;
    double cost;           // cost of the receive, after a matched probe
    double completion;     // further processor time of the receive once the message is there
    double call_ends;      // when the processor is done with the call of a blocking send that is HELD
    double occupation;     // occupation of the receive port
    double ahead;          // how long before that port is free it may go through
    double through;        // time from the arrival of the head to that of the message
    double envelope;       // of an eager message: when a probe can see it; kept if the program probes, or messages delay each other
    uint64_t order;        // actor and serial
    int32_t source, dest;  // numbered over all instances
    int32_t size;
    int32_t owner;         // rank to which its actions belong: the one that began it
    int32_t sender;        // actor that waits for `sent`, + 1
};

class Slots {
public:
    explicit Slots(int64_t own) : count_(own), own_(own), own_details_(own) {}

    int64_t own() const { return count_; }
    Slot& slot(int64_t s) { return s < count_ ? own_[s] : pool_[s - count_]; }
    Details& details(int64_t s) { return s < count_ ? own_details_[s] : pool_details_[s - count_]; }

    // Allocate the n messages of a collective of a template; return the first one's number.
    int32_t open(int32_t t, int64_t n) {
        std::vector<int32_t>& free = free_of(t);
        if (free.empty()) return grow(n);
        const int32_t first = free.back();
        free.pop_back();
        std::fill_n(pool_.begin() + (first - count_), n, Slot{});
        std::fill_n(pool_details_.begin() + (first - count_), n, Details{});
        return first;
    }

    // Allocate a message of the program's own calls that has no number yet.
    int32_t open() {
        if (free_.empty()) return grow(1);
        const int32_t s = free_.back();
        free_.pop_back();
        pool_[s - count_] = Slot{};
        pool_details_[s - count_] = Details{};
        return s;
    }

    void close(int32_t s) { free_.push_back(s); }

    // Release them for another collective of the template.
    void close(int32_t t, int32_t first) { free_of(t).push_back(first); }

private:
    int32_t grow(int64_t n) {
        const int64_t first = count_ + static_cast<int64_t>(pool_.size());
        if (first + n > std::numeric_limits<int32_t>::max()) throw TooMany();
        pool_.resize(pool_.size() + n, Slot{});
        pool_details_.resize(pool_.size(), Details{});
        return static_cast<int32_t>(first);
    }

    std::vector<int32_t>& free_of(int32_t t) {
        if (static_cast<int32_t>(free_by_template_.size()) <= t) free_by_template_.resize(t + 1);
        return free_by_template_[t];
    }

    const int64_t count_;
    Pages<Slot> own_;
    Pages<Details> own_details_;
    std::vector<Slot> pool_;
    std::vector<Details> pool_details_;
    std::vector<int32_t> free_;
    std::vector<std::vector<int32_t>> free_by_template_;
};

}  // namespace clue
