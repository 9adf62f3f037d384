/* Red-black tree under one lock: search; insert if absent, delete if found. */
#include "common.h"

#define KEYS 20000
#define PRELOAD 10000
enum { KEY, VALUE, LEFT, RIGHT, PARENT, COLOUR, NODE = 8 };
enum { BLACK, RED };

static lock_t *the_lock;
static word *root;

#if LOG == 2
/* An object is logged at its first change in a transaction. */
static inline void set(word *node, int field, uint64_t v) {
    for (uint64_t i = 0; i < tx.count; i++)
        if (tx.lines[i] == (uint64_t)node >> 6) {
            node[field] = v;
            return;
        }
    announce(node, 8);
    announced();
    node[field] = v;
}
#else
static inline void set(word *node, int field, uint64_t v) { store(node + field, v); }
#endif
static inline word *at(word *node, int field) { return (word *)node[field]; }
static inline int red(word *node) { return node && node[COLOUR] == RED; }

static inline void replace(word *parent, word *old, word *new) {
    if (!parent) set(root, 0, (uint64_t)new);
    else set(parent, at(parent, LEFT) == old ? LEFT : RIGHT, (uint64_t)new);
}
static void rotate(word *x, int side) {
    int other = LEFT + RIGHT - side;
    word *y = at(x, other), *inner = at(y, side), *parent = at(x, PARENT);
    set(x, other, (uint64_t)inner);
    if (inner) set(inner, PARENT, (uint64_t)x);
    set(y, PARENT, (uint64_t)parent);
    replace(parent, x, y);
    set(y, side, (uint64_t)x);
    set(x, PARENT, (uint64_t)y);
}
static void after_insertion(word *node) {
    word *parent;
    while (red(parent = at(node, PARENT))) {
        word *grand = at(parent, PARENT);
        int side = at(grand, LEFT) == parent ? LEFT : RIGHT, other = LEFT + RIGHT - side;
        word *uncle = at(grand, other);
        if (red(uncle)) {
            set(parent, COLOUR, BLACK);
            set(uncle, COLOUR, BLACK);
            set(grand, COLOUR, RED);
            node = grand;
            continue;
        }
        if (at(parent, other) == node) {
            rotate(parent, side);
            parent = node;
        }
        set(parent, COLOUR, BLACK);
        set(grand, COLOUR, RED);
        rotate(grand, other);
        break;
    }
    word *top = (word *)*root;
    if (red(top)) set(top, COLOUR, BLACK);
}
static void after_deletion(word *node, word *parent) {
    while (parent && !red(node)) {
        int side = at(parent, LEFT) == node ? LEFT : RIGHT, other = LEFT + RIGHT - side;
        word *sibling = at(parent, other);
        if (red(sibling)) {
            set(sibling, COLOUR, BLACK);
            set(parent, COLOUR, RED);
            rotate(parent, side);
            sibling = at(parent, other);
        }
        word *near = at(sibling, side), *far = at(sibling, other);
        if (!red(near) && !red(far)) {
            set(sibling, COLOUR, RED);
            node = parent;
            parent = at(node, PARENT);
            continue;
        }
        if (!red(far)) {
            set(near, COLOUR, BLACK);
            set(sibling, COLOUR, RED);
            rotate(sibling, other);
            far = sibling;
            sibling = near;
        }
        set(sibling, COLOUR, parent[COLOUR]);
        set(parent, COLOUR, BLACK);
        set(far, COLOUR, BLACK);
        rotate(parent, side);
        return;
    }
    if (red(node)) set(node, COLOUR, BLACK);
}
static void unlink_node(word *node) {
    word *left = at(node, LEFT), *right = at(node, RIGHT), *parent = at(node, PARENT), *gap, *above;
    int black;
    if (!left || !right) {
        gap = left ? left : right;
        above = parent;
        black = !red(node);
        replace(parent, node, gap);
        if (gap) set(gap, PARENT, (uint64_t)parent);
    } else {
        word *next = right, *l;
        while ((l = at(next, LEFT))) next = l;
        black = !red(next);
        gap = at(next, RIGHT);
        if (next == right) above = next;
        else {
            above = at(next, PARENT);
            set(above, LEFT, (uint64_t)gap);
            if (gap) set(gap, PARENT, (uint64_t)above);
            set(next, RIGHT, (uint64_t)right);
            set(right, PARENT, (uint64_t)next);
        }
        replace(parent, node, next);
        set(next, PARENT, (uint64_t)parent);
        set(next, LEFT, (uint64_t)left);
        set(left, PARENT, (uint64_t)next);
        set(next, COLOUR, node[COLOUR]);
    }
    if (black) after_deletion(gap, above);
}
static uint64_t toggle(uint64_t key, uint64_t value) {
    uint64_t found = 0;
    lock(the_lock);
    begin();
    word *node = (word *)*root, *parent = 0;
    while (node) {
        uint64_t here = node[KEY];
        if (here == key) break;
        parent = node;
        node = at(node, key < here ? LEFT : RIGHT);
    }
    if (node) {
        found = node[VALUE];
        unlink_node(node);
        commit();
        give(node);
    } else {
        node = take(NODE);
        fresh(node + KEY, key);
        fresh(node + VALUE, value);
        fresh(node + LEFT, 0);
        fresh(node + RIGHT, 0);
        fresh(node + COLOUR, RED);
        fresh(node + PARENT, (uint64_t)parent);
        if (!parent) set(root, 0, (uint64_t)node);
        else set(parent, key < parent[KEY] ? LEFT : RIGHT, (uint64_t)node);
        after_insertion(node);
        commit();
    }
    unlock(the_lock);
    return found;
}

int main(int argc, char **argv) {
    uint64_t ops = operations(argc, argv);
    start(MOST + PRELOAD + 1, NODE);
    the_lock = memory(sizeof(lock_t));
    root = memory(64);
    uint64_t sum = 0;
    /* Keys in an order that does not decide the tree's shape: a full-period walk over the preloaded ones. */
    for (uint64_t i = 0; i < PRELOAD; i++) toggle(1 + (i * 7919 % PRELOAD) * KEYS / PRELOAD, i + 1);
    uint64_t *in = memory(MOST * 8);
    for (uint64_t i = 0; i < MOST; i++) in[i] = 1 + random_below(KEYS);
    for (uint64_t i = 0; i < ops; i++) sum += toggle(in[i], 100000 + i);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
