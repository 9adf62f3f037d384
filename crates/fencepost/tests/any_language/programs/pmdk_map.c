/* Around the chained map of PMDK's own examples: `pmdk_map POOL create`, then `pmdk_map POOL insert N`; `pmdk_map POOL` opens the pool,
 * by which the library recovers it, and says what is wrong with the map. */
#include "hashmap_tx.h"
#include <libpmemobj.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

POBJ_LAYOUT_BEGIN(map);
POBJ_LAYOUT_ROOT(map, struct root);
POBJ_LAYOUT_END(map);
struct root {
    TOID(struct hashmap_tx) map;
};

static uint64_t met;
/* Keys 1 to N are inserted in this order: a prefix of them is there. */
static int meet(uint64_t key, PMEMoid value, void *count) {
    (void)value;
    met++;
    return key == 0 || key > *(uint64_t *)count;
}

static int audit(PMEMobjpool *pool, TOID(struct hashmap_tx) map) {
    uint64_t count = hm_tx_count(pool, map);
    if (hm_tx_foreach(pool, map, meet, &count)) return fprintf(stderr, "a key beyond the map's count\n"), 1;
    if (met != count) return fprintf(stderr, "%lu entries, but %lu counted\n", (long)met, (long)count), 1;
    for (uint64_t key = 1; key <= count; key++)
        if (!hm_tx_lookup(pool, map, key)) return fprintf(stderr, "key %lu is not found\n", (long)key), 1;
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    int create = argc > 2 && strcmp(argv[2], "create") == 0;
    PMEMobjpool *pool = create ? pmemobj_create(argv[1], POBJ_LAYOUT_NAME(map), PMEMOBJ_MIN_POOL, 0600)
                               : pmemobj_open(argv[1], POBJ_LAYOUT_NAME(map));
    if (!pool) return fprintf(stderr, "%s: %s\n", argv[1], pmemobj_errormsg()), 1;
    TOID(struct root) root = POBJ_ROOT(pool, struct root);
    if (create && hm_tx_create(pool, &D_RW(root)->map, NULL)) return 3;
    TOID(struct hashmap_tx) map = D_RO(root)->map;
    int wrong = argc < 3 && audit(pool, map);
    for (uint64_t key = 1; argc > 3 && key <= (uint64_t)atoi(argv[3]); key++)
        if (hm_tx_insert(pool, map, key, OID_NULL)) return 3;
    pmemobj_close(pool);
    return wrong;
}
