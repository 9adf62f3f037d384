/* Update-location: a subscriber's row is found by its 15-digit number, and the 4 bytes of its location are written. */
#include "oltp.h"

#define SUBSCRIBERS 100000
#define LOCKS 512
enum { ROW = 128, LOCATION = 92 };

struct input { uint64_t number; uint32_t location; };
static struct index by_number;
static char *rows;
static lock_t *locks;

static int update(const struct input *in) {
    char *row = find(&by_number, in->number);
    if (!row) return 0;
    lock_t *l = &locks[(uint64_t)(row - rows) / ROW % LOCKS];
    lock(l);
    begin();
    half *at = (half *)(row + LOCATION);
    announce((word *)(row + LOCATION - 4), 1);
    announced();
    store4(at, in->location);
    commit();
    unlock(l);
    return 1;
}

int main(int argc, char **argv) {
    uint64_t ops = operations(argc, argv);
    start(1, 8);
    by_number = index_for(SUBSCRIBERS);
    rows = memory(SUBSCRIBERS * ROW);
    locks = memory(LOCKS * sizeof(lock_t));
    uint64_t *numbers = memory(SUBSCRIBERS * 8);
    for (uint64_t s = 0; s < SUBSCRIBERS; s++) {
        uint64_t digits = 0, rest = s + 1;
        for (int d = 0; d < 15; d++, rest /= 10) digits |= rest % 10 << 4 * d;
        numbers[s] = digits;
        put_key(&by_number, digits, rows + s * ROW);
    }
    struct input *in = memory(MOST * sizeof *in);
    for (uint64_t i = 0; i < MOST; i++) {
        uint64_t s = (random_below(65536) | (random_below(SUBSCRIBERS) + 1)) % SUBSCRIBERS;
        in[i] = (struct input){numbers[s], (uint32_t)random_below(1ull << 32)};
    }
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ops; i++) sum += update(&in[i]);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
