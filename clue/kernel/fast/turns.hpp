// A rank that takes turns with background load: defined by clue/kernel/model/turns.py.
#pragma once

#include <cmath>

namespace clue {

class Turns {
public:
    Turns() = default;
    Turns(double share, double slice) : share_(share), rest_(1.0 - share), slice_(slice), ends_(slice) {}

    bool any() const { return slice_ > 0.0; }

    double run(double time, double seconds) {
        if (time >= ends_) time = begin(time, ends_);
        const double left = ends_ - time;
        if (seconds > left + ROUNDING * slice_) {
            lag_ -= left * rest_;
            seconds -= left;
            time = skip(seconds);
        }
        lag_ -= seconds * rest_;
        return time + seconds;
    }

    double wake(double slept, double time) { return begin(time, slept < ends_ ? slept : ends_); }

    void pass_time(double seconds) {
        if (lag_ < 0.0) {
            const double lag = lag_ + seconds * share_;
            lag_ = lag < 0.0 ? lag : 0.0;
        }
    }

private:
    static constexpr double ROUNDING = 1e-9;

    // Skip from the end of its turn over all turns but the last; return when that one begins.
    double skip(double& seconds) {
        const double whole = at_least_none(std::ceil(seconds / slice_ - ROUNDING) - 1.0);
        const double lag = lag_ - whole * slice_ * rest_;
        const double others = at_least_none(std::ceil(-lag / share_ / slice_ - ROUNDING));
        lag_ = at_least_none(lag + others * slice_ * share_);
        const double begin = ends_ + (whole + others) * slice_;
        ends_ = begin + slice_;
        seconds = at_least_none(seconds - whole * slice_);
        return begin;
    }

    double begin(double time, double since) {
        if (lag_ < -ROUNDING * slice_) {
            const double even = time - lag_ / share_;
            const double begins = since + std::ceil((even - since) / slice_ - ROUNDING) * slice_;
            const double begin = begins > time ? begins : time;
            lag_ = at_least_none(lag_ + (begin - time) * share_);
            time = begin;
        }
        ends_ = time + slice_;
        return time;
    }

    static double at_least_none(double value) { return value > 0.0 ? value : 0.0; }

    double share_ = 1.0, rest_ = 0.0, slice_ = 0.0, lag_ = 0.0, ends_ = 0.0;
};

}  // namespace clue
