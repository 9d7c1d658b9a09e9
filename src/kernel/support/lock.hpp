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

// Who holds locks for a computation that is long, and of which most parts need none.
class LockHolder {
  public:
    // Lets go of them if others wait. False if it keeps them.
    virtual bool step_aside() = 0;
    // Takes them again.
    virtual void come_back() = 0;
    // Aside, and for a moment: what the computation reads and adds to that is not its own.
    virtual void begin_look() = 0;
    virtual void end_look() = 0;

  protected:
    ~LockHolder() = default;
};

// A part of a computation, beside others if there are any. PERF: where nobody waits nothing is let go of, and a look costs nothing.
class Beside {
  public:
    // `holder`: none where nothing is shared.
    explicit Beside(LockHolder* holder) : holder_(holder) {}
    ~Beside() { end(); }
    Beside(const Beside&) = delete;
    Beside& operator=(const Beside&) = delete;

    // SAFETY: no reference into what is shared is held here, but to what stays as and where it is.
    void breathe() {
        if (!(++steps_ & 0xFF) && holder_ && !aside_) aside_ = holder_->step_aside();
    }
    void end() {
        if (aside_) holder_->come_back();
        aside_ = false;
    }
    template <class Act>
    auto look(Act act) {
        if (!aside_ || looking_) return act();
        struct Look {
            Beside& beside;
            explicit Look(Beside& b) : beside(b) { beside.holder_->begin_look(), beside.looking_ = true; }
            ~Look() { beside.looking_ = false, beside.holder_->end_look(); }
        } look(*this);
        return act();
    }

  private:
    LockHolder* holder_;
    bool aside_ = false, looking_ = false;
    uint32_t steps_ = 0;
};

}  // namespace derivable
