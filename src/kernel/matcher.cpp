#include "matcher.hpp"

#include <algorithm>

namespace derivable {

namespace {

// Every operation on the index takes both locks, always in this order.
struct Guard {
    explicit Guard(Constraint& c, std::mutex& spanner) : a(c.mutex), b(spanner) {}
    std::lock_guard<std::mutex> a, b;
};

}  // namespace

Matcher::Matcher(std::shared_ptr<Constraint> constraint) : constraint_(std::move(constraint)) {
    std::lock_guard<std::mutex> guard(constraint_->mutex);
    go_to(constraint_->moments.add(nullptr, constraint_->initial(), false));
    constraint_->matchers.insert(this);
}

Matcher::Matcher(const Matcher& other) : constraint_(other.constraint_) {
    std::lock_guard<std::mutex> guard(constraint_->mutex);
    go_to(other.now_);
    constraint_->matchers.insert(this);
}

Matcher::~Matcher() {
    std::lock_guard<std::mutex> guard(constraint_->mutex);
    constraint_->matchers.erase(this);
    go_to(nullptr);
}

void Matcher::go_to(const Moment* moment) {
    if (moment) moment->references++;
    if (now_) constraint_->moments.let_go(now_);
    now_ = moment;
}

bool Matcher::is_eos(uint32_t token) const {
    const auto& eos = constraint_->vocabulary().eos;
    return std::find(eos.begin(), eos.end(), token) != eos.end();
}

Matcher::Verdict Matcher::after(const Threads& now, bool was_finished, uint32_t token, Threads& threads, bool& finished) {
    threads.clear();
    finished = false;
    if (token >= constraint_->vocabulary().size()) return Verdict::kOutOfRange;
    if (was_finished && now.empty()) return Verdict::kRejected;
    // One token may be several things: the end, a terminal that the grammar names, and text.
    finished = is_eos(token) && constraint_->accepting(now);
    const std::string& bytes = constraint_->vocabulary().bytes[token];
    if (!bytes.empty()) {
        Threads as_text = now;
        if (constraint_->advance_token(as_text, bytes)) threads = std::move(as_text);
    }
    constraint_->step_token(now, token, threads);
    return finished || !threads.empty() ? Verdict::kAccepted : Verdict::kRejected;
}

Matcher::Verdict Matcher::advance(uint32_t token) {
    Guard guard(*constraint_, constraint_->spanner_->mutex);
    constraint_->collect_if_needed();
    Threads threads;
    bool finished = false;
    Verdict v = after(now_->threads, now_->finished, token, threads, finished);
    if (v == Verdict::kAccepted) push(std::move(threads), finished);
    return v;
}

bool Matcher::advance_bytes(std::string_view bytes) {
    Guard guard(*constraint_, constraint_->spanner_->mutex);
    constraint_->collect_if_needed();
    if (now_->finished && now_->threads.empty() && !bytes.empty()) return false;
    Threads threads = now_->threads;
    if (!constraint_->advance(threads, bytes)) return false;
    push(std::move(threads), now_->finished && bytes.empty());
    return true;
}

bool Matcher::allows(uint32_t token) {
    Guard guard(*constraint_, constraint_->spanner_->mutex);
    Threads threads;
    bool finished;
    return after(now_->threads, now_->finished, token, threads, finished) == Verdict::kAccepted;
}

uint32_t Matcher::count_valid(const std::vector<uint32_t>& tokens) {
    Guard guard(*constraint_, constraint_->spanner_->mutex);
    Threads now = now_->threads, threads;
    bool finished = now_->finished;
    uint32_t n = 0;
    while (n < tokens.size() && after(now, finished, tokens[n], threads, finished) == Verdict::kAccepted) {
        now.swap(threads);
        n++;
    }
    return n;
}

bool Matcher::rollback(uint64_t count) {
    if (count > now_->length) return false;
    std::lock_guard<std::mutex> guard(constraint_->mutex);
    const Moment* to = now_;
    while (count-- > 0) to = to->before;
    go_to(to);
    return true;
}

void Matcher::reset() { rollback(now_->length); }

void Matcher::fill(uint32_t* mask) {
    Guard guard(*constraint_, constraint_->spanner_->mutex);
    constraint_->fill(now_->threads, mask);
}

bool Matcher::accepting() {
    if (now_->finished) return true;
    Guard guard(*constraint_, constraint_->spanner_->mutex);
    return constraint_->accepting(now_->threads);
}

std::array<uint64_t, 4> Matcher::next_bytes() {
    Guard guard(*constraint_, constraint_->spanner_->mutex);
    return constraint_->next_bytes(now_->threads);
}

std::string Matcher::forced_bytes(size_t max_length) {
    Guard guard(*constraint_, constraint_->spanner_->mutex);
    std::string out;
    Threads threads = now_->threads, next;
    while (out.size() < max_length && !threads.empty() && !constraint_->accepting(threads) && !constraint_->names_token(threads)) {
        std::array<uint64_t, 4> bytes = constraint_->next_bytes(threads);
        int only = -1, count = 0;
        for (int b = 0; b < 256; b++)
            if (bytes[size_t(b) / 64] >> (b % 64) & 1) only = b, count++;
        if (count != 1) break;
        constraint_->step(threads, uint8_t(only), next);
        threads.swap(next);
        out.push_back(char(only));
    }
    return out;
}

std::string Matcher::situation(int64_t hops) {
    Guard guard(*constraint_, constraint_->spanner_->mutex);
    const Stacks& stacks = constraint_->stacks;
    std::vector<std::vector<uint32_t>> threads;
    for (const Thread& t : now_->threads) {
        std::vector<uint32_t> words{t.lex};
        std::vector<NodeId> level = stacks.nodes(t.stack);
        for (int64_t depth = 0; depth <= hops && !level.empty(); depth++) {
            std::set<uint32_t> states;
            std::set<NodeId> below;
            for (NodeId n : level) {
                states.insert(stacks.state(n));
                for (NodeId p : stacks.parents(n)) below.insert(p);
            }
            words.push_back(~0u);
            words.insert(words.end(), states.begin(), states.end());
            level.assign(below.begin(), below.end());
        }
        threads.push_back(std::move(words));
    }
    std::sort(threads.begin(), threads.end());
    std::string out;
    for (const auto& words : threads) {
        uint32_t count = uint32_t(words.size());
        out.append(reinterpret_cast<const char*>(&count), sizeof count);
        out.append(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t));
    }
    return out;
}

std::vector<Constraint::Explanation> Matcher::explain() {
    Guard guard(*constraint_, constraint_->spanner_->mutex);
    return constraint_->explain(now_->threads);
}

}  // namespace derivable
