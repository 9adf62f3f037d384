/* What the references of the two OLTP benchmarks share: fields of 4 bytes, and an index whose keys do not change. */
#include "common.h"

typedef volatile uint32_t half;

/* The word that holds a field of 4 bytes is logged whole. */
static inline void store4(half *at, uint32_t v) {
#if LOG == 1
    word *w = (word *)((uintptr_t)at & ~(uintptr_t)7);
    record(w);
    _mm_sfence();
    remember(w);
#endif
    *at = v;
}

/* Open addressing, at most half full: pairs of key and address of the row. Keys are not 0. */
struct index { word *slots; uint64_t mask, shift; };

static struct index index_for(uint64_t keys) {
    uint64_t bits = 1;
    while (1ull << bits < 2 * keys) bits++;
    return (struct index){memory(16ull << bits), (1ull << bits) - 1, 64 - bits};
}
static inline word *slot(const struct index *x, uint64_t i) { return x->slots + 2 * (i & x->mask); }
static inline uint64_t hash_of(const struct index *x, uint64_t key) {
    return (key ^ key >> 32) * 0x9e3779b97f4a7c15ull >> x->shift;
}
static void put_key(const struct index *x, uint64_t key, void *row) {
    uint64_t i = hash_of(x, key);
    while (slot(x, i)[0]) i++;
    slot(x, i)[0] = key;
    slot(x, i)[1] = (uint64_t)row;
}
static inline void *find(const struct index *x, uint64_t key) {
    for (uint64_t i = hash_of(x, key);; i++) {
        uint64_t at = slot(x, i)[0];
        if (at == key) return (void *)slot(x, i)[1];
        if (!at) return 0;
    }
}
