// A lock for short pieces of work, that can tell whether anyone waits for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "support/task.hpp"

namespace derivable {

// Adaptive: who waits looks again and again for as long as a piece takes, and sleeps only then. A long computation holds it in pieces: where all is
// consistent it asks `wanted`, and gives way. Else it is whoever's comes first: an order of asking would hand it to threads that sleep.
//
// PERF: waking a thread takes 50 to 100 us where its core is idle. With a lock that was passed on in the order of asking, and waits of 1 us before a sleep,
// two threads took 6 times as long for two slow masks as one did, and replayed 7% as many tokens of new schemas.
class AdaptiveLock {
  public:
    void lock() {
        if (spinning_.load(std::memory_order_relaxed) != 0 || !try_lock()) wait();
    }
    bool try_lock() { return !held_.load(std::memory_order_relaxed) && !held_.exchange(true); }
    void unlock() {
        held_.store(false);
        if (sleeping_.load() == 0) return;
        std::lock_guard<std::mutex> guard(mutex_);
        called_.notify_one();
    }
    // Someone waits. To be asked by the one who holds it.
    bool wanted() const { return spinning_.load(std::memory_order_relaxed) + sleeping_.load(std::memory_order_relaxed) != 0; }
    // Lets go of it, and takes it again when one of those who wait has had it.
    void give_way() {
        const uint64_t turn = turns_.load();
        unlock();
        for (int i = 0; i < kSpins && wanted() && turns_.load() == turn; i++) pause(i);
        lock();
    }

  private:
    // PERF: 20 to 50 us. Pieces are shorter, and so is the way to another core; a thread that was asleep takes a second round.
    static constexpr int kSpins = 1000;
    static void pause(int i) {
        if (i % 64 == 63) std::this_thread::yield();  // to whom it may wait for, if there are more threads than cores
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }

    bool spin() {
        spinning_++;
        bool taken = false;
        for (int i = 0; i < kSpins && !(taken = try_lock()); i++) pause(i);
        spinning_--;
        return taken;
    }
    void wait() {
        bool taken = spin();
        if (!taken) {
            Task::about_to_take_long();
            std::unique_lock<std::mutex> guard(mutex_);
            sleeping_++;
            // SAFETY: it is asked for after `sleeping_` is written, and let go of before that is read, so one of the two sees the other.
            while (!(taken = try_lock())) {
                called_.wait(guard);
                guard.unlock();
                taken = spin();
                guard.lock();
                if (taken) break;
            }
            sleeping_--;
        }
        turns_.fetch_add(1);
    }

    std::atomic<bool> held_{false};
    std::atomic<int> spinning_{0}, sleeping_{0};
    std::atomic<uint64_t> turns_{0};  // of those who had to wait
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
