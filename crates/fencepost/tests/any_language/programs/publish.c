// Two threads and no lock: one publishes records by an atomic counter and flushes each after that; the other copies, durably.
#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N = 20, LINE = 8 };
static uint64_t *m;
static atomic_int ready;

static void persist(void *p) {
    _mm_clflush(p);
    _mm_sfence();
}
static void *publish(void *nothing) {
    for (int i = 0; i < N; i++) {
        m[i * LINE] = 1;
#ifdef RIGHT
        persist(&m[i * LINE]);
#endif
        atomic_fetch_add(&ready, 1);
        persist(&m[i * LINE]);
    }
    return nothing;
}
static void *copy(void *nothing) {
    for (int done = 0; done < N;)
        for (; done < atomic_load(&ready); done++) {
            m[(N + done) * LINE] = m[done * LINE];
            persist(&m[(N + done) * LINE]);
        }
    return nothing;
}

int main(void) {
    int file = open("pool", O_RDWR | O_CREAT, 0644);
    if (ftruncate(file, 2 * N * LINE * 8)) return 9;
    m = mmap(0, 2 * N * LINE * 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    pthread_t threads[2];
    pthread_create(&threads[0], 0, publish, 0);
    pthread_create(&threads[1], 0, copy, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
