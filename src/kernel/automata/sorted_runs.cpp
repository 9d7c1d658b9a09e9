#include "automata/sorted_runs.hpp"

#include <algorithm>
#include <utility>

#include "support/errors.hpp"

namespace derivable {

void RunSorter::add(std::string_view text) {
    uint64_t begins = 0;
    for (size_t i = 0; i < 8; i++) begins = begins << 8 | (i < text.size() ? uint8_t(text[i]) : 0);
    refs_.push_back({begins, uint32_t(texts_.size()), uint32_t(text.size())});
    texts_ += text;
}

std::string RunSorter::spill() {
    constexpr size_t kPart = size_t(1) << 20;
    if (spilled_ == 0) {
        const auto before = [&](const Ref& a, const Ref& b) { return a.begins != b.begins ? a.begins < b.begins : text(a) < text(b); };
        std::sort(refs_.begin(), refs_.end(), before);
    }
    std::string part;
    for (; spilled_ < refs_.size() && part.size() < kPart; spilled_++) {
        const std::string_view next = text(refs_[spilled_]);
        if (spilled_ != 0 && next == text(refs_[spilled_ - 1])) continue;
        part.push_back(char(next.size())), part.push_back(char(next.size() >> 8));
        part += next;
    }
    if (part.empty()) texts_.clear(), refs_.clear(), spilled_ = 0;
    return part;
}

RunMerger::RunMerger(size_t runs) : runs_(runs) {
    for (size_t run = runs; run-- > 0;) waiting_.push_back(run);
}

std::optional<size_t> RunMerger::wanted() {
    if (given_) go_on(*std::exchange(given_, std::nullopt));
    return waiting_.empty() ? std::nullopt : std::optional(waiting_.back());
}

void RunMerger::feed(std::string_view bytes) {
    const size_t run = waiting_.back();
    waiting_.pop_back();
    Run& r = runs_[run];
    r.bytes.erase(0, std::exchange(r.at, 0));
    r.bytes += bytes;
    if (!bytes.empty()) return go_on(run);
    if (!r.bytes.empty()) throw BadArtifact("what was written beside the catalogue of names while it was built is cut off");
}

void RunMerger::go_on(size_t run) {
    Run& r = runs_[run];
    const size_t left = r.bytes.size() - r.at;
    const size_t size = left < 2 ? 0 : size_t(uint8_t(r.bytes[r.at])) | size_t(uint8_t(r.bytes[r.at + 1])) << 8;
    if (left < 2 || left - 2 < size) return waiting_.push_back(run);
    r.head = std::string_view(r.bytes).substr(r.at + 2, size);
    r.at += 2 + size;
    heap_.push_back(run);
    std::push_heap(heap_.begin(), heap_.end(), [&](size_t a, size_t b) { return runs_[a].head > runs_[b].head; });
}

std::optional<std::string_view> RunMerger::next() {
    if (heap_.empty()) return std::nullopt;
    std::pop_heap(heap_.begin(), heap_.end(), [&](size_t a, size_t b) { return runs_[a].head > runs_[b].head; });
    given_ = heap_.back();
    heap_.pop_back();
    return runs_[*given_].head;
}

}  // namespace derivable
