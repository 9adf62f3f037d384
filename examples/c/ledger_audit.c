/* What must hold of the ledger after a crash: every counted entry is whole, every acknowledged one is counted. */
#include "fencepost.h"
#include "ledger.h"

static int check(void *image, size_t bytes, const fp_crash *crash) {
    struct ledger *ledger = (struct ledger *)image;
    if (bytes < sizeof *ledger) return fp_fail("the image is too short");
    uint64_t count = FP_READ(&ledger->count);
    if (count < crash->acked[0]) return fp_fail("an acknowledged entry is not counted");
    if (count > ENTRIES) return fp_fail("more entries are counted than there can be");
    for (unsigned n = 0; n < count; n++) {
        struct entry *e = &ledger->entries[n];
        if (FP_READ(&e->check) != (FP_READ(&e->account) ^ FP_READ(&e->amount) ^ CHECK)) return fp_fail("a counted entry is not whole");
    }
    return 0;
}
int main(int argc, char **argv) { return fp_recovery_main(argc, argv, check); }
