// Collectives: the rounds of each member, in the foreground of its rank or in the background (nonblocking ones).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "messages.hpp"
#include "sources.hpp"

namespace clue {

template <class NETWORK, class PROCESSORS, class RECORDER, class SOURCE>
class Rounds : protected Messages<NETWORK, PROCESSORS, RECORDER> {
protected:
    using Base = Messages<NETWORK, PROCESSORS, RECORDER>;
    using Base::p, Base::m, Base::c, Base::out, Base::tape, Base::numbers, Base::slots, Base::slot, Base::details, Base::actor;
    using Base::backgrounds, Base::events, Base::in_calls, Base::ready, Base::turn, Base::wake, Base::block, Base::spend, Base::processors;
    using Base::by_type, Base::receive_cost, Base::pay_receive, Base::note_completion, Base::complete, Base::takes_turns_with, Base::launch, Base::post;
    using Base::until_arrived, Base::until_sent, Base::await_arrival, Base::await_sent, Base::end_send, Base::end_receive;

    Rounds(const Program& program, const Machine& machine, Outcome& outcome)
        : Base(program, machine, outcome), source(program, machine) {}

    // Begin the collective of a row in the foreground.
    void begin_rounds(Actor& a, int64_t i) {
        const int32_t t = template_of(a.job, p.rows[i].slot);
        a.comm = p.shapes[p.rows[i].shape].size;
        const int64_t place = place_of(a.rank, a.comm);
        a.instance = source.enter(a, i, place, c.members[t], [&] { return open(t); });
        a.base = source.first_slot(a.instance);
        const int64_t at = c.position_base[t] + p.position[place];
        a.round = c.first_round[at];
        a.round_end = c.first_round[at + 1];
        a.stage = ROUND;
    }

    // Begin it in the background; return the actor that runs it.
    int32_t fork(Actor& a, int64_t i) {
        const int32_t id = new_background();
        Actor& b = actor(id);
        b.background = true;
        b.id = id;
        b.rank = a.rank;
        b.number = a.number;
        b.node = a.node;
        b.type = a.type;
        b.job = a.job;
        b.clock = a.clock;
        b.place = ++a.backgrounds;
        tape.fork(id);
        begin_rounds(b, i);
        ready.push_back(id);
        return id;
    }

    // Wait for the end of a collective in the background.
    bool join(Actor& a, int32_t id) {
        Actor& background = actor(id);
        if (background.stage != DONE) return block(a, background.waiter);
        tape.join(id);
        a.wait_until(background.clock);
        free_backgrounds_.push_back(id);
        return true;
    }

    void run_background(Actor& a) {
        if (a.stage == DONE || !run_rounds(a)) return;
        a.stage = DONE;
        wake(a.waiter);
    }

    // Run rounds until they end (true) or the actor must wait.
    bool run_rounds(Actor& a) {
        for (;;) {
            const int64_t r = a.round;
            switch (a.stage) {
                case ROUND:
                    go_on(out.stop);
                    if (r == a.round_end) {
                        close_instance(a);
                        return true;
                    }
                    if (begin_single(a, r)) break;
                    post_receives(a, r);
                    a.index = c.first_send[r];
                    a.stage = ROUND_SENDS;
                    [[fallthrough]];
                case ROUND_SENDS:
                    for (; a.index < c.first_send[r + 1]; ++a.index) {
                        const int32_t dest = member(a, c.send_peer[a.index]);
                        if (takes_turns_with(a, dest) && !turn(a)) return false;
                        launch(a, a.base + c.send_slot[a.index], dest, c.send_size[a.index], 0, false);
                    }
                    a.index = 0;
                    a.begin = a.clock;
                    a.stage = ROUND_WAITS;
                    [[fallthrough]];
                case ROUND_WAITS:
                    if (!wait_for_round(a)) return false;
                    processors.wake_up(a, a.begin);
                    a.stage = ROUND_COMPLETES;
                    if (rests(a, a.begin)) return false;
                    [[fallthrough]];
                case ROUND_COMPLETES:
                    complete_round(a, r);
                    a.stage = ROUND_REDUCES;
                    break;
                case SINGLE_SEND: {
                    const int64_t at = c.first_send[r];
                    const int32_t dest = member(a, c.send_peer[at]);
                    if (takes_turns_with(a, dest) && !turn(a)) return false;
                    a.slot = a.base + c.send_slot[at];
                    a.stage = launch(a, a.slot, dest, c.send_size[at], 0, true) ? ROUND_REDUCES : SINGLE_SEND_ENDS;
                    break;
                }
                case SINGLE_SEND_ENDS: {
                    if (!until_sent(a, a.slot)) return false;
                    const double since = a.clock;
                    end_send(a, a.slot);
                    a.stage = ROUND_REDUCES;
                    // An eager message that nobody acknowledges leaves whatever its sender does.
                    if (slot(a.slot).state & (CONFIRMED | RENDEZVOUS) && rests(a, since)) return false;
                    break;
                }
                case SINGLE_RECEIVE_ENDS:
                    if (!until_arrived(a, a.slot)) return false;
                    if (sees_later(a)) return false;
                    end_receive(a, a.slot);
                    a.stage = ROUND_REDUCES;
                    [[fallthrough]];
                default:  // ROUND_REDUCES
                    reduce(a, r);
                    a.round++;
                    a.stage = ROUND;
            }
        }
    }

    // Return the index of a rank's data in a communicator.
    int64_t place_of(int32_t rank, int32_t comm) const {
        const int32_t* first = p.position_comm + p.position_offsets[rank];
        const int32_t* last = p.position_comm + p.position_offsets[rank + 1];
        return std::lower_bound(first, last, comm) - p.position_comm;
    }

    SOURCE source;

private:
    int32_t new_background() {
        if (free_backgrounds_.empty()) {
            backgrounds.emplace_back();
            return static_cast<int32_t>(numbers + static_cast<int64_t>(backgrounds.size()) - 1);
        }
        const int32_t id = free_backgrounds_.back();
        free_backgrounds_.pop_back();
        actor(id) = Actor{};
        return id;
    }

    int32_t member(const Actor& a, int32_t position) const {
        return a.number - a.rank + p.group[p.group_offsets[a.comm] + position];
    }

    int32_t template_of(int64_t job, int64_t instance) const { return c.instance_template[job * c.copy_templates + instance]; }

    int32_t open(int32_t t) {
        const int32_t first = slots.open(t, c.slots[t]);
        tape.forget(first, c.slots[t]);
        return first;
    }

    void close_instance(const Actor& a) {
        if (source.exit(a.instance)) slots.close(template_of(a.job, source.call(a.instance)), a.base);
    }

    // A round of one message is a blocking send or receive; return whether this is one.
    bool begin_single(Actor& a, int64_t r) {
        const int64_t sends = c.first_send[r + 1] - c.first_send[r], at = c.first_receive[r];
        if (sends + c.first_receive[r + 1] - at != 1) return false;
        if (sends) {
            a.stage = SINGLE_SEND;
            return true;
        }
        a.slot = a.base + c.receive_slot[at];
        a.cost = receive_cost(a, member(a, c.receive_peer[at]));
        note_completion(a, a.slot, member(a, c.receive_peer[at]));
        post(a, a.slot);
        a.stage = SINGLE_RECEIVE_ENDS;
        return true;
    }

    void post_receives(Actor& a, int64_t r) {
        const int64_t first = c.first_receive[r];
        if (m.completes && first < c.first_receive[r + 1]) note_completion(a, a.base + c.receive_slot[first], member(a, c.receive_peer[first]));
        for (int64_t at = first; at < c.first_receive[r + 1]; ++at) {
            post(a, a.base + c.receive_slot[at]);
            pay_receive(a, member(a, c.receive_peer[at]));
        }
    }

    bool wait_for_round(Actor& a) {
        const int64_t r = a.round;
        const int64_t receives = c.first_receive[r + 1] - c.first_receive[r];
        const int64_t all = receives + c.first_send[r + 1] - c.first_send[r];
        for (; a.index < all; ++a.index) {
            if (a.index < receives) {
                if (!await_arrival(a, a.base + c.receive_slot[c.first_receive[r] + a.index])) return false;
            } else {
                const int32_t s = a.base + c.send_slot[c.first_send[r] + a.index - receives];
                if (slot(s).state & (RENDEZVOUS | HELD) && !await_sent(a, s)) return false;
            }
        }
        return true;
    }

    void complete_round(Actor& a, int64_t r) {
        const int64_t first = c.first_receive[r];
        if (!m.completes || first == c.first_receive[r + 1]) return;
        const int32_t s = a.base + c.receive_slot[first];
        complete(a, s, details(s).completion);
    }

    // Whether a collective in the background that has waited since a time must rest until its rank is within a call.
    bool rests(Actor& a, double since) {
        if (!a.background || !in_calls() || a.clock == since) return false;
        a.turn = -1.0;
        events.push({a.clock, order_high(ACTION, a.number), order_low(a.place, 0), RESUMES, a.id, 0});
        return true;
    }

    // The same for a single message that has arrived; its receive is paid for afterwards.
    bool sees_later(Actor& a) {
        if (!a.background || !in_calls()) return false;
        const double since = a.clock;
        a.wait_until(slot(a.slot).time);
        return rests(a, since);
    }

    void reduce(Actor& a, int64_t r) {
        if (!c.reduced[r]) return;
        const double bytes = static_cast<double>(c.reduced[r]);
        tape.scale(bytes, REDUCTION, a.number);
        spend(a, bytes * by_type(m.reduction, a, a.clock));
    }

    std::vector<int32_t> free_backgrounds_;
};

}  // namespace clue
