// What a program may do that a recorder must survive: the first argument says what, then the file's length and the place of the store.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int n, char **a) {
    int file = open("pool", O_RDWR | O_CREAT, 0644);
    if (ftruncate(file, n > 2 ? strtoull(a[2], 0, 0) : 4096)) return 9;
    if (!strcmp(a[1], "deleted")) unlink("pool");
    if (!strcmp(a[1], "unknown")) syscall(600, 1, 2);
    if (!strcmp(a[1], "seccomp")) syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, 0);
    volatile uint64_t *m = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, n > 3 ? strtoull(a[3], 0, 0) : 0);
    if (m == MAP_FAILED) return 8;
    m[0] = 1;
    msync((void *)m, 4096, MS_SYNC);
    if (!strcmp(a[1], "deleted-late")) unlink("pool");
    if (!strcmp(a[1], "abort")) abort();
    if (!strcmp(a[1], "sleep")) sleep(100);
    return 0;
}
