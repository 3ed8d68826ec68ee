// A program made ready once for any number of replays: who receives what.
//
// Every receive of a trace names the source and tag it matched, so MPI's rule comes down to first in, first out per channel
// (context, source, destination, tag): the k-th receive of a channel takes its k-th send, on every machine. Each such pair gets
// a slot, and a replay needs no queues.
#pragma once

#include <algorithm>
#include <vector>

#include "layout.hpp"

namespace clue {

// Numbers for keys of four words, in the order in which they first come.
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

    size_t size() const { return keys_.size(); }

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
// Whether a row takes a message from its channel, or looks at one; a matched probe cannot be cancelled.
inline bool takes(const Program& p, int64_t i) {
    return p.peer[i] >= 0 && is_receive(p.op[i]) && (p.op[i] == OP_MPROBE || !(p.flags[i] & FLAG_CANCELLED));
}
inline bool looks(const Program& p, int64_t i) { return p.op[i] == OP_PROBE && p.peer[i] >= 0; }
inline bool sends(const Program& p, int64_t i) { return p.peer[i] >= 0 && is_send(p.op[i]); }

struct Channel {
    int64_t base = 0;
    int32_t sent = 0, taken = 0, looked = 0;
};

// Number messages in the order in which their receivers take them: what a rank waits for at once then lies side by side.
inline void number_slots(Program& p, std::vector<Channel>& channels) {
    std::vector<int32_t> number(static_cast<size_t>(p.slots), -1);
    int32_t next = 0;
    for (int64_t i = 0; i < p.ops; ++i) {
        if (takes(p, i)) {
            Channel& c = channels[p.rows[i].slot];
            number[c.base + c.taken++] = next;
            p.rows[i].slot = next++;
        } else if (looks(p, i)) {
            const Channel& c = channels[p.rows[i].slot];
            p.rows[i].slot = static_cast<int32_t>(c.base + c.taken);
        }
    }
    for (int64_t i = 0; i < p.ops; ++i) {
        const bool sent = sends(p, i);
        if (!sent && !looks(p, i)) continue;
        int32_t& slot = p.rows[i].slot;
        if (sent) {
            Channel& c = channels[slot];
            slot = static_cast<int32_t>(c.base + c.sent++);
        }
        if (number[slot] < 0) number[slot] = next++;
        slot = number[slot];
    }
}

// Fills rows, request_offsets, slots and left_over; returns the number of distinct sizes, at most `room` of them in `bytes`.
// Returns -1 if there are more messages than slots can be numbered.
inline int64_t prepare(Program& p, int64_t* bytes, int64_t room) {
    Numbering numbering, sizes;
    std::vector<Channel> channels;
    int64_t distinct = 0;
    std::vector<int32_t> serial(static_cast<size_t>(2 * p.contexts), 0);
    std::vector<int32_t> touched;
    for (int64_t rank = 0; rank < p.ranks; ++rank) {
        int64_t requests = 0;
        for (int32_t each : touched) serial[each] = 0;
        touched.clear();
        for (int64_t i = p.offsets[rank]; i < p.offsets[rank + 1]; ++i) {
            Row& row = p.rows[i];
            row = {static_cast<double>(p.cpu[i]) / 1e9, -1, -1, p.peer[i], p.request[i], p.region[i], p.flags[i], p.op[i]};
            requests = std::max<int64_t>(requests, p.request[i] + 1);
            const int32_t me = static_cast<int32_t>(rank), context = p.context[p.comm[i]];
            if (sends(p, i)) {
                const int32_t channel = numbering.of({context, me, p.peer[i], p.tag[i]});
                if (channel >= static_cast<int64_t>(channels.size())) channels.emplace_back();
                channels[channel].sent++;
                row.slot = channel;
                const int64_t n = p.nbytes[i];
                row.size = sizes.of({static_cast<int32_t>(n >> 32), static_cast<int32_t>(n & 0xffffffff), 0, 0});
                if (row.size == distinct) {
                    if (distinct < room) bytes[distinct] = n;
                    distinct++;
                }
            } else if (takes(p, i) || looks(p, i)) {
                const int32_t channel = numbering.of({context, p.peer[i], me, p.tag[i]});
                if (channel >= static_cast<int64_t>(channels.size())) channels.emplace_back();
                Channel& c = channels[channel];
                if (looks(p, i)) c.looked = std::max(c.looked, c.taken + 1);
                else c.taken++;
                row.slot = channel;
            } else if (is_collective(p.op[i])) {
                const int32_t which = p.op[i] == OP_NEIGHBOR ? context + static_cast<int32_t>(p.contexts) : context;
                if (serial[which] == 0) touched.push_back(which);
                row.slot = static_cast<int32_t>(p.instance_offsets[which] + serial[which]++);
                row.size = p.comm[i];
            } else if (p.op[i] == OP_WAIT) {
                row.slot = p.extra[i];
                row.size = p.count[i];
            }
        }
        p.request_offsets[rank + 1] = p.request_offsets[rank] + requests;
    }
    p.slots = p.left_over = 0;
    for (Channel& c : channels) {
        c.base = p.slots;
        p.slots += std::max({c.sent, c.taken, c.looked});
        p.left_over += std::max(0, c.sent - c.taken);
        c.sent = c.taken = 0;
    }
    if (p.slots >= (1 << 29)) return -1;
    number_slots(p, channels);
    return distinct;
}

}  // namespace clue
