/* An append-only log in persistent memory: records, and one flag a record that says "it is there". */
#include <stdint.h>

#define SLOTS 8

struct record {
    uint64_t key, value, check; /* check = key ^ value ^ SEAL */
    uint64_t unused[5];
};
struct append_log {
    struct record records[SLOTS];
    uint64_t present[SLOTS]; /* on a line of its own */
};
#define SEAL 0x5ea1ull
