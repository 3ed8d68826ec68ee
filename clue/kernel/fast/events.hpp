// Events in the order of virtual time; ties by (kind, rank, actor, serial), as defined by clue/kernel/reference/virtual_time.py.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace clue {

enum Kind : uint64_t { CHANGE = 0, BURST = 1, ACTION = 2, SETTLE = 3 };
enum What : uint32_t { PARAMETERS, JOINS, BURST_ENDS, TURN, CALLED, ANSWERED, ACKNOWLEDGED, RESUMES, TRANSFER, REACHES, EXECUTES, HEAD, ENTER, PASS, LEAVE, RATES };

// The next version; an event is void if its subject has another version when it is due.
inline uint32_t next_version(uint32_t version) { return (version + 1) & ((uint32_t{1} << 28) - 1); }

struct Event {
    double time;
    uint64_t kind_rank;
    uint64_t actor_serial;
    int32_t id;
    // An event takes half a cache line: heaps of thousands of them dominate the cost of contention.
    uint32_t what : 4;
    uint32_t version : 28;

    Event(double time, uint64_t kind_rank, uint64_t actor_serial, What what, int32_t id, uint32_t version)
        : time(time), kind_rank(kind_rank), actor_serial(actor_serial), id(id), what(what), version(version) {}

    bool before(const Event& o) const {
        if (time != o.time) return time < o.time;
        if (kind_rank != o.kind_rank) return kind_rank < o.kind_rank;
        return actor_serial < o.actor_serial;
    }
};

inline uint64_t order_high(Kind kind, int32_t rank) { return kind << 32 | static_cast<uint32_t>(rank); }
inline uint64_t order_low(uint32_t actor, uint32_t serial) { return static_cast<uint64_t>(actor) << 32 | serial; }

inline bool before(const Event& a, const Event& b) { return a.before(b); }
inline bool before(double a, double b) { return a < b; }

// A priority queue. Four children per node: half as deep as a binary heap.
template <class T>
class Heap {
public:
    bool empty() const { return heap_.empty(); }
    size_t size() const { return heap_.size(); }
    const T& first() const { return heap_.front(); }

    void push(const T& event) {
        size_t at = heap_.size();
        heap_.push_back(event);
        while (at > 0) {
            const size_t parent = (at - 1) / 4;
            if (!before(event, heap_[parent])) break;
            heap_[at] = heap_[parent];
            at = parent;
        }
        heap_[at] = event;
    }

    T pop() {
        const T first = heap_.front();
        const T last = heap_.back();
        heap_.pop_back();
        const size_t n = heap_.size();
        if (n == 0) return first;
        size_t at = 0;
        for (;;) {
            const size_t child = 4 * at + 1;
            if (child >= n) break;
            size_t best = child;
            const size_t end = child + 4 < n ? child + 4 : n;
            for (size_t i = child + 1; i < end; ++i)
                if (before(heap_[i], heap_[best])) best = i;
            if (!before(heap_[best], last)) break;
            heap_[at] = heap_[best];
            at = best;
        }
        heap_[at] = last;
        return first;
    }

private:
    std::vector<T> heap_;
};

}  // namespace clue
