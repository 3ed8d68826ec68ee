// Sources of a rank's ops. A policy is one of
//
//   Listed   all rows of a program, matched beforehand (prepare.hpp): messages, requests and collectives are numbered
//   Looped   blocks of rows, each executed a number of times: active messages are numbered on the fly, and memory is reused
//
// A looped program has the same bursts, messages and collectives as its expanded rows: a channel is first in, first out in either
// case, waits name their requests by age, and the k-th call on a communicator is its k-th collective.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "core.hpp"

namespace clue {

class Listed {
public:
    static constexpr bool LOOPS = false;

    Listed(const Program& program, const Machine& machine)
        : p_(program),
          forks_(static_cast<size_t>(program.fork_offsets[program.ranks] * machine.instances), 0),
          first_slots_(static_cast<size_t>(program.instances * machine.instances), -1),
          left_(static_cast<size_t>(program.instances * machine.instances), 0) {}

    void start(Actor& a) const {
        a.row = p_.offsets[a.rank];
        a.row_end = p_.offsets[a.rank + 1];
    }
    static bool again(Actor&) { return false; }
    static bool tired(Actor&) { return false; }
    double burst(const Actor&, int64_t row) const { return p_.cpu[row] ? static_cast<double>(p_.cpu[row]) / 1e9 : 0.0; }

    int32_t own(const Actor& a, int64_t row) const { return static_cast<int32_t>(a.job * p_.slots + p_.rows[row].slot); }
    int32_t meet(Slots&, const Actor& a, int64_t row, bool) { return own(a, row); }
    static void leave(Slots&, int32_t) {}

    static void begin(const Actor&, int32_t, Held) {}
    int32_t& fork(const Actor& a, int32_t number) { return forks_[a.job * p_.fork_offsets[p_.ranks] + number]; }

    // The collective of a row, which all members number alike; `opened` opens it and returns its first message.
    template <class Opened>
    int32_t enter(const Actor& a, int64_t row, int64_t, int32_t members, Opened&& opened) {
        const int32_t instance = static_cast<int32_t>(a.job * p_.instances + p_.rows[row].slot);
        if (first_slots_[instance] < 0) {
            left_[instance] = members;
            first_slots_[instance] = opened();
        }
        return instance;
    }
    int32_t first_slot(int32_t instance) const { return first_slots_[instance]; }
    // The collective of the program to which an instance belongs.
    int64_t call(int32_t instance) const { return instance % p_.instances; }
    bool exit(int32_t instance) { return --left_[instance] == 0; }

    static int64_t left_over() { return 0; }
    static int64_t serial(const Actor&, int64_t) { return 0; }

private:
    const Program& p_;
    std::vector<int32_t> forks_;               // actor of each nonblocking collective
    std::vector<int32_t> first_slots_, left_;  // of each collective: its messages, and members that have not ended it
};

// Equally likely values, drawn without replacement: the k-th draw can be computed without those before it.
// clue/models/distribution.py does the same in Python, to the last bit.
class Drawing {
public:
    Drawing(uint64_t seed, int64_t draws, const double* values, int64_t count)
        : seed_(mixed(seed)), draws_(static_cast<uint64_t>(draws)), values_(values), count_(count) {
        int bits = 1;
        while (bits < 63 && (uint64_t{1} << bits) < draws_) ++bits;
        mask_ = (uint64_t{1} << bits) - 1;
        shift_ = (bits + 1) / 2;
    }

    double operator()(int64_t k) const {
        const uint64_t at = place(static_cast<uint64_t>(k));
        const double within = static_cast<double>(mixed(seed_ ^ static_cast<uint64_t>(k)) >> 11) * 0x1p-53;
        const auto which = static_cast<int64_t>((static_cast<double>(at) + within) / static_cast<double>(draws_) * static_cast<double>(count_));
        return values_[which < count_ ? which : count_ - 1];
    }

private:
    static uint64_t mixed(uint64_t x) {
        x += 0x9E3779B97F4A7C15u;
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
        x = (x ^ x >> 27) * 0x94D049BB133111EBu;
        return x ^ x >> 31;
    }

    // The index of a draw among all values: numbers of this many bits are permuted until the result is in range.
    uint64_t place(uint64_t k) const {
        do {
            for (const uint64_t factor : {0xD1342543DE82EF95u, 0xAF251AF3B0F025B5u, 0x9FB21C651E98DF25u}) {
                k = (k * factor + seed_) & mask_;
                k ^= k >> shift_;
            }
        } while (k >= draws_);
        return k;
    }

    uint64_t seed_, draws_, mask_ = 0;
    int shift_ = 0;
    const double* values_;
    int64_t count_;
};

class Looped {
public:
    static constexpr bool LOOPS = true;

    Looped(const Program& program, const Machine& machine)
        : p_(program),
          l_(*program.loops),
          cursors_(static_cast<size_t>(program.ranks * machine.instances)),
          channels_(static_cast<size_t>(program.channels * machine.instances)),
          ages_(power_above(l_.most_age)),
          held_(static_cast<size_t>(program.ranks * machine.instances * ages_), 0),
          serials_(static_cast<size_t>(program.position_offsets[program.ranks] * machine.instances), 0),
          live_(static_cast<size_t>(machine.instances * program.communicators)) {
        for (int64_t i = 0; i < l_.pools; ++i)
            drawings_.emplace_back(static_cast<uint64_t>(l_.seeds[i]), l_.draws[i], l_.values + l_.first_value[i], l_.first_value[i + 1] - l_.first_value[i]);
    }

    // -- rows ---------------------------------------------------------------------------------------------------------

    void start(Actor& a) {
        cursors_[a.number].block = -1;
        a.row = a.row_end = 0;
    }

    // Repeat a block, or continue with the next one that has rows for a rank; false: there is none.
    bool again(Actor& a) {
        Cursor& cursor = cursors_[a.number];
        const int64_t* bounds = l_.bounds + a.rank * (l_.blocks + 1);
        if (cursor.block >= 0 && ++cursor.round < l_.times[cursor.block] && a.row_end > bounds[cursor.block]) {
            a.row = bounds[cursor.block];
        } else {
            do {
                if (++cursor.block == l_.blocks) return false;
            } while (bounds[cursor.block] == bounds[cursor.block + 1]);
            cursor.round = 0;
            a.row = bounds[cursor.block];
            a.row_end = bounds[cursor.block + 1];
        }
        cursor.since += a.row_end - a.row;
        return true;
    }

    // Whether a rank should yield to others, so that none gets far ahead: active messages take memory.
    bool tired(Actor& a) {
        if (cursors_[a.number].since < AT_ONCE) return false;
        cursors_[a.number].since = 0;
        return true;
    }

    double burst(const Actor& a, int64_t row) const {
        const int32_t pool = l_.pool[row];
        if (pool < 0) return 0.0;
        const double drawn = l_.mean[row] * drawings_[pool](l_.first[row] + cursors_[a.number].round * l_.each[row]);
        return std::nearbyint(drawn * 1e9) / 1e9;
    }

    int64_t round(const Actor& a) const { return cursors_[a.number].round; }

    // -- messages -----------------------------------------------------------------------------------------------------

    // The message of a row: that of the first unmatched row on the other side, else a new one.
    int32_t meet(Slots& slots, const Actor& a, int64_t row, bool sends) {
        Channel& c = channels_[a.job * p_.channels + p_.rows[row].slot];
        if (c.first >= 0 && c.sent != sends) return std::exchange(c.first, links_[c.first].next);
        const int32_t s = slots.open();
        if (s >= static_cast<int32_t>(links_.size())) links_.resize(2 * static_cast<size_t>(s) + 1024);
        links_[s] = {-1, 2};
        (c.first < 0 ? c.first : links_[c.last].next) = s;
        c.last = s;
        c.sent = sends;
        return s;
    }

    // One side of a message has finished with it.
    void leave(Slots& slots, int32_t s) {
        if (--links_[s].sides == 0) slots.close(s);
    }

    // Messages that no receive has taken.
    int64_t left_over() const {
        int64_t left = 0;
        for (const Channel& c : channels_)
            if (c.sent)
                for (int32_t s = c.first; s >= 0; s = links_[s].next) ++left;
        return left;
    }

    // -- requests -----------------------------------------------------------------------------------------------------

    // A rank begins a request; its kind does not matter if it is complete already.
    void begin(const Actor& a, int32_t what, Held held) {
        const int64_t at = cursors_[a.number].begun++ & (ages_ - 1);
        held_[a.number * ages_ + at] = held ? what << 2 | held : 0;
    }

    // The request that a rank began `age` requests before its next one.
    int32_t& aged(const Actor& a, int64_t age) { return held_[a.number * ages_ + ((cursors_[a.number].begun - age) & (ages_ - 1))]; }

    // -- collectives --------------------------------------------------------------------------------------------------

    template <class Opened>
    int32_t enter(const Actor& a, int64_t row, int64_t place, int32_t members, Opened&& opened) {
        const int64_t serial = serials_[a.job * p_.position_offsets[p_.ranks] + place]++;
        Live& live = live_[a.job * p_.communicators + p_.shapes[p_.rows[row].shape].size];
        if (serial == live.first + static_cast<int64_t>(live.numbers.size())) {
            const int32_t number = new_instance();
            instances_[number] = {opened(), members, p_.rows[row].slot, static_cast<int32_t>(&live - live_.data())};
            live.numbers.push_back(number);
        }
        return live.numbers[serial - live.first];
    }
    // The number of collectives of a communicator that a rank has begun.
    int64_t serial(const Actor& a, int64_t place) const { return serials_[a.job * p_.position_offsets[p_.ranks] + place]; }
    int32_t first_slot(int32_t instance) const { return instances_[instance].first_slot; }
    int64_t call(int32_t instance) const { return instances_[instance].call; }

    bool exit(int32_t instance) {
        Instance& it = instances_[instance];
        if (--it.left) return false;
        Live& live = live_[it.live];
        for (; !live.numbers.empty() && !instances_[live.numbers.front()].left; ++live.first) {
            free_instances_.push_back(live.numbers.front());
            live.numbers.pop_front();
        }
        return true;
    }

private:
    static constexpr int64_t AT_ONCE = 4096;  // number of ops of a rank before it yields

    struct Cursor {
        int64_t block, round = 0, since = 0, begun = 0;
    };

    // Messages of which only one side has been reached.
    struct Channel {
        int32_t first = -1, last = -1;
        bool sent = false;
    };

    struct Link {
        int32_t next, sides;
    };

    struct Instance {
        int32_t first_slot, left, call, live;
    };

    // Collectives of a communicator that some member has not ended, and the number of the first of them.
    struct Live {
        std::deque<int32_t> numbers;
        int64_t first = 0;
    };

    static int64_t power_above(int64_t n) {
        int64_t power = 1;
        while (power <= n) power *= 2;
        return power;
    }

    int32_t new_instance() {
        if (free_instances_.empty()) {
            instances_.emplace_back();
            return static_cast<int32_t>(instances_.size()) - 1;
        }
        const int32_t number = free_instances_.back();
        free_instances_.pop_back();
        return number;
    }

    const Program& p_;
    const Loops& l_;
    std::vector<Cursor> cursors_;  // of each rank
    std::vector<Channel> channels_;
    std::vector<Link> links_;      // of each message of the program's own
    const int64_t ages_;           // a power of two
    std::vector<int32_t> held_;    // the latest requests of each rank: subject and Held, 0: nothing to wait for
    std::vector<int64_t> serials_;  // of each rank in each of its communicators: collectives that it has begun
    std::vector<Live> live_;        // of each communicator
    std::vector<Instance> instances_;
    std::vector<int32_t> free_instances_;
    std::vector<Drawing> drawings_;
};

}  // namespace clue
