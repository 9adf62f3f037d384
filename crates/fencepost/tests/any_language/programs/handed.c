// Two threads, or processes: one publishes records, the other copies each, durably. MEET says by what they meet; without RIGHT a record
// is written only after it was published.
#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 20, LINE = 8, LOCK, SPIN, FLAG, PLAIN, SEMAPHORE, PIPE, SOCKETS, TCP, COUNTER, JOIN, FILES, SHARED, SHARED_LOCK };
static uint64_t *m;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_flag spin = ATOMIC_FLAG_INIT;
static atomic_int flag;
static volatile int plain;
static sem_t semaphore;
static int ends[2], ready, file;

static void persist(void *p) {
    _mm_clflush(p);
    _mm_sfence();
}
static void begin(void) {
    if (MEET == LOCK) pthread_mutex_lock(&lock);
    if (MEET == SPIN)
        while (atomic_flag_test_and_set(&spin)) {}
}
static void end(void) {
    if (MEET == LOCK) pthread_mutex_unlock(&lock);
    // A plain store.
    if (MEET == SPIN) atomic_flag_clear_explicit(&spin, memory_order_release);
}
static void record(int i) {
    m[i * LINE] = 1;
    persist(&m[i * LINE]);
}
static void publish(int i) {
    begin();
    ready = i + 1;
    end();
    if (MEET == FLAG) atomic_store(&flag, i + 1);
    // No atomic instruction ever accesses it.
    if (MEET == PLAIN) plain = i + 1;
    if (MEET == SEMAPHORE) sem_post(&semaphore);
    uint64_t one = 1;
    if (MEET == COUNTER && write(file, &one, sizeof one) != sizeof one) _exit(9);
    if (MEET >= PIPE && MEET <= TCP && write(ends[1], &i, sizeof i) != sizeof i) _exit(9);
}
static void *writer(void *nothing) {
    for (int i = 0; i < N; i++) {
#ifdef RIGHT
        record(i);
        publish(i);
#else
        publish(i);
        record(i);
#endif
    }
    return nothing;
}
static int published(int done) {
    int i = done;
    // What is read is a plain load.
    if (MEET == FLAG) return atomic_load_explicit(&flag, memory_order_acquire);
    if (MEET == PLAIN) return plain;
    if (MEET == SEMAPHORE) return sem_wait(&semaphore) ? 0 : done + 1;
    uint64_t more;
    if (MEET == COUNTER) return read(file, &more, sizeof more) == sizeof more ? done + (int)more : 0;
    if (MEET >= PIPE && MEET <= TCP) return read(ends[0], &i, sizeof i) == sizeof i ? i + 1 : 0;
    begin();
    i = ready;
    end();
    return i;
}
static void *reader(void *nothing) {
    for (int done = 0; done < N;)
        for (int until = published(done); done < until; done++) {
            m[(N + done) * LINE] = 1;
            persist(&m[(N + done) * LINE]);
        }
    return nothing;
}
/// Processes that take turns with a record by the lock of its file.
static void processes(void) {
    volatile uint64_t *count = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    for (int done = 0; done < N;) {
        int own = open("lock", O_RDWR | O_CREAT, 0644);
        flock(own, LOCK_EX);
        int until = *count;
        if (!child) {
#ifdef RIGHT
            record(done);
#endif
            *count = ++done;
        }
        flock(own, LOCK_UN);
        close(own);
#ifndef RIGHT
        if (!child) record(done - 1);
#endif
        for (; child && done < until; done++) {
            m[(N + done) * LINE] = 1;
            persist(&m[(N + done) * LINE]);
        }
    }
    if (!child) _exit(0);
    waitpid(child, 0, 0);
}

/// Processes that share memory, with a plain flag in it, or a lock.
static void sharing(void) {
    struct { pthread_mutex_t lock; volatile int flag; } *s;
    s = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&s->lock, &attributes);
    pid_t child = fork();
    for (int done = 0; done < N;) {
        int until = done + 1;
#ifdef RIGHT
        if (!child) record(done);
#endif
        if (MEET == SHARED_LOCK) pthread_mutex_lock(&s->lock);
        if (child) until = s->flag;
        else s->flag = until;
        if (MEET == SHARED_LOCK) pthread_mutex_unlock(&s->lock);
#ifndef RIGHT
        if (!child) record(done);
#endif
        for (; done < until; done++) {
            if (!child) continue;
            m[(N + done) * LINE] = 1;
            persist(&m[(N + done) * LINE]);
        }
    }
    if (!child) _exit(0);
    waitpid(child, 0, 0);
}

/// Both ends of a connection by TCP.
static int connected(void) {
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof own;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    ends[1] = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (void *)&own, length) || listen(listener, 1)) return 0;
    if (getsockname(listener, (void *)&own, &length) || connect(ends[1], (void *)&own, length)) return 0;
    ends[0] = accept(listener, 0, 0);
    return ends[0] > 0;
}

int main(void) {
    file = open("pool", O_RDWR | O_CREAT, 0644);
    if (ftruncate(file, 2 * N * LINE * 8) || pipe(ends)) return 9;
    if (MEET == SOCKETS && socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 9;
    if (MEET == TCP && !connected()) return 9;
    m = mmap(0, 2 * N * LINE * 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (MEET == COUNTER) file = eventfd(0, 0);
    sem_init(&semaphore, 0, 0);
    pthread_t threads[2];
    if (MEET >= FILES) {
        MEET == FILES ? processes() : sharing();
        return 0;
    }
    pthread_create(&threads[0], 0, writer, 0);
    if (MEET == JOIN) {
#ifdef RIGHT
        pthread_join(threads[0], 0);
#endif
        ready = N;
    }
    pthread_create(&threads[1], 0, reader, 0);
#ifndef RIGHT
    pthread_join(threads[0], 0);
#else
    if (MEET != JOIN) pthread_join(threads[0], 0);
#endif
    pthread_join(threads[1], 0);
    return 0;
}
