// The larger parts of the kernel that only make masks faster. Each can be left out, and every mask stays the same: the tests hold each against the plain way
// (masks/plain_mask.hpp), and benchmarks/accelerators.py says what each buys.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace derivable {

enum class Accelerator : uint8_t {
    // Splits of the vocabulary by a lexer state (index/spanner.hpp), in the order in which they are tried.
    kCountedStrings,
    kStretches,
    kUnbounded,
    kLists,
    kAlike,
    kAnyString,
    kNearest,
    // What several states have in common.
    kJointSplits,
    kRepeatedLexemes,
    kResidualStates,
    // Masks, and parts of masks, that were made before (masks/masks.hpp).
    kKnownMasks,
    kEndings,
    kUnions,
    kStackTrie,
    // Names (masks/names.hpp).
    kAnyNames,
    kBehindNames,
    kNamesByParts,
    // Masks by splits at all. Without them each is made the plain way.
    kSplits,
    kNumber  // of them
};

struct AcceleratorName {
    Accelerator part;
    std::string_view name, what;
};

inline constexpr std::array<AcceleratorName, size_t(Accelerator::kNumber)> kAccelerators{{
    {Accelerator::kCountedStrings, "counted_strings", "strings of bounded length: characters are counted once for all bounds"},
    {Accelerator::kStretches, "stretches", "tokens that begin with many characters of some kinds are known together"},
    {Accelerator::kUnbounded, "unbounded", "a state with a bound is split beside the same one without it"},
    {Accelerator::kLists, "lists", "within a list of strings only what is on the list is walked"},
    {Accelerator::kAlike, "alike", "of two states that only the longest tokens tell apart the second is split beside the first"},
    {Accelerator::kAnyString, "any_string", "a state inside a string of a pattern is split beside that of any string"},
    {Accelerator::kNearest, "nearest", "a state of several terminals is split beside one that differs in a few"},
    {Accelerator::kJointSplits, "joint_splits", "many terminals that are in progress together are split by one walk"},
    {Accelerator::kRepeatedLexemes, "repeated_lexemes", "a lexeme that leads back to where it began is followed once, not once each time"},
    {Accelerator::kResidualStates, "residual_states",
     "of what is left of some tokens, only terminals that can begin there tell states apart"},
    {Accelerator::kKnownMasks, "known_masks", "finished masks, by lexer state and the upper part of the stack"},
    {Accelerator::kEndings, "endings", "finished masks, by the stacks behind the lexeme in progress"},
    {Accelerator::kUnions, "unions", "finished masks, by the parts that they are united of"},
    {Accelerator::kStackTrie, "stack_trie", "what walks have settled, by the upper part of the stack (longest and basic)"},
    {Accelerator::kAnyNames, "any_names", "names where any text may stand but some: those that lead to the same are taken together"},
    {Accelerator::kBehindNames, "behind_names", "what may follow a name, for all states of the meaning that answer the same"},
    {Accelerator::kNamesByParts, "names_by_parts", "what may follow a name is put together of what is known without names"},
    {Accelerator::kSplits, "splits", "tokens are sorted by what the lexer makes of them, once for each of its states"},
}};

// How often each has spared something.
using AcceleratorUses = std::array<uint64_t, size_t(Accelerator::kNumber)>;

class Accelerators {
  public:
    static constexpr Accelerators all() { return Accelerators((uint32_t(1) << size_t(Accelerator::kNumber)) - 1); }
    static constexpr Accelerators none() { return Accelerators(0); }
    static std::optional<Accelerator> named(std::string_view name) {
        for (const AcceleratorName& a : kAccelerators)
            if (a.name == name) return a.part;
        return std::nullopt;
    }
    constexpr bool has(Accelerator a) const { return bits_ >> uint32_t(a) & 1; }
    constexpr Accelerators without(Accelerator a) const { return Accelerators(bits_ & ~(uint32_t(1) << uint32_t(a))); }
    constexpr bool operator==(Accelerators o) const { return bits_ == o.bits_; }
    constexpr bool operator!=(Accelerators o) const { return bits_ != o.bits_; }

  private:
    constexpr explicit Accelerators(uint32_t bits) : bits_(bits) {}
    uint32_t bits_;
};

}  // namespace derivable
