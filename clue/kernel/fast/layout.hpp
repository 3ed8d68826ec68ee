// The data passed from Python to the engine: arrays owned by Python, and their lengths. clue/kernel/fast/layout.py parses these
// structures: one field per line, with its type, `*` for an array, and its name. Op codes, accesses and flags (OP_*, ACCESS_*,
// FLAG_*), contention models, statuses (STATUS_*) and the offsets that Python assumes (LAYOUT) are defined on the compiler's command line.
#pragma once

#include <cstddef>
#include <cstdint>

namespace clue {

// Thrown when the caller has asked to stop.
struct Stopped {};

// The caller sets it to 1 to stop.
using Stop = const volatile int64_t;

inline void go_on(Stop* stop) {
    if (*stop) throw Stopped();
}

// An op without its burst, as a replay reads it. Programs repeat themselves: the common properties of ops are stored once, as their shape.
struct Row {
    int32_t slot;   // message of a send, access, receive or probe, -1: none; instance of a collective; a wait's first entry in `waits`
    int32_t shape;
};

struct Shape {
    int32_t size;   // index of a send's or access's size; communicator of a collective; a wait's number of entries in `waits`
    int32_t peer;   // rank of the trace
    uint16_t region;
    uint16_t flags;
    uint8_t op;
    uint8_t requested;  // whether it has a request that may be waited for
};

// The requests of a wait that were begun in succession.
struct Requests {
    int32_t first;  // row of a send, access, receive or matched probe, or number of a nonblocking collective, << 2 | its kind (Held); in loops the age
    int32_t count;
};

// A one-sided operation.
struct Access {
    int32_t back;   // index of the size of its answer
    int32_t pair;   // its origin and target
    int32_t lock;   // the lock that it asks for or releases; -1: it does neither, or nobody asks for this lock exclusively
    int32_t hold;   // that lock and its origin
    uint8_t kind;   // as in the trace (ACCESS_*)
};

// A program as blocks of rows that a rank executes in order, each block a number of times. Bursts are drawn: the mean of a row times
// a value of its pool; in each round the row takes the value of another draw (Drawing in sources.hpp).
struct Loops {
    int64_t blocks;
    int64_t most_age;             // of a request that is waited for: number of requests that its rank began since, including it
    int64_t pools;
    const int64_t* times;         // [blocks]
    const int64_t* bounds;        // [ranks, blocks + 1] first row of each block, and the row after the last
    const double* mean;           // [ops] seconds
    const int64_t* first;         // [ops] draw in the first round
    const int64_t* each;          // [ops] number of draws between successive rounds
    const int32_t* pool;          // [ops] -1: no burst
    const int64_t* seeds;         // [pools]
    const int64_t* draws;         // [pools] number of draws of all rows and rounds
    const int64_t* first_value;   // [pools + 1] index into the next
    const double* values;
};

// A program: columns of its trace (see clue/trace/ops.py), and the additions of clue_prepare. Nothing here depends on a machine.
struct Program {
    int64_t ranks;
    int64_t ops;
    int64_t regions;
    int64_t worlds;
    int64_t contexts;
    int64_t instances;            // collectives of all contexts, neighbourhood collectives counted separately
    int64_t communicators;
    int64_t probes;               // whether it has probes or wildcard receives, which see messages before they arrive
    const int64_t* offsets;       // [ranks + 1] first row of each rank
    const int64_t* extra_offsets; // [ranks + 1]
    const uint8_t* op;            // [ops] and so on
    const int64_t* cpu;           // ns
    const uint16_t* region;
    const int64_t* nbytes;
    const int32_t* peer;          // rank of the trace
    const int32_t* tag;
    const int32_t* comm;
    const int32_t* request;
    const int32_t* extra;
    const int32_t* count;
    const uint16_t* flags;
    const int64_t* extras;
    const int32_t* context;           // [communicators] dense context number
    const int64_t* group_offsets;     // [communicators + 1]
    const int32_t* group;             // members, as ranks of the trace
    const int64_t* instance_offsets;  // [2 contexts + 1] first collective of each context; neighbourhood ones in the second half
    const int64_t* position_offsets;  // [ranks + 1] index into the next two: communicators of each rank, rising
    const int32_t* position_comm;
    const int32_t* position;
    const int32_t* world;             // [ranks]
    const Loops* loops;               // null: every row is executed once; else waits name requests by age
    const Row* rows;                  // [ops]; clue_prepare fills in this and all following fields
    const Shape* shapes;
    const Requests* waits;
    const int64_t* fork_offsets;      // [ranks + 1] first nonblocking collective of each rank
    const int64_t* sizes;             // [distinct_sizes] of messages, bytes
    const Access* accesses;           // [one_sided]
    int64_t distinct_sizes;
    int64_t slots;                    // messages of the program's own sends, receives and accesses, the latter at the end
    int64_t one_sided;                // accesses
    int64_t pairs;                    // of an origin and a target
    int64_t locks;                    // that somebody asks for exclusively
    int64_t holds;                    // pairs of such a lock and an origin
    int64_t empty_size;               // index of the size of an empty message, if origins may access memory directly; else -1
    int64_t left_over;                // messages that no receive takes; for loops the replay reports them
    int64_t channels;                 // for loops: a row's slot is its channel
};

// Collectives lowered for one machine: every instance is one of a few templates.
struct Collectives {
    const int32_t* instance_template; // [instances], or [copies, instances] if copies of the program differ
    int64_t copy_templates;           // entries per copy, 0 if they do not differ
    const int64_t* position_base;     // [templates] first entry of a template in `first_round`
    const int32_t* members;           // [templates]
    const int64_t* slots;             // [templates] messages
    const int64_t* first_round;       // [positions + 1]
    const int64_t* first_send;        // [rounds + 1]
    const int64_t* first_receive;     // [rounds + 1]
    const int64_t* reduced;           // [rounds] bytes
    const int32_t* send_peer;         // position in the communicator
    const int32_t* send_size;         // index of its size
    const int32_t* send_slot;         // message within the instance
    const int32_t* receive_peer;
    const int32_t* receive_slot;
};

// A machine with ranks placed on it. Epochs are the intervals between changes of its parameters; a class is a link for a pair of
// node types: sender * types + receiver, `within` within a node, and where parts of a topology are apart, once more for each pair
// between parts.
struct Machine {
    int64_t instances;      // copies of the program
    int64_t nodes;
    int64_t types;
    int64_t epochs;
    int64_t sizes;
    int64_t network;        // the contention model
    int64_t most_ranks;     // on any node
    int64_t factors;        // entries of the contention table
    int64_t links;
    int64_t pairs;          // number of pairs of nodes with a route
    int64_t any_shared;     // whether any node's processors are shared, take turns, or start cold
    int64_t in_calls;       // whether libraries progress messages only while their rank is in a call
    int64_t overheads;      // whether any link states the processor time of a send's call
    int64_t completes;      // whether receives take processor time beyond their calls on any link
    int64_t acknowledges;   // whether any link has sends that wait for an acknowledgement
    int64_t any_reads;      // whether receivers read the data of a rendezvous over any link
    int64_t copies;         // whether messages within some nodes share their memory
    int64_t copies_in_turn; // whether receivers copy messages one at a time on any link
    int64_t in_order;       // whether messages between two ranks of different nodes share links one after the other
    int64_t apart;          // whether messages between parts of a topology have a latency of their own
    const int32_t* node;            // [instances * ranks]
    const int32_t* type;            // [instances * ranks] of that node
    const int32_t* domain;          // [instances * ranks] of that node
    const int32_t* part;            // [instances * ranks] part of the topology that the node is in
    const int32_t* node_type;       // [nodes]
    const uint8_t* shared;          // [nodes] whether ranks slow each other there
    const double* share;            // [nodes] share of a processor that ranks get in turns with background load; 1: no turns
    const double* time_slice;       // [types]
    const int64_t* bytes;           // [sizes]
    const double* changes;          // [epochs - 1]
    const double* send;             // [epochs, classes, sizes]
    const double* transmission;     // the same, with the latency between parts
    const double* travel;           // the same: send + transmission, without that latency
    const double* occupation;       // the same
    const double* head;             // the same: when the head reaches the receive port, after the message has got the send port
    const double* send_port;        // the same
    const double* receive_port;     // the same
    const double* ahead;            // the same: how long before a port is free the message may go through it
    const double* bucket;           // the same: depth of the token buckets of the links that it shares, bytes
    const double* held;             // the same: share of the message that must have left before an eager sender is free
    const double* call;             // the same: processor time of a send's call; below 0: until its data have left
    const double* copy;             // the same: how long a receiver copies a rendezvous; below 0: it waits for no copy; only if copies_in_turn
    const double* receive;          // [epochs, classes]
    const double* completion;       // the same: what a receive takes once its message is there, beyond its call
    const double* further;          // the same: the latency between parts
    const double* answer;           // the same
    const double* envelope;         // the same
    const double* eager_limit;      // the same
    const double* acknowledged_from; // the same
    const double* reads;            // the same: 1 if the receiver of a rendezvous reads its data, otherwise 0
    const double* packing;          // [epochs, types]
    const double* reduction;        // the same
    const double* spawn;            // the same
    const double* initialisation;   // the same
    const double* poll;             // the same
    const uint8_t* keeps_processor; // the same: whether a waiting rank polls
    const double* factor;           // [types, regions]; [epochs, types, regions] if bursts start cold
    const uint8_t* cold;            // [types] whether bursts take longer after waits
    const int64_t* cold_first;      // [epochs, types, + 1] index into the next three: extra time by wait
    const double* cold_waits;
    const double* cold_extra;
    const double* cold_slopes;
    const double* cold_at_most;     // [epochs, types] largest extra time as a share of a burst
    const double* rates;            // [epochs, types, most_ranks + 1, regions]
    const double* contention;       // [epochs, factors], for 1, 2, … communications
    const double* capacities;       // [links] bytes per second
    const int64_t* pair;            // [pairs] sender * nodes + receiver
    const int64_t* first_link;      // [pairs + 1]
    const int32_t* route;           // links
    Collectives collectives;
};

// The results of a replay.
struct Outcome {
    double* finish;         // [instances * ranks]
    double* compute;
    double* communicate;
    double* by_region;      // [instances * ranks, regions]
    int64_t* blocked;       // [instances * ranks] row at which a rank is stuck, -1 if it has ended, -2 if it has not begun
    int64_t* open;          // [instances * ranks] requests for which a stuck rank still waits; in loops also its collectives so far
    int64_t* messages;      // [instances * ranks]^2 or null
    int64_t* volume;        // bytes, the same
    const int64_t* seen_rows;  // rows for whose messages the time of visibility is wanted
    double* seen;           // [instances, seen_count] time from which a probe could see it, NaN if never
    int64_t seen_count;
    Stop* stop;
    int64_t most_simultaneous;
    int64_t left_over;      // for loops
    int64_t done;           // for loops: ops that ranks have begun so far
};

LAYOUT

// Return the class of the link within a node of a type, or between its domains.
inline int64_t within(int64_t types, int64_t type, bool across) { return (types + across) * types + type; }

// Return the number of classes within a part of a topology, and of all.
inline int64_t near_classes(int64_t types) { return types * (types + 2); }
inline int64_t all_classes(const Machine& m) { return near_classes(m.types) + (m.apart ? m.types * m.types : 0); }

}  // namespace clue
