#include "lexing/indentation.hpp"

namespace derivable {

Indentations::Id Indentations::intern(const Indentation& l) {
    auto [it, fresh] = indentation_ids_.try_emplace({l.level, l.depth, l.phase, l.column, l.alternate}, uint32_t(indentations_.size()));
    if (fresh) indentations_.push_back(l);
    return it->second;
}

uint32_t Indentations::push_level(uint32_t outer, uint32_t column, uint32_t alternate) {
    auto [it, fresh] = level_ids_.try_emplace({outer, column, alternate}, uint32_t(levels_.size()));
    if (fresh) levels_.push_back({outer, column, alternate});
    return it->second;
}

void Indentations::write(PackedWriter& out, Id id) const {
    const Indentation& l = indentations_[id];
    std::vector<Level> levels;
    for (uint32_t level = l.level; level; level = levels_[level].outer) levels.push_back(levels_[level]);
    out.put(levels.size());
    for (auto level = levels.rbegin(); level != levels.rend(); ++level) out.put(level->column), out.put(level->alternate);
    for (uint32_t n : {l.depth, l.phase, l.column, l.alternate}) out.put(n);
}

Indentations::Id Indentations::read(PackedReader& in) {
    constexpr uint32_t kPhases = 3, kMost = 1u << 30;  // columns, and brackets that are open
    Indentation l;
    for (size_t n = in.count(2); n > 0; n--) {
        const uint32_t column = in.below(kMost), alternate = in.below(kMost);
        in.check(column > levels_[l.level].column && alternate > levels_[l.level].alternate);
        l.level = push_level(l.level, column, alternate);
    }
    l.depth = in.below(kMost), l.phase = in.below(kPhases), l.column = in.below(kMost), l.alternate = in.below(kMost);
    return intern(l);
}

void Indentations::count(Indentation& l, uint8_t byte) const {
    if (byte == '\n') {
        l.phase = 1, l.column = l.alternate = 0;
    } else if (l.phase == 1 && byte != '\r') {
        if (byte == ' ') l.column++, l.alternate++;
        else if (byte == '\t' && spec.stops) l.column = (l.column / spec.tab + 1) * spec.tab, l.alternate++;
        else if (byte == '\t') l.column += spec.tab, l.alternate += spec.tab;
        else if (byte == '\f') l.column = l.alternate = 0;
        else l.phase = 2;
    }
}

Indentations::Id Indentations::step(Id id, uint8_t byte) {
    Indentation l = indentations_[id];
    if (l.depth) return id;
    count(l, byte);
    return intern(l);
}

Indentations::Id Indentations::with_depth(Id id, int change) {
    const uint64_t key = pack(id, uint32_t(change));
    if (const Id* known = deeper_.find(key)) return *known;
    Indentation l = indentations_[idle(id)];
    if (change > 0 || l.depth) l.depth += uint32_t(change);
    return deeper_[key] = intern(l);
}

Indentations::Effect Indentations::step_effect(Effect e, uint8_t byte) {
    std::string next = effects_[e];
    if (byte == '\n') next = "\n";
    else if (byte == '\r' || (!next.empty() && next.back() == '.')) return e;
    else next.push_back(byte == ' ' || byte == '\t' || byte == '\f' ? char(byte) : '.');  // any other ends the blanks
    return effect(next);
}

Indentations::Effect Indentations::effect(const std::string& bytes) {
    auto [it, fresh] = effect_ids_.try_emplace(bytes, Effect(effects_.size()));
    if (fresh) effects_.push_back(bytes);
    return it->second;
}

Indentations::Id Indentations::apply(Effect e, Id id) {
    if (e == kNothing || indentations_[id].depth) return id;
    if (const Id* known = applied_.find(pack(e, id))) return *known;
    Indentation l = indentations_[id];
    for (char c : effects_[e]) count(l, uint8_t(c));
    return applied_[pack(e, id)] = intern(l);
}

Indentations::Turn Indentations::turn(Id id) {
    if (turns_.size() <= id) turns_.resize(indentations_.size());
    if (turns_[id].kind != Turn::kUnknown) return turns_[id];
    Indentation l = indentations_[id];
    Turn t{Turn::kMisfit};
    if (l.column > levels_[l.level].column) {
        const bool fits = spec.step == 0 || l.column == levels_[l.level].column + spec.step;
        if (fits && l.alternate > levels_[l.level].alternate)
            t = {Turn::kDeeper, 0, intern({push_level(l.level, l.column, l.alternate), 0})};
    } else {
        for (; l.level && levels_[l.level].column > l.column; l.level = levels_[l.level].outer) t.dedents++;
        if (levels_[l.level].column == l.column && levels_[l.level].alternate == l.alternate)
            t = {Turn::kBlock, t.dedents, intern({l.level, 0})};
    }
    return turns_[id] = t;
}

}  // namespace derivable
