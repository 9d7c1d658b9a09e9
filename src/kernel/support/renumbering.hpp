// Numbers that are about to stand for other things. Whoever keeps something by them says so where it keeps it, and forgets it then.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace derivable {

class Renumbering {
  public:
    // A member of whoever is told, behind what it forgets. SAFETY: the numbers outlive it.
    class Told {
      public:
        Told(Renumbering& numbers, std::function<void()> forget) : numbers_(numbers), forget_(std::move(forget)) {
            numbers_.told_.push_back(this);
        }
        ~Told() {
            std::vector<Told*>& told = numbers_.told_;
            told.erase(std::find(told.begin(), told.end(), this));
        }
        Told(const Told&) = delete;
        Told& operator=(const Told&) = delete;
        void forget() const { forget_(); }

      private:
        Renumbering& numbers_;
        const std::function<void()> forget_;
    };
    // In the order in which they began.
    void happen() {
        for (const Told* told : told_) told->forget();
    }

  private:
    std::vector<Told*> told_;
};

}  // namespace derivable
