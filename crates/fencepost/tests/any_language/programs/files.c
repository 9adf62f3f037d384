// Two persistent files, and everything that is followed: mappings that move, overlap and are replaced, writes, syncs,
// children, a program in place of this one.
#define _GNU_SOURCE
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void persist(void *p) {
    _mm_clflush(p);
    _mm_sfence();
}
static uint64_t *map(void *at, size_t length, int flags, int fd, off_t offset) {
    void *p = mmap(at, length, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, offset);
    if (p == MAP_FAILED) exit(9);
    return p;
}

int main(int count, char **arguments) {
    int a = open(arguments[1], O_RDWR | O_CREAT, 0644), b = open(arguments[2], O_RDWR | O_CREAT, 0644);
    if (count < 3 || ftruncate(a, 3 * 4096) || ftruncate(b, 8192)) return 9;
    uint64_t *m = map(0, 8192, 0, a, 0), *second = map(0, 4096, 0, a, 4096), *n = map(0, 8192, 0, b, 0);
    m[0] = 1;
    n[0] = 2;
    persist(n);
    second[1] = 7;
    char text[100];
    memset(text, 0x5a, sizeof text);
    pwrite(a, text, sizeof text, 9000);
    fsync(a);
    lseek(b, 5000, SEEK_SET);
    write(b, text, 33);
    struct iovec pieces[2] = {{text, 10}, {text + 20, 30}};
    pwritev(b, pieces, 2, 6001);
    fdatasync(b);
    m = mremap(m, 8192, 12288, MREMAP_MAYMOVE);
    m[1100] = 99;
    map(m, 4096, MAP_FIXED, b, 4096);
    m[3] = 55;
    msync(m, 4096, MS_SYNC);
    munmap(second, 4096);
    pid_t child = fork();
    if (!child) {
        n[10] = 1234;
        persist(n + 10);
        _exit(0);
    }
    waitpid(child, 0, 0);
    fallocate(a, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 9010, 20);
    if (ftruncate(a, 9050)) return 9;
    int other = open("other", O_RDWR | O_CREAT | O_TRUNC, 0644);
    write(other, "the system stores this", 22);
    lseek(other, 3, SEEK_SET);
    read(other, (char *)n + 333, 17);
    execl("./child", "child", arguments[2], (char *)0);
    return 9;
}
