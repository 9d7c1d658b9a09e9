// Arrays of distinct items (JSON Schema's uniqueItems): what a parse remembers of the values that it has written.
//
// Which values an array holds so far is not context-free, so it is part of the matcher's state. A grammar names the terminals that open
// such arrays; from there on a parse carries a *writing*: the arrays and objects that are open, the values in them, and the scalar in
// progress. It steps with every byte of JSON text (what is none does no harm), knows nothing of terminals, and is immutable, so that
// rollback and fork stay pointer moves.
//
// Every open frame keeps the values that it may still come out equal to, its *likes*: earlier items of a distinct array, or what they hold
// in the same place. A writing without likes where it stands can no longer repeat an item, whatever follows, until another item begins: it
// is
// *safe*. One that is not safe is alive if some continuation makes it safe; the constraint searches for one.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace derivable {

class PackedReader;
class PackedWriter;
struct JsonValue;
using ValueRef = std::shared_ptr<const JsonValue>;

// Equal values are equal whatever their spelling: 1 and 10e-1, "a" and "\u0061", members in any order.
struct JsonValue {
    enum class Kind : uint8_t { kString, kNumber, kLiteral, kArray, kObject };
    Kind kind;
    std::string text;  // a string's UTF-8, a number's canonical text, or a literal
    std::vector<ValueRef> items;
    std::vector<std::pair<std::string, ValueRef>> members;  // by key; of a key that is repeated the last
    uint64_t hash = 0;
    bool operator==(const JsonValue& other) const;
};

using Bytes = std::bitset<256>;

class Writing;
using WritingRef = std::shared_ptr<const Writing>;

class Writing {
  public:
    // An array of distinct items begins: at the outermost, or it is the array that has just been opened.
    static WritingRef distinct_array(const WritingRef& writing);
    // One byte further. False: an item would be repeated. Null once the outermost distinct array is closed.
    static bool step(WritingRef& writing, uint8_t byte);

    // As every process knows it; and back, BadState. Cost: as the text of its values takes.
    void write(PackedWriter& out) const;
    static WritingRef read(PackedReader& in);

    bool safe() const { return safe_; }
    bool in_string() const { return mode_ == Mode::kString || mode_ == Mode::kKey; }
    bool in_key() const { return mode_ == Mode::kKey; }
    bool in_number() const { return mode_ == Mode::kNumber; }
    bool before_value() const { return mode_ == Mode::kBefore; }
    // White space changes nothing.
    bool between_tokens() const { return !in_string() && !in_number() && mode_ != Mode::kLiteral; }
    // In a string that is an item of a distinct array itself; between two characters of one that is compared with the items of that array only.
    bool in_item() const;
    bool between_characters_of_item() const;
    // Items of distinct arrays that are complete, so far.
    size_t completed() const { return completed_; }
    // In a number of which each further digit but 0 makes another one.
    bool in_digits() const { return in_number() && text_.find_first_of("eE") == std::string::npos; }
    // Writings with the same future, but that more zeros behind a point, or in an exponent, count as the same; a search that comes back to
    // one more often than there are likes() has seen all that can differ. And those that differ in the string or key in progress only.
    bool is_alike(const Writing& other) const { return state_ == other.state_ && escape_ == other.escape_ && is_alike_around(other); }
    bool is_alike_around(const Writing& other) const;
    // Equal for those that are alike, and for few others.
    uint64_t key() const { return key_; }
    uint64_t key_around() const;
    // Equal where the values are written in the same places: as deep, in an array or an object, of distinct items or not.
    uint64_t shape() const;
    size_t likes() const { return likes_; }
    // Of a string or key in progress: how many values at most it has to differ from, to be safe.
    size_t rivals() const;
    // There, behind some more bytes that stand for themselves: how many items begin so, and what is left of each.
    size_t likes_with(std::string_view more) const;
    void each_rest_with(std::string_view more, const std::function<void(std::string_view)>& visit) const;
    // The bytes that may follow in JSON, save white space and the beginnings of escapes.
    Bytes plain_bytes() const;
    // What is not safe becomes so with any other byte, if there is a way on at all.
    Bytes unsafe_bytes() const;
    bool operator==(const Writing& other) const;

  private:
    struct Frame;
    using FrameRef = std::shared_ptr<const Frame>;
    enum class Mode : uint8_t { kBefore, kAfter, kBeforeKey, kAfterKey, kString, kKey, kNumber, kLiteral };

    bool take(uint8_t byte);
    bool complete(ValueRef value);
    void take_string(uint8_t byte);
    void open(JsonValue::Kind kind);
    bool close();
    void end_key();
    void judge();
    void read_frame(PackedReader& in);
    void read_place(PackedReader& in);

    FrameRef top_;
    Mode mode_ = Mode::kBefore;
    std::string text_;    // of the scalar or key in progress: decoded, or a number's as it is
    std::string escape_;  // in progress
    std::string state_;   // what matters of the text
    bool safe_ = true;
    size_t likes_ = 0;
    size_t completed_ = 0;
    uint64_t key_ = 0;
};

}  // namespace derivable
