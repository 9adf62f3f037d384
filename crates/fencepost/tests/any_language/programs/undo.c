// Words with an undo log of its own, of which each update is an operation. Compiled with the header's macros it records itself;
// with -DFENCEPOST_OFF it is an ordinary program.
#include "fencepost.h"

enum { WORDS = 1000, OPERATIONS = 200, BYTES = 32768 };
struct pool {
    uint64_t valid, at, old, unused[5];
    uint64_t words[WORDS];
};
static struct pool *pool;
static uint64_t total;

__attribute__((noinline)) void done(unsigned n) {
    __asm__ volatile("" ::"r"(n));
    FP_ACK(n);
}
static void set(uint64_t *word, uint64_t value) {
    FP_STORE(word, value);
    FP_FLUSH(word, 8);
    FP_FENCE();
}
__attribute__((noinline)) void update(unsigned n) {
    uint64_t *word = &pool->words[n * 37 % WORDS];
    FP_BEGIN(n);
    FP_STORE(&pool->at, n * 37 % WORDS);
    FP_STORE(&pool->old, *word);
    set(&pool->valid, 1);
    set(word, n + 1);
    set(&pool->valid, 0);
    FP_END(n);
    done(n);
}
__attribute__((noinline)) void updates(void) {
    for (unsigned n = 0; n < OPERATIONS; n++) update(n);
}

int main(int argc, char **argv) {
    int file = open("pool", O_RDWR | O_CREAT, 0644);
    if (ftruncate(file, BYTES)) return 9;
    pool = (struct pool *)mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    // What an ordinary program does before it comes to its work.
    for (unsigned i = 0; i < 20000; i++) total += i * i % 7;
    for (unsigned i = 0; i < WORDS; i++) pool->words[i] = total;
    FP_OPEN(argc > 1 ? argv[1] : "undo.log", pool, BYTES);
    updates();
    FP_CLOSE();
    return 0;
}
