#include "index/vocabulary.hpp"

namespace derivable {

void Vocabulary::find_commas() {
    for (uint32_t t : trie.tokens) {
        const std::string& b = bytes[t];
        const size_t comma = b.rfind(',');
        if (comma == std::string::npos) continue;
        auto before = [&](char c) { return comma ? int(b.rfind(c, comma - 1)) : -1; };  // npos: -1
        commas.push_back({t, int(comma), before('"'), before('[')});
    }
}

}  // namespace derivable
