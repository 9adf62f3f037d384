/* Chained hash table: search; insert if absent, remove if found. */
#include "common.h"

#define BUCKETS 4007
#define KEYS 2000
#define PRELOAD 1000
#define LOCKS 512
enum { KEY, VALUES, NEXT = 8, ITEM = 16 };

static lock_t *locks;
static word *table;

static inline uint64_t bucket_of(uint64_t key) {
    key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9ull;
    key = (key ^ (key >> 27)) * 0x94d049bb133111ebull;
    return (key ^ (key >> 31)) % BUCKETS;
}
static uint64_t toggle(uint64_t key, uint64_t value) {
    uint64_t bucket = bucket_of(key), found = 0;
    lock_t *l = &locks[bucket % LOCKS];
    lock(l);
    begin();
    word *link = table + bucket, *item;
    while ((item = (word *)*link) && item[KEY] != key) link = item + NEXT;
    if (item) {
        found = item[VALUES];
        uint64_t next = item[NEXT];
        announce(link, 1);
        announced();
        store(link, next);
        commit();
        give(item);
    } else {
        item = take(ITEM);
        fresh(item + KEY, key);
        for (int i = 0; i < 7; i++) fresh(item + VALUES + i, value);
        fresh(item + NEXT, 0);
        announce(link, 1);
        announced();
        store(link, (uint64_t)item);
        commit();
    }
    unlock(l);
    return found;
}

int main(int argc, char **argv) {
    uint64_t ops = operations(argc, argv);
    start(MOST + PRELOAD + 1, ITEM);
    locks = memory(LOCKS * sizeof(lock_t));
    table = memory(BUCKETS * 8);
    for (uint64_t i = 0; i < PRELOAD; i++) {
        word *item = take(ITEM);
        item[KEY] = 1 + i * KEYS / PRELOAD;
        for (int w = 0; w < 7; w++) item[VALUES + w] = i + 1;
        item[NEXT] = table[bucket_of(item[KEY])];
        table[bucket_of(item[KEY])] = (uint64_t)item;
    }
    uint64_t *in = memory(MOST * 8), sum = 0;
    for (uint64_t i = 0; i < MOST; i++) in[i] = 1 + random_below(KEYS);
    for (uint64_t i = 0; i < ops; i++) sum += toggle(in[i], 100000 + i);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
