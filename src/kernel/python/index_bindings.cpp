#include "python/index_bindings.hpp"

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "matching/lexeme_graph.hpp"
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

namespace {

nb::object as_tuple(const KeysView& v) {
    nb::list keys, masks;
    nb::dict productions;
    for (const KeyView& k : v.keys) {
        nb::list stack;
        for (const Stacks::Level& level : k.stack) {
            nb::list states;
            for (LrState state : level.states) states.append(state.index());
            stack.append(nb::make_tuple(states, nb::cast(level.items)));
        }
        keys.append(nb::make_tuple(k.lexer_state, nb::cast(k.lexeme), stack, k.environment, k.tally, k.mask));
    }
    for (const std::vector<uint32_t>& words : v.masks)
        masks.append(nb::bytes(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t)));
    for (const auto& [number, production] : v.productions)
        productions[nb::int_(number)] = nb::make_tuple(production.head, nb::cast(production.body));
    return nb::make_tuple(keys, masks, productions, v.left_out);
}

}  // namespace

nb::object index_keys(Constraint& constraint, uint32_t terminal, uint64_t most, uint64_t most_bytes, Matcher* matcher) {
    KeysView v;
    {
        Unlocked unlocked;
        const KeyBounds bounds{most, most_bytes};
        v = matcher ? matcher->index_keys(terminal, bounds) : keys(constraint, terminal, bounds);
    }
    return as_tuple(v);
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

nb::object lexemes(Constraint& constraint, const std::vector<uint16_t>& bytes,
                   const std::vector<std::tuple<uint32_t, uint32_t, uint32_t>>& tokens, bool is_whole) {
    TokenizedText text{bytes, {}};
    uint32_t at = 0;
    for (const auto& [begin, length, id] : tokens) {
        if (begin < at || length == 0 || length > bytes.size() || begin > bytes.size() - length || id >= constraint.vocabulary().size())
            throw nb::value_error("tokens lie in the text one after the other, and in the vocabulary");
        text.tokens.push_back({begin, length, id});
        at = begin + length;
    }
    for (uint16_t byte : bytes)
        if (byte > TokenizedText::kNoByte) throw nb::value_error("a byte is a number below 256, and 256 a token without bytes");
    LexemeGraph graph;
    {
        Unlocked unlocked;
        graph = lexeme_graph(constraint, text, is_whole);
    }
    nb::list edges;
    for (const LexemeGraph::Edge& e : graph.edges) edges.append(nb::make_tuple(e.from, e.to, e.symbol, e.blocks));
    return nb::make_tuple(nb::cast(graph.borders), edges);
}

}  // namespace derivable
