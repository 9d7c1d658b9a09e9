// Bitmasks that Python gives, to be written.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "python/translate.hpp"

namespace derivable {

// The bitmask that a caller gave: numpy through the buffer protocol, anything else through DLPack.
class Bitmask {
  public:
    Bitmask(nanobind::handle object, uint32_t words) : words_(words) {
        if (PyObject_CheckBuffer(object.ptr())) {
            if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE | PyBUF_FORMAT) != 0) {
                PyErr_Clear();
                throw BadBitmask{"the bitmask is not a writable C-contiguous array."};
            }
            has_buffer_ = true;
            const char* f = buffer_.format ? buffer_.format : "B";
            if (buffer_.itemsize != 4 || (f[0] != 'i' && f[0] != 'l') || f[1] != 0) {
                PyBuffer_Release(&buffer_);
                throw BadBitmask{std::string("the bitmask's dtype is not int32 (buffer format '") + f + "')."};
            }
            set(buffer_.buf, buffer_.ndim, buffer_.ndim > 0 ? buffer_.shape[0] : 0, buffer_.ndim > 1 ? buffer_.shape[1] : 0);
            return;
        }
        nanobind::ndarray<int32_t, nanobind::c_contig, nanobind::device::cpu> array;
        if (!nanobind::try_cast(object, array, false)) throw BadBitmask{"the bitmask is not an int32 C-contiguous array on the CPU."};
        set(array.data(), int(array.ndim()), array.ndim() > 0 ? int64_t(array.shape(0)) : 0,
            array.ndim() > 1 ? int64_t(array.shape(1)) : 0);
    }
    ~Bitmask() {
        if (has_buffer_) PyBuffer_Release(&buffer_);
    }
    Bitmask(const Bitmask&) = delete;
    Bitmask& operator=(const Bitmask&) = delete;

    int64_t rows() const { return rows_; }
    size_t stride() const { return stride_; }  // words of a row
    uint32_t* row(int64_t i) const {
        if (i < 0 || i >= rows_)
            throw BadBitmask{"row " + std::to_string(i) + " is outside a bitmask of " + std::to_string(rows_) + " rows."};
        return data_ + size_t(i) * stride_;
    }
    // Words past the vocabulary belong to padded logits: never allowed.
    void clear_tail(int64_t i) const {
        for (size_t w = words_; w < stride_; w++) row(i)[w] = 0;
    }

  private:
    void set(void* data, int ndim, int64_t rows, int64_t columns) {
        if (ndim != 2 || columns < int64_t(words_)) {
            if (has_buffer_) PyBuffer_Release(&buffer_), has_buffer_ = false;
            throw BadBitmask{"the bitmask must have shape [batch, " + std::to_string(words_) + "] (or wider), not " + std::to_string(ndim) +
                             " dimensions with " + std::to_string(columns) + " columns."};
        }
        data_ = static_cast<uint32_t*>(data);
        rows_ = rows;
        stride_ = size_t(columns);
    }
    uint32_t words_;
    Py_buffer buffer_{};
    bool has_buffer_ = false;
    uint32_t* data_ = nullptr;
    int64_t rows_ = 0;
    size_t stride_ = 0;
};

}  // namespace derivable
