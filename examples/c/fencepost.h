/* fencepost.h: record what a C or C++ program does to persistent memory, and judge its recovery. One file, no library.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Recording. Put the program's stores to persistent memory, its flushes and its fences into these macros:
 *
 *     FP_OPEN("run.log", memory, bytes);   the log, and the persistent range (64-byte aligned)
 *     FP_STORE(&p->x, 7);                  a store; any scalar or structure
 *     FP_NT(&p->x, 7);                     a non-temporal store of 8 bytes
 *     FP_COPY(to, from, bytes);            memcpy
 *     FP_FLUSH(p, bytes);                  clwb of every line of the range
 *     FP_FENCE();                          sfence
 *     FP_LOAD(&p->x)                       a load: where threads meet
 *     FP_CAS(&p->x, old, new), FP_ADD(&p->x, n), FP_SWAP(&p->x, v)   atomics on 8 bytes; also full fences
 *     FP_BEGIN(k); FP_END(k); FP_ACK(k);   operation k of this thread begins, has executed, is acknowledged as durable
 *     FP_SYNC(p, bytes);                   msync, fsync: the range is durable when the call returns
 *     FP_TX_BEGIN(n); FP_TX_COMMIT(n);     a hardware transaction: what is stored in it becomes durable whole or not at all
 *     FP_BIND(p, bytes, q); FP_RELEASE(p, bytes); FP_COMMIT_QUEUE(q);   per-task committing: a range and its queue
 *     FP_ROI_BEGIN();                      the log begins here: what memory holds now counts as durable
 *     FP_WORK(n);                          n instructions since the last event (only for timing runs)
 *     FP_CLOSE();                          ends the log and prints what recording cost; before FP_OPEN and after it
 *                                          the operations are performed and not recorded
 *
 * Each macro performs its operation and writes one line, with file and line of the program, under one lock: the log is one
 * total order, and it is the order in which the operations really took effect. Locks and flags by which threads
 * synchronise must be recorded too (FP_CAS, FP_SWAP, FP_LOAD, FP_STORE on them), also where they lie in volatile memory.
 * With -DFENCEPOST_OFF the macros are the bare operations: real flushes and fences, no log.
 *
 * Judging. A recovery-and-audit program is one function:
 *
 *     int check(void *image, size_t bytes, const fp_crash *crash);    0: survived; else call fp_fail("why") and return 1
 *     int main(int argc, char **argv) { return fp_recovery_main(argc, argv, check); }
 *
 * Called with a path it judges that image; without, it is a server for `fencepost crash --server`. FP_READ(p) reads *p and
 * reports it for `--reads` (then every read of the image must be by FP_READ or fp_read).
 */
#ifndef FENCEPOST_H
#define FENCEPOST_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
#include <type_traits>
#define FP_TYPE(x) std::remove_cv<std::remove_reference<decltype(x)>::type>::type
#define FP_THREAD thread_local
#else
#define FP_TYPE(x) __typeof__(x)
#define FP_THREAD _Thread_local
#endif

#define FP_LINE_BYTES 64u

/* ------------------------------------------------------------------------------------------------ recording */

#ifndef FENCEPOST_OFF

typedef struct {
    FILE *file;
    unsigned char *base;
    size_t bytes;
    int lock, threads;
    uint64_t events;
    double seconds; /* spent in the recorder; one event in 64 is timed */
} fp_log;

static fp_log fp_the_log;
static FP_THREAD int fp_my_number = -1;

static inline double fp_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
/* Takes the lock; the time if this event is timed, else 0. */
static inline double fp_enter(void) {
    while (__atomic_exchange_n(&fp_the_log.lock, 1, __ATOMIC_ACQUIRE)) {
    }
    if (!fp_the_log.file) return 0;
    if (fp_my_number < 0) fp_my_number = fp_the_log.threads++;
    return fp_the_log.events++ % 64 == 0 ? fp_now() : 0;
}
static inline void fp_leave(double since) {
    if (since != 0) fp_the_log.seconds += 64 * (fp_now() - since);
    __atomic_store_n(&fp_the_log.lock, 0, __ATOMIC_RELEASE);
}
static inline int fp_is_persistent(const void *p) {
    return (const unsigned char *)p >= fp_the_log.base && (const unsigned char *)p < fp_the_log.base + fp_the_log.bytes;
}
/* "THREAD WHAT ADDRESS"; volatile addresses keep their low 40 bits, which is what the format has. */
static inline void fp_put(const char *what, const void *p) {
    if (!fp_the_log.file) return;
    if (fp_is_persistent(p))
        fprintf(fp_the_log.file, "%d %s pm+0x%zx", fp_my_number, what, (size_t)((const unsigned char *)p - fp_the_log.base));
    else
        fprintf(fp_the_log.file, "%d %s 0x%llx", fp_my_number, what, (unsigned long long)((uintptr_t)p & 0xffffffffffull));
}
static inline void fp_end_line(const char *file, int line) {
    if (fp_the_log.file) fprintf(fp_the_log.file, " @ %s:%d\n", file, line);
}

/* The aligned pieces of [p, p + n), as they are now in memory. */
static inline void fp_pieces(const char *what, const void *p, size_t n, const char *file, int line) {
    uintptr_t at = (uintptr_t)p, end = fp_the_log.file ? at + n : at;
    while (at < end) {
        size_t width = 8;
        uint64_t v = 0;
        while (at % width || at + width > end) width /= 2;
        memcpy(&v, (const void *)at, width);
        fp_put(what, (const void *)at);
        fprintf(fp_the_log.file, " 0x%llx", (unsigned long long)v);
        if (width < 8) fprintf(fp_the_log.file, " w%zu", width);
        fp_end_line(file, line);
        at += width;
    }
}
static inline void fp_close(void) {
    if (!fp_the_log.file) return;
    fclose(fp_the_log.file);
    fp_the_log.file = NULL;
    fprintf(stderr, "fencepost: %llu events recorded, %d threads, about %.0f ns an event, %.3f s in all\n",
            (unsigned long long)fp_the_log.events, fp_the_log.threads,
            fp_the_log.events ? fp_the_log.seconds / (double)fp_the_log.events * 1e9 : 0.0, fp_the_log.seconds);
}
static inline void fp_begin_log(void) {
    unsigned char *base = fp_the_log.base;
    size_t bytes = fp_the_log.bytes;
    fprintf(fp_the_log.file, "fencepost-log 1\npersistent 0x%llx %zu\n", (unsigned long long)(uintptr_t)base,
            (bytes + 63) / 64 * 64);
    for (size_t i = 0; i + 8 <= bytes; i += 8) { /* what is durable already */
        uint64_t v;
        memcpy(&v, base + i, 8);
        if (v) fprintf(fp_the_log.file, "initial pm+0x%zx 0x%llx\n", i, (unsigned long long)v);
    }
}
static inline void fp_open(const char *path, void *base, size_t bytes) {
    fp_the_log.file = fopen(path, "w");
    if (!fp_the_log.file) {
        perror(path);
        exit(2);
    }
    fp_the_log.base = (unsigned char *)base;
    fp_the_log.bytes = bytes;
    fp_begin_log();
    atexit(fp_close);
}
/* Everything before is forgotten but for what it left in memory. */
static inline void fp_roi_begin(void) {
    double since = fp_enter();
    if (fp_the_log.file) {
        rewind(fp_the_log.file);
        if (ftruncate(fileno(fp_the_log.file), 0) != 0) perror("the log");
        fp_begin_log();
    }
    fp_leave(since);
}
/* "THREAD WHAT ADDRESS LENGTH", and what follows. */
static inline void fp_range(const char *what, const void *p, size_t n, const char *after, const char *file, int line) {
    double since = fp_enter();
    fp_put(what, p);
    if (fp_the_log.file) fprintf(fp_the_log.file, " %zu%s", n, after);
    fp_end_line(file, line);
    fp_leave(since);
}
static inline void fp_bind(const void *p, size_t n, unsigned queue, const char *file, int line) {
    char after[32];
    snprintf(after, sizeof after, " queue %u", queue);
    fp_range("bind", p, n, after, file, line);
}
static inline void fp_copy(const char *what, void *to, const void *from, size_t n, const char *file, int line) {
    double since = fp_enter();
    memcpy(to, from, n);
    fp_pieces(what, to, n, file, line);
    fp_leave(since);
}
static inline void fp_flush(const void *p, size_t n, const char *file, int line) {
    double since = fp_enter();
    uintptr_t at = (uintptr_t)p / FP_LINE_BYTES * FP_LINE_BYTES;
    for (; at < (uintptr_t)p + (n ? n : 1); at += FP_LINE_BYTES) {
        fp_put("clwb", (const void *)at);
        fp_end_line(file, line);
    }
    fp_leave(since);
}
static inline void fp_mark(const char *what, unsigned long long n, const char *file, int line) {
    double since = fp_enter();
    if (!fp_the_log.file) {
        /* not recorded */
    } else if (what[0] == 's')
        fprintf(fp_the_log.file, "%d sfence @ %s:%d\n", fp_my_number, file, line);
    else
        fprintf(fp_the_log.file, "%d %s %llu\n", fp_my_number, what, n);
    fp_leave(since);
}
static inline void fp_load(const void *p, void *to, size_t n, const char *file, int line) {
    double since = fp_enter();
    memcpy(to, p, n);
    for (uintptr_t at = (uintptr_t)p / 8 * 8; at < (uintptr_t)p + n; at += 8) {
        fp_put("load", (const void *)at);
        fp_end_line(file, line);
    }
    fp_leave(since);
}
/* op: 0 compare and swap, 1 add, 2 swap. The old value. */
static inline uint64_t fp_atomic(uint64_t *p, int op, uint64_t a, uint64_t b, const char *file, int line) {
    double since = fp_enter();
    uint64_t old = *p, now = op == 0 ? (old == a ? b : old) : op == 1 ? old + a : a;
    int stored = op != 0 || old == a;
    fp_put("rmw", p);
    if (stored) {
        __atomic_store_n(p, now, __ATOMIC_SEQ_CST);
        if (fp_the_log.file) fprintf(fp_the_log.file, " 0x%llx", (unsigned long long)now);
    }
    fp_end_line(file, line);
    fp_leave(since);
    return old;
}

#define FP_OPEN(path, base, bytes) fp_open(path, base, bytes)
#define FP_CLOSE() fp_close()
#define FP_STORE_AS(what, p, v)                                       \
    do {                                                              \
        FP_TYPE(*(p)) fp_v = (v);                                     \
        fp_copy(what, (void *)(p), &fp_v, sizeof fp_v, __FILE__, __LINE__); \
    } while (0)
#define FP_STORE(p, v) FP_STORE_AS("store", p, v)
#define FP_NT(p, v) FP_STORE_AS("nt", p, v)
#define FP_COPY(to, from, n) fp_copy("store", to, from, n, __FILE__, __LINE__)
#define FP_FLUSH(p, n) fp_flush(p, n, __FILE__, __LINE__)
#define FP_FENCE() fp_mark("sfence", 0, __FILE__, __LINE__)
#define FP_LOAD(p)                                                    \
    (__extension__({                                                  \
        FP_TYPE(*(p)) fp_v;                                           \
        fp_load((const void *)(p), &fp_v, sizeof fp_v, __FILE__, __LINE__); \
        fp_v;                                                         \
    }))
#define FP_CAS(p, old, new_) (fp_atomic((uint64_t *)(p), 0, old, new_, __FILE__, __LINE__) == (uint64_t)(old))
#define FP_ADD(p, n) fp_atomic((uint64_t *)(p), 1, n, 0, __FILE__, __LINE__)
#define FP_SWAP(p, v) fp_atomic((uint64_t *)(p), 2, v, 0, __FILE__, __LINE__)
#define FP_BEGIN(k) fp_mark("begin", k, "", 0)
#define FP_END(k) fp_mark("end", k, "", 0)
#define FP_ACK(k) fp_mark("ack", k, "", 0)
#define FP_WORK(n) fp_mark("work", n, "", 0)
#define FP_SYNC(p, n) fp_range("sync", p, n, "", __FILE__, __LINE__)
#define FP_TX_BEGIN(n) fp_mark("tx-begin", n, "", 0)
#define FP_TX_COMMIT(n) fp_mark("tx-commit", n, "", 0)
#define FP_BIND(p, n, q) fp_bind(p, n, q, __FILE__, __LINE__)
#define FP_RELEASE(p, n) fp_range("release", p, n, "", __FILE__, __LINE__)
#define FP_COMMIT_QUEUE(q) fp_mark("commit-queue", q, "", 0)
#define FP_ROI_BEGIN() fp_roi_begin()

#else /* FENCEPOST_OFF: the bare operations */

static inline void fp_bare_flush(const void *p, size_t n) {
    uintptr_t at = (uintptr_t)p / FP_LINE_BYTES * FP_LINE_BYTES;
    for (; at < (uintptr_t)p + (n ? n : 1); at += FP_LINE_BYTES) {
#if defined(__x86_64__)
        __asm__ volatile("clwb %0" : "+m"(*(volatile char *)at));
#elif defined(__aarch64__)
        __asm__ volatile("dc cvac, %0" ::"r"(at) : "memory");
#endif
    }
}
static inline void fp_bare_fence(void) {
#if defined(__x86_64__)
    __asm__ volatile("sfence" ::: "memory");
#elif defined(__aarch64__)
    __asm__ volatile("dsb ish" ::: "memory");
#endif
}
static inline void fp_bare_nt(void *p, uint64_t v) {
#if defined(__x86_64__)
    __asm__ volatile("movnti %1, %0" : "=m"(*(volatile uint64_t *)p) : "r"(v));
#else
    *(volatile uint64_t *)p = v;
#endif
}
static inline uint64_t fp_bare_cas(uint64_t *p, uint64_t old, uint64_t now) {
    return __atomic_compare_exchange_n(p, &old, now, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
#define FP_OPEN(path, base, bytes) ((void)0)
#define FP_CLOSE() ((void)0)
#define FP_STORE(p, v) ((void)(*(p) = (v)))
#define FP_NT(p, v) fp_bare_nt(p, v)
#define FP_COPY(to, from, n) memcpy(to, from, n)
#define FP_FLUSH(p, n) fp_bare_flush(p, n)
#define FP_FENCE() fp_bare_fence()
#define FP_LOAD(p) (*(p))
#define FP_CAS(p, old, now) fp_bare_cas((uint64_t *)(p), old, now)
#define FP_ADD(p, n) __atomic_fetch_add((uint64_t *)(p), n, __ATOMIC_SEQ_CST)
#define FP_SWAP(p, v) __atomic_exchange_n((uint64_t *)(p), v, __ATOMIC_SEQ_CST)
#define FP_BEGIN(k) ((void)0)
#define FP_END(k) ((void)0)
#define FP_ACK(k) ((void)0)
#define FP_WORK(n) ((void)0)
#define FP_SYNC(p, n) ((void)msync((void *)((uintptr_t)(p) / 4096 * 4096), (uintptr_t)(p) % 4096 + (n), MS_SYNC))
#define FP_TX_BEGIN(n) ((void)0)
#define FP_TX_COMMIT(n) ((void)0)
#define FP_BIND(p, n, q) ((void)0)
#define FP_RELEASE(p, n) ((void)0)
#define FP_COMMIT_QUEUE(q) ((void)0)
#define FP_ROI_BEGIN() ((void)0)
#endif

/* ------------------------------------------------------------------------------------------------ judging */

/* Operations begun and acknowledged when the power failed, per thread. */
typedef struct {
    int threads;
    unsigned begun[64], acked[64];
} fp_crash;

typedef int (*fp_check)(void *image, size_t bytes, const fp_crash *crash);

static FILE *fp_answers; /* where reads are reported; NULL: nowhere */
static const unsigned char *fp_image;
static char fp_why[256];

/* Says why the image is not survived. */
static inline int fp_fail(const char *why) {
    snprintf(fp_why, sizeof fp_why, "%s", why);
    return 1;
}
/* Reports that n bytes at p of the image are read. */
static inline const void *fp_read(const void *p, size_t n) {
    if (fp_answers) fprintf(fp_answers, "read %zu %zu\n", (size_t)((const unsigned char *)p - fp_image), n);
    return p;
}
#define FP_READ(p) (*(const FP_TYPE(*(p)) *)fp_read(p, sizeof *(p)))

static inline int fp_list(const char *text, unsigned *list) {
    int n = 0;
    while (text && *text >= '0' && *text <= '9' && n < 64) {
        char *end;
        list[n++] = (unsigned)strtoul(text, &end, 10);
        text = *end == ',' ? end + 1 : end;
    }
    return n;
}
/* Judges one file; the image is mapped privately, so that the file stays as it is. */
static inline int fp_judge(const char *path, const fp_crash *crash, fp_check check) {
    struct stat s;
    int fd = open(path, O_RDONLY), failed;
    void *image;
    if (fd < 0 || fstat(fd, &s) != 0) {
        perror(path);
        exit(126);
    }
    image = mmap(NULL, (size_t)s.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    close(fd);
    if (image == MAP_FAILED) {
        perror("mmap");
        exit(126);
    }
    fp_image = (const unsigned char *)image;
    fp_why[0] = 0;
    failed = check(image, (size_t)s.st_size, crash);
    munmap(image, (size_t)s.st_size);
    return failed;
}
static inline int fp_recovery_main(int argc, char **argv, fp_check check) {
    fp_crash crash;
    char line[8192], path[4096], begun[1024], acked[1024];
    memset(&crash, 0, sizeof crash);
    if (argc > 1) {
        const char *reads = getenv("FENCEPOST_READS");
        crash.threads = fp_list(getenv("FENCEPOST_BEGUN"), crash.begun);
        fp_list(getenv("FENCEPOST_ACKED"), crash.acked);
        if (reads) fp_answers = fopen(reads, "w");
        int failed = fp_judge(argv[1], &crash, check);
        if (failed) fprintf(stderr, "%s\n", fp_why);
        if (fp_answers) fclose(fp_answers);
        return failed != 0;
    }
    /* What the audit itself prints goes to standard error. */
    FILE *out = fdopen(dup(1), "w");
    if (!out || dup2(2, 1) < 0) return 126;
    fp_answers = out;
    fprintf(out, "fencepost-server 1 private\n");
    fflush(out);
    while (fgets(line, sizeof line, stdin)) {
        begun[0] = acked[0] = 0;
        if (sscanf(line, "image %4095s %*s begun %1023s acked %1023s", path, begun, acked) < 1) return 126;
        memset(&crash, 0, sizeof crash);
        crash.threads = fp_list(begun, crash.begun);
        fp_list(acked, crash.acked);
        if (fp_judge(path, &crash, check))
            fprintf(out, "fail %s\n", fp_why[0] ? fp_why : "the audit says no");
        else
            fprintf(out, "ok\n");
        fflush(out);
    }
    return 0;
}

#endif
