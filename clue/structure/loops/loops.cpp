// The functions that Python calls: numbering of equal values, and folding. All return 0, or 1 if memory does not suffice.
#include <memory>
#include <new>

#include "fold.hpp"

namespace {

using namespace clue;

// Places as arrays, each before its contents (places.py: Flat).
struct Folded {
    std::vector<int64_t> symbols, children;
    std::vector<std::vector<int64_t>> counts;
    std::vector<std::vector<Index>> bodies;
    int64_t all_counts = 0;
};

class Places {
public:
    Places(const Folding& folding, std::vector<Entry> entries, Key kinds) : folding_(folding), entries_(std::move(entries)), kinds_(kinds) {}

    Folded of(const std::vector<Index>& stack) {
        made_.bodies.reserve(1);
        const Index root = add(LOOP);
        made_.children[root] = static_cast<int64_t>(stack.size());
        count(root, 1);
        for (const Index entry : stack) walk(entry, place(entries_[entry].key));
        return std::move(made_);
    }

private:
    static constexpr int64_t LOOP = -1;

    Index add(int64_t symbol) {
        made_.symbols.push_back(symbol);
        made_.children.push_back(0);
        made_.counts.emplace_back();
        made_.bodies.emplace_back();
        return static_cast<Index>(made_.symbols.size()) - 1;
    }

    Index place(Key key) {
        if (key < kinds_) return add(key);
        const Index made = add(LOOP);
        const auto& body = folding_.body(key);
        made_.children[made] = static_cast<int64_t>(body.size());
        std::vector<Index> places;
        for (const Key each : body) places.push_back(place(each));
        made_.bodies[made] = std::move(places);
        return made;
    }

    void count(Index place, int64_t times) {
        made_.counts[place].push_back(times);
        ++made_.all_counts;
    }

    void walk(Index entry, Index place) {
        const Entry& here = entries_[entry];
        count(place, here.count);
        if (made_.symbols[place] != LOOP) return;
        const std::vector<Index>& body = made_.bodies[place];
        for (Index inside = here.first; inside != NOTHING;) {
            if (entries_[inside].key == REPEATED) {
                for (Index time = 0; time < entries_[inside].count; ++time) iterate(entries_[inside].first, body);
                inside = entries_[inside].next;
            } else {
                inside = iterate(inside, body);
            }
        }
    }

    // Walk through one iteration; return the entry after it.
    Index iterate(Index inside, const std::vector<Index>& body) {
        for (const Index place : body) {
            walk(inside, place);
            inside = entries_[inside].next;
        }
        return inside;
    }

    const Folding& folding_;
    std::vector<Entry> entries_;
    Key kinds_;
    Folded made_;
};

template <class What>
int64_t told(What&& what) {
    try {
        what();
        return 0;
    } catch (const std::bad_alloc&) {
        return 1;
    }
}

// Two words that are equal for equal ops.
struct Words {
    uint64_t first, second;
    bool operator==(const Words& other) const { return first == other.first && second == other.second; }
};
struct HashOfWords {
    size_t operator()(const Words& words) const {
        const uint64_t mixed = (words.first ^ words.second * 0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd;
        return mixed ^ mixed >> 32;
    }
};

}  // namespace

extern "C" {

// Number pairs of words in the order of their first occurrence.
int64_t clue_number(const uint64_t* first, const uint64_t* second, int64_t count, int32_t* numbers) {
    return told([&] {
        std::unordered_map<Words, int32_t, HashOfWords> known;
        Words last{};
        int32_t number = -1;
        for (int64_t at = 0; at < count; ++at) {
            const Words words{first[at], second[at]};
            if (number < 0 || !(words == last)) number = known.emplace(words, static_cast<int32_t>(known.size())).first->second;
            last = words;
            numbers[at] = number;
        }
    });
}

// Fold symbols from 0 to `kinds` - 1; the caller must release the result. Also return its numbers of places and counts.
int64_t clue_fold(const int32_t* symbols, int64_t count, int32_t kinds, Folded** folded, int64_t* sizes) {
    return told([&] {
        Folding folding(kinds);
        auto stack = folding.read(symbols, count);
        auto entries = std::move(folding.entries);
        for (int level = 1;; ++level) {
            folding.forget(level);
            auto again = folding.read(symbols, count);
            if (again.size() >= stack.size()) break;
            stack = std::move(again);
            entries = std::move(folding.entries);
        }
        *folded = new Folded(Places(folding, std::move(entries), kinds).of(stack));
        sizes[0] = static_cast<int64_t>((*folded)->symbols.size());
        sizes[1] = (*folded)->all_counts;
    });
}

void clue_places(const Folded* folded, int64_t* symbols, int64_t* children, int64_t* reached, int64_t* counts) {
    std::copy(folded->symbols.begin(), folded->symbols.end(), symbols);
    std::copy(folded->children.begin(), folded->children.end(), children);
    for (const auto& each : folded->counts) {
        *reached++ = static_cast<int64_t>(each.size());
        counts = std::copy(each.begin(), each.end(), counts);
    }
}

void clue_release(Folded* folded) { delete folded; }

}
