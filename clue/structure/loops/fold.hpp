// Folding of symbols into loops: the steps of folding.py, which explains them, and their result as places.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

namespace clue {

// A symbol, or `kinds` + the number of a loop's body.
using Key = int32_t;
using Index = int64_t;
constexpr Index NOTHING = -1;

// An entry of the stack, or of a loop on it: `next` links the entries of an iteration.
struct Entry {
    Key key;  // or REPEATED: `count` further iterations like the one that begins with `first`
    Index count, first, last, next;
};
constexpr Key REPEATED = -1;

// Prefix hashes of keys, modulo 2^61 - 1: keys are compared only if hashes agree.
struct Hashes {
    static constexpr uint64_t PRIME = (uint64_t{1} << 61) - 1, BASE = 0x1d3f5a7b9c2e4861 % PRIME;

    static uint64_t times(uint64_t one, uint64_t other) {
        const auto product = static_cast<unsigned __int128>(one) * other;
        const uint64_t sum = (static_cast<uint64_t>(product) & PRIME) + static_cast<uint64_t>(product >> 61);
        return sum >= PRIME ? sum - PRIME : sum;
    }
    static uint64_t with(uint64_t hash, Key key) {
        const uint64_t sum = times(hash, BASE) + static_cast<uint64_t>(key) + 1;
        return sum >= PRIME ? sum - PRIME : sum;
    }
    uint64_t power(Index length) {
        while (static_cast<Index>(powers.size()) <= length) powers.push_back(times(powers.back(), BASE));
        return powers[length];
    }
    // Return the hash of the keys between two prefixes.
    uint64_t between(uint64_t before, uint64_t after, Index length) {
        const uint64_t shifted = times(before, power(length));
        return after >= shifted ? after - shifted : after + PRIME - shifted;
    }
    std::vector<uint64_t> powers{1};
};

// The last end of 2^k keys with a hash, in slots that never move.
class Ends {
public:
    // Return the slot of 2^k keys; create it if necessary.
    Index slot(uint64_t hash, int power) {
        if (2 * (used_ + 1) > static_cast<Index>(table_.size())) grow();
        const uint64_t name = hash ^ (static_cast<uint64_t>(power) << 61 | static_cast<uint64_t>(power) >> 3);
        Index at = place(name);
        if (table_[at].second == NOTHING) {
            table_[at] = {name, used_++};
            last.push_back(NOTHING);
        }
        return table_[at].second;
    }
    void clear() {
        table_.assign(64, {0, NOTHING});
        last.clear();
        used_ = 0;
    }
    std::vector<Index> last;

private:
    Index place(uint64_t name) const {
        const uint64_t mask = table_.size() - 1;
        uint64_t at = (name ^ name >> 29) * 0x9e3779b97f4a7c15 >> 20 & mask;
        while (table_[at].second != NOTHING && table_[at].first != name) at = at + 1 & mask;
        return static_cast<Index>(at);
    }
    void grow() {
        auto old = std::move(table_);
        table_.assign(std::max<size_t>(64, 2 * old.size()), {0, NOTHING});
        for (const auto& each : old)
            if (each.second != NOTHING) table_[place(each.first)] = each;
    }
    std::vector<std::pair<uint64_t, Index>> table_;
    Index used_ = 0;
};

struct Body {
    std::vector<Key> keys;
    uint64_t hash;
    int level;
};

class Folding {
public:
    explicit Folding(Key kinds) : kinds_(kinds) {}

    std::vector<Body> bodies;
    std::vector<Entry> entries;

    const std::vector<Key>& body(Key key) const { return bodies[key - kinds_].keys; }

    // Read all symbols; return the contents of the stack at the end.
    std::vector<Index> read(const int32_t* symbols, Index count) {
        entries.clear();
        ends_.clear();
        stack_.clear();
        keys_.clear();
        undo_.clear();
        for (at_ = 0; at_ < count;) {
            const Key symbol = symbols[at_++];
            Index run = 1;
            while (at_ < count && symbols[at_] == symbol) ++run, ++at_;
            Index entry = make({symbol, run, NOTHING, NOTHING, NOTHING});
            while (entry != NOTHING) entry = add(entry);
            if (repeats_) repeat(symbols, count);
        }
        std::vector<Index> found;
        for (const Stacked& each : stack_) found.push_back(each.entry);
        return found;
    }

    // Forget the loops above a level.
    void forget(int level) {
        known_.clear();
        endings_.clear();
        for (Index number = 0; number < learned(); ++number) {
            if (bodies[number].level > level) forgotten_[number] = true;
            if (!forgotten_[number]) know(number);
        }
    }

private:
    struct Stacked {
        Index entry;
        uint64_t before;  // the hash of all keys below it
        size_t undo;      // length of the undo log to restore when it is removed
        // Of a loop: numbers of symbols read at its last iterations, the last first, with the same loops known; the start of
        // the last iteration, and the start and end of the one before it.
        Index read[3];
        Index known;
        Index begin, begin_before, end_before;
    };

    Index make(Entry entry) {
        entries.push_back(entry);
        return static_cast<Index>(entries.size()) - 1;
    }

    Index height() const { return static_cast<Index>(stack_.size()); }

    // Do one step; return the entry that it creates, if any.
    Index add(Index entry) {
        if (join(entry)) return NOTHING;
        push(entry);
        if (const Index number = known(); number != NOTHING) {
            return loop(number, 1, static_cast<Index>(bodies[number].keys.size()));
        }
        return period_ ? loop(learn(period_), 2, 2 * period_) : NOTHING;
    }

    // Merge an entry with the top of the stack if that has the same key, or with the last iteration of the loop at the top.
    bool join(Index entry) {
        if (stack_.empty()) return false;
        const Key key = entries[entry].key;
        Index to = stack_.back().entry;
        if (entries[to].key == key && key >= kinds_) note(stack_.back(), entry);
        while (to != NOTHING && entries[to].key != key) to = entries[to].last;
        if (to == NOTHING) return false;
        entries[to].count += entries[entry].count;
        if (entries[entry].first != NOTHING) {
            entries[entries[to].last].next = entries[entry].first;
            entries[to].last = entries[entry].last;
        }
        return true;
    }

    void push(Index entry) {
        const Key key = entries[entry].key;
        const uint64_t before = stack_.empty() ? 0 : hash_;
        stack_.push_back({entry, before, undo_.size(), {at_, NOTHING, NOTHING}, learned(), NOTHING, NOTHING, NOTHING});
        keys_.push_back(key);
        hash_ = Hashes::with(before, key);
        period_ = 0;
        for (int power = 0; height() >> power; ++power)
            if (!stand(power)) break;
    }

    // Note the position of the last 2^k keys; return whether to continue with more of them.
    bool stand(int power) {
        const Index length = Index{1} << power, end = height();
        const Index slot = ends_.slot(tail(length), power), earlier = ends_.last[slot];
        note_end(slot, end);
        if (earlier == NOTHING) return false;
        const Index period = end - earlier;
        if (!period_ && length <= period && period < 2 * length && 2 * period <= end && twice(period)) period_ = period;
        // Positions of more keys are noted only if fewer of them recur.
        if (earlier >= 2 * length) {
            const Index further = ends_.slot(ending(2 * length, earlier), power + 1);
            if (ends_.last[further] == NOTHING) note_end(further, earlier);
        }
        return true;
    }

    void note_end(Index slot, Index end) {
        undo_.push_back({slot, ends_.last[slot]});
        ends_.last[slot] = end;
    }

    bool twice(Index period) {
        return tail(period) == ending(period, height() - period) &&
               std::equal(keys_.end() - period, keys_.end(), keys_.end() - 2 * period);
    }

    uint64_t prefix(Index end) const { return end == height() ? hash_ : stack_[end].before; }
    uint64_t ending(Index length, Index end) { return hashes_.between(prefix(end - length), prefix(end), length); }
    uint64_t tail(Index length) { return ending(length, height()); }

    // Return the number of the longest known body at the top of the stack.
    Index known() {
        const auto found = endings_.find(keys_.back());
        if (found == endings_.end()) return NOTHING;
        for (const Index length : found->second) {
            if (length > height()) continue;
            const auto [first, last] = known_.equal_range(tail(length));
            for (auto each = first; each != last; ++each) {
                const auto& keys = bodies[each->second].keys;
                if (static_cast<Index>(keys.size()) == length && std::equal(keys.begin(), keys.end(), keys_.end() - length)) return each->second;
            }
        }
        return NOTHING;
    }

    // Make a known loop body of the last keys; return its number.
    Index learn(Index length) {
        Body body{{keys_.end() - length, keys_.end()}, tail(length), 0};
        for (const Key key : body.keys)
            if (key >= kinds_) body.level = std::max(body.level, bodies[key - kinds_].level);
        ++body.level;
        bodies.push_back(std::move(body));
        forgotten_.push_back(false);
        know(learned() - 1);
        return learned() - 1;
    }

    void know(Index number) {
        const Body& body = bodies[number];
        const Index length = static_cast<Index>(body.keys.size());
        known_.emplace(body.hash, number);
        auto& lengths = endings_[body.keys.back()];
        const auto at = std::lower_bound(lengths.begin(), lengths.end(), length, std::greater<Index>());
        if (at == lengths.end() || *at != length) lengths.insert(at, length);
    }

    // Remove the last `length` entries; return a loop over them.
    Index loop(Index number, Index count, Index length) {
        const Index first = stack_[height() - length].entry, last = stack_.back().entry;
        for (Index at = height() - length; at + 1 < height(); ++at) entries[stack_[at].entry].next = stack_[at + 1].entry;
        hash_ = stack_[height() - length].before;
        const size_t undo = stack_[height() - length].undo;
        while (undo_.size() > undo) {
            ends_.last[undo_.back().first] = undo_.back().second;
            undo_.pop_back();
        }
        stack_.resize(height() - length);
        keys_.resize(stack_.size());
        return make({static_cast<Key>(kinds_ + number), count, first, last, NOTHING});
    }

    // Note a further iteration of the loop at the top of the stack.
    void note(Stacked& top, Index iteration) {
        const bool same = top.known == learned();
        top.known = learned();
        top.read[2] = same ? top.read[1] : NOTHING;
        top.read[1] = same ? top.read[0] : NOTHING;
        top.read[0] = at_;
        top.begin_before = top.begin;
        top.begin = entries[iteration].first;
        top.end_before = entries[top.entry].last;
        repeats_ = top.read[2] != NOTHING;
    }

    // A step depends on keys only, and they were the same after each of the last iterations. If the last two iterations had
    // the same symbols, all further ones with these symbols are like the second to last, after which others have followed.
    void repeat(const int32_t* symbols, Index count) {
        repeats_ = false;
        Stacked& top = stack_.back();
        const Index length = top.read[0] - top.read[1], begin = at_;
        if (length != top.read[1] - top.read[2]) return;
        if (!std::equal(symbols + at_ - length, symbols + at_, symbols + at_ - 2 * length)) return;
        while (at_ + length <= count && std::equal(symbols + at_, symbols + at_ + length, symbols + at_ - length)) at_ += length;
        const Index times = (at_ - begin) / length;
        if (!times) return;
        entries[top.end_before].next = make({REPEATED, times, top.begin_before, NOTHING, top.begin});
        entries[top.entry].count += times;
        top.read[0] = at_;
        top.read[1] = top.read[2] = NOTHING;
    }

    Index learned() const { return static_cast<Index>(bodies.size()); }

    Key kinds_;
    Index at_ = 0, period_ = 0;
    bool repeats_ = false;
    uint64_t hash_ = 0;
    Hashes hashes_;
    Ends ends_;
    // Set `period_` to the shortest period that occurs twice at the top of the stack, or 0.
    std::vector<Stacked> stack_;
    std::vector<Key> keys_;
    std::vector<std::pair<Index, Index>> undo_;
    std::vector<bool> forgotten_;
    std::unordered_multimap<uint64_t, Index> known_;
    std::unordered_map<Key, std::vector<Index>> endings_;
};

}  // namespace clue
