// Two processes: the child makes records durable and tells of each by what MEANS says, the parent copies each, durably. Without RIGHT a record
// is written only after it was told of.
#include <fcntl.h>
#include <immintrin.h>
#include <mqueue.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 20, LINE = 8, SEMAPHORE, QUEUE, NAMED_QUEUE, SIGNAL, NAMED_SOCKET };
/// A signal that is not queued may be told of once.
enum { TIMES = MEANS == SIGNAL ? 1 : N };
static volatile uint64_t *m;
static int id, end;
static mqd_t queue;
struct message {
    long kind;
    int record;
};

static void put(int i) {
    m[i * LINE] = 1;
    _mm_clflush((void *)&m[i * LINE]);
    _mm_sfence();
}
static void tell(int i) {
    struct sembuf add = {0, 1, 0};
    struct message message = {1, i};
    if (MEANS == SEMAPHORE && semop(id, &add, 1)) _exit(9);
    if (MEANS == QUEUE && msgsnd(id, &message, sizeof i, 0)) _exit(9);
    if (MEANS == NAMED_QUEUE && mq_send(queue, (char *)&i, sizeof i, 0)) _exit(9);
    if (MEANS == SIGNAL && kill(getppid(), SIGUSR1)) _exit(9);
    if (MEANS == NAMED_SOCKET && write(end, &i, sizeof i) != sizeof i) _exit(9);
}
static int hear(const sigset_t *signals) {
    struct sembuf take = {0, -1, 0};
    struct message message;
    int i;
    if (MEANS == SEMAPHORE) return semop(id, &take, 1) == 0;
    if (MEANS == QUEUE) return msgrcv(id, &message, sizeof i, 0, 0) == sizeof i;
    if (MEANS == NAMED_QUEUE) return mq_receive(queue, (char *)&i, sizeof i, 0) == sizeof i;
    if (MEANS == SIGNAL) return sigwait(signals, &i) == 0;
    return read(end, &i, sizeof i) == sizeof i;
}
static void child(const struct sockaddr_un *address) {
    end = socket(AF_UNIX, SOCK_STREAM, 0);
    if (MEANS == NAMED_SOCKET && connect(end, (void *)address, sizeof *address)) _exit(9);
    for (int i = 0; i < TIMES; i++) {
#ifdef RIGHT
        put(i);
        tell(i);
#else
        tell(i);
        put(i);
#endif
    }
    _exit(0);
}

int main(void) {
    int file = open("pool", O_RDWR | O_CREAT, 0644);
    if (ftruncate(file, 2 * N * LINE * 8)) return 9;
    m = mmap(0, 2 * N * LINE * 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (MEANS == SEMAPHORE) id = semget(IPC_PRIVATE, 1, 0600);
    if (MEANS == QUEUE) id = msgget(IPC_PRIVATE, 0600);
    struct mq_attr attributes = {0, 8, sizeof(int), 0};
    if (MEANS == NAMED_QUEUE) {
        queue = mq_open("/fencepost-sent", O_RDWR | O_CREAT, 0600, &attributes);
        mq_unlink("/fencepost-sent");
    }
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, 0);
    struct sockaddr_un address = {AF_UNIX, "socket"};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    unlink("socket");
    if (bind(listener, (void *)&address, sizeof address) || listen(listener, 1)) return 9;
    pid_t other = fork();
    if (!other) child(&address);
    if (MEANS == NAMED_SOCKET) end = accept(listener, 0, 0);
    for (int i = 0; i < TIMES && hear(&signals); i++) put(N + i);
    waitpid(other, 0, 0);
    if (MEANS == SEMAPHORE) semctl(id, 0, IPC_RMID);
    if (MEANS == QUEUE) msgctl(id, IPC_RMID, 0);
    return 0;
}
