// Threads that wait for work: of the process, started where work is first found for them, and kept.
#pragma once

#include <cstdint>
#include <functional>

namespace derivable {

// While it lives, up to `count` threads of the pool run `work` too. Its end waits until none of them does any more.
//
// `work` takes pieces from somewhere until there are none, throws nothing, and knows nothing of Python. There may be fewer threads than wanted, or none, if
// the machine has no more, so whoever asks for help works as well. PERF: waking a thread costs some 5 us, starting one 15 to 50.
class Help {
  public:
    Help(uint32_t count, std::function<void()> work);
    ~Help();
    Help(const Help&) = delete;
    Help& operator=(const Help&) = delete;

  private:
    friend struct Pool;
    std::function<void()> work_;
    uint32_t wanted_, within_ = 0;
};

// The child of a fork has none of the pool's threads. SAFETY: to be called before anything else asks for help there.
void forget_pool();

}  // namespace derivable
