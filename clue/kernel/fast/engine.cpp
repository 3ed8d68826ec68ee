// The functions that Python calls. All return 0, or a status that gives the reason for failure.
#include "replays.hpp"
#include "tape.hpp"

using namespace clue;

extern "C" {

// Prepare a program; the caller must release the result.
int64_t clue_prepare(Program* program, Prepared** prepared, Stop* stop) {
    return told([&]() -> int64_t {
        auto made = std::make_unique<Prepared>();
        if (!made->make(*program, stop)) return STATUS_TOO_MANY;
        *prepared = made.release();
        return STATUS_FINE;
    });
}

void clue_release(Prepared* prepared) { delete prepared; }

int64_t clue_replay(const Program* program, const Machine* machine, Outcome* outcome) { return replays<Listed>(*program, *machine, *outcome); }

// Replay on one machine, ignoring everything but messages that couples its ranks, and write the tape; the caller must release it.
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

// Run a tape for any number of machines, each with its own bursts (seconds by op) where `bursts` is not null.
int64_t clue_sweep(const Tape* tape, const Program* program, const Machine* const* machines, const double* const* bursts,
                   int64_t count, double* makespan, uint8_t* agrees, Stop* stop) {
    return told([&]() -> int64_t {
        Block block(*tape, *program, stop);
        for (int64_t first = 0; first < count; first += LANES) {
            // The last machine fills the unused lanes.
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
