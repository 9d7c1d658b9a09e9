#include "matching/batch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "support/pool.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

using Clock = std::chrono::steady_clock;

// PERF: a thousand masks that are known. What is shorter is done before another thread is at work, and masks of scannerless grammars that are not known
// meet at the lock of the index that they share: 64 first masks took 7 to 13 ms alone, and 17 with a second thread after 50 us.
constexpr std::chrono::microseconds kAlone{1000};

void allow_end_only(const Vocabulary& vocabulary, uint32_t* mask) {
    std::fill_n(mask, vocabulary.words(), 0u);
    for (uint32_t token : vocabulary.eos) mask[token / 32] |= 1u << (token % 32);
}

}  // namespace

Batch::Batch(std::vector<Matcher*> matchers) : matchers_(std::move(matchers)), failures_(matchers_.size()) {
    for (size_t row = 0; row < matchers_.size(); row++)
        if (matchers_[row]) rows_.push_back(row);
    auto constraint = [&](size_t row) { return &matchers_[row]->constraint(); };
    std::stable_sort(rows_.begin(), rows_.end(), [&](size_t a, size_t b) { return std::less<>()(constraint(a), constraint(b)); });
    for (size_t at = 0; at < rows_.size(); at++)
        if (at == 0 || constraint(rows_[at]) != constraint(rows_[at - 1])) groups_.push_back(at);
    groups_.push_back(rows_.size());
}

void Batch::run(uint32_t threads, const std::function<void(size_t)>& act) {
    std::atomic<size_t> next{0};
    std::atomic<bool> stopped{false};
    const size_t count = groups_.size() - 1;
    auto act_on_group = [&](size_t group) {
        for (size_t at = groups_[group]; at < groups_[group + 1] && !stopped.load(std::memory_order_relaxed); at++) {
            try {
                act(rows_[at]);
            } catch (const Interrupted&) {  // the thread that called: nothing is asked of the others
                interruption_ = std::current_exception();
                stopped = true;
            } catch (...) { failures_[rows_[at]] = std::current_exception(); }
        }
    };
    const Clock::time_point begin = Clock::now();
    std::optional<Help> help;
    for (size_t group; (group = next++) < count;) {
        act_on_group(group);
        const size_t taken = next.load();
        if (!help && threads > 1 && taken < count && Clock::now() - begin > kAlone) {
            Task::about_to_take_long();
            help.emplace(uint32_t(std::min<size_t>(threads - 1, count - taken)), [&] {
                for (size_t mine; (mine = next++) < count;) act_on_group(mine);
            });
        }
    }
}

bool Batch::failed() const {
    return interruption_ ||
           std::any_of(failures_.begin(), failures_.end(), [](const std::exception_ptr& failure) { return failure != nullptr; });
}

void Batch::rethrow_first() const {
    if (interruption_) std::rethrow_exception(interruption_);
    for (const std::exception_ptr& failure : failures_)
        if (failure) std::rethrow_exception(failure);
}

void fill_for_choice(Matcher& matcher, uint32_t* mask) {
    const Vocabulary& vocabulary = matcher.constraint().vocabulary();
    matcher.fill(mask);
    if (matcher.finished() && std::all_of(mask, mask + vocabulary.words(), [](uint32_t word) { return word == 0; }))
        allow_end_only(vocabulary, mask);
}

std::vector<bool> fill_draft(const Matcher& matcher, const std::vector<int64_t>& tokens, const std::vector<int64_t>& parents,
                             const std::vector<uint32_t*>& rows) {
    const Vocabulary& vocabulary = matcher.constraint().vocabulary();
    std::vector<std::unique_ptr<Matcher>> after;
    after.push_back(std::make_unique<Matcher>(matcher));
    fill_for_choice(*after[0], rows[0]);
    // A matcher goes on to the last token that follows it; for the others it is copied.
    std::vector<size_t> last(tokens.size() + 1, SIZE_MAX);
    for (size_t i = 0; i < tokens.size(); i++) last[size_t(parents[i] + 1)] = i;
    std::vector<bool> accepted(tokens.size(), false);
    for (size_t i = 0; i < tokens.size(); i++) {
        const size_t parent = size_t(parents[i] + 1);
        std::unique_ptr<Matcher> here;
        if (after[parent]) {
            here = last[parent] == i ? std::move(after[parent]) : std::make_unique<Matcher>(*after[parent]);
            const bool in_range = tokens[i] >= 0 && uint64_t(tokens[i]) < vocabulary.size();
            accepted[i] = in_range && here->advance(uint32_t(tokens[i])) == Matcher::Verdict::kAccepted;
        }
        if (accepted[i]) fill_for_choice(*here, rows[i + 1]);
        else allow_end_only(vocabulary, rows[i + 1]), here.reset();
        after.push_back(std::move(here));
    }
    return accepted;
}

}  // namespace derivable
