// A lock that is passed on in the order of asking, and can tell whether anyone waits for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace derivable {

// A long computation holds it in pieces: where all is consistent it asks `wanted`, and lets those go first who wait. A std::mutex would
// nearly always be taken again by the thread that has just let go of it.
//
// PERF: where nobody else is, taking and letting go are two operations on one line of memory each, as of a std::mutex.
class FairLock {
  public:
    void lock() {
        const uint64_t mine = next_.fetch_add(1);
        for (int i = 0; i < kSpins; i++)
            if (serving_.load() == mine) return;
        std::unique_lock<std::mutex> guard(mutex_);
        sleepers_++;
        called_.wait(guard, [&] { return serving_.load() == mine; });
        sleepers_--;
    }
    bool try_lock() {
        uint64_t mine = serving_.load();
        return next_.compare_exchange_strong(mine, mine + 1);
    }
    void unlock() {
        serving_.fetch_add(1);
        if (sleepers_.load() == 0) return;
        std::lock_guard<std::mutex> guard(mutex_);
        called_.notify_all();
    }
    // Someone waits. To be asked by the one who holds it.
    bool wanted() const { return next_.load(std::memory_order_relaxed) > serving_.load(std::memory_order_relaxed) + 1; }

  private:
    static constexpr int kSpins = 200;  // about a microsecond: most pieces are shorter
    std::atomic<uint64_t> next_{0}, serving_{0};
    std::atomic<int> sleepers_{0};
    std::mutex mutex_;
    std::condition_variable called_;
};

// Who holds a lock for long.
class LockHolder {
  public:
    // Those first who wait for it, if any do.
    virtual void let_others() = 0;

  protected:
    ~LockHolder() = default;
};

}  // namespace derivable
