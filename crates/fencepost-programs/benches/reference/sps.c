/* Swap of two 64-byte entries under two striped locks, through a temporary. */
#include "common.h"

#define ENTRIES 10000
#define LOCKS 512

struct input { uint64_t a, b; };
static word *cells;
static lock_t *locks;

static void swap(const struct input *in) {
    uint64_t a = in->a, b = in->b;
    uint64_t first = a % LOCKS, second = b % LOCKS;
    if (first > second) {
        uint64_t t = first;
        first = second;
        second = t;
    }
    lock(&locks[first]);
    if (second != first) lock(&locks[second]);
    begin();
    word *x = cells + a * 8, *y = cells + b * 8;
    announce(x, 8);
    announce(y, 8);
    announced();
    uint64_t of_x[8];
    for (int i = 0; i < 8; i++) of_x[i] = x[i];
    for (int i = 0; i < 8; i++) store(x + i, y[i]);
    for (int i = 0; i < 8; i++) store(y + i, of_x[i]);
    commit();
    unlock(&locks[first]);
    if (second != first) unlock(&locks[second]);
}

int main(int argc, char **argv) {
    uint64_t ops = operations(argc, argv);
    start(1, 8);
    cells = memory(ENTRIES * 64);
    locks = memory(LOCKS * sizeof(lock_t));
    for (uint64_t i = 0; i < ENTRIES * 8; i++) cells[i] = i / 8 + 1;
    struct input *in = memory(MOST * sizeof *in);
    for (uint64_t i = 0; i < MOST; i++) {
        in[i].a = random_below(ENTRIES);
        in[i].b = (in[i].a + 1 + random_below(ENTRIES - 1)) % ENTRIES;
    }
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ops; i++) swap(&in[i]);
    for (uint64_t i = 0; i < ENTRIES * 8; i++) sum += cells[i];
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
