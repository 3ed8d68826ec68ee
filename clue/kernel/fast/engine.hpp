// The replay: the effect of every op on virtual time. It is defined by clue/kernel/reference/simulation.py, actor.py, rank.py,
// accesses.py, transport.py, processors.py and turns.py, and implemented here op by op, so that every rank's figures agree to the last bit.
//
// A rank runs until it must wait for something that is not known yet; the code that determines it puts the rank on the stack of
// ranks that can continue. Only events that must happen in the order of virtual time go through a heap: turns to send where
// messages delay each other, bursts on shared processors, and locks. Without any of these there is no heap.
//
//   Core        program and machine, messages by slot, ranks that can continue, events       core.hpp, slots.hpp, accesses.hpp, events.hpp
//   Clocks      … plus the passage of time, by processor policy (Alone, Shared)              processors.hpp, turns.hpp
//   Messages    … plus eager and rendezvous messages, by network policy                      messages.hpp, sharing.hpp
//               (Unshared, Factor, Ports, Flows, Copying)                                    networks.hpp
//   Rounds      … plus collectives, of ops that are listed or in loops (Listed, Looped)      rounds.hpp, sources.hpp
//   Engine      … plus the programs of ranks: this file
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "rounds.hpp"
#include "tape.hpp"

namespace clue {

template <class NETWORK, class PROCESSORS, class RECORDER = Silent, class SOURCE = Listed>
class Engine : Rounds<NETWORK, PROCESSORS, RECORDER, SOURCE> {
public:
    Engine(const Program& program, const Machine& machine, Outcome& outcome)
        : Base(program, machine, outcome),
          world_start_(static_cast<size_t>(program.worlds * machine.instances), -1.0),
          world_waiters_(static_cast<size_t>(program.worlds * machine.instances)) {
        tape.program_looks(program.probes);
    }

    void run() {
        std::fill_n(out.by_region, numbers * p.regions, 0.0);
        out.most_simultaneous = out.done = 0;
        for (int64_t number = numbers - 1; number >= 0; --number) start(ranks[number], static_cast<int32_t>(number));
        drain();
        while (!events.empty()) {
            go_on(out.stop);
            const Event event = events.pop();
            now = event.time;
            happen(event);
            drain();
        }
        finish();
    }

    RECORDER& recorder() { return tape; }

private:
    using Base = Rounds<NETWORK, PROCESSORS, RECORDER, SOURCE>;
    using Base::p, Base::m, Base::out, Base::tape, Base::source, Base::numbers, Base::slots, Base::slot, Base::details, Base::ranks, Base::ready;
    using Base::absences, Base::events, Base::now, Base::turn, Base::actor, Base::spend, Base::sleep_until, Base::poll, Base::processors, Base::core;
    using Base::by_type, Base::receive_cost, Base::pay_receive, Base::note_completion, Base::complete, Base::takes_turns_with, Base::launch, Base::post;
    using Base::epoch, Base::is_acknowledged, Base::is_eager, Base::link, Base::is_direct, Base::takes_turns, Base::launch_access, Base::access_directly;
    using Base::post_matched, Base::until_arrived, Base::until_sent, Base::await_arrival, Base::await_sent, Base::end_send;
    using Base::end_receive, Base::see, Base::envelope, Base::begin_rounds, Base::join, Base::run_rounds;

    // -- which rank runs, and when ------------------------------------------------------------------------------------

    void start(Actor& a, int32_t number) {
        a.id = a.number = number;
        a.job = static_cast<int32_t>(number / p.ranks);
        a.rank = static_cast<int32_t>(number % p.ranks);
        a.node = m.node[number];
        a.type = m.type[number];
        source.start(a);
        processors.place(a);
        ready.push_back(number);
    }

    void drain() {
        do {
            while (!ready.empty()) {
                const int32_t id = ready.back();
                ready.pop_back();
                if constexpr (!SOURCE::LOOPS) fetch_ahead();
                Actor& a = actor(id);
                tape.select(id);
                if (a.background) this->run_background(a);
                else run_rank(a);
            }
            ready.swap(resting_);
        } while (!ready.empty());
    }

    // Prefetch the data of the next ranks while this one runs: with thousands of ranks none of it is in a cache.
    void fetch_ahead() {
        if (numbers < MANY) return;
        const size_t n = ready.size();
        if (n > 0 && ready[n - 1] < numbers) {
            const Actor& next = ranks[ready[n - 1]];
            const int64_t end = next.row + AHEAD < next.row_end ? next.row + AHEAD : next.row_end;
            for (int64_t row = next.row; row < end; ++row)
                if (p.rows[row].slot >= 0 && p.rows[row].slot < p.slots) __builtin_prefetch(&slot(source.own(next, row)), 1);
        }
        if (n > 1 && ready[n - 2] < numbers) {
            const int64_t row = ranks[ready[n - 2]].row;
            for (int64_t ahead = 0; ahead < AHEAD; ahead += 8) {
                __builtin_prefetch(p.rows + row + ahead);
                __builtin_prefetch(p.cpu + row + ahead);
            }
        }
        if (n > 2 && ready[n - 3] < numbers) {
            const char* actor = reinterpret_cast<const char*>(&ranks[ready[n - 3]]);
            for (int line = 0; line < 3; ++line) __builtin_prefetch(actor + 64 * line);
        }
    }

    void happen(const Event& event) {
        switch (event.what) {
            case PARAMETERS:
            case JOINS:
            case BURST_ENDS: processors.happen(core(), event); break;
            case TURN: ready.push_back(event.id); break;
            default: Base::happen(event);
        }
    }

    // Least number of ranks whose data are prefetched (those of fewer ranks fit in caches), and number of rows to prefetch.
    static constexpr int64_t MANY = 512, AHEAD = 12;

    // Number of ops between checks of the stop flag.
    static constexpr int64_t LOOK = 1024;

    // -- a rank's program ---------------------------------------------------------------------------------------------

    double burst(const Actor& a) const { return source.burst(a, a.row); }
    const Shape& shape(int64_t row) const { return p.shapes[p.rows[row].shape]; }
    static int32_t offset(const Actor& a) { return a.number - a.rank; }

    static void next(Actor& a) {
        a.row++;
        a.stage = FETCH;
    }

    void computed(Actor& a, int32_t region, double seconds) {
        a.compute += seconds;
        out.by_region[a.number * p.regions + region] += seconds;
        processors.warm(a);
    }

    // Whether a call neither waits nor tests: it only starts something, and its library makes no progress.
    bool only_starts(const Actor& a, const Shape& call) const {
        if (call.op == OP_ISEND || call.op == OP_IRECV || call.op == OP_LOCAL || call.op == OP_PACK || call.op == OP_RMA) return true;
        if (call.op != OP_SEND) return call.flags & FLAG_NONBLOCKING;
        if (call.peer < 0) return true;
        const int64_t l = link(epoch(a.clock), a.number, offset(a) + call.peer);
        return is_eager(l, call.size, call.flags) && !is_acknowledged(l, call.size, call.flags);
    }

    // A rank starts to compute or to sleep, or only starts something.
    void leave(const Actor& a) {
        if (m.in_calls) absences[a.number].begin(a.clock);
    }

    // A rank makes a call that waits or tests, or ends.
    void enter(const Actor& a) {
        if (m.in_calls && absences[a.number].under_way) end_absence(a);
    }

    [[gnu::noinline]] void end_absence(const Actor& a) {
        Absence& absence = absences[a.number];
        absence.end(a.clock);
        for (const Absence::Waiting& each : std::exchange(absence.waiting, {})) this->carry_on(each.id, each.what, a.clock);
    }

    // Join a shared node's busy ranks when the program begins; the rank itself runs ahead of the others.
    void join_node(const Actor& a) {
        if (processors.shared(a)) events.push({a.clock, order_high(BURST, a.number), 0, JOINS, a.id, 0});
    }

    // Leave them when it is the rank's turn.
    bool leave_node(Actor& a) {
        if (!processors.shared(a)) return true;
        if (!turn(a)) return false;
        processors.count(core(), a, -1);
        return true;
    }

    void run_rank(Actor& a) {
        for (;;) {
            switch (a.stage) {
                case START:
                    if (p.world[a.rank] && !begin_world(a)) return;
                    processors.warm(a);
                    join_node(a);
                    a.stage = FETCH;
                    [[fallthrough]];
                case FETCH: {
                    if (!SOURCE::LOOPS && a.row % LOOK == 0) go_on(out.stop);
                    if (a.row == a.row_end) {
                        if (source.tired(a)) {
                            resting_.push_back(a.id);
                            return;
                        }
                        if (!next_rows(a)) {
                            a.stage = END;
                            break;
                        }
                    }
                    const double cpu = burst(a);
                    if (cpu != 0.0) {
                        if (processors.shared(a)) {
                            a.stage = BURST_TURN;
                            break;
                        }
                        const int32_t region = shape(a.row).region;
                        tape.burst(cpu, a.row, a.number, region);
                        leave(a);
                        computed(a, region, processors.run(core(), a, cpu * m.factor[a.type * p.regions + region]));
                    }
                    a.stage = OP;
                    [[fallthrough]];
                }
                case OP:
                    if (!begin_op(a)) return;
                    break;
                case BURST_TURN:
                    if (!turn(a)) return;
                    a.begin = a.clock;
                    a.stage = BURSTING;
                    leave(a);
                    processors.begin_burst(core(), a, burst(a), shape(a.row).region);
                    return;
                case BURSTING:
                    a.clock = now;
                    a.turn = -1.0;
                    computed(a, shape(a.row).region, a.clock - a.begin);
                    a.stage = OP;
                    break;
                case SEND_ENDS:
                    if (!until_sent(a, a.slot)) return;
                    end_send(a, a.slot);
                    source.leave(slots, a.slot);
                    next(a);
                    break;
                case RECEIVE_ENDS:
                    if (!until_arrived(a, a.slot)) return;
                    end_receive(a, a.slot);
                    source.leave(slots, a.slot);
                    next(a);
                    break;
                case WAITING:
                    if (!wait_for_requests(a)) return;
                    processors.wake_up(a, a.begin);
                    if (a.slot >= 0) complete(a, a.slot, a.cost);
                    next(a);
                    break;
                case SEEING:
                    if (!see(a)) return;
                    pay_receive(a, offset(a) + shape(a.row).peer);
                    next(a);
                    break;
                case SEEING_RESERVED:
                    if (!see(a)) return;
                    tape.pay_receive(a.slot, a.number);
                    spend(a, a.cost);
                    details(a.slot).cost = a.cost;
                    next(a);
                    break;
                case SPAWNED: {
                    const double started = world_start_[world_of(a)];
                    tape.await_world(world_of(a));
                    sleep_until(a, started);
                    next(a);
                    break;
                }
                case END:
                    enter(a);
                    if (!leave_node(a)) return;
                    a.stage = DONE;
                    return;
                case DONE: return;
                default:
                    if (!run_rounds(a)) return;
                    next(a);
                    break;
            }
        }
    }

    // Continue with the next rows of a rank, if there are any.
    bool next_rows(Actor& a) {
        if (!source.again(a)) return false;
        go_on(out.stop);
        out.done += a.row_end - a.row;
        return true;
    }

    // Execute an op; false: the rank must wait, and continues at its stage.
    bool begin_op(Actor& a) {
        const int64_t i = a.row;
        const Shape& s = shape(i);
        // Computation and sleep are not calls: successive ones form one absence, with what only starts something between them.
        if (m.in_calls && s.op != OP_COMPUTE && s.op != OP_SLEEP) only_starts(a, s) ? leave(a) : enter(a);
        switch (s.op) {
            case OP_SEND:
            case OP_ISEND: return send(a, i, s);
            case OP_RECV:
            case OP_IRECV: receive(a, i, s); return true;
            case OP_WAIT:
                a.index = a.within = 0;
                a.begin = a.clock;
                a.slot = -1;
                a.stage = WAITING;
                return true;
            case OP_POLL:
                if (s.peer >= 0) pay_receive(a, offset(a) + s.peer);
                else poll(a);
                break;
            case OP_PROBE:
                if (s.peer < 0) break;
                a.slot = source.meet(slots, a, i, false);
                a.stage = SEEING;
                return true;
            case OP_MPROBE:
                if (s.peer < 0) break;
                a.slot = source.meet(slots, a, i, false);
                a.cost = receive_cost(a, offset(a) + s.peer);
                note_completion(a, a.slot, offset(a) + s.peer);
                a.stage = SEEING_RESERVED;
                return true;
            case OP_MRECV: matched_receive(a, i, s); return true;
            case OP_RMA: return access(a, i, s);
            case OP_PACK:
                tape.scale(static_cast<double>(p.nbytes[i]), PACKING, a.number);
                spend(a, static_cast<double>(p.nbytes[i]) * by_type(m.packing, a, a.clock));
                break;
            case OP_SLEEP: {
                const double seconds = static_cast<double>(p.nbytes[i]) / 1e9;
                tape.scale(seconds, SLEEPING, a.number);
                const double since = a.clock;
                const bool polls = s.flags & FLAG_CONTINUED;  // it has not left its call, nor its processor
                if (!polls) leave(a);
                a.clock += seconds;
                if (!polls) processors.wake_up(a, since);
                break;
            }
            case OP_SPAWN: return spawn(a, i);
            default:
                if (!is_collective(s.op)) break;
                if (s.flags & FLAG_NONBLOCKING) {
                    begin_background(a, i);
                    break;
                }
                begin_rounds(a, i);
                return true;
        }
        next(a);
        return true;
    }

    HOT bool send(Actor& a, int64_t i, const Shape& call) {
        if (call.peer < 0) {
            if (call.requested) source.begin(a, 0, NOT_HELD);
            next(a);
            return true;
        }
        const int32_t dest = offset(a) + call.peer;
        if (takes_turns_with(a, dest) && !turn(a)) return false;
        const int32_t s = source.meet(slots, a, i, true);
        const bool free = launch(a, s, dest, call.size, call.flags, !call.requested);
        if (call.requested) source.begin(a, s, free ? NOT_HELD : SEND_HELD);
        if (!free && !call.requested) {
            a.slot = s;
            a.stage = SEND_ENDS;
            return true;
        }
        if (free) source.leave(slots, s);
        else a.unsent++;
        next(a);
        return true;
    }

    HOT void receive(Actor& a, int64_t i, const Shape& call) {
        if (call.peer < 0 || call.flags & FLAG_CANCELLED) {
            if (call.requested) source.begin(a, 0, NOT_HELD);
            return next(a);
        }
        a.slot = source.meet(slots, a, i, false);
        a.cost = receive_cost(a, offset(a) + call.peer);
        note_completion(a, a.slot, offset(a) + call.peer);
        post(a, a.slot);
        if (!call.requested) {
            a.stage = RECEIVE_ENDS;
            return;
        }
        source.begin(a, a.slot, RECEIVE_HELD);
        if (call.flags & FLAG_ANY_SOURCE) {
            // Its sender is not known when it is posted, so its cost does not depend on the sender.
            poll(a);
        } else {
            tape.pay(RECEIVING, offset(a) + call.peer, a.number);
            spend(a, a.cost);
        }
        next(a);
    }

    void matched_receive(Actor& a, int64_t i, const Shape& call) {
        if (p.rows[i].slot < 0) return next(a);
        const int32_t s = source.meet(slots, a, i, false);
        a.cost = details(s).cost;
        post_matched(a, s);
        if (call.flags & FLAG_NONBLOCKING) {
            tape.pay_receive(s, a.number);
            spend(a, a.cost);
            return next(a);
        }
        a.slot = s;
        a.stage = RECEIVE_ENDS;
    }

    bool access(Actor& a, int64_t i, const Shape& call) {
        if (call.peer >= 0) {
            const int32_t s = source.meet(slots, a, i, true), dest = offset(a) + call.peer;
            const bool direct = is_direct(a, s, dest);
            if (takes_turns(a, dest, direct) && !turn(a)) return false;
            if (direct) {
                access_directly(a, s, dest, call.size);
            } else {
                launch_access(a, s, dest, call.size);
                a.unsent++;
            }
        }
        next(a);
        return true;
    }

    void begin_background(Actor& a, int64_t i) {
        const auto number = static_cast<int32_t>(p.fork_offsets[a.rank] + a.backgrounds);
        const int32_t id = this->fork(a, i);
        if constexpr (!SOURCE::LOOPS) source.fork(a, number) = id;
        else if (shape(i).requested) source.begin(a, id, FORK_HELD);
    }

    // -- worlds -------------------------------------------------------------------------------------------------------

    bool begin_world(Actor& a) {
        const int64_t world = a.job * p.worlds + p.world[a.rank];
        if (world_start_[world] < 0.0) {
            world_waiters_[world].push_back(a.id);
            return false;
        }
        tape.begin_world(world, a.number);
        sleep_until(a, world_start_[world] + by_type(m.initialisation, a, world_start_[world]));
        return true;
    }

    bool spawn(Actor& a, int64_t i) {
        const int64_t world = world_of(a);
        if (world < 0) {
            next(a);
            return true;
        }
        if (a.rank == shape(i).peer) {
            tape.pay(SPAWNING, a.number);
            spend(a, by_type(m.spawn, a, a.clock));
            tape.open_world(world);
            world_start_[world] = a.clock;
            for (int32_t id : world_waiters_[world]) ready.push_back(id);
            world_waiters_[world].clear();
            next(a);
            return true;
        }
        a.stage = SPAWNED;
        if (world_start_[world] >= 0.0) return true;
        world_waiters_[world].push_back(a.id);
        a.turn = -1.0;
        return false;
    }

    int64_t world_of(const Actor& a) const {
        const int64_t i = a.row;
        if (p.count[i] == 0) return -1;
        const int64_t world = p.extras[p.extra_offsets[a.rank] + p.extra[i]];
        return world > 0 && world < p.worlds && is_world(world) ? a.job * p.worlds + world : -1;
    }

    bool is_world(int64_t world) const { return std::find(p.world, p.world + p.ranks, world) != p.world + p.ranks; }

    // -- requests -----------------------------------------------------------------------------------------------------

    bool wait_for_requests(Actor& a) {
        const Requests* waits = p.waits + p.rows[a.row].slot;
        for (const int64_t n = shape(a.row).size; a.index < n; ++a.index, a.within = 0) {
            if constexpr (SOURCE::LOOPS) {
                for (; a.within < waits[a.index].count; ++a.within)
                    if (!wait_for_aged(a, source.aged(a, waits[a.index].first - a.within))) return false;
            } else if (!wait_for_run(a, waits[a.index])) {
                return false;
            }
        }
        return true;
    }

    // Wait for requests that were begun in succession.
    HOT bool wait_for_run(Actor& a, const Requests& run) {
        const int32_t first = run.first >> 2, count = run.count;
        switch (run.first & 3) {
            case SEND_HELD:
                // Usually all are eager, and need not be looked at.
                for (; a.unsent && a.within < count; ++a.within)
                    if (!wait_for_send(a, source.own(a, first + a.within))) return false;
                break;
            case RECEIVE_HELD:
                for (; a.within < count; ++a.within)
                    if (!wait_for_receive(a, source.own(a, first + a.within))) return false;
                break;
            default:
                for (; a.within < count; ++a.within)
                    if (!join(a, source.fork(a, first + a.within))) return false;
        }
        return true;
    }

    // Wait for a request of loops, once.
    HOT bool wait_for_aged(Actor& a, int32_t& request) {
        const int32_t what = request >> 2;
        switch (request & 3) {
            case NOT_HELD: return true;
            case SEND_HELD:
                if (!wait_for_send(a, what)) return false;
                source.leave(slots, what);
                break;
            case RECEIVE_HELD:
                if (!wait_for_receive(a, what)) return false;
                source.leave(slots, what);
                break;
            default:
                if (!join(a, what)) return false;
        }
        request = NOT_HELD;
        return true;
    }

    // A rank notes the first receive of a wait, which is complete by the end of it.
    HOT bool wait_for_receive(Actor& a, int32_t s) {
        if (!await_arrival(a, s)) return false;
        if (m.completes && a.slot < 0) {
            a.slot = s;
            a.cost = details(s).completion;
        }
        return true;
    }

    bool wait_for_send(Actor& a, int32_t s) {
        if (!(slot(s).state & (RENDEZVOUS | HELD))) return true;
        if (!await_sent(a, s)) return false;
        a.unsent--;
        return true;
    }

    // Return the number of requests for which a rank that is stuck in a wait still waits.
    int64_t open_requests(const Actor& a) {
        if (!p.count[a.row]) return 0;
        const Requests* waits = p.waits + p.rows[a.row].slot;
        int64_t open = 0;
        for (int64_t i = a.index, n = a.within; i < shape(a.row).size; ++i, n = 0) {
            for (; n < waits[i].count; ++n) {
                if constexpr (SOURCE::LOOPS) {
                    const int32_t request = source.aged(a, waits[i].first - n);
                    open += is_open(request & 3, request >> 2);
                } else {
                    const int32_t held = waits[i].first & 3;
                    const auto first = static_cast<int32_t>((waits[i].first >> 2) + n);
                    open += is_open(held, held == FORK_HELD ? source.fork(a, first) : source.own(a, first));
                }
            }
        }
        return open;
    }

    // Whether it is not known when a request ends, given the actor of a collective or the message.
    bool is_open(int32_t held, int32_t what) {
        switch (held) {
            case NOT_HELD: return false;
            case SEND_HELD: return slot(what).state & (RENDEZVOUS | HELD) && !(slot(what).state & SENT);
            case RECEIVE_HELD: return !(slot(what).state & ARRIVED);
            default: return actor(what).stage != DONE;
        }
    }

    // Return the number, from 1, of the collective of its communicator in which a rank of loops is stuck; 0: none.
    int64_t collectives_begun(const Actor& a) const {
        if (!SOURCE::LOOPS || a.row == a.row_end || !is_collective(shape(a.row).op)) return 0;
        return source.serial(a, this->place_of(a.rank, shape(a.row).size));
    }

    void finish() {
        for (int64_t i = 0; i < numbers; ++i) {
            const Actor& a = ranks[i];
            out.finish[i] = a.clock;
            out.compute[i] = a.compute;
            out.communicate[i] = a.communicate;
            out.blocked[i] = a.stage == DONE ? -1 : a.stage == START ? -2 : a.row;
            out.open[i] = a.stage == WAITING ? open_requests(a) : out.blocked[i] >= 0 ? collectives_begun(a) : 0;
        }
        for (int64_t job = 0; job < m.instances; ++job)
            for (int64_t i = 0; i < out.seen_count; ++i)
                out.seen[job * out.seen_count + i] = envelope(job * p.slots + p.rows[out.seen_rows[i]].slot);
        out.left_over = source.left_over();
    }

    std::vector<int32_t> resting_;  // ranks that have yielded to others
    std::vector<double> world_start_;
    std::vector<std::vector<int32_t>> world_waiters_;
};

}  // namespace clue
