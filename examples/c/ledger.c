/* Keeps a ledger on hardware with per-task committing: memory is bound to write queues, and a queue is committed when what was written
 * through it has to be durable. Nobody else's queue waits for it.
 *
 *     FP_BIND(p, bytes, queue)      PersistenceMalloc: from now on stores to the range go through that queue
 *     FP_FLUSH(p, bytes); FP_FENCE()  the lines have left the caches for the queue
 *     FP_COMMIT_QUEUE(queue)        PersistenceCommit: returns when everything in the queue is durable
 *     FP_RELEASE(p, bytes)          PersistenceRelease: the range goes through no queue of its own any more
 *
 * Four mistakes to be convicted: -DWRONG_QUEUE, -DNO_COMMIT, -DUNBOUND, -DEARLY_RELEASE. */
#include "fencepost.h"
#include "ledger.h"

static struct ledger ledger __attribute__((aligned(64)));

static void bind_ranges(void) {
#ifndef UNBOUND /* else entries go through the default queue, which nobody commits */
    FP_BIND(ledger.entries, sizeof ledger.entries, ENTRY_QUEUE);
#endif
    FP_BIND(&ledger.count, 64, COUNT_QUEUE);
}

static void release_ranges(void) {
    FP_RELEASE(&ledger.count, 64);
#ifndef UNBOUND
    FP_RELEASE(ledger.entries, sizeof ledger.entries);
#endif
}

/* Makes durable what was stored to a range that is bound to this queue. */
static void commit(const void *at, size_t bytes, unsigned queue) {
    FP_FLUSH(at, bytes);
    FP_FENCE();
    FP_COMMIT_QUEUE(queue);
}

static void write_entry(unsigned n, uint64_t account, uint64_t amount) {
    struct entry *e = &ledger.entries[n];
    FP_STORE(&e->account, account);
    FP_STORE(&e->amount, amount);
    FP_STORE(&e->check, account ^ amount ^ CHECK);
#if defined(WRONG_QUEUE)
    commit(e, sizeof *e, COUNT_QUEUE);
#elif defined(NO_COMMIT) /* the line is in the queue, not in the medium */
    FP_FLUSH(e, sizeof *e);
    FP_FENCE();
#elif defined(EARLY_RELEASE) /* what is committed then is not this range's queue */
    FP_FLUSH(e, sizeof *e);
    FP_FENCE();
    FP_RELEASE(ledger.entries, sizeof ledger.entries);
    FP_COMMIT_QUEUE(ENTRY_QUEUE);
    FP_BIND(ledger.entries, sizeof ledger.entries, ENTRY_QUEUE);
#else
    commit(e, sizeof *e, ENTRY_QUEUE);
#endif
}

static void enter(unsigned n, uint64_t account, uint64_t amount) {
    FP_BEGIN(n);
    write_entry(n, account, amount);
    /* The entry is durable: it may be counted. */
    FP_STORE(&ledger.count, n + 1);
    commit(&ledger.count, sizeof ledger.count, COUNT_QUEUE);
    FP_END(n);
    FP_ACK(n);
}

int main(int argc, char **argv) {
    FP_OPEN(argc > 1 ? argv[1] : "ledger.log", &ledger, sizeof ledger);
    bind_ranges();
    for (unsigned n = 0; n < ENTRIES; n++) enter(n, 100 + n, 7 * n);
    release_ranges();
    FP_CLOSE();
    return 0;
}
