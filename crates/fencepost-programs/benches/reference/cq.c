/* Queue with two locks: insert or delete one node. The newest whole node is published for those who delete. */
#include "common.h"

#define PRELOAD 500
enum { VALUE, NEXT, NODE = 8 };

static lock_t *locks;
static word *head, *tail;
static uint64_t *published;

static uint64_t insert(uint64_t value) {
    lock(&locks[1]);
    begin();
    word *last = (word *)*tail, *node = take(NODE);
    fresh(node + VALUE, value);
    fresh(node + NEXT, 0);
    announce(last + NEXT, 1);
    announce(tail, 1);
    announced();
    store(last + NEXT, (uint64_t)node);
    store(tail, (uint64_t)node);
    commit();
    __atomic_store_n(published, (uint64_t)node, __ATOMIC_RELEASE);
    unlock(&locks[1]);
    return value;
}
static uint64_t delete(void) {
    uint64_t value = 0;
    lock(&locks[0]);
    uint64_t newest = __atomic_load_n(published, __ATOMIC_ACQUIRE);
    begin();
    word *dummy = (word *)*head;
    if ((uint64_t)dummy != newest) {
        word *next = (word *)dummy[NEXT];
        value = next[VALUE];
        announce(head, 1);
        announced();
        store(head, (uint64_t)next);
        commit();
        give(dummy);
    }
    unlock(&locks[0]);
    return value;
}

int main(int argc, char **argv) {
    uint64_t ops = operations(argc, argv);
    start(MOST + PRELOAD + 2, NODE);
    locks = memory(2 * sizeof(lock_t));
    head = memory(64), tail = memory(64), published = memory(64);
    word *last = take(NODE);
    *head = (uint64_t)last;
    for (uint64_t i = 1; i <= PRELOAD; i++) {
        word *node = take(NODE);
        node[VALUE] = i;
        last[NEXT] = (uint64_t)node;
        last = node;
    }
    *tail = *published = (uint64_t)last;
    uint64_t *in = memory(MOST * 8), sum = 0;
    for (uint64_t i = 0; i < MOST; i++) in[i] = random_below(100) < 50 ? 1000 + i : 0;
    for (uint64_t i = 0; i < ops; i++) sum += in[i] ? insert(in[i]) : delete();
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
