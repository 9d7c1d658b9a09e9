#include "json/unique_values.hpp"

#include <algorithm>
#include <cstdlib>

#include "json/number_text.hpp"
#include "json/open_values.hpp"
#include "support/errors.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

using Kind = JsonValue::Kind;

// The text of a string without half a pair at its end.
std::string_view without_high_surrogate(std::string_view text) {
    if (text.size() >= 3 && uint8_t(text[text.size() - 3]) == 0xED && uint8_t(text[text.size() - 2]) >= 0xA0 &&
        uint8_t(text[text.size() - 2]) < 0xB0)
        text.remove_suffix(3);
    return text;
}

// How many of the values in an index a number that begins so may become.
//
// PERF: in front of "0" all positive numbers counted, so of an array of 550 integers with a 0 as many zeros behind a point were tried: 7 ms a mask.
size_t count_in(const PrefixCounts::Ref& index, const NumberText& n) {
    const std::string kept = n.significant();
    auto begun = [&](char size, const std::string& text) {
        return PrefixCounts::count(index, index_text(Kind::kNumber, std::string{size, n.negative ? '-' : '+'} + text));
    };
    if (n.digits.empty()) {
        const size_t zeros = PrefixCounts::count(index, index_text(Kind::kNumber, "0"));
        if (n.exponent) return zeros;
        return zeros + begun('<', "") + (n.zero ? 0 : begun('>', ""));
    }
    size_t count = 0;
    for (char size : {'<', '>'}) {
        if (n.exponent) {
            count += begun(size, kept + 'e' + n.power_begun());
            continue;
        }
        count += begun(size, n.digits);
        if (kept.size() < n.digits.size()) count += begun(size, kept + 'e');
    }
    return count;
}

// Whether a string that begins with this text may be `value`. A high surrogate at its end may become half of a pair.
bool may_become(std::string_view text, const std::string& value) {
    text = without_high_surrogate(text);
    return std::string_view(value).substr(0, text.size()) == text;
}

void append_code(std::string& text, uint32_t code) {
    const size_t n = text.size();
    if (code >= 0xDC00 && code < 0xE000 && n >= 3 && uint8_t(text[n - 3]) == 0xED && uint8_t(text[n - 2]) >= 0xA0 &&
        uint8_t(text[n - 2]) < 0xB0) {
        uint32_t high = 0xD000u | (uint32_t(uint8_t(text[n - 2]) & 0x3F) << 6) | (uint8_t(text[n - 1]) & 0x3F);
        text.resize(n - 3);
        code = 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00);
    }
    if (code < 0x80) {
        text.push_back(char(code));
    } else if (code < 0x800) {
        text.push_back(char(0xC0 | code >> 6)), text.push_back(char(0x80 | (code & 0x3F)));
    } else if (code < 0x10000) {
        text.push_back(char(0xE0 | code >> 12)), text.push_back(char(0x80 | (code >> 6 & 0x3F))),
            text.push_back(char(0x80 | (code & 0x3F)));
    } else {
        text.push_back(char(0xF0 | code >> 18)), text.push_back(char(0x80 | (code >> 12 & 0x3F)));
        text.push_back(char(0x80 | (code >> 6 & 0x3F))), text.push_back(char(0x80 | (code & 0x3F)));
    }
}

Bytes bytes_of(std::string_view text) {
    Bytes out;
    for (char b : text) out.set(uint8_t(b));
    return out;
}

}  // namespace

bool JsonValue::operator==(const JsonValue& other) const {
    if (this == &other) return true;
    if (hash != other.hash || kind != other.kind || text != other.text || items.size() != other.items.size() ||
        members.size() != other.members.size())
        return false;
    for (size_t i = 0; i < items.size(); i++)
        if (!(*items[i] == *other.items[i])) return false;
    for (size_t i = 0; i < members.size(); i++)
        if (members[i].first != other.members[i].first || !(*members[i].second == *other.members[i].second)) return false;
    return true;
}

bool Writing::operator==(const Writing& other) const {
    return mode_ == other.mode_ && text_ == other.text_ && escape_ == other.escape_ && *top_ == *other.top_;
}

WritingRef Writing::distinct_array(const WritingRef& writing) {
    auto next = writing ? std::make_shared<Writing>(*writing) : std::make_shared<Writing>();
    if (!writing) next->open(Kind::kArray);
    auto frame = std::make_shared<Frame>(*next->top_);
    frame->distinct = true;
    frame->note();
    next->top_ = std::move(frame);
    next->judge();
    return next;
}

bool Writing::step(WritingRef& writing, uint8_t byte) {
    if (writing->between_tokens() && (byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r')) return true;
    work(10 + writing->text_.size() / 64 + writing->top_->likes.size());
    auto next = std::make_shared<Writing>(*writing);
    if (!next->take(byte)) return false;
    if (!next->top_) {
        writing = nullptr;
        return true;
    }
    next->judge();
    writing = std::move(next);
    return true;
}

bool Writing::take(uint8_t byte) {
    switch (mode_) {
        case Mode::kString:
        case Mode::kKey:
            if (escape_.empty() && byte == '"') {
                if (mode_ == Mode::kKey) {
                    end_key();
                    return true;
                }
                return complete(finished({Kind::kString, std::move(text_), {}, {}}));
            }
            take_string(byte);
            return true;
        case Mode::kNumber:
            if ((byte >= '0' && byte <= '9') || byte == '.' || byte == 'e' || byte == 'E' || byte == '+' || byte == '-') {
                text_.push_back(char(byte));
                return true;
            }
            if (!complete(finished({Kind::kNumber, NumberText(text_).canonical(), {}, {}}))) return false;
            break;  // the byte stands behind it
        case Mode::kLiteral:
            text_.push_back(char(byte));
            return byte != 'e' && text_ != "null" ? true : complete(finished({Kind::kLiteral, std::move(text_), {}, {}}));
        default: break;
    }
    switch (byte) {
        case ' ':
        case '\n':
        case '\t':
        case '\r': return true;
        case '[': open(Kind::kArray); return true;
        case '{': open(Kind::kObject); return true;
        case ']':
        case '}': return close();
        case ',': mode_ = top_->kind == Kind::kObject ? Mode::kBeforeKey : Mode::kBefore; return true;
        case ':': mode_ = Mode::kBefore; return true;
        case '"': mode_ = mode_ == Mode::kBeforeKey ? Mode::kKey : Mode::kString; break;
        case 't':
        case 'f':
        case 'n': mode_ = Mode::kLiteral; break;
        default: mode_ = Mode::kNumber; break;
    }
    text_.clear();
    if (byte != '"') text_.push_back(char(byte));
    return true;
}

void Writing::take_string(uint8_t byte) {
    if (escape_.empty() && byte != '\\') {
        text_.push_back(char(byte));
        return;
    }
    escape_.push_back(char(byte));
    if (escape_.size() == 1) return;
    static constexpr std::string_view kShort = "\"\\/bfnrt", kMeaning = "\"\\/\b\f\n\r\t";
    if (escape_[1] != 'u') {
        const size_t place = kShort.find(escape_[1]);
        text_.push_back(place < kMeaning.size() ? kMeaning[place] : escape_[1]);
    } else if (escape_.size() == 6) {
        append_code(text_, uint32_t(std::strtoul(escape_.c_str() + 2, nullptr, 16)));
    } else {
        return;
    }
    escape_.clear();
}

void Writing::open(Kind kind) {
    auto frame = std::make_shared<Frame>();
    frame->kind = kind;
    frame->below = std::move(top_);
    if (frame->below) frame->depth = frame->below->depth + 1;
    if (frame->depth > kMaxDepth) throw LimitExceeded("max_depth", frame->depth, kMaxDepth, "nesting inside an array of distinct items");
    frame->likes = frame->likes_anew();
    frame->note();
    top_ = std::move(frame);
    mode_ = kind == Kind::kObject ? Mode::kBeforeKey : Mode::kBefore;
}

bool Writing::close() {
    FrameRef closed = std::move(top_);
    top_ = closed->below;
    if (!top_) return true;
    JsonValue value{closed->kind, {}, closed->items.in_order(), closed->members};
    std::sort(value.members.begin(), value.members.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    return complete(finished(std::move(value)));
}

// A value ends in the topmost frame.
bool Writing::complete(ValueRef value) {
    auto same = [&](const ValueRef& other) { return *other == *value; };
    const std::string text = top_->distinct ? index_text(*value) : "";
    if (top_->distinct && PrefixCounts::contains(top_->index, text)) {
        bool repeated = value->kind != Kind::kArray && value->kind != Kind::kObject;
        if (!repeated) top_->items.each([&](const ValueRef& item) { repeated |= same(item); });  // hashes are equal
        if (repeated) return false;
    }
    auto frame = std::make_shared<Frame>(*top_);
    std::vector<ValueRef> likes;
    for (const ValueRef& like : frame->likes) {
        const ValueRef* inside = frame->kind == Kind::kArray
                                     ? frame->items.size() < like->items.size() ? &like->items[frame->items.size()] : nullptr
                                     : member(like->members, frame->key);
        if (inside && same(*inside)) likes.push_back(like);
    }
    frame->likes = std::move(likes);
    if (frame->distinct) completed_++, frame->index = PrefixCounts::with(frame->index, text);
    if (frame->kind == Kind::kArray) frame->items.push_back(std::move(value));
    else frame->members.emplace_back(std::move(frame->key), std::move(value)), frame->key.clear();
    frame->note();
    top_ = std::move(frame);
    mode_ = Mode::kAfter;
    text_.clear();
    return true;
}

// A key ends. Where it stands in the object already, its value is replaced: what the object may come out equal to is asked anew.
void Writing::end_key() {
    auto frame = std::make_shared<Frame>(*top_);
    auto repeated = std::find_if(frame->members.begin(), frame->members.end(), [&](const auto& m) { return m.first == text_; });
    if (repeated != frame->members.end()) {
        frame->members.erase(repeated);
        frame->likes.clear();
        for (ValueRef& like : frame->likes_anew()) {
            auto holds = [&](const auto& m) {
                const ValueRef* inside = member(like->members, m.first);
                return inside && **inside == *m.second;
            };
            if (std::all_of(frame->members.begin(), frame->members.end(), holds)) frame->likes.push_back(std::move(like));
        }
    }
    frame->key = std::move(text_);
    frame->note();
    top_ = std::move(frame);
    mode_ = Mode::kAfterKey;
    text_.clear();
}

// Works out whether this is safe, and its key.
void Writing::judge() {
    auto inside = [&](Kind kind, auto may_be) {
        return top_->count_inherited([&](const JsonValue& v) { return v.kind == kind && may_be(v.text); });
    };
    auto begun = [&](Kind kind, std::string_view text) { return PrefixCounts::count(top_->index, index_text(kind, text)); };
    state_.clear();
    switch (mode_) {
        case Mode::kBefore:
        case Mode::kAfterKey:
            likes_ = top_->kind == Kind::kArray && top_->items.empty()
                         ? top_->likes.size()
                         : top_->count_inherited([](const JsonValue&) { return true; }) + PrefixCounts::count(top_->index, "");
            break;
        case Mode::kAfter: likes_ = top_->likes.size(); break;
        case Mode::kBeforeKey: likes_ = top_->likes.size() + (top_->members.empty() ? 0 : top_->likes_anew().size()); break;
        case Mode::kKey: {
            auto may_be = [&](const auto& m) { return may_become(text_, m.first); };
            likes_ = size_t(std::count_if(top_->likes.begin(), top_->likes.end(),
                                          [&](const ValueRef& v) { return std::any_of(v->members.begin(), v->members.end(), may_be); }));
            if (std::any_of(top_->members.begin(), top_->members.end(), may_be)) likes_ += top_->likes_anew().size();
            state_ = text_;
            break;
        }
        case Mode::kString:
            likes_ = inside(Kind::kString, [&](const std::string& value) { return may_become(text_, value); }) +
                     begun(Kind::kString, without_high_surrogate(text_));
            state_ = text_;
            break;
        case Mode::kNumber: {
            NumberText number(text_);
            likes_ =
                inside(Kind::kNumber, [&](const std::string& value) { return number.may_become(value); }) + count_in(top_->index, number);
            state_ = number.reduced();
            break;
        }
        case Mode::kLiteral:
            likes_ =
                inside(Kind::kLiteral, [&](const std::string& value) { return may_become(text_, value); }) + begun(Kind::kLiteral, text_);
            state_ = text_;
            break;
    }
    safe_ = likes_ == 0;
    key_ = mix(key_around() ^ hash_of(state_) ^ mix(hash_of(escape_)));
}

bool Writing::is_alike_around(const Writing& other) const { return mode_ == other.mode_ && *top_ == *other.top_; }

uint64_t Writing::key_around() const { return top_->hash ^ mix(uint64_t(mode_) + 1); }

uint64_t Writing::shape() const { return pack(top_->depth, uint32_t(mode_) << 8 | uint32_t(top_->kind) << 1 | top_->distinct); }

bool Writing::in_item() const { return mode_ == Mode::kString && top_->distinct; }

bool Writing::between_characters_of_item() const {
    return in_item() && escape_.empty() && without_high_surrogate(text_).size() == text_.size() && top_->likes.empty();
}

size_t Writing::likes_with(std::string_view more) const {
    return PrefixCounts::count(top_->index, index_text(Kind::kString, text_).append(more));
}

void Writing::each_rest_with(std::string_view more, const std::function<void(std::string_view)>& visit) const {
    PrefixCounts::each_rest(top_->index, index_text(Kind::kString, text_).append(more), visit);
}

size_t Writing::rivals() const {
    if (mode_ != Mode::kKey) return likes_;
    size_t count = top_->members.size();
    for (const ValueRef& like : top_->likes) count += like->members.size();
    return count;
}

Bytes Writing::plain_bytes() const {
    switch (mode_) {
        case Mode::kBefore: return bytes_of("\"-0123456789tfn[{]");
        case Mode::kAfter: return bytes_of(",]}");
        case Mode::kBeforeKey: return bytes_of("\"}");
        case Mode::kAfterKey: return bytes_of(":");
        case Mode::kNumber: return bytes_of("0123456789.eE+-,]}");
        case Mode::kLiteral: return bytes_of("aelrsu");
        case Mode::kKey:
        case Mode::kString: break;
    }
    return escape_.empty() ? ~bytes_of("\\") : bytes_of("0123456789abcdefABCDEFunrt\"\\/");
}

Bytes Writing::unsafe_bytes() const {
    Bytes out;
    auto add_next = [&](const std::string& value) {
        if (!may_become(text_, value)) return;
        if (value.compare(0, text_.size(), text_) != 0) return void(out.set());  // half of a pair
        if (value.size() > text_.size()) out.set(uint8_t(value[text_.size()]));
    };
    auto add_keys = [&](const auto& members) {
        for (const auto& m : members) add_next(m.first);
    };
    if (mode_ == Mode::kBefore) {
        if (top_->kind == Kind::kArray && top_->items.empty()) out = bytes_of("]");
        auto add_kind = [&](Kind kind) {
            switch (kind) {
                case Kind::kString: out.set('"'); break;
                case Kind::kNumber: out |= bytes_of("-0123456789"); break;
                case Kind::kLiteral: out |= bytes_of("tfn"); break;
                case Kind::kArray: out.set('['); break;
                case Kind::kObject: out.set('{'); break;
            }
        };
        top_->each_inherited_inside([&](const ValueRef& like) { add_kind(like->kind); });
        PrefixCounts::each_next(top_->index, "", [&](uint8_t kind) { add_kind(Kind(kind - '0')); });
    } else if (in_string() && escape_.empty()) {
        out = bytes_of("\"\\");
        if (mode_ == Mode::kString) {
            top_->each_inherited_inside([&](const ValueRef& like) {
                if (like->kind == Kind::kString) add_next(like->text);
            });
            const std::string_view whole = without_high_surrogate(text_);
            if (whole.size() < text_.size() && PrefixCounts::count(top_->index, index_text(Kind::kString, whole)) >
                                                   PrefixCounts::count(top_->index, index_text(Kind::kString, text_)))
                out.set();
            PrefixCounts::each_next(top_->index, index_text(Kind::kString, text_), [&](uint8_t byte) { out.set(byte); });
            return out;
        }
        for (const ValueRef& like : top_->likes) add_keys(like->members);
        add_keys(top_->members);
        return out;
    } else {
        out = plain_bytes();
    }
    return out | bytes_of(" \t\n\r");
}

}  // namespace derivable
