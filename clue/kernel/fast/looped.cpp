// Replays of programs in loops: a separate library, because few users need it, and it takes as long to compile as the other one.
#include "replays.hpp"

extern "C" int64_t clue_replay_loops(const clue::Program* program, const clue::Machine* machine, clue::Outcome* outcome) {
    return clue::replays<clue::Looped>(*program, *machine, *outcome);
}
