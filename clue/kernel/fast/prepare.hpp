// Preparation of a program for any number of replays: the matching of messages.
//
// Every receive of a trace names the source and tag that it matched, so MPI's rule reduces to first in, first out per channel
// (context, source, destination, tag): the k-th receive of a channel takes its k-th send, on every machine. Each such pair gets
// a slot, and a replay needs no queues.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "layout.hpp"
#include "memory.hpp"

namespace clue {

// Numbers keys of four words in the order of their first occurrence.
class Numbering {
public:
    struct Key {
        int32_t a, b, c, d;
        bool operator==(const Key& o) const { return a == o.a && b == o.b && c == o.c && d == o.d; }
    };

    Numbering() : table_(1024, -1), mask_(1023) {}

    int32_t of(const Key& key) {
        size_t at = hash(key) & mask_;
        while (table_[at] >= 0) {
            if (keys_[table_[at]] == key) return table_[at];
            at = (at + 1) & mask_;
        }
        table_[at] = static_cast<int32_t>(keys_.size());
        keys_.push_back(key);
        if (keys_.size() * 2 > table_.size()) grow();
        return static_cast<int32_t>(keys_.size()) - 1;
    }

    // The number of keys.
    int64_t size() const { return static_cast<int64_t>(keys_.size()); }

private:
    static size_t hash(const Key& k) {
        uint64_t x = (static_cast<uint64_t>(static_cast<uint32_t>(k.a)) << 32 | static_cast<uint32_t>(k.b)) * 0x9E3779B97F4A7C15u;
        uint64_t y = (static_cast<uint64_t>(static_cast<uint32_t>(k.c)) << 32 | static_cast<uint32_t>(k.d)) * 0xC2B2AE3D27D4EB4Fu;
        x ^= y ^ (x >> 29);
        x *= 0xBF58476D1CE4E5B9u;
        return static_cast<size_t>(x ^ (x >> 32));
    }

    void grow() {
        std::vector<int32_t> table(table_.size() * 4, -1);
        mask_ = table.size() - 1;
        for (size_t i = 0; i < keys_.size(); ++i) {
            size_t at = hash(keys_[i]) & mask_;
            while (table[at] >= 0) at = (at + 1) & mask_;
            table[at] = static_cast<int32_t>(i);
        }
        table_.swap(table);
    }

    std::vector<Key> keys_;
    std::vector<int32_t> table_;
    size_t mask_;
};

inline bool is_collective(uint8_t op) { return op >= OP_BARRIER; }
inline bool is_send(uint8_t op) { return op == OP_SEND || op == OP_ISEND; }
inline bool is_receive(uint8_t op) { return op == OP_RECV || op == OP_IRECV || op == OP_MPROBE; }
// Whether a row takes a message from its channel, or only probes one; a matched probe cannot be cancelled.
inline bool takes(const Program& p, int64_t i) {
    return p.peer[i] >= 0 && is_receive(p.op[i]) && (p.op[i] == OP_MPROBE || !(p.flags[i] & FLAG_CANCELLED));
}
inline bool looks(const Program& p, int64_t i) { return p.op[i] == OP_PROBE && p.peer[i] >= 0; }
inline bool sends(const Program& p, int64_t i) { return p.peer[i] >= 0 && is_send(p.op[i]); }

// Messages of which only one side has been found: they have no numbers yet, and each row's slot links to the next such row.
struct Channel {
    int32_t first = -1, last = -1;
    int32_t probes = -1;  // probes of the next receive's message, the latest first
    bool sent = false;    // whether the rows are sends
};

// The kind of a request.
enum Held : int32_t { NOT_HELD = 0, SEND_HELD = 1, RECEIVE_HELD = 2, FORK_HELD = 3 };

// The data prepared for a program; see the end of Program.
class Prepared {
public:
    // Return false if there are more ops than can be numbered.
    bool make(Program& p, Stop* stop) {
        stop_ = stop;
        if (p.ops >= LIMIT) return false;
        rows_ = Pages<Row>(static_cast<size_t>(p.ops));
        // Every op begins at most one request, which is waited for once; in loops a wait may also name requests of another block.
        waits_ = Pages<Requests>(static_cast<size_t>(p.loops ? p.ops + p.extra_offsets[p.ranks] : p.ops));
        fork_offsets_.assign(1, 0);
        serial_.assign(static_cast<size_t>(2 * p.contexts), 0);
        for (int64_t rank = 0; rank < p.ranks; ++rank) {
            for (int32_t each : touched_) serial_[each] = 0;
            touched_.clear();
            // A rank has no more requests than ops, unless the trace numbers them otherwise.
            open_.assign(static_cast<size_t>(p.offsets[rank + 1] - p.offsets[rank]), 0);
            far_.clear();
            calls_.assign(CALLS, Call{});
            for (int64_t i = p.offsets[rank]; i < p.offsets[rank + 1]; ++i) {
                go_on(stop_);
                read(p, static_cast<int32_t>(rank), i);
            }
            fork_offsets_.push_back(forks_);
        }
        p.left_over = 0;
        for (Channel& c : channels_) p.left_over += number_rest(c);
        for (const auto& [row, other] : same_) rows_[row].slot = rows_[other].slot;
        number_accesses(p);
        p.slots = messages_ + p.one_sided;
        p.channels = static_cast<int64_t>(channels_.size());
        hand_over(p);
        return true;
    }

private:
    // Two bits hold the kind of a request.
    static constexpr int64_t LIMIT = int64_t{1} << 29;
    static constexpr size_t CALLS = 256;

    // Ops that differ only in times, requests and call sites have the same shape and channel; those of a rank are remembered.
    struct Key {
        uint64_t nbytes, partner, where, what;

        bool operator==(const Key& o) const {
            return ((nbytes ^ o.nbytes) | (partner ^ o.partner) | (where ^ o.where) | (what ^ o.what)) == 0;
        }
        size_t hash() const { return ((partner ^ what << 32) * 0x9E3779B97F4A7C15u ^ nbytes * 0xC2B2AE3D27D4EB4Fu) >> 56; }
    };

    struct Call {
        Key key{};
        int32_t shape = -1, channel = -1;
    };

    static uint64_t both(int32_t a, uint32_t b) { return static_cast<uint64_t>(static_cast<uint32_t>(a)) << 32 | b; }

    static Key key_of(const Program& p, int64_t i) {
        return {static_cast<uint64_t>(sends(p, i) ? p.nbytes[i] : 0), both(p.peer[i], static_cast<uint32_t>(p.tag[i])),
                both(p.comm[i], static_cast<uint32_t>(p.region[i]) << 16 | p.flags[i]), both(p.request[i] != NO_REQUEST, p.op[i])};
    }

    void read(const Program& p, int32_t me, int64_t i) {
        Row& row = rows_[i];
        row.slot = -1;
        const uint8_t op = p.op[i];
        if (op == OP_WAIT) return read_wait(p, me, i);
        if (op == OP_RMA) return read_access(p, me, i);
        const Call& call = remembered(p, me, i);
        row.shape = call.shape;
        if (call.channel >= 0 && p.loops) {
            row.slot = call.channel;
        } else if (call.channel >= 0) {
            Channel& c = channels_[call.channel];
            if (op == OP_PROBE) {
                row.slot = std::exchange(c.probes, static_cast<int32_t>(i));
                return;
            }
            if (!is_send(op)) seen_by(c, static_cast<int32_t>(i));
            match(c, static_cast<int32_t>(i), is_send(op));
            begin_request(p.request[i], i, is_send(op) ? SEND_HELD : RECEIVE_HELD);
        } else if (is_collective(op)) {
            const int32_t context = p.context[p.comm[i]];
            const int32_t which = op == OP_NEIGHBOR ? context + static_cast<int32_t>(p.contexts) : context;
            if (serial_[which] == 0) touched_.push_back(which);
            row.slot = static_cast<int32_t>(p.instance_offsets[which] + serial_[which]++);
            if (p.flags[i] & FLAG_NONBLOCKING) begin_request(p.request[i], forks_++, FORK_HELD);
        } else if (op == OP_MRECV) {
            // The preceding matched probe has the message.
            int32_t* held = request(p.request[i]);
            if (!held || (*held & 3) != RECEIVE_HELD) return;
            same_.emplace_back(static_cast<int32_t>(i), *held >> 2);
            if (!(p.flags[i] & FLAG_NONBLOCKING)) *held = 0;
        }
    }

    void read_wait(const Program& p, int32_t me, int64_t i) {
        const int32_t first = waited_;
        Requests run{0, 0};
        if (p.count[i]) {
            const int64_t* names = p.extras + p.extra_offsets[me] + p.extra[i];
            for (int64_t n = 0; n < p.count[i]; ++n) p.loops ? await_aged(names[n], run) : end_request(names[n], run);
        } else if (p.loops) {
            await_aged(p.request[i], run);
        } else {
            end_request(p.request[i], run);
        }
        if (run.count) waits_[waited_++] = run;
        rows_[i].slot = first;
        rows_[i].shape = shape({waited_ - first, -1, p.region[i], p.flags[i], OP_WAIT, 0});
    }

    void read_access(const Program& p, int32_t me, int64_t i) {
        const int32_t peer = p.peer[i];
        rows_[i].shape = shape({peer < 0 ? -1 : size(p.nbytes[i]), peer, p.region[i], p.flags[i], OP_RMA, 1});
        if (peer < 0) return;
        const int64_t back = p.count[i] ? p.extras[p.extra_offsets[me] + p.extra[i]] : 0;
        const auto kind = static_cast<uint8_t>(p.tag[i]);
        int32_t lock = -1;
        if (kind == ACCESS_DIRECT) {
            empty_size_ = size(0);
        } else if (kind != ACCESS_DATA) {
            lock = locks_.of({p.context[p.comm[i]], peer, 0, 0});
            if (lock == static_cast<int32_t>(excludes_.size())) excludes_.push_back(false);
            if (kind == ACCESS_EXCLUSIVE_LOCK) excludes_[lock] = true;
        }
        accesses_.push_back({size(back), pairs_.of({me, peer, 0, 0}), lock, -1, kind});
        access_rows_.push_back(static_cast<int32_t>(i));
        begin_request(p.request[i], i, SEND_HELD);
    }

    const Call& remembered(const Program& p, int32_t me, int64_t i) {
        const Key key = key_of(p, i);
        Call& known = calls_[key.hash()];
        if (!(known.key == key) || known.shape < 0) known = describe(p, me, i, key);
        return known;
    }

    // Find the shape and channel of an op that is not remembered.
    Call describe(const Program& p, int32_t me, int64_t i, const Key& key) {
        Call call{key};
        const int32_t peer = p.peer[i], comm = p.comm[i];
        int32_t size = -1;
        if (sends(p, i)) {
            call.channel = channel({p.context[comm], me, peer, p.tag[i]});
            size = this->size(p.nbytes[i]);
        } else if (takes(p, i) || looks(p, i)) {
            call.channel = channel({p.context[comm], peer, me, p.tag[i]});
        } else if (is_collective(p.op[i])) {
            size = comm;
        }
        call.shape = shape({size, peer, p.region[i], p.flags[i], p.op[i], p.request[i] != NO_REQUEST});
        return call;
    }

    int32_t size(int64_t nbytes) {
        const int32_t number = sizes_.of({static_cast<int32_t>(nbytes >> 32), static_cast<int32_t>(nbytes & 0xffffffff), 0, 0});
        if (number == static_cast<int32_t>(bytes_.size())) bytes_.push_back(nbytes);
        return number;
    }

    int32_t channel(const Numbering::Key& key) {
        const int32_t number = numbering_.of(key);
        if (number == static_cast<int32_t>(channels_.size())) channels_.emplace_back();
        return number;
    }

    int32_t shape(const Shape& s) {
        const int32_t number = shape_numbers_.of({s.size, s.peer, static_cast<int32_t>(static_cast<uint32_t>(s.region) << 16 | s.flags), s.op << 1 | s.requested});
        if (number == static_cast<int32_t>(shapes_.size())) shapes_.push_back(s);
        return number;
    }

    // Requests of a rank are numbered from 0; a value of 0 means not held, others are those of Requests::first.
    void begin_request(int32_t name, int64_t what, Held held) {
        if (name == NO_REQUEST || name < 0) return;
        int32_t& open = name < static_cast<int32_t>(open_.size()) ? open_[name] : far_[name];
        open = static_cast<int32_t>(what << 2 | held);
    }

    int32_t* request(int64_t name) {
        if (name < 0) return nullptr;
        if (name < static_cast<int64_t>(open_.size())) return &open_[name];
        const auto found = far_.find(name);
        return found == far_.end() ? nullptr : &found->second;
    }

    // Add a request to a wait, at its current run of requests.
    void end_request(int64_t name, Requests& run) {
        int32_t* held = request(name);
        if (!held || !*held) return;
        if (run.first + 4 * run.count != *held) {
            if (run.count) waits_[waited_++] = run;
            run = {*held, 0};
        }
        run.count++;
        *held = 0;
    }

    // The same for a request by age: in a run, each is younger by one.
    void await_aged(int64_t age, Requests& run) {
        if (age <= 0) return;
        if (run.first - run.count != age) {
            if (run.count) waits_[waited_++] = run;
            run = {static_cast<int32_t>(age), 0};
        }
        run.count++;
    }

    // The second side numbers a message, so that messages that a rank sends and receives together are adjacent.
    void match(Channel& c, int32_t i, bool sent) {
        if (c.first >= 0 && c.sent != sent) {
            Row& other = rows_[c.first];
            c.first = other.slot;
            other.slot = rows_[i].slot = messages_++;
        } else {
            (c.first < 0 ? c.first : rows_[c.last].slot) = i;
            c.last = i;
            c.sent = sent;
        }
    }

    // Give the preceding probes the message of a row.
    void seen_by(Channel& c, int32_t i) {
        for (; c.probes >= 0; c.probes = rows_[c.probes].slot) same_.emplace_back(c.probes, i);
    }

    // Number messages without a second side; return how many of them were sent.
    int64_t number_rest(Channel& c) {
        int64_t left = 0;
        if (c.probes >= 0 && !(c.sent && c.first >= 0)) {
            const int32_t probe = std::exchange(c.probes, rows_[c.probes].slot);
            rows_[probe].slot = messages_++;
            seen_by(c, probe);
        }
        seen_by(c, c.first);
        for (; c.first >= 0; left += c.sent) c.first = std::exchange(rows_[c.first].slot, messages_++);
        return left;
    }

    // Number the messages of one-sided operations, after all others, and the locks that somebody asks for exclusively: requests
    // for the others are granted at once.
    void number_accesses(Program& p) {
        Numbering numbers, holds;
        for (Access& each : accesses_) {
            if (each.lock < 0) continue;
            each.lock = excludes_[each.lock] ? numbers.of({each.lock, 0, 0, 0}) : -1;
            if (each.lock < 0) continue;
            each.hold = holds.of({each.lock, each.pair, 0, 0});
        }
        for (size_t k = 0; k < accesses_.size(); ++k) rows_[access_rows_[k]].slot = messages_ + static_cast<int32_t>(k);
        p.one_sided = static_cast<int64_t>(accesses_.size());
        p.pairs = pairs_.size();
        p.locks = numbers.size();
        p.holds = holds.size();
        p.empty_size = empty_size_;
    }

    void hand_over(Program& p) {
        shapes_.shrink_to_fit();
        accesses_.shrink_to_fit();
        p.rows = rows_.data();
        p.shapes = shapes_.data();
        p.waits = waits_.data();
        p.fork_offsets = fork_offsets_.data();
        p.sizes = bytes_.data();
        p.accesses = accesses_.data();
        p.distinct_sizes = static_cast<int64_t>(bytes_.size());
        numbering_ = sizes_ = shape_numbers_ = pairs_ = locks_ = Numbering();
        excludes_ = {};
        access_rows_ = {};
        channels_ = {};
        open_ = {};
        far_ = {};
        same_ = {};
    }

    Pages<Row> rows_{0};
    std::vector<Shape> shapes_;
    Pages<Requests> waits_{0};
    std::vector<int64_t> fork_offsets_;
    std::vector<int64_t> bytes_;
    std::vector<Access> accesses_;
    // Temporary data.
    Numbering numbering_, sizes_, shape_numbers_, pairs_, locks_;
    std::vector<bool> excludes_;         // of each lock of a window's member, whether somebody asks for it exclusively
    std::vector<int32_t> access_rows_;
    std::vector<Channel> channels_;
    std::vector<Call> calls_;
    std::vector<int32_t> open_, serial_, touched_;
    std::unordered_map<int64_t, int32_t> far_;
    std::vector<std::pair<int32_t, int32_t>> same_;  // rows without a message of their own, and the rows whose message they have
    int64_t forks_ = 0;
    int32_t messages_ = 0, waited_ = 0, empty_size_ = -1;
    Stop* stop_ = nullptr;
};

}  // namespace clue
