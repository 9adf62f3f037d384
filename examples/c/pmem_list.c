/* Pushes to a persistent list, each push in a transaction: `pmem_list POOL create`, then `pmem_list POOL push N`.
 * With -DLEFT_OUT the counter is stored in the transaction without having been added to it. */
#include "pmem_list.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void push(PMEMobjpool *pool, TOID(struct list) list, uint64_t value) {
    TX_BEGIN(pool) {
        TOID(struct node) node = TX_NEW(struct node);
        D_RW(node)->value = value;
        D_RW(node)->next = D_RO(list)->head;
        TX_ADD_FIELD(list, head);
        D_RW(list)->head = node;
#ifndef LEFT_OUT
        TX_ADD_FIELD(list, count);
#endif
        D_RW(list)->count++;
#ifdef LEFT_OUT
        pmemobj_persist(pool, &D_RW(list)->count, sizeof(uint64_t));
#endif
    }
    TX_ONABORT { exit(3); }
    TX_END
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    PMEMobjpool *pool = strcmp(argv[2], "create") == 0
                            ? pmemobj_create(argv[1], POBJ_LAYOUT_NAME(list), PMEMOBJ_MIN_POOL, 0600)
                            : pmemobj_open(argv[1], POBJ_LAYOUT_NAME(list));
    if (!pool) {
        fprintf(stderr, "%s: %s\n", argv[1], pmemobj_errormsg());
        return 2;
    }
    TOID(struct list) list = POBJ_ROOT(pool, struct list);
    for (int i = 0; argc > 3 && i < atoi(argv[3]); i++) push(pool, list, 100 + (uint64_t)i);
    pmemobj_close(pool);
    return 0;
}
