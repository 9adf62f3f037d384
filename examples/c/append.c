/* Appends records to a log, and records itself. With -DFLAG_FIRST the flag is made durable before its record. */
#include "fencepost.h"
#include "append.h"

static void append(struct append_log *log, unsigned n, uint64_t key, uint64_t value) {
    struct record *r = &log->records[n];
    FP_BEGIN(n);
#ifdef FLAG_FIRST
    FP_STORE(&log->present[n], 1);
    FP_FLUSH(&log->present[n], 8);
    FP_FENCE();
#endif
    FP_STORE(&r->key, key);
    FP_STORE(&r->value, value);
    FP_STORE(&r->check, key ^ value ^ SEAL);
    FP_FLUSH(r, sizeof *r);
    FP_FENCE();
#ifndef FLAG_FIRST
    FP_STORE(&log->present[n], 1);
    FP_FLUSH(&log->present[n], 8);
    FP_FENCE();
#endif
    FP_END(n);
    FP_ACK(n);
}

int main(int argc, char **argv) {
    static struct append_log log __attribute__((aligned(64)));
    FP_OPEN(argc > 1 ? argv[1] : "append.log", &log, sizeof log);
    for (unsigned n = 0; n < SLOTS; n++) append(&log, n, 100 + n, 7 * n);
    return 0;
}
