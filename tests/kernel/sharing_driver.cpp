// Executes commands from standard input with clue::FairSharing and writes the changes of each settling.
//
//   links N c1 … cN | add FLOW LIMIT COUNT l1 … | remove FLOW | settle
//
// Fractional numbers are hexadecimal, so that every bit is preserved.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "sharing.hpp"

static double number() {
  std::string word;
  std::cin >> word;
  return std::strtod(word.c_str(), nullptr);
}

int main() {
  std::unique_ptr<clue::FairSharing> sharing;
  std::string command;
  while (std::cin >> command) {
    if (command == "links") {
      std::vector<double> capacities(static_cast<size_t>(number()));
      for (double& capacity : capacities) capacity = number();
      sharing = std::make_unique<clue::FairSharing>(capacities.data(), static_cast<int32_t>(capacities.size()));
    } else if (command == "add") {
      const int32_t flow = static_cast<int32_t>(number());
      const double limit = number();
      std::vector<int32_t> links(static_cast<size_t>(number()));
      for (int32_t& link : links) link = static_cast<int32_t>(number());
      sharing->add(flow, links.data(), static_cast<int32_t>(links.size()), limit);
    } else if (command == "remove") {
      sharing->remove(static_cast<int32_t>(number()));
    } else if (command == "settle") {
      sharing->settle([](int32_t flow, double rate) { std::printf("%d %a ", flow, rate); });
      std::printf("\n");
    }
  }
  return 0;
}
