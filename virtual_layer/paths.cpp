// The stack walk of virtual_layer/paths.py in C++: the call site of a frame, by a table of the paths seen so far.
//
// Compiled without Python's headers, and so usable with any Python that has these functions (3.11 on); an older one cannot
// load the library. The caller holds the recorder's lock and, if there is one, the interpreter lock.

#include <cstdint>
#include <cstdlib>

struct Object;
struct Method {
    const char* name;
    Object* (*call)(Object* self, Object* argument);
    int flags;
    const char* doc;
};

extern "C" {
Object* PyCFunction_NewEx(Method*, Object* self, Object* module);
Object* PyCapsule_New(void*, const char* name, void (*destructor)(Object*));
void* PyCapsule_GetPointer(Object*, const char* name);
Object* PyFrame_GetCode(Object* frame);
Object* PyFrame_GetBack(Object* frame);
int PyFrame_GetLasti(Object* frame);
Object* PyLong_FromLong(long);
void PyErr_SetNone(Object*);
void Py_IncRef(Object*);
void Py_DecRef(Object*);
extern Object* PyExc_KeyError;
}

namespace {

constexpr int ONE_ARGUMENT = 0x0008;  // METH_O

// A place in a function, after a path of inner places; holds a reference to its code, so that no other one gets its address.
struct Step {
    Object* code;
    int64_t at;
    int64_t node;  // the inner path
    int64_t next;  // the path with this step, or 0 if the path ends here
    Object* site;
};

struct Walk {
    Step* steps;
    uint64_t size;  // a power of two
    uint64_t used;

    // Return the step, or the free slot for it.
    Step* find(Object* code, int64_t at, int64_t node) const {
        uint64_t hash = reinterpret_cast<uint64_t>(code) >> 4;
        hash ^= static_cast<uint64_t>(at) * 0x9E3779B97F4A7C15u ^ static_cast<uint64_t>(node) * 0xC2B2AE3D27D4EB4Fu;
        hash ^= hash >> 29;
        for (uint64_t i = hash & (size - 1);; i = (i + 1) & (size - 1)) {
            Step* step = steps + i;
            if (!step->code || (step->code == code && step->at == at && step->node == node)) {
                return step;
            }
        }
    }

    // Make room for one more; return whether there was enough memory.
    bool grow() {
        if (2 * (used + 1) <= size) {
            return true;
        }
        const Walk old = *this;
        size = 2 * old.size;
        steps = static_cast<Step*>(std::calloc(size, sizeof(Step)));
        if (!steps) {
            *this = old;
            return false;
        }
        for (uint64_t i = 0; i < old.size; ++i) {
            const Step& step = old.steps[i];
            if (step.code) {
                *find(step.code, step.at, step.node) = step;
            }
        }
        std::free(old.steps);
        return true;
    }
};

// Return the site of a frame; raise KeyError if its path is new, or ends in C.
Object* site_of(Object* self, Object* frame) {
    const Walk* walk = static_cast<Walk*>(PyCapsule_GetPointer(self, nullptr));
    Object* site = nullptr;
    int64_t node = 0;
    Py_IncRef(frame);
    while (frame) {
        Object* code = PyFrame_GetCode(frame);
        const Step* step = walk->find(code, PyFrame_GetLasti(frame), node);
        Py_DecRef(code);  // the frame holds a reference
        node = step->next;
        if (!step->code || !node) {
            site = step->site;
            break;
        }
        Object* back = PyFrame_GetBack(frame);
        Py_DecRef(frame);
        frame = back;
    }
    if (frame) {
        Py_DecRef(frame);
    }
    if (site) {
        Py_IncRef(site);
    } else {
        PyErr_SetNone(PyExc_KeyError);
    }
    return site;
}

Method SITE_OF = {"site_of", site_of, ONE_ARGUMENT, "Return the site of a frame."};

}  // namespace

extern "C" {

// Start without paths: return the function that walks, and in `walk` its table. Both live until the process ends.
Object* paths_begin(Walk** walk) {
    *walk = static_cast<Walk*>(std::calloc(1, sizeof(Walk)));
    (*walk)->size = 256;
    (*walk)->steps = static_cast<Step*>(std::calloc((*walk)->size, sizeof(Step)));
    return PyCFunction_NewEx(&SITE_OF, PyCapsule_New(*walk, nullptr, nullptr), nullptr);
}

// Add a path from the call outwards, and its site; return the number of new steps.
int64_t paths_remember(Walk* walk, Object* const* codes, const int64_t* at, int64_t count, int64_t site) {
    const uint64_t before = walk->used;
    int64_t node = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (!walk->grow()) {
            break;
        }
        Step* step = walk->find(codes[i], at[i], node);
        if (!step->code) {
            const bool last = i + 1 == count;
            Py_IncRef(codes[i]);
            *step = {codes[i], at[i], node, last ? 0 : static_cast<int64_t>(++walk->used),
                     last ? PyLong_FromLong(static_cast<long>(site)) : nullptr};
            walk->used += last;
        }
        node = step->next;
    }
    return static_cast<int64_t>(walk->used - before);
}
}
