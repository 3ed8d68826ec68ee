// Extra time of a rank's bursts after its waits: defined by clue/kernel/model/cold.py.
#pragma once

#include <algorithm>
#include <cstdint>

#include "layout.hpp"

namespace clue {

// The cost of waits on a node type at a time.
struct ColdStart {
    const double *waits, *extra, *slopes, *end;
    double at_most;

    ColdStart(const Machine& m, int64_t at)
        : waits(m.cold_waits + m.cold_first[at]),
          extra(m.cold_extra + m.cold_first[at]),
          slopes(m.cold_slopes + m.cold_first[at]),
          end(m.cold_waits + m.cold_first[at + 1]),
          at_most(m.cold_at_most[at]) {}

    double after(double wait) const {
        const int64_t i = std::upper_bound(waits, end, wait) - waits - 1;
        return extra[i] + (wait - waits[i]) * slopes[i];
    }
};

class Cold {
public:
    double begin(const ColdStart& start, double clock, double communicate, double seconds) {
        waited_ += at_least_none((clock - clock_) - (communicate - communicate_));
        const double owed = at_least_none(start.after(waited_) - paid_), most = start.at_most * seconds;
        if (owed <= most) {
            waited_ = paid_ = 0.0;
            return owed;
        }
        paid_ += most;
        return most;
    }

    void end(double clock, double communicate) {
        clock_ = clock;
        communicate_ = communicate;
    }

private:
    static double at_least_none(double value) { return value > 0.0 ? value : 0.0; }

    double clock_ = 0.0, communicate_ = 0.0, waited_ = 0.0, paid_ = 0.0;
};

}  // namespace clue
