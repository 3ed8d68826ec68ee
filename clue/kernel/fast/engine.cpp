// What Python calls. Everything returns 0, or a number that says why not.
#include "engine.hpp"

namespace {

using namespace clue;

enum Status : int64_t { FINE = 0, NO_MEMORY = 1, STOPPED = 2 };

template <int NETWORK>
void replay(const Program& program, const Machine& machine, Outcome& outcome) {
    if (machine.any_shared) Engine<NETWORK, true>(program, machine, outcome).run();
    else Engine<NETWORK, false>(program, machine, outcome).run();
}

}  // namespace

extern "C" {

// Sizes of the structures, so that a mismatch with Python is found when the library is loaded.
void clue_layout(int64_t* sizes) {
    sizes[0] = sizeof(Program);
    sizes[1] = sizeof(Collectives);
    sizes[2] = sizeof(Machine);
    sizes[3] = sizeof(Outcome);
    sizes[4] = sizeof(Row);
}

int64_t clue_prepare(Program* program, int64_t* bytes, int64_t room) { return prepare(*program, bytes, room); }

int64_t clue_replay(const Program* program, const Machine* machine, Outcome* outcome) {
    try {
        switch (machine->network) {
            case FACTOR: replay<FACTOR>(*program, *machine, *outcome); break;
            case PORTS: replay<PORTS>(*program, *machine, *outcome); break;
            case FLOWS: replay<FLOWS>(*program, *machine, *outcome); break;
            default: replay<UNSHARED>(*program, *machine, *outcome);
        }
    } catch (const std::bad_alloc&) {
        return NO_MEMORY;
    } catch (const Stopped&) {
        return STOPPED;
    }
    return FINE;
}

}
