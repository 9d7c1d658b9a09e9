// Values that must differ, written down as the text that they might have had.
//
// What a writing remembers is what a JSON text of its values would make it remember, so that text is what is written: the items so far without white space,
// up to the scalar in progress, a distinct array marked behind its bracket. Read again, byte by byte, it leads to the same place.
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "json/open_values.hpp"
#include "support/packed.hpp"

namespace derivable {

namespace {

using Kind = JsonValue::Kind;
constexpr char kDistinct = '\1';  // stands nowhere else in such a text

void append_string(std::string& out, std::string_view text) {
    out += '"';
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (uint8_t(c) >= 0x20) {
            out += c;
            continue;
        }
        constexpr std::string_view kDigits = "0123456789abcdef";
        out += "\\u00", out += kDigits[uint8_t(c) >> 4], out += kDigits[uint8_t(c) & 15];
    }
}

// SAFETY: by recursion, as values are compared and freed; they are no deeper than what was written (kMaxDepth).
void append(std::string& out, const JsonValue& v) {
    switch (v.kind) {
        case Kind::kString: append_string(out, v.text), out += '"'; break;
        case Kind::kNumber:
        case Kind::kLiteral: out += v.text; break;
        case Kind::kArray:
            out += '[';
            for (size_t i = 0; i < v.items.size(); i++) out += i ? "," : "", append(out, *v.items[i]);
            out += ']';
            break;
        case Kind::kObject:
            out += '{';
            for (size_t i = 0; i < v.members.size(); i++) {
                if (i) out += ',';
                append_string(out, v.members[i].first), out += "\":", append(out, *v.members[i].second);
            }
            out += '}';
            break;
    }
}

}  // namespace

// The frames from the outermost in, each up to where the next one begins; in the innermost up to the value, or key, in progress.
void Writing::write(PackedWriter& out) const {
    std::vector<const Frame*> frames;
    for (const Frame* f = top_.get(); f; f = f->below.get()) frames.push_back(f);
    std::string text;
    for (auto f = frames.rbegin(); f != frames.rend(); ++f) {
        const Frame& frame = **f;
        const bool is_top = &frame == top_.get(), is_object = frame.kind == Kind::kObject;
        text += is_object ? '{' : '[';
        if (frame.distinct) text += kDistinct;
        bool some = false;
        const auto next = [&] { text += std::exchange(some, true) ? "," : ""; };
        for (const ValueRef& item : frame.items.in_order()) next(), append(text, *item);
        for (const auto& [key, value] : frame.members) next(), append_string(text, key), text += "\":", append(text, *value);
        if (is_top && mode_ == Mode::kAfter) {
            text += ' ';  // a number ends
            break;
        }
        next();
        if (is_top && mode_ == Mode::kBeforeKey) break;
        if (is_top && mode_ == Mode::kKey) append_string(text, text_), text += escape_;
        else if (is_object) append_string(text, frame.key), text += is_top && mode_ == Mode::kAfterKey ? "\"" : "\":";
    }
    if (mode_ == Mode::kString) append_string(text, text_), text += escape_;
    if (mode_ == Mode::kNumber || mode_ == Mode::kLiteral) text += text_;
    out.put(completed_);
    out.text(text);
}

WritingRef Writing::read(PackedReader& in) {
    const uint64_t completed = in.next();
    const std::string_view text = in.text();
    in.check(text.size() >= 2 && text[0] == '[' && text[1] == kDistinct);
    WritingRef writing = distinct_array(nullptr);
    bool is_open = false;  // an array has just begun
    for (char c : text.substr(2)) {
        if (c == kDistinct) {
            in.check(std::exchange(is_open, false));
            writing = distinct_array(writing);
            continue;
        }
        const bool between = writing->between_tokens() || writing->in_number();
        in.check(step(writing, uint8_t(c)) && writing);
        is_open = between && c == '[';
    }
    auto made = std::make_shared<Writing>(*writing);
    in.check(completed >= made->completed_);  // also of what is closed
    made->completed_ = size_t(completed);
    return made;
}

}  // namespace derivable
