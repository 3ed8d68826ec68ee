// Replays by the engine of a network and processors; their status: 0, or a number that gives the reason for failure.
#pragma once

#include <new>

#include "engine.hpp"

namespace clue {

// Call a function that returns a status; convert exceptions to a status.
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

template <class SOURCE, class NETWORK>
void replay(const Program& program, const Machine& machine, Outcome& outcome) {
    if (machine.any_shared) Engine<NETWORK, Shared, Silent, SOURCE>(program, machine, outcome).run();
    else Engine<NETWORK, Alone, Silent, SOURCE>(program, machine, outcome).run();
}

// Replay with a network policy, or with another one if messages within nodes share memory.
template <class SOURCE, class NETWORK, class COPYING>
void replay(const Program& program, const Machine& machine, Outcome& outcome) {
    if (machine.copies) Engine<COPYING, Shared, Silent, SOURCE>(program, machine, outcome).run();
    else replay<SOURCE, NETWORK>(program, machine, outcome);
}

// Check that the numbers of all copies of a program fit.
inline void check_numbers(const Program& program, const Machine& machine) {
    const int64_t most = std::numeric_limits<int32_t>::max() / machine.instances;
    if (std::max({program.ranks, program.slots, program.instances, program.fork_offsets[program.ranks]}) > most) throw TooMany();
}

template <class SOURCE>
int64_t replays(const Program& program, const Machine& machine, Outcome& outcome) {
    return told([&]() -> int64_t {
        check_numbers(program, machine);
        switch (machine.network) {
            case CONTENTION_NONE: replay<SOURCE, Unshared, Flows>(program, machine, outcome); break;
            case CONTENTION_FACTOR: replay<SOURCE, Factor, Copying<Factor>>(program, machine, outcome); break;
            case CONTENTION_PORTS: replay<SOURCE, Ports, Copying<Ports>>(program, machine, outcome); break;
            case CONTENTION_FLOWS: replay<SOURCE, Flows>(program, machine, outcome); break;
            default: return STATUS_NO_SUCH_MODEL;
        }
        return STATUS_FINE;
    });
}

}  // namespace clue
