// A table that is searched by an index, all of it read once before the work begins: caches hold both by then.
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOTS = 2048, WORDS = 8, UPDATES = 2000 };
static uint64_t (*table)[WORDS], (*places)[WORDS], sum;

static uint64_t next(void) {
    static uint64_t x = 88172645463325252;
    x ^= x << 13;
    x ^= x >> 7;
    return x ^= x << 17;
}
__attribute__((noinline)) void work(void) {
    for (int i = 0; i < UPDATES; i++) {
        uint64_t at = places[next() % SLOTS][0];
        sum += table[at][1];
        if (i % 4) continue;
        table[at][1]++;
        _mm_clwb(table[at]);
        _mm_sfence();
    }
}
int main(void) {
    int file = open("pool", O_RDWR | O_CREAT, 0644);
    if (ftruncate(file, SLOTS * 64)) return 9;
    table = mmap(0, SLOTS * 64, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    places = aligned_alloc(64, SLOTS * 64);
    for (int i = 0; i < SLOTS; i++) places[i][0] = i * 5 % SLOTS;
    for (int i = 0; i < SLOTS; i++) sum += table[places[i][0]][0];
    work();
    return sum == 1;
}
