#include "support/pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace derivable {

// SAFETY: never freed: its threads wait in it to the end of the process.
struct Pool {
    std::mutex mutex;
    std::condition_variable called, left;
    std::vector<Help*> open;  // which want more threads
    uint32_t idle = 0, all = 0;

    void run() {
        // SAFETY: what a thread needs to throw is allocated when it throws first, which is no moment to be without memory.
        try {
            throw 0;
        } catch (int) {}
        std::unique_lock<std::mutex> guard(mutex);
        for (;;) {
            idle++;
            called.wait(guard, [&] { return !open.empty(); });
            idle--;
            Help& help = *open.front();
            help.within_++;
            if (--help.wanted_ == 0) open.erase(open.begin());
            guard.unlock();
            help.work_();
            guard.lock();
            help.within_--;
            left.notify_all();
        }
    }

    // One more thread, if there is one to be had. Under the lock.
    bool start() {
        constexpr uint32_t kMost = 256;
        if (all == kMost) return false;
        try {
            std::thread([this] { run(); }).detach();
        } catch (...) {  // no more threads, or no memory for one
            return false;
        }
        all++;
        return true;
    }
};

namespace {
Pool* pool = new Pool();
}

Help::Help(uint32_t count, std::function<void()> work) : work_(std::move(work)), wanted_(count) {
    if (count == 0) return;
    {
        std::lock_guard<std::mutex> guard(pool->mutex);
        for (uint32_t missing = count - std::min(count, pool->idle); missing > 0 && pool->start();) missing--;
        pool->open.push_back(this);
    }
    pool->called.notify_all();
}

Help::~Help() {
    std::unique_lock<std::mutex> guard(pool->mutex);
    pool->open.erase(std::remove(pool->open.begin(), pool->open.end(), this), pool->open.end());
    pool->left.wait(guard, [&] { return within_ == 0; });
}

void forget_pool() { pool = new Pool(); }

}  // namespace derivable
