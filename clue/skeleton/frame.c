#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* --- work: pieces of fixed work that imitate computation --- */

enum { CORE, MEMORY, CACHE, KINDS };
enum { COPIED = 1 << 15, PICKED = 256, CACHED = 1 << 20 };

static uint32_t one[64], other[60], product[124];
static volatile uint32_t sink;
static char *pages, *copy;
static unsigned char *cached;
static size_t places, place;
static uint32_t picks[256][PICKED], turn;

/* Multiply two integers of 64 and 60 digits of 30 bits, as Python does it. */
static void core_work(long pieces)
{
    while (pieces-- > 0) {
        memset(product, 0, sizeof product);
        for (int i = 0; i < 60; i++) {
            uint64_t carry = 0, factor = other[i];
            for (int j = 0; j < 64; j++) {
                carry += product[i + j] + one[j] * factor;
                product[i + j] = (uint32_t)(carry & 0x3fffffff);
                carry >>= 30;
            }
            product[i + 64] = (uint32_t)carry;
        }
        sink = product[99];
    }
}

/* Copy 32 KiB from changing places, which are in no cache. */
static void memory_work(long pieces)
{
    while (pieces-- > 0) {
        memcpy(copy, pages + place * COPIED, COPIED);
        place = (place + 17) % places;
        sink = (uint32_t)copy[turn++ % COPIED];
    }
}

/* Read bytes at random from 1 MiB, which fits into second-level caches. */
static void cache_work(long pieces)
{
    while (pieces-- > 0) {
        const uint32_t *at = picks[turn++ % 256];
        uint32_t sum = 0;
        for (int i = 0; i < PICKED; i++)
            sum += cached[at[i]];
        sink = sum;
    }
}

static inline void work(int kind, long pieces)
{
    if (kind == CORE)
        core_work(pieces);
    else if (kind == MEMORY)
        memory_work(pieces);
    else
        cache_work(pieces);
}

/* Allocate memory of this size for copies, and touch it. */
static void take_places(size_t size)
{
    void *found = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) {
        fprintf(stderr, "memory must suffice for %zu bytes, got too little\n", size);
        exit(1);
    }
#ifdef MADV_HUGEPAGE
    madvise(found, size, MADV_HUGEPAGE);
#endif
    pages = found;
    for (size_t at = 0; at < size; at += 4096)
        pages[at] = 1;
    places = size / COPIED;
    places -= places % 17 == 0;
}

static void *room_for(size_t size)
{
    void *found = calloc(size > 0 ? size : 1, 1);
    if (found == NULL) {
        fprintf(stderr, "memory must suffice for %zu bytes, got too little\n", size);
        exit(1);
    }
    return found;
}

static void prepare_work(size_t size)
{
    uint32_t random = 1;
    for (int i = 0; i < 64; i++)
        one[i] = (0x2545f491u * (uint32_t)(i + 1)) & 0x3fffffff;
    for (int i = 0; i < 60; i++)
        other[i] = (0x1b873593u * (uint32_t)(i + 1)) & 0x3fffffff;
    copy = room_for(COPIED);
    cached = room_for(CACHED);
    memset(cached, 1, CACHED);
    for (int i = 0; i < 256; i++)
        for (int j = 0; j < PICKED; j++) {
            random = random * 1664525u + 1013904223u;
            picks[i][j] = (random >> 8) % CACHED;
        }
    take_places(size);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}
