// Large arrays of plain values, which cost nothing until they are touched.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

namespace clue {

enum Filled { WITH_ANYTHING, WITH_ZEROS };

template <class T>
class Pages {
public:
    explicit Pages(size_t n, Filled filled = WITH_ANYTHING) : size_(n) {
        const size_t bytes = (n ? n : 1) * sizeof(T);
        data_ = static_cast<T*>(filled == WITH_ZEROS ? std::calloc(bytes, 1) : std::malloc(bytes));
        if (!data_) throw std::bad_alloc();
    }
    ~Pages() { std::free(data_); }
    Pages(const Pages&) = delete;
    Pages& operator=(Pages&& o) {
        std::swap(size_, o.size_);
        std::swap(data_, o.data_);
        return *this;
    }
    T& operator[](size_t i) { return data_[i]; }
    const T* data() const { return data_; }
    size_t size() const { return size_; }

private:
    size_t size_;
    T* data_;
};

}  // namespace clue
