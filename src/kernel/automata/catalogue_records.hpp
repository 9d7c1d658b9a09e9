// The records of a catalogue (automata/catalogue.hpp), of texts that ascend: each is written as soon as no further text can lie below it. So what is kept
// in memory is the way to the last text, and what branches off from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace derivable {

class CatalogueRecords {
  public:
    // The next one, or the last one again. Throws BadArtifact if it is before that.
    void add(std::string_view text);
    // Behind the last text, of which there is one at least. Where the root lies.
    uint64_t finish();
    uint64_t size() const { return size_; }  // texts
    uint32_t shortest() const { return shortest_; }
    size_t pending() const { return out_.size(); }  // bytes to be taken
    std::string take() {
        taken_ += out_.size();
        return std::exchange(out_, {});
    }

  private:
    struct Child {
        uint64_t position;
        uint32_t least;  // bytes of the shortest text, from its record on
        uint8_t first;
    };
    // Behind so many bytes of the last text.
    struct Depth {
        std::vector<Child> children;
        bool is_text = false;
    };
    // Writes what lies below the last text, further than this.
    void close(size_t depth);
    // Forgets what was behind the path.
    Child write(uint8_t first, std::string_view path, Depth& behind);

    std::string last_, out_;
    std::vector<Depth> depths_{1};
    uint64_t taken_ = 0, size_ = 0;
    uint32_t shortest_ = 0;
};

}  // namespace derivable
