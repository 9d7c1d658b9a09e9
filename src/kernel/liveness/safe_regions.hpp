// What can be spelled for ever in the regions of a text (liveness/regions.hpp): the lexical half of the search for dead ends, where something swallows
// everything, but not everywhere.
//
// A place (region, obligations) is *safe* for a set of terminals if each of them that can come in that region can be spelled there, against all
// that can, in a way that leads to safe places again, and the text can end where it may. So at a safe place every stack that can be completed with these terminals
// has a text. Terminals that cannot be spelled everywhere (the inside of a string behind the inside of a string) are left out of the set, as long as
// stacks can be completed without.
#pragma once

#include <cstdint>
#include <functional>
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
    SafeRegions(Lexer& lexer, Spelling& spelling, std::unique_ptr<const Regions> regions, Bits terminals)
        : lexer_(lexer),
          spelling_(spelling),
          regions_(std::move(regions)),
          terminals_(std::move(terminals)),
          needed_(terminals_.words().size() * 64) {}

    // Leaves terminals out until the beginning of a text is safe; `completes` says whether stacks can be completed with such a set. False: it never is.
    bool choose(const std::function<bool(const Bits&)>& completes);
    const Bits& terminals() const { return terminals_; }
    const Regions& regions() const { return *regions_; }
    // Whichever of these it is.
    bool safe(Regions::Set where, Obligations obligations);

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
    using Key = uint64_t;
    static constexpr uint32_t kMaxPlaces = 4'000;

    bool judge(const std::vector<uint32_t>& first);
    uint32_t place(uint32_t region, Obligations obligations);
    void look(uint32_t place);
    bool is_missing(const Place& p, Symbol t) const;
    bool finds_ways(uint32_t place, std::vector<uint32_t>& found);

    Lexer& lexer_;
    Spelling& spelling_;
    std::unique_ptr<const Regions> regions_;
    Bits terminals_, needed_;  // to complete stacks
    std::vector<Place> places_;
    std::unordered_map<Key, uint32_t, MixHash> ids_;
    enum class Verdict : uint8_t { kOpen, kSafe, kUnsafe };
    std::vector<Verdict> verdicts_;  // by place
};

}  // namespace derivable
