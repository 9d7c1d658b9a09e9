// Values that must differ, by what they are. What they may still come out equal to follows from that.
#include <algorithm>
#include <string>
#include <utility>

#include "json/open_values.hpp"
#include "support/packed.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

using Kind = JsonValue::Kind;

void write_value(PackedWriter& out, const JsonValue& v) {
    out.put(uint64_t(v.kind));
    switch (v.kind) {
        case Kind::kString:
        case Kind::kNumber:
        case Kind::kLiteral: out.text(v.text); break;
        case Kind::kArray:
            out.put(v.items.size());
            for (const ValueRef& item : v.items) write_value(out, *item);
            break;
        case Kind::kObject:
            out.put(v.members.size());
            for (const auto& [key, value] : v.members) out.text(key), write_value(out, *value);
            break;
    }
}

// A text that its canonical form is equal to.
bool is_canonical(const std::string& number) {
    return number.find_first_not_of("0123456789e-") == std::string::npos && NumberText(number).canonical() == number;
}

// `depth`: of the frame that it lies in.
ValueRef read_value(PackedReader& in, uint32_t depth) {
    in.check(depth <= kMaxDepth);
    work(10);
    JsonValue v{Kind(in.below(uint64_t(Kind::kObject) + 1)), {}, {}, {}};
    switch (v.kind) {
        case Kind::kString: v.text = in.text(); break;
        case Kind::kNumber:
            v.text = in.text();
            in.check(is_canonical(v.text));
            break;
        case Kind::kLiteral:
            v.text = in.text();
            in.check(v.text == "true" || v.text == "false" || v.text == "null");
            break;
        case Kind::kArray:
            for (size_t n = in.count(2); n > 0; n--) v.items.push_back(read_value(in, depth + 1));
            break;
        case Kind::kObject:
            for (size_t n = in.count(3); n > 0; n--) {
                std::string key(in.text());
                in.check(v.members.empty() || v.members.back().first < key);
                v.members.emplace_back(std::move(key), read_value(in, depth + 1));
            }
            break;
    }
    return finished(std::move(v));
}

}  // namespace

// The open frames from the outermost in, each with what is complete in it and the key before the next one; then where the innermost stands.
void Writing::write(PackedWriter& out) const {
    std::vector<const Frame*> frames;
    for (const Frame* f = top_.get(); f; f = f->below.get()) frames.push_back(f);
    out.put(frames.size());
    for (auto f = frames.rbegin(); f != frames.rend(); ++f) {
        const Frame& frame = **f;
        const bool is_object = frame.kind == Kind::kObject;
        out.put(uint64_t(is_object) * 2 + frame.distinct);
        out.put(is_object ? frame.members.size() : frame.items.size());
        for (const ValueRef& item : frame.items.in_order()) write_value(out, *item);
        for (const auto& [key, value] : frame.members) out.text(key), write_value(out, *value);
        const bool has_key = is_object && (&frame != top_.get() || !(mode_ == Mode::kAfter || mode_ == Mode::kBeforeKey || in_key()));
        if (is_object) out.put(has_key);
        if (has_key) out.text(frame.key);
    }
    out.put(uint64_t(mode_));
    out.text(text_), out.text(escape_);
    out.put(completed_);
}

WritingRef Writing::read(PackedReader& in) {
    WritingRef writing;
    const size_t depth = in.count(2);
    in.check(depth > 0 && depth <= kMaxDepth + 1);
    for (size_t i = 0; i < depth; i++) {
        auto next = writing ? std::make_shared<Writing>(*writing) : std::make_shared<Writing>();
        const uint32_t kind = in.below(4);
        next->open(kind / 2 ? Kind::kObject : Kind::kArray);
        writing = std::move(next);
        in.check(kind != 3 && (i > 0 || kind == 1));  // the outermost one is an array of distinct items
        if (kind == 1) writing = distinct_array(writing);
        next = std::make_shared<Writing>(*writing);
        next->read_frame(in);
        writing = std::move(next);
    }
    auto made = std::make_shared<Writing>(*writing);
    made->read_place(in);
    return made;
}

// What is complete in the innermost frame, and its key.
void Writing::read_frame(PackedReader& in) {
    const bool is_object = top_->kind == Kind::kObject;
    const auto read_key = [&] {
        text_ = in.text();
        end_key();
    };
    for (size_t n = in.count(2); n > 0; n--) {
        work(10 + top_->members.size() + top_->likes.size());
        if (is_object) {
            const size_t before = top_->members.size();
            read_key();
            in.check(top_->members.size() == before);  // none is repeated
        }
        in.check(complete(read_value(in, top_->depth)));
    }
    if (is_object && in.flag()) read_key();
}

void Writing::read_place(PackedReader& in) {
    constexpr size_t kLongestEscape = 5;  // that is not complete
    mode_ = Mode(in.below(uint64_t(Mode::kLiteral) + 1));
    text_ = in.text(), escape_ = in.text();
    const bool is_object = top_->kind == Kind::kObject, is_empty = is_object ? top_->members.empty() : top_->items.empty();
    if (mode_ == Mode::kAfter) in.check(!is_empty);
    if (mode_ == Mode::kBeforeKey || mode_ == Mode::kAfterKey || in_key()) in.check(is_object);
    in.check(escape_.empty() || (in_string() && escape_[0] == '\\' && escape_.size() <= kLongestEscape));
    in.check(text_.empty() == !(in_string() || in_number() || mode_ == Mode::kLiteral) || in_string());
    if (in_number()) in.check(text_.find_first_not_of("0123456789.eE+-") == std::string::npos);
    const uint64_t completed = in.next();
    in.check(completed >= completed_);  // also those of arrays that are closed
    completed_ = size_t(completed);
    judge();
}

}  // namespace derivable
