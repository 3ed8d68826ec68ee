// A rank that takes turns with background load: the meaning is that of clue/kernel/turns.py.
#pragma once

#include <cmath>

namespace clue {

class Turns {
public:
    Turns() = default;
    Turns(double share, double slice) : share_(share), rest_(1.0 - share), slice_(slice), ends_(slice) {}

    bool any() const { return slice_ > 0.0; }

    double run(double time, double seconds) {
        for (;;) {
            if (time >= ends_) {
                released_ = ends_;
                time = begin(time);
            }
            const double left = ends_ - time;
            if (seconds <= left + ROUNDING * slice_) {
                lag_ -= seconds * rest_;
                return time + seconds;
            }
            seconds -= left;
            lag_ -= left * rest_;
            time = ends_;
        }
    }

    double wake(double slept, double time) {
        released_ = slept;
        return begin(time);
    }

    void pass_time(double seconds) {
        if (lag_ < 0.0) {
            const double lag = lag_ + seconds * share_;
            lag_ = lag < 0.0 ? lag : 0.0;
        }
    }

private:
    static constexpr double ROUNDING = 1e-9;

    double begin(double time) {
        if (lag_ < 0.0) {
            const double even = time - lag_ / share_;
            const double begins = released_ + std::ceil((even - released_) / slice_ - ROUNDING) * slice_;
            const double begin = begins > time ? begins : time;
            const double lag = lag_ + (begin - time) * share_;
            lag_ = lag > 0.0 ? lag : 0.0;
            time = begin;
        }
        ends_ = time + slice_;
        return time;
    }

    double share_ = 1.0, rest_ = 0.0, slice_ = 0.0, lag_ = 0.0, released_ = 0.0, ends_ = 0.0;
};

}  // namespace clue
