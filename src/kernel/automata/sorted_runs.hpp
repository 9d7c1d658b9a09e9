// Sorts more texts than fit into memory: those that do are sorted and written away as a run, and at the end all runs are merged. Reading and writing
// files is the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace derivable {

// Makes runs: of each text two bytes for its length, the lower one first, and its bytes.
class RunSorter {
  public:
    explicit RunSorter(size_t memory) : memory_(memory) {}
    // SAFETY: of no more bytes than two bytes can say.
    void add(std::string_view text);
    bool is_empty() const { return refs_.empty(); }
    // There are so many that they are to be written away.
    bool is_full() const { return texts_.size() + sizeof(Ref) * refs_.size() >= memory_; }
    // The next part of the run of what was added; nothing: that was all, and none of it is left.
    std::string spill();

  private:
    struct Ref {
        uint64_t begins;  // the first eight bytes, as a number that sorts as they do
        uint32_t at, size;
    };
    std::string_view text(const Ref& r) const { return {texts_.data() + r.at, r.size}; }

    const size_t memory_;
    std::string texts_;
    std::vector<Ref> refs_;
    size_t spilled_ = 0;  // of refs_
};

class RunMerger {
  public:
    explicit RunMerger(size_t runs);
    // A run of which more is to be read before it can go on.
    std::optional<size_t> wanted();
    // What follows in the one that is wanted; nothing: it has ended. Throws BadArtifact if it ends within a text.
    void feed(std::string_view bytes);
    // If none is wanted: the least of all texts that are left; none: there are none left. It is valid until the next call.
    std::optional<std::string_view> next();

  private:
    struct Run {
        std::string bytes;
        size_t at = 0;  // behind the head
        std::string_view head;
    };
    // To the next text of a run, if that is there already.
    void go_on(size_t run);

    std::vector<Run> runs_;
    std::vector<size_t> heap_, waiting_;  // runs
    std::optional<size_t> given_;         // whose head was
};

}  // namespace derivable
