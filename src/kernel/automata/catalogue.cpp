#include "automata/catalogue.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "support/errors.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {
void check(bool fits) {
    if (!fits) throw BadArtifact("a catalogue of names is damaged: what stands in it is no tree of texts. Build it again (Names.build)");
}
}  // namespace

Catalogue::Catalogue(std::string_view nodes, uint64_t root)
    : bytes_(reinterpret_cast<const uint8_t*>(nodes.data())),
      size_(nodes.size()),
      root_(root) {
    record(root);
}

// SAFETY: what is read twice may have changed, so what a bound was checked for is not read again.
Catalogue::Record Catalogue::record(uint64_t position) const {
    check(position < size_);
    const uint8_t* at = bytes_ + position;
    uint64_t left = size_ - position;
    const auto take = [&](uint64_t n) {
        check(n <= left);
        left -= n;
        return std::exchange(at, at + n);
    };
    const uint8_t head = *take(1);
    Record r{};
    r.position = position;
    r.is_text = head & kIsText;
    r.width = head >> kWidthShift & kWidthMask;
    r.length = head >> kPathShift;
    if (r.length == kLongPath) r.length = *take(1);
    r.path = take(r.length);
    if (r.width == 0) {
        r.is_text = true;
        return r;
    }
    const uint8_t* counts = take(3);
    r.least = uint32_t(counts[0]) | uint32_t(counts[1]) << 8;
    r.children = counts[2] + 1u;
    r.firsts = take(r.children);
    r.distances = take(uint64_t(r.children) * r.width);
    return r;
}

uint64_t Catalogue::child(const Record& parent, uint32_t number) const {
    const uint8_t* from = parent.distances + size_t(number) * parent.width;
    uint64_t distance = 0;
    for (uint32_t i = 0; i < parent.width; i++) distance |= uint64_t(from[i]) << 8 * i;
    check(distance != 0 && distance <= parent.position);
    return parent.position - distance;
}

Catalogue::Node Catalogue::step(Node at, uint8_t byte) const {
    const Record r = record((at >> 8) - 1);
    const uint32_t read = at & 0xFF;
    check(read <= r.length);
    if (read < r.length) return r.path[read] == byte ? at + 1 : kNowhere;
    const void* found = r.children ? std::memchr(r.firsts, byte, r.children) : nullptr;
    return found ? node(child(r, uint32_t(static_cast<const uint8_t*>(found) - r.firsts)), 0) : kNowhere;
}

ByteSet Catalogue::next(Node at) const {
    const Record r = record((at >> 8) - 1);
    const uint32_t read = at & 0xFF;
    check(read <= r.length);
    ByteSet bytes;
    if (read < r.length) bytes.set(r.path[read]);
    else
        for (uint32_t k = 0; k < r.children; k++) bytes.set(r.firsts[k]);
    return bytes;
}

bool Catalogue::is_text(Node at) const {
    const Record r = record((at >> 8) - 1);
    return r.is_text && (at & 0xFF) == r.length;
}

bool Catalogue::contains(std::string_view text) const {
    Node at = root();
    for (char c : text)
        if ((at = step(at, uint8_t(c))) == kNowhere) return false;
    return is_text(at);
}

// The way that promises the shortest text is followed first. Each leads to a text, so no more are kept than texts are wanted.
std::vector<std::string> Catalogue::rests(Node from, size_t most) const {
    struct Way {
        uint64_t least;  // bytes of a whole rest
        std::string read;
        uint64_t position;
        uint32_t skipped;  // of its path
        bool is_rest;
        bool operator<(const Way& other) const {
            return std::tie(least, read, position) < std::tie(other.least, other.read, other.position);
        }
    };
    std::set<Way> ways;
    std::vector<std::string> found;
    const auto keep = [&](Way way) {
        work(5);
        ways.insert(std::move(way));
        if (ways.size() > most - found.size()) ways.erase(std::prev(ways.end()));
    };
    const auto add = [&](std::string read, uint64_t position, uint32_t skipped) {
        const Record r = record(position);
        check(skipped <= r.length);
        const uint64_t least = read.size() + (r.length - skipped) + (r.is_text ? 0 : r.least);
        keep({least, std::move(read), position, skipped, false});
    };
    if (most > 0) add({}, (from >> 8) - 1, from & 0xFF);
    while (!ways.empty()) {
        Way way = std::move(ways.extract(ways.begin()).value());
        if (way.is_rest) {
            found.push_back(std::move(way.read));
            continue;
        }
        const Record r = record(way.position);
        check(way.skipped <= r.length);
        way.read.append(reinterpret_cast<const char*>(r.path) + way.skipped, r.length - way.skipped);
        check(way.read.size() <= kLongestText);
        for (uint32_t k = 0; k < r.children; k++) add(way.read + char(r.firsts[k]), child(r, k), 0);
        if (r.is_text) keep({way.read.size(), way.read, way.position, 0, true});
    }
    return found;
}

}  // namespace derivable
