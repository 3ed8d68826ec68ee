// Messages: eager and rendezvous, their senders and receivers.
#pragma once

#include <cstdint>
#include <vector>

#include "networks.hpp"
#include "processors.hpp"

namespace clue {

template <class NETWORK, class PROCESSORS, class RECORDER>
class Messages : protected Clocks<PROCESSORS, RECORDER> {
protected:
    using Base = Clocks<PROCESSORS, RECORDER>;
    using Base::p, Base::m, Base::out, Base::tape, Base::numbers, Base::slot, Base::details, Base::processors, Base::core;
    using Base::actor, Base::epoch, Base::link, Base::wake, Base::block, Base::later, Base::spend, Base::sleep_until;

    Messages(const Program& program, const Machine& machine, Outcome& outcome)
        : Base(program, machine, outcome), network_(machine, outcome), copied_(machine.copies_in_turn ? numbers : 0, 0.0) {}

    // Whether a send must wait until all earlier events have happened.
    bool takes_turns_with(const Actor& a, int32_t dest) const { return NETWORK::IN_TURN && between_nodes(a.number, dest); }

    bool is_eager(int64_t l, int32_t size, uint16_t flags) const {
        return (m.bytes[size] <= m.eager_limit[l] || flags & FLAG_BUFFERED) && !(flags & FLAG_SYNCHRONOUS);
    }
    // Whether the send of an eager message ends only when it is acknowledged.
    bool is_acknowledged(int64_t l, int32_t size, uint16_t flags) const {
        return m.bytes[size] >= m.acknowledged_from[l] && !(flags & FLAG_BUFFERED);
    }

    // Begin a send, and pay for the call; return whether the sender is free of the message then.
    HOT bool launch(Actor& a, int32_t s, int32_t dest, int32_t size, uint16_t flags, bool blocking) {
        const int64_t l = link(epoch(a.clock), a.number, dest);
        a.launched++;
        if (out.messages) observe(a.number, dest, size);
        const bool eager = is_eager(l, size, flags);
        if (RECORDER::RECORDS) {
            const CostKind kind = flags & (FLAG_BUFFERED | FLAG_SYNCHRONOUS) ? ANY_SIZE : eager ? SMALL : LARGE;
            if (!eager) {
                tape.ready(s, kind, a.number, dest, size);
            } else if (!m.overheads) {
                tape.send(s, kind, a.number, dest, size);
            } else {
                tape.go(s, kind, a.number, dest, size);
                if (blocking) tape.await_sent(s);
            }
        }
        return eager ? launch_eager(a, s, dest, size, l, flags, blocking) : launch_rendezvous(a, s, dest, size, l, blocking);
    }

    // Whether a one-sided operation must wait likewise; an origin that does all of it itself need not.
    bool takes_turns(const Actor& a, int32_t dest, bool direct) const {
        return between_nodes(a.number, dest) ? NETWORK::IN_TURN : m.copies_in_turn && !direct;
    }

    // Whether the origin of a one-sided operation does all of it itself.
    bool is_direct(const Actor& a, int32_t s, int32_t dest) const {
        return this->accesses.of(s).kind == ACCESS_DIRECT && !between_nodes(a.number, dest);
    }

    // Begin a one-sided operation, and pay for the call: that of a message which its sender need not wait for.
    [[gnu::noinline]] void launch_access(Actor& a, int32_t s, int32_t dest, int32_t size) {
        note_access(a, s, dest, size);
        if (RECORDER::RECORDS) {
            tape.access(s, a.number, dest, size, m.overheads);
            tape.answer(s, this->accesses.pair(s), a.number, dest, this->accesses.of(s).back);
        }
        describe(a, s, dest, size);
        slot(s).state |= LAUNCHED | HELD | CONFIRMED | ONE_SIDED;
        const double seconds = start_access(s, a.clock);
        this->accesses.send(s);
        this->reach(s);
        spend(a, seconds);
    }

    // Let the origin do all of it, on the memory of a rank of its node: a call, and copies.
    [[gnu::noinline]] void access_directly(Actor& a, int32_t s, int32_t dest, int32_t size) {
        note_access(a, s, dest, size);
        const int64_t first = link(epoch(a.clock), a.number, dest) * m.sizes, none = first + p.empty_size;
        tape.pay(BUSY, a.number, dest, static_cast<int32_t>(p.empty_size));
        spend(a, call(none, m.send[none]));
        for (const int32_t each : {size, this->accesses.of(s).back}) {
            tape.pay(COPYING, a.number, dest, each);
            const double longer = m.travel[first + each] - m.travel[none];
            spend(a, longer > 0.0 ? longer : 0.0);
        }
    }

    // Post a receive; `posted` is now.
    HOT void post(Actor& a, int32_t s) {
        Slot& slot = this->slot(s);
        slot.state |= POSTED;
        if (!(slot.state & LAUNCHED)) {
            slot.time = a.clock;
            tape.post(s);
        } else {
            open_if_ready(a, s);
        }
    }

    // Post the receive of a matched probe; the data of a rendezvous start now.
    void post_matched(Actor& a, int32_t s) {
        Slot& slot = this->slot(s);
        if (!(slot.state & POSTED)) open_if_ready(a, s);
        slot.state |= POSTED;
    }

    // Block at the receiving side of a message until its arrival is known.
    bool until_arrived(Actor& a, int32_t s) {
        Slot& slot = this->slot(s);
        if (slot.state & ARRIVED) return true;
        return block(a, slot.waiter);
    }

    bool until_sent(Actor& a, int32_t s) {
        if (slot(s).state & SENT) return true;
        return block(a, details(s).sender);
    }

    // End a blocking send of a rendezvous.
    void end_send(Actor& a, int32_t s) {
        const Details& d = details(s);
        tape.await_sent(s);
        if (slot(s).state & CONFIRMED) {
            sleep_until(a, d.sent);
        } else if (d.sent > a.clock) {
            const double since = a.clock;
            a.wait_until(d.sent - d.busy);
            const bool slept = a.clock > since;
            spend(a, d.sent - a.clock);
            a.clock = d.sent;  // others use that time: rounding must not produce a second one
            if (slept) processors.wake_up(a, since);
        }
        if (slot(s).state & HELD) end_call(a, d.call_ends);
    }

    void end_receive(Actor& a, int32_t s) {
        tape.receive(s, a.number);
        sleep_until(a, slot(s).time);
        spend(a, a.cost);
        if (m.completes) complete(a, s, details(s).completion);
    }

    // Note what a receive that is posted now takes once its message is there.
    void note_completion(Actor& a, int32_t s, int32_t source) {
        if (m.completes) details(s).completion = this->completion(a, source);
    }

    // Pay that for the first receive of a call.
    void complete(Actor& a, int32_t s, double seconds) {
        tape.complete(s, a.number);
        if (seconds > 0.0) spend(a, seconds);
    }

    // Wait for one of several messages: until it has arrived, or its sender is free of it.
    bool await_arrival(Actor& a, int32_t s) {
        if (!until_arrived(a, s)) return false;
        tape.await(s);
        a.wait_until(slot(s).time);
        return true;
    }

    bool await_sent(Actor& a, int32_t s) {
        if (!until_sent(a, s)) return false;
        tape.await_sent(s);
        a.wait_until(details(s).sent);
        return true;
    }

    // Block in a probe until the message is visible: when the head of an eager message or the envelope of a rendezvous has arrived.
    bool see(Actor& a) {
        Slot& slot = this->slot(a.slot);
        if (slot.state & RENDEZVOUS) {
            tape.see(a.slot, a.number);
            sleep_until(a, envelope(a.slot));
            return true;
        }
        if (!(slot.state & ARRIVED)) return block(a, slot.waiter);
        tape.look(a.slot, a.number);
        sleep_until(a, details(a.slot).envelope);
        return true;
    }

    double envelope(int64_t s) {
        const Slot& slot = this->slot(s);
        if (slot.state & RENDEZVOUS) {
            const Details& d = details(s);
            return d.ready + m.envelope[link(epoch(d.ready), d.source, d.dest)];
        }
        return slot.state & ARRIVED ? details(s).envelope : std::numeric_limits<double>::quiet_NaN();
    }

    // Handle an event of a message.
    void happen(const Event& event) {
        switch (event.what) {
            case CALLED: return within_call(details(event.id).dest, event.id, CALLED);
            case ANSWERED: return within_call(details(event.id).source, event.id, ANSWERED);
            case ACKNOWLEDGED: return within_call(details(event.id).dest, event.id, ACKNOWLEDGED);
            case RESUMES: return within_call(actor(event.id).number, event.id, RESUMES);
            case TRANSFER: return transfer(event.id, event.time);
            case REACHES: return reaches(event.id);
            case EXECUTES: return execute_next(event.id);
            default: network_.happen(core(), event);
        }
    }

    // Continue with a message, or a nonblocking collective, at a time when the library for which it waits is active.
    void carry_on(int32_t id, What what, double time) {
        switch (what) {
            case CALLED: return answer(id, time);
            case ANSWERED: return start_data(id, time);
            case ACKNOWLEDGED: return this->acknowledged(id, time);
            case EXECUTES: return later(id, time, EXECUTES);
            default:
                actor(id).wait_until(time);
                this->ready.push_back(id);
        }
    }

    // A tape has no events: it ignores that libraries may progress only in calls.
    bool in_calls() const { return !RECORDER::RECORDS && m.in_calls; }

private:
    bool between_nodes(int32_t source, int32_t dest) const { return m.node[source] != m.node[dest]; }

    // Whether a message may affect others.
    bool couples(int32_t source, int32_t dest) const { return NETWORK::COUPLED && (between_nodes(source, dest) || (NETWORK::WITHIN && m.copies)); }

    Fare fare(int64_t l, int32_t size) const {
        const int64_t at = l * m.sizes + size;
        return {m.send[at], m.transmission[at], at};
    }

    // Start the data of a message.
    HOT Departure depart(int32_t s, double time, bool coupled, bool rendezvous, const Fare& fare) {
        return coupled ? network_.start(core(), s, time, rendezvous, fare) : go_alone(slot(s), time, fare);
    }

    HOT bool launch_eager(Actor& a, int32_t s, int32_t dest, int32_t size, int64_t l, uint16_t flags, bool blocking) {
        const double head = a.clock + m.envelope[l];
        const bool coupled = couples(a.number, dest), kept = NETWORK::LATER && coupled;
        Slot& slot = this->slot(s);
        slot.state |= LAUNCHED;
        if (kept) describe(a, s, dest, size);
        const Departure departure = depart(s, a.clock, coupled, false, fare(l, size));
        if (kept) details(s).envelope = departure.leaves + m.envelope[l];
        // One test identifies machines that state none of this.
        const bool modes = this->modes, waits = NETWORK::LATER && departure.begins > a.clock;
        const bool confirmed = !RECORDER::RECORDS && modes && is_acknowledged(l, size, flags);
        bool free = true;
        if (confirmed || departure.later || (!blocking && (modes || waits))) {
            free = begin_sending(a, s, dest, size, l * m.sizes + size, departure, confirmed, blocking);
        } else {
            const double began = a.clock;
            if (waits) a.clock = departure.begins;
            spend(a, departure.busy);
            if (modes) end_call(a, began + m.call[l * m.sizes + size]);
        }
        if (slot.state & ARRIVED) {
            if (p.probes) details(s).envelope = slot.time < head ? slot.time : head;
            wake(slot.waiter);
        }
        return free;
    }

    // Pay for the call of an eager send that may occupy its sender beyond the call; return whether it does not.
    [[gnu::noinline]] bool begin_sending(Actor& a, int32_t s, int32_t dest, int32_t size, int64_t at, Departure departure, bool confirmed, bool blocking) {
        Slot& slot = this->slot(s);
        if (blocking && !confirmed) {
            slot.state |= HELD;
            details(s).busy = departure.busy;
            details(s).call_ends = m.call[at] < 0.0 ? 0.0 : a.clock + m.call[at];
            return false;
        }
        if (confirmed) {
            slot.state |= CONFIRMED | HELD;
            describe(a, s, dest, size).ready = a.clock;
            if (slot.state & ARRIVED) this->acknowledge(s);
        }
        spend(a, call(at, departure.busy));
        if (confirmed) return false;
        if (!departure.later && departure.sent <= a.clock && !(RECORDER::RECORDS && m.overheads)) return true;
        slot.state |= departure.later ? HELD : HELD | SENT;
        if (!departure.later) details(s).sent = departure.sent;
        return false;
    }

    // Spend processor time until the call of a blocking send is done, if its data have left before.
    void end_call(Actor& a, double end) {
        if (end <= a.clock) return;
        spend(a, end - a.clock);
        a.clock = end;
    }

    // Return the time of a send's call, given the time until its data have left.
    double call(int64_t at, double busy) const { return m.call[at] < 0.0 ? busy : m.call[at]; }

    bool launch_rendezvous(Actor& a, int32_t s, int32_t dest, int32_t size, int64_t l, bool blocking) {
        Slot& slot = this->slot(s);
        Details& d = describe(a, s, dest, size);
        d.ready = a.clock;
        d.busy = m.send[l * m.sizes + size];
        const double posted = slot.time;
        const bool met = slot.state & POSTED;
        slot.time = a.clock;
        slot.state |= LAUNCHED | RENDEZVOUS;
        if (met) open_rendezvous(s, posted);
        else wake(slot.waiter);  // a probe
        if (!blocking) {
            tape.pay(BUSY, a.number, dest, size);
            const int64_t at = l * m.sizes + size;
            spend(a, call(at, m.send[at]));
            return false;
        }
        // A sender that is free at once paid and waited for nothing; a tape records both, for machines where they take time.
        return !RECORDER::RECORDS && slot.state & SENT && d.sent <= a.clock;
    }

    HOT Details& describe(const Actor& a, int32_t s, int32_t dest, int32_t size) {
        Details& d = details(s);
        d.source = d.owner = a.number;
        d.dest = dest;
        d.size = size;
        d.order = order_low(a.place, a.launched);
        return d;
    }

    // Open a rendezvous whose sender is ready, as its receive is posted now.
    void open_if_ready(const Actor& a, int32_t s) {
        if ((slot(s).state & (RENDEZVOUS | SENT)) != RENDEZVOUS) return;
        tape.post(s);
        open_rendezvous(s, a.clock);
    }

    void open_rendezvous(int32_t s, double posted) {
        const Details& d = details(s);
        const bool reading = reads(d);
        // A library that progresses only in calls, or reads the data, does so after it has seen the envelope.
        const double seen = in_calls() || reading ? envelope(s) : d.ready, known = posted > seen ? posted : seen;
        if (reading) slot(s).state |= CONFIRMED;
        if (in_calls()) later(s, known, CALLED);
        else answer(s, known);
    }

    // Whether the receiver reads the data of a rendezvous. A tape ignores it: its data start no later.
    bool reads(const Details& d) const {
        return !RECORDER::RECORDS && m.any_reads && m.reads[link(epoch(d.ready), d.source, d.dest)] != 0.0;
    }

    void answer(int32_t s, double time) {
        const Details& d = details(s);
        if (reads(d)) return start_data(s, time);
        time += m.answer[link(epoch(d.ready), d.source, d.dest)];
        if (in_calls()) later(s, time, ANSWERED);
        else start_data(s, time);
    }

    void start_data(int32_t s, double time) {
        const Details& d = details(s);
        if (between_nodes(d.source, d.dest) ? NETWORK::IN_TURN : m.copies_in_turn) later(s, time, TRANSFER);
        else transfer(s, time);
    }

    // Continue now, or at the start of the rank's next call.
    void within_call(int32_t rank, int32_t id, What what) {
        Absence& absence = this->absences[rank];
        if (absence.under_way && absence.since < this->now) absence.waiting.push_back({id, what});
        else carry_on(id, what, absence.after(this->now));
    }

    // A one-sided operation has reached its target: execute it, now or at the start of the target's next call.
    [[gnu::noinline]] void reaches(int32_t s) {
        if (!m.in_calls) return execute(s);
        this->accesses.await_call(details(s).dest, s);
        within_call(details(s).dest, s, EXECUTES);
    }

    // Those that have waited for the same call are executed in the order of their arrivals: one may have been before its time.
    void execute_next(int32_t s) {
        const Details& d = details(s);
        execute(this->accesses.next_in_call(slot(s).state & BACK ? d.source : d.dest));
    }

    // Do at the target what an operation asks for.
    void execute(int32_t s) {
        const Access& access = this->accesses.of(s);
        if (access.lock < 0) return answer_access(s);
        if (access.kind == ACCESS_UNLOCK) {
            answer_access(s);
            this->accesses.release(s);
        } else {
            this->accesses.ask(s);
        }
        for (int32_t each; (each = this->accesses.grant(s)) >= 0;) answer_access(each);
    }

    // Let the answer travel back to the origin.
    void answer_access(int32_t s) {
        Details& d = details(s);
        std::swap(d.source, d.dest);
        d.size = this->accesses.of(s).back;
        Slot& slot = this->slot(s);
        slot.state = (slot.state & ~ARRIVED) | BACK;
        start_access(s, this->now);
        if (slot.state & ARRIVED) this->come_back(s);
    }

    // Start the data of a one-sided operation, or of its answer; return what a call takes that starts them.
    double start_access(int32_t s, double start) {
        const Details& d = details(s);
        const int64_t l = link(epoch(start), d.source, d.dest), at = l * m.sizes + d.size;
        const double begin = m.bytes[d.size] <= m.eager_limit[l] ? start : copied_from(d, start);
        const Fare its = fare(link(epoch(begin), d.source, d.dest), d.size);
        const double busy = depart(s, begin, couples(d.source, d.dest), false, its).busy;
        // Data may wait for copies until parameters have changed; the call does not.
        return call(at, begin > start ? m.send[at] : busy);
    }

    void note_access(Actor& a, int32_t s, int32_t dest, int32_t size) {
        a.launched++;
        if (!out.messages) return;
        observe(a.number, dest, size);
        observe(dest, a.number, this->accesses.of(s).back);
    }

    void transfer(int32_t s, double start) {
        Details& d = details(s);
        Slot& slot = this->slot(s);
        tape.transfer(s);
        const bool coupled = couples(d.source, d.dest);
        const double begin = copied_from(d, start);
        const Departure departure = depart(s, begin, coupled, true, fare(link(epoch(begin), d.source, d.dest), d.size));
        d.busy = departure.busy;
        if (slot.state & CONFIRMED) {
            if (slot.state & ARRIVED) this->acknowledge(s);
        } else if (!departure.later) {
            d.sent = departure.sent;
            slot.state |= SENT;
            wake(d.sender);
        }
        if (slot.state & ARRIVED) wake(slot.waiter);
    }

    // When the receiver begins to copy data that its sender has not copied: once it has copied those before.
    double copied_from(const Details& d, double start) {
        if (!m.copies_in_turn) return start;
        const double takes = m.copy[link(epoch(start), d.source, d.dest) * m.sizes + d.size];
        if (takes < 0.0) return start;
        double& copied = copied_[d.dest];
        const double begin = copied > start ? copied : start;
        copied = begin + takes;
        return begin;
    }

    void observe(int32_t source, int32_t dest, int32_t size) {
        out.messages[source * numbers + dest]++;
        out.volume[source * numbers + dest] += m.bytes[size];
    }

    NETWORK network_;
    std::vector<double> copied_;  // by rank, when it has copied the messages that it receives within its node
};

}  // namespace clue
