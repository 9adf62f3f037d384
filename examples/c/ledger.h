/* A ledger in persistent memory: entries, and how many there are. Each has a write queue of its own. */
#include <stdint.h>

#define ENTRIES 4
#define ENTRY_QUEUE 1
#define COUNT_QUEUE 2
#define CHECK 0x5ea1ull

struct entry {
    uint64_t account, amount, check; /* check = account ^ amount ^ CHECK */
    uint64_t unused[5];
};
struct ledger {
    struct entry entries[ENTRIES];
    uint64_t count; /* on a line of its own */
    uint64_t unused[7];
};
