// A value in `pool`, and after it the mark in `mark` that says it is there. How the value comes to be durable, or why it is
// not, is the first argument; with `right` as the second nothing is wrong.
#define _GNU_SOURCE
#include <fcntl.h>
#include <immintrin.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
enum { PAGE = 4096 };
static int pool, mark, right;
static volatile uint64_t *m, *said;

static uint64_t *map(void *at, size_t length, int flags, int fd, off_t offset) {
    void *p = mmap(at, length, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, offset);
    if (p == MAP_FAILED) exit(9);
    return p;
}
static void persist(volatile void *p) {
    _mm_clflush((void *)p);
    _mm_sfence();
}
static void finish(int good) {
    if (!good) exit(9);
    said[0] = 1;
    persist(said);
    exit(0);
}
static void wait_for(pid_t child) {
    int status = 0;
    if (waitpid(child, &status, 0) != child || status) exit(9);
}

int main(int count, char **arguments) {
    const char *way = arguments[1];
    uint64_t one = 1;
    int sync = 0;
    right = count > 2 && !strcmp(arguments[2], "right");
    if (!strcmp(way, "dsync") && right) sync = O_DSYNC;
    pool = open("pool", O_RDWR | O_CREAT | sync, 0644);
    mark = open("mark", O_RDWR | O_CREAT, 0644);
    if (ftruncate(pool, 2 * PAGE) || ftruncate(mark, PAGE)) return 9;
    said = map(0, PAGE, 0, mark, 0);
    m = map(0, 2 * PAGE, 0, pool, 0);
    if (!strcmp(way, "value")) { // What `spawn` starts.
        m[0] = 1;
        if (arguments[2][0] == 'r') persist(m);
        return 0;
    }
    if (!strcmp(way, "file")) { // The same offset of another file is flushed.
        m[0] = 1;
        persist(right ? m : said);
    } else if (!strcmp(way, "fsync")) {
        m[0] = 1;
        fsync(right ? pool : mark);
    } else if (!strcmp(way, "fdatasync")) {
        m[0] = 1;
        fdatasync(right ? pool : mark);
    } else if (!strcmp(way, "sync")) {
        m[0] = 1;
        if (right) sync_file_range(pool, 0, 0, SYNC_FILE_RANGE_WRITE), syncfs(pool);
    } else if (!strcmp(way, "msync")) {
        m[0] = 1;
        msync((void *)(right ? m : m + PAGE / 8), PAGE, MS_SYNC);
    } else if (!strcmp(way, "async")) {
        m[0] = 1;
        msync((void *)m, PAGE, right ? MS_SYNC : MS_ASYNC);
    } else if (!strcmp(way, "pwrite")) {
        if (pwrite(pool, &one, 8, 0) != 8) return 9;
        if (right) fsync(pool);
    } else if (!strcmp(way, "write")) {
        if (write(pool, &one, 8) != 8) return 9;
        if (right) fsync(pool);
    } else if (!strcmp(way, "dsync")) {
        if (pwrite(pool, &one, 8, 0) != 8) return 9;
    } else if (!strcmp(way, "ftruncate")) { // Takes the value away again, and gives it back.
        m[PAGE / 8] = 7;
        persist(m + PAGE / 8);
        if (ftruncate(pool, PAGE) || ftruncate(pool, 2 * PAGE)) return 9;
        m[PAGE / 8] = 7;
        // How long it is again must be durable, too.
        if (right && fsync(pool)) return 9;
        m[0] = 1;
        persist(m);
        finish(1);
    } else if (!strcmp(way, "fallocate")) {
        m[PAGE / 8] = 7;
        persist(m + PAGE / 8);
        if (fallocate(pool, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, PAGE)) return 9;
        m[PAGE / 8] = 7;
        if (right) persist(m + PAGE / 8);
        m[0] = 1;
        persist(m);
        finish(1);
    } else if (!strcmp(way, "mremap")) { // Through the moved mapping.
        void *place = map(0, 8 * PAGE, 0, mark, 0);
        m = mremap((void *)m, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place);
        m[0] = 1;
        if (right) persist(m);
    } else if (!strcmp(way, "fixed")) { // The first page of the mapping becomes the second page of the file.
        m = map((void *)m, PAGE, MAP_FIXED, pool, PAGE);
        m[0] = 7;
        volatile uint64_t *whole = map(0, PAGE, 0, pool, 0);
        whole[0] = 1;
        persist(right ? whole : m);
    } else if (!strcmp(way, "replaced")) { // Another file where the pool was: what is flushed there is not the pool's.
        m[0] = 1;
        if (right) persist(m);
        m = map((void *)m, PAGE, MAP_FIXED, open("other", O_RDWR | O_CREAT, 0644), 0);
        persist(m);
    } else if (!strcmp(way, "twice")) { // Stored through one mapping, flushed through another.
        volatile uint64_t *again = map(0, 2 * PAGE, 0, pool, 0);
        m[0] = 1;
        persist(right ? again : again + 8);
    } else if (!strcmp(way, "fork")) { // A child does the work.
        pid_t child = fork();
        if (!child) {
            m[0] = 1;
            if (right) persist(m);
            _exit(0);
        }
        wait_for(child);
    } else if (!strcmp(way, "vfork")) {
        pid_t child = vfork();
        if (!child) execl(arguments[0], arguments[0], "value", right ? "right" : "wrong", (char *)0);
        wait_for(child);
    } else if (!strcmp(way, "spawn")) {
        char *words[] = {arguments[0], "value", right ? "right" : "wrong", 0};
        pid_t child;
        if (posix_spawn(&child, arguments[0], 0, 0, words, environ)) return 9;
        wait_for(child);
    } else if (!strcmp(way, "killed")) { // The program's end is in the log, whatever ends it.
        m[0] = 1;
        if (right) persist(m);
        said[0] = 1;
        persist(said);
        kill(getpid(), SIGKILL);
    } else {
        return 9;
    }
    finish(1);
}
