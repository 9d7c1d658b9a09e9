#include "python/bindings.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "matching/apply_bitmask.hpp"
#include "matching/batch.hpp"
#include "python/bitmask.hpp"

namespace nb = nanobind;

namespace derivable {

namespace {

using Rows = std::optional<std::vector<int64_t>>;

std::vector<Matcher*> matchers_of(nb::list given) {
    std::vector<Matcher*> matchers;
    for (nb::handle item : given) {
        Matcher* matcher = nullptr;
        if (!item.is_none() && (!nb::try_cast(item, matcher) || !matcher)) refuse("every one of the matchers", "a Matcher, or None", item);
        matchers.push_back(matcher);
    }
    return matchers;
}

// The rows that are written: each once, for two threads may be at it.
std::vector<uint32_t*> rows_of(const Bitmask& bitmask, size_t count, const Rows& rows) {
    if (rows && rows->size() != count)
        throw BadBitmask{std::to_string(rows->size()) + " rows were given for " + std::to_string(count) + " matchers."};
    if (!rows && uint64_t(bitmask.rows()) < count)
        throw BadBitmask{"the bitmask has " + std::to_string(bitmask.rows()) + " rows for " + std::to_string(count) + " matchers."};
    if (rows && std::set<int64_t>(rows->begin(), rows->end()).size() != count) throw BadBitmask{"a row is given twice."};
    std::vector<uint32_t*> out;
    for (size_t i = 0; i < count; i++) out.push_back(bitmask.row(rows ? (*rows)[i] : int64_t(i)));
    return out;
}

void fill_bitmasks(nb::list given, nb::handle bitmask, uint32_t threads, const Rows& rows) {
    Batch batch(matchers_of(given));
    uint32_t words = 0;
    for (size_t i = 0; i < batch.size(); i++) {
        if (!batch[i]) continue;
        const uint32_t own = batch[i]->constraint().vocabulary().words();
        if (words && own != words) throw BadBitmask{"the matchers of a batch are over vocabularies of different sizes."};
        words = own;
    }
    Bitmask b(bitmask, words);
    const std::vector<uint32_t*> at = rows_of(b, batch.size(), rows);
    Call call;
    for (size_t i = 0; i < batch.size(); i++) {
        if (!batch[i]) std::fill_n(at[i], b.stride(), ~0u);
        else std::fill(at[i] + words, at[i] + b.stride(), 0u);
    }
    batch.run(threads, [&](size_t row) { fill_for_choice(*batch[row], at[row]); });
    batch.rethrow_first();
}

// For each matcher what names its mask in this process: the number of its constraint and that of the mask. None: it has no name.
nb::list mask_numbers(nb::list given) {
    const std::vector<Matcher*> matchers = matchers_of(given);
    std::vector<int64_t> numbers(matchers.size(), Matcher::kNoNumber);
    {
        Call call;
        for (size_t row = 0; row < matchers.size(); row++)
            if (matchers[row]) numbers[row] = matchers[row]->mask_number();
    }
    nb::list names;
    for (size_t row = 0; row < matchers.size(); row++) {
        if (numbers[row] == Matcher::kNoNumber) names.append(nb::none());
        else names.append(nb::make_tuple(matchers[row]->constraint().serial, numbers[row]));
    }
    return names;
}

// All of them or none.
void advance(nb::list given, nb::handle tokens, uint32_t threads) {
    Batch batch(matchers_of(given));
    const std::vector<nb::object> ids = token_objects(tokens);
    if (ids.size() != batch.size()) throw BadArgument{"token_ids", "as many tokens as there are matchers", nb::int_(ids.size())};
    std::vector<uint32_t> known(ids.size());
    for (size_t i = 0; i < ids.size(); i++)
        if (batch[i]) known[i] = token_of(batch[i]->constraint(), ids[i], int64_t(i));
    std::vector<char> taken(ids.size(), 0), refused(ids.size(), 0);
    size_t first = 0;
    {
        Call call;
        batch.run(threads, [&](size_t row) {
            Matcher& matcher = *batch[row];
            const auto& eos = matcher.constraint().vocabulary().eos;
            if (matcher.advance(known[row]) == Matcher::Verdict::kAccepted) taken[row] = 1;
            else refused[row] = !matcher.finished() || std::find(eos.begin(), eos.end(), known[row]) == eos.end();
        });
        while (first < refused.size() && !refused[first]) first++;
        if (first < refused.size() || batch.failed())
            for (size_t row = refused.size(); row-- > 0;)
                if (taken[row]) batch[row]->rollback(1);
        batch.rethrow_first();
    }
    if (first < refused.size())
        throw TokenRejected{known[first], batch[first]->constraint().vocabulary().bytes[known[first]],
                            batch[first]->finished() ? "the sequence is finished" : "", int64_t(first)};
}

std::vector<bool> fill_draft_of(const Matcher& matcher, nb::handle tokens, nb::handle bitmask, const std::vector<int64_t>& parents,
                                int64_t row) {
    const Vocabulary& vocabulary = matcher.constraint().vocabulary();
    std::vector<int64_t> ids;
    for (const nb::object& token : token_objects(tokens)) ids.push_back(number("token_ids", token));
    if (parents.size() != ids.size()) throw BadArgument{"parents", "as many as there are tokens", nb::int_(parents.size())};
    for (size_t i = 0; i < parents.size(); i++)
        if (parents[i] < -1 || parents[i] >= int64_t(i))
            throw BadArgument{"parents", "for each token the index of one before it, or -1", nb::int_(parents[i])};
    Bitmask b(bitmask, vocabulary.words());
    if (row < 0 || row > b.rows() || uint64_t(b.rows() - row) < ids.size() + 1)
        throw BadBitmask{"the bitmask has " + std::to_string(b.rows()) + " rows: too few for " + std::to_string(ids.size() + 1) +
                         " from row " + std::to_string(row) + " on."};
    std::vector<uint32_t*> rows;
    for (size_t i = 0; i <= ids.size(); i++) {
        rows.push_back(b.row(row + int64_t(i)));
        b.clear_tail(row + int64_t(i));
    }
    Call call;
    return fill_draft(matcher, ids, parents, rows);
}

// Memory of an array of Python's, for as long as this lives.
class Buffer {
  public:
    Buffer(nb::handle object, int flags, const char* name, const char* wanted) {
        if (PyObject_GetBuffer(object.ptr(), &view, flags) == 0) return;
        PyErr_Clear();
        refuse(name, wanted, object);
    }
    ~Buffer() { PyBuffer_Release(&view); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    Py_buffer view;
};

// Each of the rows of the logits, by that row of the bitmask which `masks` says in its place.
void apply(nb::handle logits, uint64_t minimum, nb::handle bitmask, const std::vector<int64_t>& rows, const std::vector<int64_t>& masks) {
    const Buffer numbers(logits, PyBUF_STRIDES | PyBUF_WRITABLE, "logits", "a writable array of two dimensions");
    const Buffer words(bitmask, PyBUF_C_CONTIGUOUS, "bitmask", "an int32 array of two dimensions");
    const Py_buffer &x = numbers.view, &w = words.view;
    const bool fits = x.ndim == 2 && w.ndim == 2 && (x.itemsize == 2 || x.itemsize == 4 || x.itemsize == 8) && w.itemsize == 4;
    if (!fits) refuse("logits", "rows of floating-point numbers, with rows of int32 words", logits);
    if (masks.size() != rows.size()) throw BadArgument{"masks", "as many as there are rows", nb::int_(masks.size())};
    for (size_t i = 0; i < rows.size(); i++)
        if (rows[i] < 0 || rows[i] >= x.shape[0] || masks[i] < 0 || masks[i] >= w.shape[0])
            throw BadBitmask{"row " + std::to_string(rows[i]) + " is outside logits of " + std::to_string(x.shape[0]) + " rows, or row " +
                             std::to_string(masks[i]) + " outside a bitmask of " + std::to_string(w.shape[0]) + "."};
    constexpr size_t kFew = 4;  // rows of 15 us each where much is masked
    Call call;
    if (rows.size() > kFew) call.let_others_run();
    for (size_t i = 0; i < rows.size(); i++)
        apply_bitmask({static_cast<char*>(x.buf) + rows[i] * x.strides[0], size_t(x.shape[1]), x.strides[1], uint32_t(x.itemsize), minimum},
                      static_cast<const uint32_t*>(w.buf) + masks[i] * w.shape[1], size_t(w.shape[1]));
}

}  // namespace

void bind_batches(nb::module_& m) {
    m.def("fill_bitmasks", &fill_bitmasks, nb::arg("matchers"), nb::arg("bitmask").none(), nb::arg("threads"),
          nb::arg("rows") = nb::none());
    m.def("mask_numbers", &mask_numbers, nb::arg("matchers"));
    m.def("advance", &advance, nb::arg("matchers"), nb::arg("token_ids").none(), nb::arg("threads"));
    m.def("fill_draft", &fill_draft_of, nb::arg("matcher"), nb::arg("token_ids").none(), nb::arg("bitmask").none(), nb::arg("parents"),
          nb::arg("row"));
    m.def("apply_bitmask", &apply, nb::arg("logits"), nb::arg("minimum"), nb::arg("bitmask"), nb::arg("rows"), nb::arg("masks"));
}

}  // namespace derivable
