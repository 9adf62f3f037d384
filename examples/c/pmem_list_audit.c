/* What must hold of the list after libpmemobj's own recovery: as many nodes as counted, values downwards by one. */
#include "pmem_list.h"
#include <stdio.h>

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    PMEMobjpool *pool = pmemobj_open(argv[1], POBJ_LAYOUT_NAME(list));
    if (!pool) {
        fprintf(stderr, "the pool does not open: %s\n", pmemobj_errormsg());
        return 1;
    }
    TOID(struct list) list = POBJ_ROOT(pool, struct list);
    uint64_t n = 0, count = D_RO(list)->count;
    TOID(struct node) node = D_RO(list)->head;
    for (; !TOID_IS_NULL(node) && n <= count; node = D_RO(node)->next) {
        if (!TOID_IS_NULL(D_RO(node)->next) && D_RO(node)->value != D_RO(D_RO(node)->next)->value + 1) {
            fprintf(stderr, "the values are not in order\n");
            return 1;
        }
        n++;
    }
    if (n != count) {
        fprintf(stderr, "%lu nodes, but %lu counted\n", (unsigned long)n, (unsigned long)count);
        return 1;
    }
    pmemobj_close(pool);
    return 0;
}
