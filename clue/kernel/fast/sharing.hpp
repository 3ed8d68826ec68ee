// Max-min fair sharing of links, re-solved only where something changes.
//
// This is clue/kernel/reference/sharing.py, operation by operation: read that first. Both do the same floating-point operations
// in the same order and give the same bits, if the compiler neither contracts nor reorders them
// (-ffp-contract=off, no -ffast-math). Only storage differs: flows are in one array indexed by their number, the links of
// their routes in another, and nothing is allocated after the largest number of simultaneous flows has been reached.

#ifndef CLUE_KERNEL_FAST_SHARING_HPP
#define CLUE_KERNEL_FAST_SHARING_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace clue {

class FairSharing {
 public:
  FairSharing(const double* capacities, int32_t links) : links_(static_cast<size_t>(links)) {
    for (size_t i = 0; i < links_.size(); ++i) links_[i].capacity = capacities[i];
  }

  // Start a flow: `flow` is an unused number, `links` are the `count` >= 1 links of its route, each once, `limit` (B/s, may be
  // infinite) is its largest rate.
  void add(int32_t flow, const int32_t* links, int32_t count, double limit) {
    make_room(flow, count);
    Flow& begun = flows_[static_cast<size_t>(flow)];
    begun = Flow{};
    begun.limit = limit;
    begun.hops = count;
    Hop* way = way_of(flow);
    for (int32_t hop = 0; hop < count; ++hop) {
      way[hop].link = links[hop];
      admit(links_[static_cast<size_t>(links[hop])], flow, hop);
    }
    new_.push_back(flow);
  }

  // End a flow.
  void remove(int32_t flow) {
    const Flow& ended = flows_[static_cast<size_t>(flow)];
    if (ended.rate == kNoRate) new_.erase(std::find(new_.begin(), new_.end(), flow));
    const Hop* way = way_of(flow);
    for (int32_t hop = 0; hop < ended.hops; ++hop) {
      Link& link = links_[static_cast<size_t>(way[hop].link)];
      expel(link, way[hop].link, ended, way[hop].place);
      if (link.free != 0 && !link.shaken) {
        link.shaken = true;
        shaken_.push_back(way[hop].link);
      }
    }
  }

  // Give all flows their fair rates and call `changed(flow, rate)` for those whose rates have changed since the last call,
  // including new ones.
  template <class Changed>
  void settle(Changed&& changed) {
    begin_filling();
    while (!due_.empty()) {
      const Due due = due_.front();
      std::pop_heap(due_.begin(), due_.end(), Later{});
      due_.pop_back();
      Link& link = links_[static_cast<size_t>(due.link)];
      if (due.rate == link.due) {
        link.due = kInfinite;
        look_at(due.link, due.rate);
      }
    }
    for (const int32_t number : noted_) {
      Flow& flow = flows_[static_cast<size_t>(number)];
      flow.noted = false;
      flow.state = kSettled;
      if (flow.rate != flow.before) changed(number, flow.rate);
    }
    noted_.clear();
  }

 private:
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();
  static constexpr double kTolerance = 1e-12;
  static constexpr double kAbove = 1.0 + kTolerance;
  static constexpr double kBelow = 1.0 - kTolerance;
  static constexpr double kNoRate = -1.0;
  static constexpr int32_t kNobody = -1;

  enum State : uint8_t { kSettled, kRising, kFinal };

  struct Flow {
    double rate = kNoRate;
    double limit = 0.0;
    double before = kNoRate;
    int32_t holder = kNobody;
    int32_t hops = 0;
    State state = kRising;
    bool noted = false;
  };

  struct Hop {
    int32_t link;
    int32_t place;
  };

  struct Member {
    int32_t flow;
    int32_t hop;
  };

  struct Link {
    double capacity = 0.0;
    double taken = 0.0;
    double level = kInfinite;
    double due = kInfinite;
    double most = 0.0;
    int32_t free = 0;
    int32_t rising = 0;
    int32_t changes = 0;
    bool shaken = false;
    std::vector<Member> members;

    int32_t size() const { return static_cast<int32_t>(members.size()); }
    double share() const { return (capacity - taken) / static_cast<double>(free); }
    bool overfull() const { return free == 0 && taken > capacity * kAbove; }
  };

  struct Due {
    double rate;
    int32_t link;
  };

  struct Later {
    bool operator()(const Due& one, const Due& other) const {
      return one.rate > other.rate || (one.rate == other.rate && one.link > other.link);
    }
  };

  Hop* way_of(int32_t flow) { return ways_.data() + static_cast<size_t>(flow) * stride_; }

  Link& link_at(int32_t link) { return links_[static_cast<size_t>(link)]; }

  Flow& flow_at(int32_t flow) { return flows_[static_cast<size_t>(flow)]; }

  void make_room(int32_t flow, int32_t hops) {
    if (static_cast<size_t>(hops) > stride_) {
      size_t stride = stride_;
      while (stride < static_cast<size_t>(hops)) stride *= 2;
      std::vector<Hop> ways(flows_.size() * stride);
      for (size_t i = 0; i < flows_.size(); ++i)
        std::copy_n(ways_.begin() + static_cast<std::ptrdiff_t>(i * stride_), stride_,
                    ways.begin() + static_cast<std::ptrdiff_t>(i * stride));
      ways_.swap(ways);
      stride_ = stride;
    }
    if (static_cast<size_t>(flow) >= flows_.size()) {
      const size_t size = std::max<size_t>(64, std::max<size_t>(static_cast<size_t>(flow) + 1, 2 * flows_.size()));
      flows_.resize(size);
      ways_.resize(size * stride_);
    }
  }

  // Links and their members.

  void swap_members(Link& link, int32_t one, int32_t other) {
    Member& first = link.members[static_cast<size_t>(one)];
    Member& second = link.members[static_cast<size_t>(other)];
    std::swap(first, second);
    way_of(first.flow)[first.hop].place = one;
    way_of(second.flow)[second.hop].place = other;
  }

  void admit(Link& link, int32_t flow, int32_t hop) {
    link.members.push_back({flow, hop});
    swap_members(link, link.free, link.size() - 1);
    ++link.free;
    ++link.rising;
    way_of(flow)[hop].place = link.free - 1;
  }

  void expel(Link& link, int32_t index, const Flow& flow, int32_t place) {
    if (place < link.free) {
      lose_free(link, place);
      place = link.free;
    }
    swap_members(link, place, link.size() - 1);
    link.members.pop_back();
    if (flow.state == kRising)
      --link.rising;
    else if (flow.holder != index)
      take(link, -flow.rate);
    forget_guests_if_none(link);
  }

  void free_guest(Link& link, double rate, int32_t place) {
    swap_members(link, link.free, place);
    ++link.free;
    take(link, -rate);
    forget_guests_if_none(link);
  }

  void make_guest(Link& link, double rate, int32_t place) {
    lose_free(link, place);
    link.most = std::max(link.most, rate);
    take(link, rate);
  }

  void take(Link& link, double more) {
    link.taken += more;
    if (++link.changes > 4 * link.size() + 64) {
      link.changes = 0;
      link.taken = 0.0;
      for (int32_t place = link.free; place < link.size(); ++place) link.taken += rate_of(link, place);
    }
  }

  double level_above_guests(Link& link, double level) {
    fast_.clear();
    link.most = 0.0;
    for (int32_t place = link.free; place < link.size(); ++place) {
      const Flow& guest = flow_at(link.members[static_cast<size_t>(place)].flow);
      link.most = std::max(link.most, guest.rate);
      if (guest.rate > level * kAbove && guest.state == kSettled) fast_.push_back(guest.rate);
    }
    double left = link.capacity - link.taken;
    int32_t count = link.free;
    for (const double rate : fast_) {
      left += rate;
      ++count;
    }
    while (!fast_.empty()) {
      level = left / static_cast<double>(count);
      size_t kept = 0;
      for (const double rate : fast_) {
        if (rate > level * kAbove) {
          fast_[kept++] = rate;
        } else {
          left -= rate;
          --count;
        }
      }
      if (kept == fast_.size()) break;
      fast_.resize(kept);
    }
    return level;
  }

  double rate_of(const Link& link, int32_t place) {
    return flow_at(link.members[static_cast<size_t>(place)].flow).rate;
  }

  void lose_free(Link& link, int32_t place) {
    --link.free;
    swap_members(link, place, link.free);
    if (link.free == 0) link.level = kInfinite;
  }

  void forget_guests_if_none(Link& link) {
    if (link.free == link.size()) {
      link.taken = 0.0;
      link.most = 0.0;
      link.changes = 0;
    }
  }

  // The filling.

  void begin_filling() {
    for (const int32_t flow : new_) note(flow);
    for (const int32_t flow : new_) {
      if (fits(flow)) continue;
      const Hop* way = way_of(flow);
      for (int32_t hop = 0; hop < flow_at(flow).hops; ++hop) call_up(way[hop].link);
    }
    for (const int32_t link : shaken_) {
      link_at(link).shaken = false;
      call_up(link);
    }
    new_.clear();
    shaken_.clear();
  }

  bool fits(int32_t number) {
    Flow& flow = flow_at(number);
    const Hop* way = way_of(number);
    double room = kInfinite;
    int32_t narrow = kNobody;
    for (int32_t hop = 0; hop < flow.hops; ++hop) {
      const Link& link = link_at(way[hop].link);
      if (link.free != 1) return false;
      const double left = link.capacity - link.taken;
      if (left < room) {
        room = left;
        narrow = way[hop].link;
      }
    }
    if (flow.limit <= room) {
      hold(number, flow.limit, kNobody);
    } else if (narrow != kNobody && link_at(narrow).most <= room * kAbove) {
      link_at(narrow).level = room;
      hold(number, room, narrow);
    } else {
      return false;
    }
    flow.state = kSettled;
    return true;
  }

  void call_up(int32_t index) {
    Link& link = link_at(index);
    if (link.free == 0) return;
    const double share = link.share();
    if (link.rising != 0 || !(link.level * kBelow <= share && share <= link.level * kAbove))
      call_up_at(link, index, std::min(share, link.level));
  }

  void call_up_at(Link& link, int32_t index, double rate) {
    if (rate < link.due) {
      link.due = rate;
      due_.push_back({rate, index});
      std::push_heap(due_.begin(), due_.end(), Later{});
    }
  }

  bool put_off(Link& link, int32_t index, double rate) {
    const bool later = !due_.empty() && rate > due_.front().rate;
    if (later) call_up_at(link, index, rate);
    return later;
  }

  void look_at(int32_t index, double rate) {
    Link& link = link_at(index);
    if (link.free == 0) {
      if (link.overfull()) fill(link, index, rate);
      return;
    }
    const double share = link.share();
    if (share > link.level * kAbove) {
      if (!put_off(link, index, link.level)) release(link, index);
    } else if (share < link.level * kBelow) {
      fill(link, index, share);
    } else if (link.rising != 0) {
      fill(link, index, link.level);
    }
  }

  void fill(Link& link, int32_t index, double level) {
    if (put_off(link, index, level)) return;
    if (link.most > level * kAbove) {
      level = level_above_guests(link, level);
      if (put_off(link, index, level)) return;
    }
    if (!limit(link, index, level)) close(link, index, level);
  }

  bool limit(Link& link, int32_t index, double level) {
    int32_t place = 0;
    bool some = false;
    while (link.rising != 0 && place < link.free) {
      const int32_t number = link.members[static_cast<size_t>(place)].flow;
      const Flow& flow = flow_at(number);
      if (flow.state == kRising && flow.limit <= level) {
        hold(number, flow.limit, kNobody);
        some = true;
      } else {
        ++place;
      }
    }
    if (some) call_up(index);
    return some;
  }

  void release(Link& link, int32_t index) {
    link.level = kInfinite;
    int32_t place = 0;
    while (place < link.free) {
      const int32_t number = link.members[static_cast<size_t>(place)].flow;
      Flow& flow = flow_at(number);
      if (flow.state == kSettled) {
        const Hop* other = other_holder(number);
        if (other != nullptr) {
          flow.holder = other->link;
          make_guest(link, flow.rate, place);
          free_guest(link_at(other->link), flow.rate, other->place);
          continue;
        }
        free(number, index);
      }
      ++place;
    }
    call_up(index);
  }

  const Hop* other_holder(int32_t number) {
    const Flow& flow = flow_at(number);
    const Hop* way = way_of(number);
    for (int32_t hop = 0; hop < flow.hops; ++hop)
      if (link_at(way[hop].link).level <= flow.rate * kAbove) return way + hop;
    return nullptr;
  }

  void free(int32_t number, int32_t holder) {
    note(number);
    Flow& flow = flow_at(number);
    flow.state = kRising;
    flow.holder = kNobody;
    const Hop* way = way_of(number);
    for (int32_t hop = 0; hop < flow.hops; ++hop) {
      Link& link = link_at(way[hop].link);
      ++link.rising;
      if (way[hop].link != holder) {
        free_guest(link, flow.rate, way[hop].place);
        call_up(way[hop].link);
      }
    }
  }

  void close(Link& link, int32_t index, double level) {
    const bool lowered = level != link.level;
    link.level = level;
    if (link.most > level * kAbove) {
      for (int32_t place = link.free; place < link.size(); ++place) {
        const Flow& guest = flow_at(link.members[static_cast<size_t>(place)].flow);
        if (guest.rate > level * kAbove && guest.state == kSettled) free_guest(link, guest.rate, place);
      }
    }
    for (int32_t place = 0; place < link.free; ++place) {
      const int32_t number = link.members[static_cast<size_t>(place)].flow;
      const Flow& flow = flow_at(number);
      if (flow.state == kRising)
        hold(number, level, index);
      else if (flow.state == kSettled && (lowered || flow.holder != index))
        lower(number, level, index);
    }
    if (link.free == 0) link.level = kInfinite;
  }

  void hold(int32_t number, double rate, int32_t holder) {
    Flow& flow = flow_at(number);
    flow.state = kFinal;
    flow.holder = holder;
    // Its own limit is exact; the rate that a link leaves for it is known up to rounding.
    if (holder == kNobody || std::fabs(rate - flow.rate) > flow.rate * kTolerance) flow.rate = rate;
    const Hop* way = way_of(number);
    for (int32_t hop = 0; hop < flow.hops; ++hop) {
      Link& link = link_at(way[hop].link);
      --link.rising;
      if (way[hop].link != holder) {
        make_guest(link, flow.rate, way[hop].place);
        if (link.overfull()) call_up_at(link, way[hop].link, flow.rate);
      }
    }
  }

  void lower(int32_t number, double rate, int32_t holder) {
    note(number);
    Flow& flow = flow_at(number);
    const double less = rate - flow.rate;
    const int32_t former = flow.holder;
    flow.state = kFinal;
    flow.holder = holder;
    flow.rate = rate;
    const Hop* way = way_of(number);
    for (int32_t hop = 0; hop < flow.hops; ++hop) {
      if (way[hop].link == holder) continue;
      Link& link = link_at(way[hop].link);
      if (way[hop].link == former)
        make_guest(link, rate, way[hop].place);
      else
        take(link, less);
      call_up(way[hop].link);
    }
  }

  void note(int32_t number) {
    Flow& flow = flow_at(number);
    if (flow.noted) return;
    flow.noted = true;
    flow.before = flow.rate;
    noted_.push_back(number);
  }

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<Hop> ways_;  // `stride_` entries per flow
  size_t stride_ = 2;
  std::vector<int32_t> new_;
  std::vector<int32_t> shaken_;
  std::vector<int32_t> noted_;
  std::vector<Due> due_;      // a heap, smallest rate first
  std::vector<double> fast_;  // scratch of level_above_guests
};

}  // namespace clue

#endif
