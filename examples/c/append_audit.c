/* What must hold of the append-only log after a crash: every flagged record is whole, every acknowledged one is flagged. */
#include "fencepost.h"
#include "append.h"

static int check(void *image, size_t bytes, const fp_crash *crash) {
    struct append_log *log = (struct append_log *)image;
    if (bytes < sizeof *log) return fp_fail("the image is too short");
    for (unsigned n = 0; n < SLOTS; n++) {
        struct record *r = &log->records[n];
        if (FP_READ(&log->present[n])) {
            if (FP_READ(&r->check) != (FP_READ(&r->key) ^ FP_READ(&r->value) ^ SEAL)) return fp_fail("a flagged record is not whole");
        } else if (n < crash->acked[0]) {
            return fp_fail("an acknowledged record is not flagged");
        }
    }
    return 0;
}
int main(int argc, char **argv) { return fp_recovery_main(argc, argv, check); }
