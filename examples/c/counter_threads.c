/* Two threads add to counters in a mapped file, unmodified: `counter_threads FILE`. Ordinary C for the emulator's recorder. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t *words;

static void flush(void *p) { __asm__ volatile("clwb %0\n\tsfence" : "+m"(*(volatile char *)p)::"memory"); }
static void *work(void *mine) {
    for (int i = 0; i < 50; i++) {
        __atomic_fetch_add(&words[0], 1, __ATOMIC_SEQ_CST);
        ++*(uint64_t *)mine;
        flush(mine);
    }
    return 0;
}
int main(int argc, char **argv) {
    int fd = open(argc > 1 ? argv[1] : "counters", O_RDWR | O_CREAT, 0600);
    pthread_t a, b;
    if (fd < 0 || ftruncate(fd, 4096) != 0) return 2;
    words = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (words == MAP_FAILED) return 2;
    pthread_create(&a, 0, work, &words[8]);
    pthread_create(&b, 0, work, &words[16]);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
