// What can be spelled for ever in the regions of a text (liveness/regions.hpp): the lexical half of the search for dead ends, where something swallows
// everything, but not everywhere.
//
// A place (region, obligations) is *safe* for a set of terminals if each of them that can come in that region can be spelled there, against all
// that can, in a way that leads to safe places again, and the text can end where it may. So at a safe place every stack that can be completed with these terminals
// has a text. Terminals that cannot be spelled everywhere (the inside of a string behind the inside of a string) are left out of the set, as long as
// stacks can be completed without.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "liveness/regions.hpp"
#include "liveness/spelling.hpp"
#include "support/hashing.hpp"

namespace derivable {

// Terminals whose texts are short and few: signs and words, which may be brackets.
Bits short_terminals(Spelling& spelling, uint32_t num_terminals);

class SafeRegions {
  public:
    // `completes`: as many stacks can be completed with these as with all `terminals`.
    SafeRegions(Lexer& lexer, Spelling& spelling, std::unique_ptr<const Regions> regions, Bits terminals,
                std::function<bool(const Bits&)> completes)
        : lexer_(lexer),
          spelling_(spelling),
          regions_(std::move(regions)),
          all_(std::move(terminals)),
          completes_(std::move(completes)) {}

    const Regions& regions() const { return *regions_; }
    // Terminals for which these obligations are safe, whichever of these regions it is. Null: none are known.
    const Bits* safe_for(Regions::Set where, Obligations obligations);

  private:
    struct Way {
        Symbol terminal;
        std::vector<Obligations> after;  // the least that is owed first
    };
    struct Place {
        uint32_t region;
        Obligations obligations;
        std::vector<Way> ways;
        bool may_end = false, is_known = false;
    };
    enum class Verdict : uint8_t { kOpen, kSafe, kUnsafe };
    // A set of terminals, and which places are safe for it. Where something is owed for long (no line may end any more), others have to be left out.
    struct Choice {
        Bits terminals;
        std::vector<Verdict> verdicts;  // by place
    };
    using Key = uint64_t;
    static constexpr uint32_t kMaxPlaces = 4'000, kMaxChoices = 8;

    Verdict& verdict(Choice& choice, uint32_t place) const {
        if (choice.verdicts.size() < places_.size()) choice.verdicts.resize(places_.size(), Verdict::kOpen);
        return choice.verdicts[place];
    }
    bool safe(Choice& choice, Regions::Set where, Obligations obligations);
    bool leave_out(Choice& choice, Bits& needed);
    bool judge(Choice& choice, const std::vector<uint32_t>& first);
    uint32_t place(uint32_t region, Obligations obligations);
    void look(uint32_t place);
    bool is_missing(const Place& p, Symbol t) const;
    bool finds_ways(Choice& choice, uint32_t place, std::vector<uint32_t>& found);

    Lexer& lexer_;
    Spelling& spelling_;
    std::unique_ptr<const Regions> regions_;
    const Bits all_;
    const std::function<bool(const Bits&)> completes_;
    std::vector<Place> places_;
    std::unordered_map<Key, uint32_t, MixHash> ids_;
    std::deque<Choice> choices_;
    std::map<std::pair<Regions::Set, Obligations>, uint32_t> attempts_;  // to choose terminals for it
};

}  // namespace derivable
