/* A list in a libpmemobj pool. */
#include <libpmemobj.h>
#include <stdint.h>

POBJ_LAYOUT_BEGIN(list);
POBJ_LAYOUT_ROOT(list, struct list);
POBJ_LAYOUT_TOID(list, struct node);
POBJ_LAYOUT_END(list);

struct node {
    uint64_t value;
    TOID(struct node) next;
};
struct list {
    TOID(struct node) head;
    uint64_t unused[14];
    uint64_t count; /* on a line of its own */
};
