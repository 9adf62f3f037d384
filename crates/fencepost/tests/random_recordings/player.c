// Plays a script: each line is an actor, an operation and its numbers. Actor 0 is the program itself, others are threads or processes
// that it starts. What each operation does to which file is known to whoever wrote the script.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, MOST = 4096, ACTORS = 8, SLOTS = 64, FDS = 64, HANDS = 32 };
struct line { int actor; char op[12]; uint64_t a[6]; };
static struct line script[MOST];
static int lines;
static char *slots[SLOTS];
static int fds[FDS], pipes[HANDS][2], events[HANDS], pairs[HANDS][2];
static pthread_t threads[ACTORS];
static pid_t children[ACTORS];
// What processes share.
static struct { volatile uint64_t flag[HANDS]; uint64_t atom[HANDS]; sem_t sem[HANDS];
    pthread_mutex_t mutex[HANDS]; pthread_cond_t cond[HANDS]; int said[HANDS]; } *shared;

static void must(int good, const struct line *l) {
    if (good) return;
    fprintf(stderr, "player: %s fails\n", l->op);
    _exit(9);
}
__attribute__((noinline)) void region(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void done(void) { __asm__ volatile("" ::: "memory"); }

static void pattern(uint8_t *to, uint64_t n, uint64_t seed) {
    for (uint64_t i = 0; i < n; i++) to[i] = seed + i * 3;
}
static void store(char *p, uint64_t w, uint64_t v) {
    if (w == 1) __asm__ volatile("movb %b1, %0" : "=m"(*p) : "q"(v));
    if (w == 2) __asm__ volatile("movw %w1, %0" : "=m"(*p) : "r"(v));
    if (w == 4) __asm__ volatile("movl %k1, %0" : "=m"(*p) : "r"(v));
    if (w == 8) __asm__ volatile("movq %1, %0" : "=m"(*p) : "r"(v));
}
static void vector(char *p, uint64_t n, uint64_t seed, int kind) {
    uint8_t b[32] __attribute__((aligned(32)));
    pattern(b, n, seed);
    if (n == 16 && kind == 0) __asm__ volatile("movdqu %1, %%xmm1\n movups %%xmm1, %0" : "=m"(*p) : "m"(b) : "xmm1", "memory");
    if (n == 16 && kind == 1) __asm__ volatile("movdqu %1, %%xmm1\n movntdq %%xmm1, %0" : "=m"(*p) : "m"(b) : "xmm1", "memory");
    if (n == 16 && kind == 2) __asm__ volatile("movdqu %1, %%xmm1\n movntps %%xmm1, %0" : "=m"(*p) : "m"(b) : "xmm1", "memory");
    if (n == 32 && kind == 0) __asm__ volatile("vmovdqu %1, %%ymm1\n vmovdqu %%ymm1, %0" : "=m"(*p) : "m"(b) : "xmm1", "memory");
    if (n == 32 && kind == 1) __asm__ volatile("vmovdqu %1, %%ymm1\n vmovntdq %%ymm1, %0" : "=m"(*p) : "m"(b) : "xmm1", "memory");
    if (n == 8) __asm__ volatile("movq %1, %%xmm1\n movhps %1, %%xmm1\n movhps %%xmm1, %0" : "=m"(*p) : "m"(b) : "xmm1", "memory");
}
static void odd(char *p, uint64_t how, uint64_t v) {
    if (how == 0) __asm__ volatile("pushq %1\n popq (%0)" ::"r"(p), "r"(v) : "memory");
    if (how == 1) __asm__ volatile("movbe %1, (%0)" ::"r"(p), "r"(v) : "memory");
    if (how == 2) __asm__ volatile("movq %1, %%xmm1\n movsd %%xmm1, (%0)" ::"r"(p), "r"(v) : "memory", "xmm1");
    if (how == 3) __asm__ volatile("movq %1, %%xmm1\n pextrq $0, %%xmm1, (%0)" ::"r"(p), "r"(v) : "memory", "xmm1");
    if (how == 4) __asm__ volatile("movq %0, %%rdi\n movq %1, %%rax\n stosq" ::"r"(p), "r"(v) : "memory", "rdi", "rax");
    if (how == 5) __asm__ volatile("movq %0, %%r12\n movq %1, (%%r12)" ::"r"(p), "r"(v) : "memory", "r12");
    if (how == 6) __asm__ volatile("movq %0, %%r13\n xorl %%ecx, %%ecx\n movq %1, (%%r13,%%rcx,8)" ::"r"(p), "r"(v) : "memory", "r13", "rcx");
    if (how == 7) __asm__ volatile("fildq %1\n fistpq (%0)" ::"r"(p), "m"(v) : "memory");
}
static void nontemporal(char *p, uint64_t w, uint64_t v) {
    if (w == 4) __asm__ volatile("movnti %k1, %0" : "=m"(*p) : "r"(v));
    if (w == 8) __asm__ volatile("movnti %1, %0" : "=m"(*p) : "r"(v));
}
static void atomic(char *p, const char *op, uint64_t w, uint64_t v, uint64_t expected) {
    uint64_t old = expected;
    if (!strcmp(op, "xadd")) {
        if (w == 4) __asm__ volatile("lock xaddl %k0, %1" : "+r"(v), "+m"(*p)::"memory");
        else __asm__ volatile("lock xaddq %0, %1" : "+r"(v), "+m"(*p)::"memory");
    } else if (!strcmp(op, "xchg")) {
        if (w == 4) __asm__ volatile("xchgl %k0, %1" : "+r"(v), "+m"(*p)::"memory");
        else __asm__ volatile("xchgq %0, %1" : "+r"(v), "+m"(*p)::"memory");
    } else if (!strcmp(op, "or")) {
        if (w == 4) __asm__ volatile("lock orl %k1, %0" : "+m"(*p) : "r"(v) : "memory");
        else __asm__ volatile("lock orq %1, %0" : "+m"(*p) : "r"(v) : "memory");
    } else if (!strcmp(op, "inc")) {
        if (w == 4) __asm__ volatile("lock incl %0" : "+m"(*p)::"memory");
        else __asm__ volatile("lock incq %0" : "+m"(*p)::"memory");
    } else if (!strcmp(op, "cas")) {
        if (w == 4) __asm__ volatile("lock cmpxchgl %k2, %1" : "+a"(old), "+m"(*p) : "r"(v) : "memory", "cc");
        else __asm__ volatile("lock cmpxchgq %2, %1" : "+a"(old), "+m"(*p) : "r"(v) : "memory", "cc");
    }
}
static void flush(char *p, uint64_t kind) {
    if (kind == 0) __asm__ volatile("clflush %0" : "+m"(*p));
    if (kind == 1) __asm__ volatile(".byte 0x66\n clflush %0" : "+m"(*p));
    if (kind == 2) __asm__ volatile(".byte 0x66, 0x48, 0x0f, 0xae, 0x30" ::"a"(p) : "memory");
    if (kind == 3) __asm__ volatile("movq %0, %%r12\n movl $2, %%ecx\n .byte 0x66, 0x41, 0x0f, 0xae, 0x74, 0xcc, 0xf0" ::"r"(p) : "memory", "r12", "rcx");
}
// Says something to another actor, and hears it.
static void post(uint64_t i, uint64_t how, const struct line *l) {
    uint64_t one = 1;
    if (how == 0) shared->flag[i] = 1;
    if (how == 1) __atomic_store_n(&shared->atom[i], 1, __ATOMIC_SEQ_CST);
    if (how == 2) must(write(pipes[i][1], &one, 1) == 1, l);
    if (how == 3) must(write(events[i], &one, 8) == 8, l);
    if (how == 4) must(write(pairs[i][0], &one, 1) == 1, l);
    if (how == 5) sem_post(&shared->sem[i]);
    if (how == 6) {
        pthread_mutex_lock(&shared->mutex[i]);
        shared->said[i] = 1;
        pthread_cond_signal(&shared->cond[i]);
        pthread_mutex_unlock(&shared->mutex[i]);
    }
}
static void await(uint64_t i, uint64_t how, const struct line *l) {
    uint64_t got;
    if (how == 0) while (!shared->flag[i]) ;
    if (how == 1) while (!__atomic_load_n(&shared->atom[i], __ATOMIC_SEQ_CST)) ;
    if (how == 2) must(read(pipes[i][0], &got, 1) == 1, l);
    if (how == 3) must(read(events[i], &got, 8) == 8, l);
    if (how == 4) must(read(pairs[i][1], &got, 1) == 1, l);
    if (how == 5) while (sem_wait(&shared->sem[i])) ;
    if (how == 6) {
        pthread_mutex_lock(&shared->mutex[i]);
        while (!shared->said[i]) pthread_cond_wait(&shared->cond[i], &shared->mutex[i]);
        pthread_mutex_unlock(&shared->mutex[i]);
    }
}
static void play(int actor);
static void *play_thread(void *actor) {
    play((int)(intptr_t)actor);
    return 0;
}
static int is(const struct line *l, const char *op) { return !strcmp(l->op, op); }

static int memory_op(const struct line *l) {
    const uint64_t *a = l->a;
    char *p = slots[a[0] % SLOTS] + a[1];
    static __thread uint8_t buffer[4 * PAGE];
    if (is(l, "st")) store(p, a[2], a[3]);
    else if (is(l, "vec")) vector(p, a[2], a[3], a[4]);
    else if (is(l, "odd")) odd(p, a[2], a[3]);
    else if (is(l, "nt")) nontemporal(p, a[2], a[3]);
    else if (is(l, "set")) {
        uint64_t n = a[2];
        __asm__ volatile("rep stosb" : "+D"(p), "+c"(n) : "a"((int)a[3]) : "memory");
    } else if (is(l, "copy")) {
        uint64_t n = a[2];
        uint8_t *from = buffer;
        pattern(buffer, n, a[3]);
        if (a[4]) n /= 8;
        if (a[4]) __asm__ volatile("rep movsq" : "+D"(p), "+S"(from), "+c"(n)::"memory");
        else __asm__ volatile("rep movsb" : "+D"(p), "+S"(from), "+c"(n)::"memory");
    } else if (is(l, "add")) {
        if (a[2] == 4) __asm__ volatile("addl %k1, %0" : "+m"(*p) : "r"(a[3]) : "memory");
        else __asm__ volatile("addq %1, %0" : "+m"(*p) : "r"(a[3]) : "memory");
    } else if (is(l, "derive")) {
        char *to = slots[a[2]] + a[3];
        uint64_t v;
        __asm__ volatile("movq %1, %0" : "=r"(v) : "m"(*p));
        v += a[4];
        __asm__ volatile("movq %1, %0" : "=m"(*to) : "r"(v));
    } else if (is(l, "xadd") || is(l, "xchg") || is(l, "or") || is(l, "inc") || is(l, "cas")) atomic(p, l->op, a[2], a[3], a[4]);
    else if (is(l, "flush")) flush(p, a[2]);
    else return 0;
    return 1;
}
static int file_op(const struct line *l) {
    const uint64_t *a = l->a;
    static __thread uint8_t buffer[4 * PAGE];
    int fd = fds[a[0] % FDS];
    if (is(l, "write")) pattern(buffer, a[1], a[2]), must(write(fd, buffer, a[1]) == (ssize_t)a[1], l);
    else if (is(l, "pwrite")) pattern(buffer, a[2], a[3]), must(pwrite(fd, buffer, a[2], a[1]) == (ssize_t)a[2], l);
    else if (is(l, "writev") || is(l, "pwritev")) {
        pattern(buffer, a[2], a[3]);
        struct iovec v[2] = {{buffer, a[4]}, {buffer + a[4], a[2] - a[4]}};
        must((is(l, "writev") ? writev(fd, v, 2) : pwritev(fd, v, 2, a[1])) == (ssize_t)a[2], l);
    } else if (is(l, "seek")) must(lseek(fd, a[1], SEEK_SET) == (off_t)a[1], l);
    else if (is(l, "pread")) must(pread(fd, slots[a[2]] + a[3], a[4], a[1]) == (ssize_t)a[4], l);
    else if (is(l, "fsync")) must(!fsync(fd), l);
    else if (is(l, "fdatasync")) must(!fdatasync(fd), l);
    else if (is(l, "syncfs")) must(!syncfs(fd), l);
    else if (is(l, "part")) must(!sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE), l);
    else if (is(l, "trunc")) must(!ftruncate(fd, a[1]), l);
    else if (is(l, "alloc")) must(!fallocate(fd, a[1], a[2], a[3]), l);
    else if (is(l, "dup")) must((fds[a[1]] = dup(fd)) >= 0, l);
    else if (is(l, "close")) must(!close(fd), l);
    else if (is(l, "open")) {
        char name[8];
        snprintf(name, sizeof name, "f%d", (int)a[1]);
        const int how[4] = {0, O_APPEND, O_DSYNC, O_SYNC};
        must((fds[a[0]] = open(name, O_RDWR | how[a[2]])) >= 0, l);
    } else return 0;
    return 1;
}
static int map_op(const struct line *l) {
    const uint64_t *a = l->a;
    char *p = slots[a[0] % SLOTS];
    if (is(l, "map")) {
        p = mmap(0, a[3], PROT_READ | PROT_WRITE, a[4] ? MAP_PRIVATE : MAP_SHARED, fds[a[1]], a[2]);
        must(p != MAP_FAILED, l);
        slots[a[0]] = p;
    } else if (is(l, "over")) {
        must(mmap(p + a[1], a[4], PROT_READ | PROT_WRITE, (a[5] ? MAP_PRIVATE : MAP_SHARED) | MAP_FIXED, fds[a[2]], a[3]) == p + a[1], l);
    } else if (is(l, "unmap")) must(!munmap(p + a[1], a[2]), l);
    else if (is(l, "remap")) {
        p = mremap(p, a[1], a[2], MREMAP_MAYMOVE);
        must(p != MAP_FAILED, l);
        slots[a[0]] = p;
    } else if (is(l, "msync")) must(!msync(p + a[1], a[2], a[3] ? MS_SYNC : MS_ASYNC), l);
    else return 0;
    return 1;
}
static void other_op(const struct line *l) {
    const uint64_t *a = l->a;
    if (is(l, "fence") && a[0] == 0) __asm__ volatile("sfence" ::: "memory");
    else if (is(l, "fence") && a[0] == 1) __asm__ volatile("mfence" ::: "memory");
    else if (is(l, "fence")) __asm__ volatile("lock orq $0, (%%rsp)" ::: "memory");
    else if (is(l, "sync")) sync();
    else if (is(l, "post")) post(a[0], a[1], l);
    else if (is(l, "await")) await(a[0], a[1], l);
    else if (is(l, "spawn")) must(!pthread_create(&threads[a[0]], 0, play_thread, (void *)(intptr_t)a[0]), l);
    else if (is(l, "join")) must(!pthread_join(threads[a[0]], 0), l);
    else if (is(l, "fork")) {
        pid_t child = fork();
        must(child >= 0, l);
        if (!child) play(a[0]), _exit(0);
        children[a[0]] = child;
    } else if (is(l, "wait")) {
        int status = 0;
        must(waitpid(children[a[0]], &status, 0) == children[a[0]] && !status, l);
    } else if (is(l, "region")) region();
    else if (is(l, "done")) done();
    else must(0, l);
}
static void play(int actor) {
    for (int i = 0; i < lines; i++) {
        const struct line *l = &script[i];
        if (l->actor == actor && !memory_op(l) && !file_op(l) && !map_op(l)) other_op(l);
    }
}
int main(int count, char **arguments) {
    FILE *f = fopen(arguments[count - 1], "r");
    struct line *l = script;
    while (f && lines < MOST) {
        uint64_t *a = l->a;
        if (fscanf(f, "%d %11s %lu %lu %lu %lu %lu %lu\n", &l->actor, l->op, a, a + 1, a + 2, a + 3, a + 4, a + 5) != 8) break;
        l++, lines++;
    }
    fclose(f);
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t ma;
    pthread_condattr_t ca;
    pthread_mutexattr_init(&ma), pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
    pthread_condattr_init(&ca), pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED);
    for (int i = 0; i < HANDS; i++) {
        pthread_mutex_init(&shared->mutex[i], &ma), pthread_cond_init(&shared->cond[i], &ca);
        sem_init(&shared->sem[i], 1, 0);
        events[i] = eventfd(0, 0);
        if (pipe(pipes[i]) || socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]) || events[i] < 0) return 9;
    }
    play(0);
    return 0;
}
