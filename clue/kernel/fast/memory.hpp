// Large arrays of plain values, which use no memory until they are touched.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <utility>

namespace clue {

// Zeroed, and in huge pages if the system has them: for large arrays half the cost is the first touch.
template <class T>
class Pages {
public:
    explicit Pages(size_t n) : bytes_(whole(n * sizeof(T))) {
        void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
        if (bytes_ >= HUGE_PAGE) madvise(at, bytes_, MADV_HUGEPAGE);
#endif
        data_ = static_cast<T*>(at);
    }
    ~Pages() { munmap(data_, bytes_); }
    Pages(const Pages&) = delete;
    Pages& operator=(Pages&& o) {
        std::swap(bytes_, o.bytes_);
        std::swap(data_, o.data_);
        return *this;
    }
    T& operator[](size_t i) { return data_[i]; }
    const T* data() const { return data_; }

private:
    static constexpr size_t HUGE_PAGE = size_t{1} << 21;

    // Systems use huge pages only for blocks that consist of whole ones.
    static size_t whole(size_t bytes) { return bytes < HUGE_PAGE ? bytes + 1 : (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE; }

    size_t bytes_;
    T* data_;
};

}  // namespace clue
