// What Python hands to the engine: arrays it owns, and their lengths. clue/kernel/fast/layout.py reads its structures from here:
// a field a line, with its type, `*` of an array, and its name. Op codes and flags (OP_*, FLAG_*), models of contention, statuses
// (STATUS_*) and where Python takes each field to lie (LAYOUT) are defined on the compiler's command line.
#pragma once

#include <cstddef>
#include <cstdint>

namespace clue {

// Thrown when whoever called no longer wants to know.
struct Stopped {};

// Whether they still do: set to 1 from outside.
using Stop = const volatile int64_t;

inline void go_on(Stop* stop) {
    if (*stop) throw Stopped();
}

// An op as a replay reads it, beside its burst. Programs repeat themselves: what ops have in common is kept once, in their shape.
struct Row {
    int32_t slot;   // message of a send, receive or probe, -1: none; instance of a collective; a wait's first entry in `waits`
    int32_t shape;
};

struct Shape {
    int32_t size;   // index of a send's size; communicator of a collective; a wait's number of entries in `waits`
    int32_t peer;   // rank of the trace
    uint16_t region;
    uint16_t flags;
    uint8_t op;
    uint8_t requested;  // whether it has a request, which somebody may wait for
};

// What a wait waits for: requests that were begun one after the other.
struct Requests {
    int32_t first;  // row of a send, receive or matched probe, or number of a nonblocking collective, << 2 | what it is (Held); of loops the age
    int32_t count;
};

// A program as blocks of rows that a rank goes through one after the other, each so many times. Its bursts are drawn: the mean of a row
// times a value of its pool, of which the row takes, in each round, that of another draw (Drawing in sources.hpp).
struct Loops {
    int64_t blocks;
    int64_t most_age;             // of a request that is waited for, by how many its rank began since, itself included
    int64_t pools;
    const int64_t* times;         // [blocks]
    const int64_t* bounds;        // [ranks, blocks + 1] first row of each block, and the row behind the last
    const double* mean;           // [ops] seconds
    const int64_t* first;         // [ops] draw in the first round
    const int64_t* each;          // [ops] draws from a round to the next
    const int32_t* pool;          // [ops] -1: no burst
    const int64_t* seeds;         // [pools]
    const int64_t* draws;         // [pools] of all rows and rounds
    const int64_t* first_value;   // [pools + 1] into the next
    const double* values;
};

// A program: columns of its trace (see clue/trace/ops.py), and what clue_prepare adds. Nothing here depends on a machine.
struct Program {
    int64_t ranks;
    int64_t ops;
    int64_t regions;
    int64_t worlds;
    int64_t contexts;
    int64_t instances;            // collectives of all contexts, neighbourhood collectives counted apart
    int64_t communicators;
    int64_t probes;               // whether it has probes or receives from any source: what sees messages before they arrive
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
    const int64_t* position_offsets;  // [ranks + 1] into the next two: communicators each rank is in, rising
    const int32_t* position_comm;
    const int32_t* position;
    const int32_t* world;             // [ranks]
    const Loops* loops;               // null: every row is gone through once; else waits name requests by age
    const Row* rows;                  // [ops]; this and what follows is filled in by clue_prepare
    const Shape* shapes;
    const Requests* waits;
    const int64_t* fork_offsets;      // [ranks + 1] first nonblocking collective of each rank
    const int64_t* sizes;             // [distinct_sizes] of messages, bytes
    int64_t distinct_sizes;
    int64_t slots;                    // messages of the program's own sends and receives
    int64_t left_over;                // messages that no receive takes; of loops a replay tells
    int64_t channels;                 // of loops: a row's slot is its channel
};

// Collectives lowered for one machine: every instance is one of a few templates.
struct Collectives {
    const int32_t* instance_template; // [instances], or [copies, instances] where copies of the program differ
    int64_t copy_templates;           // entries of a copy there, 0 where they do not differ
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

// A machine with ranks placed on it. Epochs are the times between changes of its parameters; a class is a link for a pair of
// node types: sender * types + receiver, and `within` within a node.
struct Machine {
    int64_t instances;      // copies of the program
    int64_t nodes;
    int64_t types;
    int64_t epochs;
    int64_t sizes;
    int64_t network;        // a model of contention
    int64_t most_ranks;     // on any node
    int64_t factors;        // entries of the contention table
    int64_t links;
    int64_t pairs;          // of nodes that have a route
    int64_t any_shared;     // whether any node's processors are shared, also in turns, or start cold
    int64_t in_calls;       // whether libraries do something only while their rank is within a call
    int64_t overheads;      // whether any link states what the call of a nonblocking send takes
    int64_t acknowledges;   // whether any has messages whose sends end when they are acknowledged
    int64_t copies;         // whether messages within some nodes share its memory
    const int32_t* node;            // [instances * ranks]
    const int32_t* type;            // [instances * ranks] of that node
    const int32_t* domain;          // [instances * ranks] of that node
    const int32_t* node_type;       // [nodes]
    const uint8_t* shared;          // [nodes] whether ranks disturb each other there
    const double* share;            // [nodes] of a processor that ranks have there in turns with background load; 1: no turns
    const double* time_slice;       // [types]
    const int64_t* bytes;           // [sizes]
    const double* changes;          // [epochs - 1]
    const double* send;             // [epochs, classes, sizes]
    const double* transmission;     // the same
    const double* occupation;       // the same
    const double* send_port;        // the same
    const double* receive_port;     // the same
    const double* held;             // the same: how far an eager sender is held until its data have left
    const double* call;             // the same: of a nonblocking send; below 0: as long as the data keep the sender
    const double* receive;          // [epochs, classes]
    const double* answer;           // the same
    const double* envelope;         // the same
    const double* eager_limit;      // the same
    const double* acknowledged_from; // the same
    const double* packing;          // [epochs, types]
    const double* reduction;        // the same
    const double* spawn;            // the same
    const double* initialisation;   // the same
    const double* poll;             // the same
    const uint8_t* keeps_processor; // the same: whether a waiting rank polls
    const double* factor;           // [types, regions]; [epochs, types, regions] where bursts start cold
    const uint8_t* cold;            // [types] whether waits cost the bursts after them something
    const int64_t* cold_first;      // [epochs, types, + 1] into the next three: extra time by wait
    const double* cold_waits;
    const double* cold_extra;
    const double* cold_slopes;
    const double* cold_at_most;     // [epochs, types] of a burst
    const double* rates;            // [epochs, types, most_ranks + 1, regions]
    const double* contention;       // [epochs, factors], for 1, 2, … communications
    const double* capacities;       // [links] bytes per second
    const int64_t* pair;            // [pairs] sender * nodes + receiver
    const int64_t* first_link;      // [pairs + 1]
    const int32_t* route;           // links
    Collectives collectives;
};

// What a replay yields.
struct Outcome {
    double* finish;         // [instances * ranks]
    double* compute;
    double* communicate;
    double* by_region;      // [instances * ranks, regions]
    int64_t* blocked;       // [instances * ranks] row a rank is stuck at, -1 if it has ended, -2 if it has not begun
    int64_t* open;          // [instances * ranks] requests a rank stuck in a wait still waits for; of loops also: its collectives so far
    int64_t* messages;      // [instances * ranks]^2 or null
    int64_t* volume;        // bytes, the same
    const int64_t* seen_rows;  // rows whose message's envelope is wanted
    double* seen;           // [instances, seen_count] when a probe could see it, NaN if never
    int64_t seen_count;
    Stop* stop;
    int64_t most_simultaneous;
    int64_t left_over;      // of loops
    int64_t done;           // ops of loops that ranks have begun so far
};

LAYOUT

// The class of the link within a node of a type, or between its domains.
inline int64_t within(int64_t types, int64_t type, bool across) { return (types + across) * types + type; }

}  // namespace clue
