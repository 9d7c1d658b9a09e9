#include "automata/catalogue_records.hpp"

#include <algorithm>

#include "automata/catalogue.hpp"
#include "support/errors.hpp"

namespace derivable {

void CatalogueRecords::add(std::string_view text) {
    const size_t common =
        size_t(std::mismatch(text.begin(), text.begin() + long(std::min(text.size(), last_.size())), last_.begin()).first - text.begin());
    if (size_ != 0) {
        if (common == text.size() && common == last_.size()) return;
        if (text < last_) throw BadArtifact("what was written beside the catalogue of names while it was built has changed");
    }
    close(common);
    last_.resize(common);
    last_ += text.substr(common);
    if (depths_.size() <= text.size()) depths_.resize(text.size() + 1);
    depths_[text.size()].is_text = true;
    shortest_ = size_ == 0 ? uint32_t(text.size()) : std::min(shortest_, uint32_t(text.size()));
    size_++;
}

uint64_t CatalogueRecords::finish() {
    close(0);
    return write(0, {}, depths_[0]).position;
}

// What only leads on is part of the path of the next record.
void CatalogueRecords::close(size_t depth) {
    const std::string_view last = last_;
    size_t end = last.size();
    for (size_t at = last.size(); at > depth; at--) {
        Depth& parent = depths_[at - 1];
        const bool only_leads_on =
            at - 1 > depth && parent.children.empty() && !parent.is_text && end - (at - 1) <= Catalogue::kLongestPath;
        if (only_leads_on) continue;
        parent.children.push_back(write(uint8_t(last[at - 1]), last.substr(at, end - at), depths_[end]));
        end = at - 1;
    }
}

CatalogueRecords::Child CatalogueRecords::write(uint8_t first, std::string_view path, Depth& behind) {
    using F = Catalogue;
    const uint64_t position = taken_ + out_.size();
    uint32_t width = 0, least = 0;
    if (!behind.children.empty()) {
        const uint64_t farthest = position - behind.children.front().position;
        while (width < 8 && farthest >> 8 * width) width++;
        const auto by_least = [](const Child& a, const Child& b) { return a.least < b.least; };
        if (!behind.is_text) least = 1 + std::min_element(behind.children.begin(), behind.children.end(), by_least)->least;
    }
    const auto put = [&](uint64_t value, uint32_t bytes) {
        for (uint32_t i = 0; i < bytes; i++) out_.push_back(char(value >> 8 * i));
    };
    const bool is_long = path.size() >= F::kLongPath;
    put((is_long ? F::kLongPath : uint32_t(path.size())) << F::kPathShift | width << F::kWidthShift | behind.is_text, 1);
    if (is_long) put(path.size(), 1);
    out_ += path;
    if (width != 0) {
        put(least, 2), put(behind.children.size() - 1, 1);
        for (const Child& c : behind.children) put(c.first, 1);
        for (const Child& c : behind.children) put(position - c.position, width);
    }
    behind.children.clear(), behind.is_text = false;
    return {position, uint32_t(path.size()) + least, first};
}

}  // namespace derivable
