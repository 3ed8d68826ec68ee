// What Python calls. Everything returns 0, or a number that says why not.
#include "engine.hpp"

namespace {

using namespace clue;

// Do something that returns a status; says so of what it throws, too.
template <class What>
int64_t told(What&& what) {
    try {
        return what();
    } catch (const std::bad_alloc&) {
        return STATUS_NO_MEMORY;
    } catch (const Stopped&) {
        return STATUS_STOPPED;
    } catch (const TooMany&) {
        return STATUS_TOO_MANY;
    }
}

template <class NETWORK>
void replay(const Program& program, const Machine& machine, Outcome& outcome) {
    if (machine.any_shared) Engine<NETWORK, Shared>(program, machine, outcome).run();
    else Engine<NETWORK, Alone>(program, machine, outcome).run();
}

// Replay with a network, or with another one where messages within nodes share its memory.
template <class NETWORK, class COPYING>
void replay(const Program& program, const Machine& machine, Outcome& outcome) {
    if (machine.copies) Engine<COPYING, Shared>(program, machine, outcome).run();
    else replay<NETWORK>(program, machine, outcome);
}

// What copies of a program number together has to fit.
void check_numbers(const Program& program, const Machine& machine) {
    const int64_t most = std::numeric_limits<int32_t>::max() / machine.instances;
    if (std::max({program.ranks, program.slots, program.instances, program.fork_offsets[program.ranks]}) > most) throw TooMany();
}

}  // namespace

extern "C" {

// Make a program ready; what is made for it is to be released later.
int64_t clue_prepare(Program* program, Prepared** prepared, Stop* stop) {
    return told([&]() -> int64_t {
        auto made = std::make_unique<Prepared>();
        if (!made->make(*program, stop)) return STATUS_TOO_MANY;
        *prepared = made.release();
        return STATUS_FINE;
    });
}

void clue_release(Prepared* prepared) { delete prepared; }

int64_t clue_replay(const Program* program, const Machine* machine, Outcome* outcome) {
    return told([&]() -> int64_t {
        check_numbers(*program, *machine);
        switch (machine->network) {
            case CONTENTION_NONE: replay<Unshared, Flows>(*program, *machine, *outcome); break;
            case CONTENTION_FACTOR: replay<Factor, Copying<Factor>>(*program, *machine, *outcome); break;
            case CONTENTION_PORTS: replay<Ports, Copying<Ports>>(*program, *machine, *outcome); break;
            case CONTENTION_FLOWS: replay<Flows>(*program, *machine, *outcome); break;
            default: return STATUS_NO_SUCH_MODEL;
        }
        return STATUS_FINE;
    });
}

// Replay on one machine, whatever couples its ranks beside messages left aside, and write the tape; it is to be forgotten later.
int64_t clue_record(const Program* program, const Machine* machine, Outcome* outcome, Tape** tape) {
    return told([&]() -> int64_t {
        check_numbers(*program, *machine);
        Engine<Unshared, Alone, Recorder> engine(*program, *machine, *outcome);
        engine.run();
        const int64_t ranks = program->ranks * machine->instances;
        if (std::any_of(outcome->blocked, outcome->blocked + ranks, [](int64_t row) { return row != -1; })) return STATUS_DEADLOCK;
        *tape = new Tape(engine.recorder().take());
        return STATUS_FINE;
    });
}

int64_t clue_lanes() { return LANES; }

void clue_forget(Tape* tape) { delete tape; }

// Run a tape for any number of machines, each with bursts of its own (seconds by op) where `bursts` is not null.
int64_t clue_sweep(const Tape* tape, const Program* program, const Machine* const* machines, const double* const* bursts,
                   int64_t count, double* makespan, uint8_t* agrees, Stop* stop) {
    return told([&]() -> int64_t {
        Block block(*tape, *program, stop);
        for (int64_t first = 0; first < count; first += LANES) {
            // The last machine stands in the lanes that are left.
            const Machine* lanes[LANES];
            const double* own[LANES];
            double ends[LANES];
            uint8_t same[LANES];
            for (int64_t lane = 0; lane < LANES; ++lane) {
                const int64_t at = std::min(first + lane, count - 1);
                lanes[lane] = machines[at];
                own[lane] = bursts ? bursts[at] : nullptr;
            }
            block.run(lanes, bursts ? own : nullptr, ends, same);
            const int64_t used = std::min<int64_t>(LANES, count - first);
            std::copy_n(ends, used, makespan + first);
            std::copy_n(same, used, agrees + first);
        }
        return STATUS_FINE;
    });
}

}
