// Recovery and audit of a counter with a journal: adds what the journal says (wrong if it is interrupted), or with -DRIGHT
// stores the sum that the journal holds. With -DONCE the journal is never emptied: one store is all that recovery does, and it
// is wrong the second time.
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <sys/mman.h>

static void persist(void *p) {
    _mm_clflush(p);
    _mm_sfence();
}
int main(int n, char **a) {
    int file = open(a[n - 1], O_RDWR);
    volatile uint64_t *m = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (m[8]) {
#ifdef RIGHT
        m[0] = m[8];
#else
        m[0] += m[8];
#endif
        persist((void *)&m[0]);
#ifndef ONCE
        m[8] = 0;
        persist((void *)&m[8]);
#endif
    }
    return m[0] != 0 && m[0] != 5;
}
