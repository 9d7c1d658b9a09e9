#include "python/index_bindings.hpp"

#include <optional>
#include <utility>
#include <vector>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "python/interpreter.hpp"

namespace nb = nanobind;

namespace derivable {

nb::dict index_view(Constraint& constraint) {
    IndexView v;
    {
        Unlocked unlocked;
        v = view(constraint);
    }
    nb::list states;
    for (const LexerStateView& s : v.states)
        states.append(nb::make_tuple(nb::cast(s.lexeme), s.stacks, s.masks, s.depth, s.always, s.stack_dependent, s.never, s.is_split,
                                     s.inside, s.exits));
    nb::dict d;
    d["states"] = states;
    d["keys"] = v.keys;
    d["splits"] = v.splits;
    d["lexer_bytes"] = v.lexer_bytes;
    d["split_bytes"] = v.split_bytes;
    d["part_bytes"] = v.part_bytes;
    d["mask_bytes"] = v.mask_bytes;
    return d;
}

nb::object unfolded(Matcher& matcher, uint64_t most) {
    std::optional<std::vector<SpanView>> spans;
    {
        Unlocked unlocked;
        try {
            spans = matcher.unfold(most);
        } catch (const TooAmbiguous&) {  // stays none
        }
    }
    if (!spans) return nb::none();
    nb::list out;
    for (const SpanView& s : *spans) out.append(nb::make_tuple(s.parent, s.terminal, s.ignored, s.tokens, s.refused, s.hops));
    return out;
}

}  // namespace derivable
