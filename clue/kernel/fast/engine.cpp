// What Python calls. Everything returns 0, or a number that says why not.
#include "engine.hpp"

namespace {

using namespace clue;

enum Status : int64_t { FINE = 0, NO_MEMORY = 1, STOPPED = 2, DEADLOCK = 3, TOO_MANY = 4, NO_SUCH_MODEL = 5 };

template <class NETWORK>
void replay(const Program& program, const Machine& machine, Outcome& outcome) {
    if (machine.any_shared) Engine<NETWORK, Shared>(program, machine, outcome).run();
    else Engine<NETWORK, Alone>(program, machine, outcome).run();
}

// What copies of a program number together has to fit.
void check_numbers(const Program& program, const Machine& machine) {
    const int64_t most = std::numeric_limits<int32_t>::max() / machine.instances;
    if (std::max({program.ranks, program.slots, program.instances, program.fork_offsets[program.ranks]}) > most) throw TooMany();
}

}  // namespace

extern "C" {

// Sizes of the structures, so that a mismatch with Python is found when the library is loaded.
void clue_layout(int64_t* sizes) {
    sizes[0] = sizeof(Program);
    sizes[1] = sizeof(Collectives);
    sizes[2] = sizeof(Machine);
    sizes[3] = sizeof(Outcome);
}

// Make a program ready; what is made for it is to be released later.
int64_t clue_prepare(Program* program, Prepared** prepared, Stop* stop) {
    try {
        auto made = std::make_unique<Prepared>();
        if (!made->make(*program, stop)) return TOO_MANY;
        *prepared = made.release();
    } catch (const std::bad_alloc&) {
        return NO_MEMORY;
    } catch (const Stopped&) {
        return STOPPED;
    }
    return FINE;
}

void clue_release(Prepared* prepared) { delete prepared; }

int64_t clue_replay(const Program* program, const Machine* machine, Outcome* outcome) {
    try {
        check_numbers(*program, *machine);
        switch (machine->network) {
            case CONTENTION_NONE: replay<Unshared>(*program, *machine, *outcome); break;
            case CONTENTION_FACTOR: replay<Factor>(*program, *machine, *outcome); break;
            case CONTENTION_PORTS: replay<Ports>(*program, *machine, *outcome); break;
            case CONTENTION_FLOWS: replay<Flows>(*program, *machine, *outcome); break;
            default: return NO_SUCH_MODEL;
        }
    } catch (const std::bad_alloc&) {
        return NO_MEMORY;
    } catch (const Stopped&) {
        return STOPPED;
    } catch (const TooMany&) {
        return TOO_MANY;
    }
    return FINE;
}

// Replay on one machine, whatever couples its ranks beside messages left aside, and write the tape; it is to be forgotten later.
int64_t clue_record(const Program* program, const Machine* machine, Outcome* outcome, Tape** tape) {
    try {
        check_numbers(*program, *machine);
        Engine<Unshared, Alone, Recorder> engine(*program, *machine, *outcome);
        engine.run();
        const int64_t ranks = program->ranks * machine->instances;
        if (std::any_of(outcome->blocked, outcome->blocked + ranks, [](int64_t row) { return row != -1; })) return DEADLOCK;
        *tape = new Tape(engine.recorder().take());
    } catch (const std::bad_alloc&) {
        return NO_MEMORY;
    } catch (const Stopped&) {
        return STOPPED;
    } catch (const TooMany&) {
        return TOO_MANY;
    }
    return FINE;
}

int64_t clue_lanes() { return LANES; }

void clue_forget(Tape* tape) { delete tape; }

// Run a tape for any number of machines, each with bursts of its own (seconds by op) where `bursts` is not null.
int64_t clue_sweep(const Tape* tape, const Program* program, const Machine* const* machines, const double* const* bursts,
                   int64_t count, double* makespan, uint8_t* agrees, Stop* stop) {
    try {
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
    } catch (const std::bad_alloc&) {
        return NO_MEMORY;
    } catch (const Stopped&) {
        return STOPPED;
    }
    return FINE;
}

}
