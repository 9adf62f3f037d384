// A value in `pool` and behind it, in the next page, the mark that says it is there. What makes the value durable is the first argument;
// with `wrong` as the second it is left out.
#define _GNU_SOURCE
#include <fcntl.h>
#include <immintrin.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE = 4096 };
static char *pool;
static volatile long elsewhere;

static void persist(void *p) {
    _mm_clflush(p);
    _mm_sfence();
}
static void write_back(void *p) {
    __asm__ volatile("clwb %0" ::"m"(*(char *)p) : "memory");
}
static void on_its_stack(void) {
    volatile char local[64];
    for (int i = 0; i < 64; i++) local[i] = 1;
    _mm_sfence();
}

int main(int count, char **arguments) {
    const char *way = arguments[1];
    int right = count > 2 && !strcmp(arguments[2], "right"), file = open("pool", O_RDWR | O_CREAT, 0644);
    if (ftruncate(file, 2 * PAGE)) return 9;
    pool = mmap(0, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    uint64_t *value = (uint64_t *)pool, *mark = (uint64_t *)(pool + PAGE);
    if (!strcmp(way, "lock")) {
        *value = 1;
        write_back(value);
        if (right) __asm__ volatile("lock incq %0" : "+m"(elsewhere));
    } else if (!strcmp(way, "xchg")) {
        long one = 1;
        *value = 1;
        write_back(value);
        if (right) __asm__ volatile("xchg %0, %1" : "+r"(one), "+m"(elsewhere));
    } else if (!strcmp(way, "thread-fence")) { // `lock or` on the stack, with most compilers.
        *value = 1;
        write_back(value);
        if (right) atomic_thread_fence(memory_order_seq_cst);
    } else if (!strcmp(way, "masked")) {
        __asm__ volatile("movq %1, %%xmm0; pcmpeqb %%xmm1, %%xmm1; mov %0, %%rdi; maskmovdqu %%xmm1, %%xmm0" ::"r"(pool),
                         "r"(1L)
                         : "xmm0", "xmm1", "rdi", "memory");
        if (right) _mm_sfence();
    } else if (!strcmp(way, "extracted")) {
        __asm__ volatile("mov $1, %%eax; movd %%eax, %%xmm4; mov %0, %%rax; xor %%ecx, %%ecx; pextrb $0, %%xmm4, (%%rax, %%rcx)" ::"r"(
                             pool)
                         : "rax", "rcx", "xmm4", "memory");
        if (right) persist(value);
    } else if (!strcmp(way, "syncfs")) { // Of another file system.
        *value = 1;
        if (syscall(SYS_syncfs, open(right ? "." : "/proc", O_RDONLY))) return 9;
    } else if (!strcmp(way, "stack")) {
        static ucontext_t own, other;
        getcontext(&other);
        other.uc_stack.ss_sp = pool;
        other.uc_stack.ss_size = PAGE;
        other.uc_link = &own;
        makecontext(&other, on_its_stack, 0);
        swapcontext(&own, &other);
    } else if (!strcmp(way, "mincore")) {
        void *here = (void *)((uintptr_t)&elsewhere / PAGE * PAGE);
        if (mincore(here, PAGE, (unsigned char *)value)) return 9;
    } else {
        return 9;
    }
    *mark = 1;
    persist(mark);
    return 0;
}
