// Many machines at once. If only messages couple the ranks, the course of a replay never depends on a time, only on which messages
// are eager and on the algorithms of collectives. So one replay can record its arithmetic as a tape: a list of additions and
// maxima, which is then run for many machines, each in a lane of the processor's SIMD vectors.
//
//   Recorder   writes the tape while the engine replays one machine
//   Block      runs it for as many machines as there are lanes
//
// A lane may also have bursts of its own: the course of a replay does not depend on them either.
//
// The numbers of a lane are added in the same order as in a replay of its machine, so the results agree to the last bit.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "layout.hpp"
#include "prepare.hpp"

namespace clue {

// Kinds of costs of steps; a cost is a kind and three numbers (ranks are numbered over all instances).
enum CostKind : int32_t {
    // of a rank
    COMPUTATION,     // rank, region: seconds per recorded second
    PACKING,         // rank: per byte
    REDUCTION,       // rank: per byte
    SPAWNING,        // rank
    INITIALISATION,  // rank
    POLLING,         // rank: a call that names no partner
    SLEEPING,        // rank: 1, whatever the machine
    // of a pair
    RECEIVING,       // source, dest
    COMPLETING,      // source, dest: what a receive takes beyond its call
    ENVELOPE,        // source, dest
    BUSY,            // source, dest, size: the call of a send
    COPYING,         // source, dest, size: how much longer a message takes than an empty one
    ANY_SIZE,        // source, dest, size: [3] at the sender, further time until arrival, the answer; eager or not by its mode
    SMALL,           // the same, of a message that is eager by its size
    LARGE            // the same, of one that is a rendezvous by its size
};

// `c` is the clock of the current rank, r[i] a register.
enum Code : int32_t {
    NOTHING,
    SELECT,    // c becomes r[a]
    PAY,       // c += cost
    SCALE,     // c += scale * cost
    COMPUTE,   // the same for a burst, whose time may differ between lanes: see Tape::bursts
    SEND,      // r[a] = (c + send) + transmission; c += send
    GO,        // r[b] = c + send; r[a] = r[b] + transmission
    KEEP,      // r[a] = c
    AWAIT,     // c = max(c, r[a])
    LOOK,      // c = max(c, min(r[a], r[b] + cost))
    SEE,       // c = max(c, r[a] + cost)
    BEHIND,    // r[b] = max(r[a], r[b])
    ANSWER,    // r[a] = (r[b] + send) + transmission
    MEET       // start = max(r[a], r[b]) + answer; r[a] = (start + send) + transmission; r[b] = start + send
};

struct Step {
    int32_t code;
    int32_t a;  // a register; for SCALE and COMPUTE the cost
    union {
        double scale;
        struct {
            int32_t b, cost;
        };
    };
};

struct Cost {
    int32_t kind, x, y, z;
};

struct Tape {
    std::vector<Step> steps;
    std::vector<Cost> costs;
    std::vector<int32_t> bursts;  // row of the op of each COMPUTE, in order
    int64_t ranks = 0;  // of all instances; their clocks are the first registers
    int64_t registers = 0;
};

// Records nothing.
struct Silent {
    static constexpr bool RECORDS = false;
    explicit Silent(int64_t) {}
    void select(int32_t) {}
    void pay(CostKind, int32_t, int32_t = 0, int32_t = 0) {}
    void scale(double, CostKind, int32_t, int32_t = 0) {}
    void burst(double, int64_t, int32_t, int32_t) {}
    void forget(int64_t, int64_t) {}
    void send(int64_t, CostKind, int32_t, int32_t, int32_t) {}
    void go(int64_t, CostKind, int32_t, int32_t, int32_t) {}
    void access(int64_t, int32_t, int32_t, int32_t, bool) {}
    void answer(int64_t, int64_t, int32_t, int32_t, int32_t) {}
    void ready(int64_t, CostKind, int32_t, int32_t, int32_t) {}
    void post(int64_t) {}
    void transfer(int64_t) {}
    void await(int64_t) {}
    void program_looks(bool) {}
    void look(int64_t, int32_t) {}
    void see(int64_t, int32_t) {}
    void receive(int64_t, int32_t) {}
    void pay_receive(int64_t, int32_t) {}
    void complete(int64_t, int32_t) {}
    void await_sent(int64_t) {}
    void fork(int32_t) {}
    void join(int32_t) {}
    void open_world(int64_t) {}
    void await_world(int64_t) {}
    void begin_world(int64_t, int32_t) {}
};

// Records the operations of a replay. A register is allocated with a time, and released when the time can no longer be used.
class Recorder {
public:
    static constexpr bool RECORDS = true;

    explicit Recorder(int64_t ranks) {
        tape_.ranks = tape_.registers = ranks;
        clocks_.resize(static_cast<size_t>(ranks));
        for (int64_t i = 0; i < ranks; ++i) clocks_[i] = static_cast<int32_t>(i);
    }

    // Return the tape, without the steps that turned out to be unnecessary.
    Tape take() {
        std::vector<Step>& steps = tape_.steps;
        steps.erase(std::remove_if(steps.begin(), steps.end(), [](const Step& s) { return s.code == NOTHING; }), steps.end());
        return std::move(tape_);
    }

    void select(int32_t actor) {
        if (clocks_[actor] == selected_) return;
        selected_ = clocks_[actor];
        if (!tape_.steps.empty() && tape_.steps.back().code == SELECT) tape_.steps.back().a = selected_;
        else write(SELECT, selected_);
    }

    void pay(CostKind kind, int32_t x, int32_t y = 0, int32_t z = 0) { write(PAY, 0, 0, cost(kind, x, y, z)); }

    void scale(double by, CostKind kind, int32_t x, int32_t y = 0) {
        Step step{SCALE, cost(kind, x, y, 0), {}};
        step.scale = by;
        tape_.steps.push_back(step);
    }

    void burst(double seconds, int64_t row, int32_t rank, int32_t region) {
        scale(seconds, COMPUTATION, rank, region);
        tape_.steps.back().code = COMPUTE;
        tape_.bursts.push_back(static_cast<int32_t>(row));
    }

    // Messages from this number on are new ones.
    void forget(int64_t first, int64_t count) {
        for (int64_t s = first; s < first + count && s < static_cast<int64_t>(messages_.size()); ++s) messages_[s] = {};
    }

    void send(int64_t s, CostKind kind, int32_t source, int32_t dest, int32_t size) {
        Message& m = message(s);
        m.source = source;
        if (m.time < 0) m.time = new_register();
        else tape_.steps[m.posting].code = NOTHING;  // the posting time of the receive does not matter for an eager message
        if (looks_) write(KEEP, m.launched = new_register());
        write(SEND, m.time, 0, cost(kind, source, dest, size));
    }

    // Send without waiting until the data have left, if that differs from the cost of the call.
    void go(int64_t s, CostKind kind, int32_t source, int32_t dest, int32_t size) {
        send(s, kind, source, dest, size);
        Step& step = tape_.steps.back();
        step.code = GO;
        step.b = message(s).sender = new_register();
        pay(BUSY, source, dest, size);
    }

    // Begin a one-sided operation; `overheads`: its call may take another time than its data.
    void access(int64_t s, int32_t origin, int32_t target, int32_t size, bool overheads) {
        Message& m = message(s);
        m.time = new_register();
        m.sender = new_register();
        write(overheads ? GO : SEND, m.time, m.sender, cost(ANY_SIZE, origin, target, size));
        if (overheads) pay(BUSY, origin, target, size);
    }

    // It has reached its target, which is not before those before it of the same pair; its answer travels back.
    void answer(int64_t s, int64_t pair, int32_t origin, int32_t target, int32_t back) {
        Message& m = message(s);
        if (pair >= static_cast<int64_t>(reached_.size())) reached_.resize(static_cast<size_t>(pair) + 1, -1);
        int32_t& reached = reached_[pair];
        if (reached < 0) {
            reached = std::exchange(m.time, -1);
        } else {
            write(BEHIND, m.time, reached);
            release(m.time);
        }
        write(ANSWER, m.sender, reached, cost(ANY_SIZE, target, origin, back));
    }

    void ready(int64_t s, CostKind kind, int32_t source, int32_t dest, int32_t size) {
        Message& m = message(s);
        m.source = source;
        // Recorded even if the message is only probed: the tape depends on its being a rendezvous.
        m.cost = cost(kind, source, dest, size);
        write(KEEP, m.sender = new_register());
    }

    void post(int64_t s) {
        Message& m = message(s);
        m.posting = static_cast<int64_t>(tape_.steps.size());
        write(KEEP, m.time = new_register());
    }

    void transfer(int64_t s) {
        const Message& m = message(s);
        write(MEET, m.time, m.sender, m.cost);
    }

    void await(int64_t s) {
        write(AWAIT, message(s).time);
        release(message(s).time);
        if (message(s).launched >= 0) release(message(s).launched);
    }

    // The program probes messages, so their send times matter.
    void program_looks(bool looks) { looks_ = looks; }
    void look(int64_t s, int32_t dest) {
        write(LOOK, message(s).time, message(s).launched, cost(ENVELOPE, message(s).source, dest, 0));
    }
    void see(int64_t s, int32_t dest) { write(SEE, message(s).sender, 0, cost(ENVELOPE, message(s).source, dest, 0)); }

    void receive(int64_t s, int32_t dest) {
        await(s);
        pay_receive(s, dest);
    }

    void pay_receive(int64_t s, int32_t dest) { pay(RECEIVING, message(s).source, dest); }
    void complete(int64_t s, int32_t dest) { pay(COMPLETING, message(s).source, dest); }

    void await_sent(int64_t s) {
        write(AWAIT, message(s).sender);
        release(message(s).sender);
    }

    void fork(int32_t actor) {
        if (actor >= static_cast<int32_t>(clocks_.size())) clocks_.resize(static_cast<size_t>(actor) + 1);
        write(KEEP, clocks_[actor] = new_register());
    }

    void join(int32_t actor) {
        write(AWAIT, clocks_[actor]);
        release(clocks_[actor]);
    }

    void open_world(int64_t world) {
        if (world >= static_cast<int64_t>(worlds_.size())) worlds_.resize(static_cast<size_t>(world) + 1, -1);
        write(KEEP, worlds_[world] = new_register());
    }

    void await_world(int64_t world) { write(AWAIT, worlds_[world]); }
    void begin_world(int64_t world, int32_t rank) { write(SEE, worlds_[world], 0, cost(INITIALISATION, rank, 0, 0)); }

private:
    struct Message {
        int32_t time = -1;    // register: posting time of its receive, later its arrival
        int32_t sender = -1;  // register: when a rendezvous was ready, later when its sender is free
        int32_t launched = -1;  // register: when an eager message was sent, if it may be probed
        int32_t source = -1;
        int32_t cost = -1;    // of a rendezvous
        int64_t posting = 0;  // step
    };

    Message& message(int64_t s) {
        if (s >= static_cast<int64_t>(messages_.size())) messages_.resize(std::max<size_t>(s + 1, messages_.size() * 2));
        return messages_[s];
    }

    void write(Code code, int32_t a, int32_t b = 0, int32_t cost = 0) {
        Step step{code, a, {}};
        step.b = b;
        step.cost = cost;
        tape_.steps.push_back(step);
    }

    int32_t cost(CostKind kind, int32_t x, int32_t y, int32_t z) {
        const int32_t number = numbers_.of({kind, x, y, z});
        if (number == static_cast<int32_t>(tape_.costs.size())) tape_.costs.push_back({kind, x, y, z});
        return number;
    }

    int32_t new_register() {
        if (free_.empty()) return static_cast<int32_t>(tape_.registers++);
        const int32_t last = free_.back();
        free_.pop_back();
        return last;
    }

    void release(int32_t& which) {
        free_.push_back(which);
        which = -1;
    }

    Tape tape_;
    Numbering numbers_;
    std::vector<Message> messages_;
    std::vector<int32_t> clocks_;  // register of each actor's clock
    std::vector<int32_t> worlds_;
    std::vector<int32_t> reached_;  // register of each origin and target: when the latest operation reached the target
    std::vector<int32_t> free_;
    int32_t selected_ = -1;
    bool looks_ = false;
};

// The widest vectors available; a time of four of them fits in registers, with room for its summands.
#if defined(__AVX512F__)
constexpr int WIDTH = 8;
#elif defined(__AVX__)
constexpr int WIDTH = 4;
#else
constexpr int WIDTH = 2;
#endif
constexpr int LANES = 4 * WIDTH;
typedef double Vector __attribute__((vector_size(WIDTH * sizeof(double))));

struct Times {
    Vector v0, v1, v2, v3;

    static Times load(const double* from) {
        const Vector* p = reinterpret_cast<const Vector*>(from);
        return {p[0], p[1], p[2], p[3]};
    }
    void store(double* to) const {
        Vector* p = reinterpret_cast<Vector*>(to);
        p[0] = v0, p[1] = v1, p[2] = v2, p[3] = v3;
    }
};

inline Times operator+(const Times& a, const Times& b) { return {a.v0 + b.v0, a.v1 + b.v1, a.v2 + b.v2, a.v3 + b.v3}; }
inline Times operator*(double s, const Times& a) { return {s * a.v0, s * a.v1, s * a.v2, s * a.v3}; }
inline Times operator*(const Times& a, const Times& b) { return {a.v0 * b.v0, a.v1 * b.v1, a.v2 * b.v2, a.v3 * b.v3}; }
// `yes` where a > b, else `no`.
inline Times where_greater(const Times& a, const Times& b, const Times& yes, const Times& no) {
    return {a.v0 > b.v0 ? yes.v0 : no.v0, a.v1 > b.v1 ? yes.v1 : no.v1, a.v2 > b.v2 ? yes.v2 : no.v2, a.v3 > b.v3 ? yes.v3 : no.v3};
}
inline Times later(const Times& a, const Times& b) { return where_greater(a, b, a, b); }

// Memory with the alignment of vectors.
class Aligned {
public:
    explicit Aligned(size_t n) : data_(static_cast<double*>(std::aligned_alloc(64, (n * sizeof(double) + 63) / 64 * 64))) {
        if (!data_) throw std::bad_alloc();
    }
    ~Aligned() { std::free(data_); }
    Aligned(const Aligned&) = delete;
    Aligned& operator=(const Aligned&) = delete;
    double* at(size_t i) { return data_ + i * LANES; }

private:
    double* data_;
};

// A tape run for as many machines as there are lanes. Costs that are equal on all of them share a row.
class Block {
public:
    Block(const Tape& tape, const Program& program, Stop* stop)
        : tape_(tape), stop_(stop), regions_(program.regions), empty_size_(program.empty_size), registers_(static_cast<size_t>(tape.registers) * LANES), row_of_(tape.costs.size()) {}

    // Compute the makespan on each machine; `agrees`: whether a replay of that machine would do the same operations. `bursts`: for
    // each lane the seconds of every op's burst, or null for those of the program.
    void run(const Machine* const* machines, const double* const* bursts, double* makespan, uint8_t* agrees) {
        machines_ = machines;
        std::fill_n(agrees_.begin(), LANES, 1);
        place();
        tabulate();
        if (bursts) perform<true>(bursts);
        else perform<false>(nullptr);
        std::fill_n(makespan, LANES, 0.0);
        for (int64_t rank = 0; rank < tape_.ranks; ++rank)
            for (int lane = 0; lane < LANES; ++lane) makespan[lane] = std::max(makespan[lane], registers_.at(rank)[lane]);
        std::copy_n(agrees_.begin(), LANES, agrees);
    }

private:
    using Lane = std::array<int32_t, LANES>;

    // Note the node of every rank, and which ranks are on equal nodes in all lanes.
    void place() {
        const size_t ranks = static_cast<size_t>(tape_.ranks);
        nodes_.resize(ranks);
        domains_.resize(ranks);
        kind_.resize(ranks);
        kinds_.clear();
        std::map<Lane, int32_t> known;
        for (size_t rank = 0; rank < ranks; ++rank) {
            Lane types;
            for (int lane = 0; lane < LANES; ++lane) {
                nodes_[rank][lane] = machines_[lane]->node[rank];
                domains_[rank][lane] = machines_[lane]->domain[rank];
                types[lane] = machines_[lane]->type[rank];
            }
            const auto found = known.emplace(types, static_cast<int32_t>(kinds_.size()));
            if (found.second) kinds_.push_back(types);
            kind_[rank] = found.first->second;
        }
    }

    // Make a row for every distinct cost.
    void tabulate() {
        Numbering numbering, meetings;
        std::vector<int32_t> place;
        rows_.clear();
        for (size_t i = 0; i < tape_.costs.size(); ++i) {
            const Cost& c = tape_.costs[i];
            const bool pair = c.kind >= RECEIVING;
            const Meeting met = pair ? meeting(c.x, c.y) : Meeting{0, 0};
            const int32_t kinds[2] = {kind_[c.x], pair ? kind_[c.y] : c.y};
            const int32_t where = meetings.of({static_cast<int32_t>(met.within), static_cast<int32_t>(met.across), 0, 0});
            const int32_t number = numbering.of({c.kind | c.z << 4, kinds[0], kinds[1], where});
            if (number == static_cast<int32_t>(place.size())) {
                place.push_back(static_cast<int32_t>(rows_.size() / LANES));
                tabulate(c, met);
            }
            row_of_[i] = place[number];
        }
        table_ = std::make_unique<Aligned>(rows_.size());
        std::copy(rows_.begin(), rows_.end(), table_->at(0));
    }

    // The lanes in which two ranks are on one node, and those in which they are in different domains.
    struct Meeting {
        uint32_t within, across;
    };

    Meeting meeting(int32_t source, int32_t dest) const {
        Meeting met{0, 0};
        for (int lane = 0; lane < LANES; ++lane) {
            met.within |= static_cast<uint32_t>(nodes_[source][lane] == nodes_[dest][lane]) << lane;
            met.across |= static_cast<uint32_t>(domains_[source][lane] != domains_[dest][lane]) << lane;
        }
        return {met.within, met.within & met.across};
    }

    void tabulate(const Cost& c, const Meeting& met) {
        const size_t first = rows_.size();
        rows_.resize(first + (c.kind >= ANY_SIZE ? 3 : 1) * LANES);
        double* row = rows_.data() + first;
        for (int lane = 0; lane < LANES; ++lane, ++row) {
            const Machine& m = *machines_[lane];
            const int64_t type = kinds_[kind_[c.x]][lane];
            if (c.kind < RECEIVING) {
                *row = of_rank(m, c, type);
                continue;
            }
            const int64_t link = met.within >> lane & 1 ? within(m.types, type, met.across >> lane & 1)
                                                        : type * m.types + kinds_[kind_[c.y]][lane];
            switch (c.kind) {
                case RECEIVING: *row = m.receive[link]; break;
                case COMPLETING: *row = m.completion[link]; break;
                case ENVELOPE: *row = m.envelope[link]; break;
                case COPYING: {
                    const double longer = m.travel[link * m.sizes + c.z] - m.travel[link * m.sizes + empty_size_];
                    *row = longer > 0.0 ? longer : 0.0;
                    break;
                }
                case BUSY: {
                    const int64_t at = link * m.sizes + c.z;
                    *row = m.call[at] < 0.0 ? m.send[at] : m.call[at];
                    break;
                }
                default:
                    row[0] = m.send[link * m.sizes + c.z];
                    row[LANES] = m.transmission[link * m.sizes + c.z];
                    row[2 * LANES] = m.reads[link] != 0.0 ? 0.0 : m.answer[link];
                    if (c.kind != ANY_SIZE && (m.bytes[c.z] <= m.eager_limit[link]) != (c.kind == SMALL)) agrees_[lane] = 0;
            }
        }
    }

    double of_rank(const Machine& m, const Cost& c, int64_t type) const {
        switch (c.kind) {
            case COMPUTATION: return m.factor[type * regions_ + c.y];
            case PACKING: return m.packing[type];
            case REDUCTION: return m.reduction[type];
            case SPAWNING: return m.spawn[type];
            case INITIALISATION: return m.initialisation[type];
            case SLEEPING: return 1.0;
            default: return m.poll[type];
        }
    }

    template <bool OWN_BURSTS>
    void perform(const double* const* bursts) {
        for (int64_t rank = 0; rank < tape_.ranks; ++rank) std::fill_n(registers_.at(rank), LANES, 0.0);
        Times c{};
        int32_t selected = -1;
        const int32_t* row_of = row_of_.data();
        const int32_t* row = tape_.bursts.data();
        alignas(64) double seconds[LANES];
        for (const Step& step : tape_.steps) {
            switch (step.code) {
                case SELECT:
                    go_on(stop_);
                    if (selected >= 0) c.store(registers_.at(selected));
                    selected = step.a;
                    c = Times::load(registers_.at(selected));
                    break;
                case PAY: c = c + Times::load(table_->at(row_of[step.cost])); break;
                case SCALE: c = c + step.scale * Times::load(table_->at(row_of[step.a])); break;
                case COMPUTE:
                    if (!OWN_BURSTS) {
                        c = c + step.scale * Times::load(table_->at(row_of[step.a]));
                        break;
                    }
                    for (int lane = 0; lane < LANES; ++lane) seconds[lane] = bursts[lane][*row];
                    ++row;
                    c = c + Times::load(seconds) * Times::load(table_->at(row_of[step.a]));
                    break;
                case SEND: {
                    const double* costs = table_->at(row_of[step.cost]);
                    c = c + Times::load(costs);
                    (c + Times::load(costs + LANES)).store(registers_.at(step.a));
                    break;
                }
                case GO: {
                    const double* costs = table_->at(row_of[step.cost]);
                    const Times sent = c + Times::load(costs);
                    sent.store(registers_.at(step.b));
                    (sent + Times::load(costs + LANES)).store(registers_.at(step.a));
                    break;
                }
                case KEEP: c.store(registers_.at(step.a)); break;
                case AWAIT: c = later(Times::load(registers_.at(step.a)), c); break;
                case LOOK: {
                    const Times arrival = Times::load(registers_.at(step.a));
                    const Times head = Times::load(registers_.at(step.b)) + Times::load(table_->at(row_of[step.cost]));
                    c = later(where_greater(head, arrival, arrival, head), c);
                    break;
                }
                case SEE: c = later(Times::load(registers_.at(step.a)) + Times::load(table_->at(row_of[step.cost])), c); break;
                case BEHIND: {
                    double* reached = registers_.at(step.b);
                    later(Times::load(registers_.at(step.a)), Times::load(reached)).store(reached);
                    break;
                }
                case ANSWER: {
                    const double* costs = table_->at(row_of[step.cost]);
                    ((Times::load(registers_.at(step.b)) + Times::load(costs)) + Times::load(costs + LANES)).store(registers_.at(step.a));
                    break;
                }
                case MEET: transfer(table_->at(row_of[step.cost]), registers_.at(step.a), registers_.at(step.b)); break;
                default: break;
            }
        }
        if (selected >= 0) c.store(registers_.at(selected));
    }

    static void transfer(const double* row, double* posted, double* ready) {
        const Times start = later(Times::load(posted), Times::load(ready)) + Times::load(row + 2 * LANES);
        const Times sent = start + Times::load(row);
        (sent + Times::load(row + LANES)).store(posted);
        sent.store(ready);
    }

    const Tape& tape_;
    Stop* const stop_;
    const int64_t regions_, empty_size_;
    Aligned registers_;
    std::vector<int32_t> row_of_;
    std::unique_ptr<Aligned> table_;
    std::vector<double> rows_;
    const Machine* const* machines_ = nullptr;
    std::vector<Lane> nodes_;     // of each rank
    std::vector<Lane> domains_;   // of that node
    std::vector<Lane> kinds_;     // node types
    std::vector<int32_t> kind_;   // of each rank
    std::array<uint8_t, LANES> agrees_{};
};

}  // namespace clue
