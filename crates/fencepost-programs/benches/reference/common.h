/* What the hand-written references share. They use nothing of fencepost: plain C, compiled with -O2.
 *
 * LOG 0: structure and locks only. LOG 1: an undo log in an array with a record and a fence before each store. LOG 2: the
 * records of an object are written ahead and share a fence. Structures are accessed in words of 8 bytes, one instruction each: the unit in which memory
 * becomes durable.
 *
 * Usage: PROGRAM OPS. The inputs of MOST operations are made before the first runs, whatever OPS is, so the difference of two runs
 * divided by the difference of their operations is the number of instructions of an operation.
 */
#include <emmintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef volatile uint64_t word;

static uint64_t random_state = 88172645463325252ull;
static uint64_t random_below(uint64_t n) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint64_t)(((__uint128_t)random_state * n) >> 64);
}
static void *memory(size_t bytes) {
    void *p = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
    if (!p) exit(2);
    for (size_t i = 0; i < bytes / 8; i++) ((uint64_t *)p)[i] = 0;
    return p;
}

#define MOST 10000
static uint64_t operations(int argc, char **argv) {
    uint64_t ops = argc > 1 ? strtoull(argv[1], 0, 10) : 0;
    if (ops > MOST) exit(2);
    return ops;
}

/* Locks, one a line. */
typedef struct { uint64_t taken; uint64_t pad[7]; } lock_t;
static inline void lock(lock_t *l) {
    while (__atomic_exchange_n(&l->taken, 1, __ATOMIC_ACQUIRE))
        while (__atomic_load_n(&l->taken, __ATOMIC_RELAXED)) _mm_pause();
}
static inline void unlock(lock_t *l) { __atomic_store_n(&l->taken, 0, __ATOMIC_RELEASE); }

#if LOG
/* A record: address, old value, and a word of sequence number and check. */
static struct {
    uint64_t *start, *end; /* the log: a commit word on its own line, then records */
    uint64_t seq;
    uint64_t lines[4096]; /* what to flush */
    uint64_t count, last;
} tx;

static inline uint64_t fold(uint64_t check, uint64_t w) { return (check ^ w) * 0x9e3779b97f4a7c15ull; }
static inline void put(uint64_t *to, uint64_t v) { _mm_stream_si64((long long *)to, (long long)v); }
static inline void remember(word *at) {
    uint64_t line = (uint64_t)at >> 6;
    if (line != tx.last) {
        tx.last = line;
        tx.lines[tx.count++] = line;
    }
}
static inline void begin(void) {
    tx.seq++;
    tx.end = tx.start + 8;
    tx.count = 0;
    tx.last = 0;
}
static inline void commit(void) {
    if (tx.end == tx.start + 8) return;
    for (uint64_t i = 0; i < tx.count; i++) _mm_clflush((void *)(tx.lines[i] << 6));
    _mm_sfence();
    put(tx.start, tx.seq);
    _mm_sfence();
}
#endif

#if LOG
static inline void record(word *at) {
    uint64_t old = *at, *r = tx.end;
    put(r, (uint64_t)at);
    put(r + 1, old);
    put(r + 2, tx.seq << 32 | fold(fold(0, (uint64_t)at), old) >> 32);
    tx.end = r + 4;
}
#endif
#if LOG == 1
static inline void store(word *at, uint64_t v) {
    record(at);
    _mm_sfence();
    remember(at);
    *at = v;
}
static inline void announce(word *at, uint64_t words) { (void)at, (void)words; }
static inline void announced(void) {}
#define fresh store
#elif LOG == 2
static inline void announce(word *at, uint64_t words) {
    for (uint64_t i = 0; i < words; i++) record(at + i);
    remember(at);
}
static inline void announced(void) { _mm_sfence(); }
static inline void store(word *at, uint64_t v) { *at = v; }
static inline void fresh(word *at, uint64_t v) {
    remember(at);
    *at = v;
}
#else
static inline void begin(void) {}
static inline void commit(void) {}
static inline void announce(word *at, uint64_t words) { (void)at, (void)words; }
static inline void announced(void) {}
static inline void store(word *at, uint64_t v) { *at = v; }
#define fresh store
#endif

/* Blocks of one thread: freed ones first, then new ones. */
static struct { uint64_t *next, *end, free; uint64_t *stack[1024]; } pool;
static inline word *take(uint64_t words) {
    if (pool.free) return pool.stack[--pool.free];
    if (pool.next == pool.end) abort();
    uint64_t *block = pool.next;
    pool.next += words;
    return block;
}
static inline void give(word *block) {
    if (pool.free < 1024) pool.stack[pool.free++] = (uint64_t *)block;
}
static void start(uint64_t blocks, uint64_t words) {
    pool.next = memory(blocks * words * 8 + 64);
    pool.end = pool.next + blocks * words;
#if LOG
    tx.start = memory(1 << 20);
#endif
}
