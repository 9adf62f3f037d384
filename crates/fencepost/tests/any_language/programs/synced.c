// A value, and after it the mark that says it is there; what is between them is a matter of how this is compiled.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void) {
    int file = open("pool", O_RDWR | O_CREAT, 0644), mark = open("mark", O_RDWR | O_CREAT, 0644);
    if (ftruncate(file, 4096) || ftruncate(mark, 4096)) return 9;
    volatile uint64_t *m = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    m[0] = 1;
#if SYNC == 1
    msync((void *)m, 4096, MS_SYNC);
#elif SYNC == 2
    fsync(file);
#elif SYNC == 3
    fsync(mark);
#elif SYNC == 4
    msync((void *)m, 4096, MS_ASYNC);
#endif
    uint64_t one = 1;
    return pwrite(mark, &one, 8, 0) == 8 ? 0 : 9;
}
