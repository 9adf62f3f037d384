//! `crash --reads emulator`: what recovery reads is observed, by whatever way it reads.

use super::{Folder, have, json, plugin, text, twelve_lines};
use crate::common::{code, fencepost};
use serde_json::Value;

/// An audit that looks at two of the image's words, in several ways; with `broken` it refuses one value of the second.
const AUDIT: &str = r#"
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
static uint64_t *map(int fd, int kind) { return mmap(0, 4096, PROT_READ | PROT_WRITE, kind, fd, 0); }
static uint64_t mapped(int fd, int kind, int at) { return map(fd, kind)[at * 8]; }
static int threads_fd;
static void *threaded(void *at) { return (void *)mapped(threads_fd, MAP_SHARED, (int)(long)at); }
static uint64_t look(const char *how, int fd, int at) {
    uint64_t v = 0;
    struct iovec piece = {&v, 8};
    if (!strcmp(how, "shared")) return mapped(fd, MAP_SHARED, at);
    if (!strcmp(how, "private")) return mapped(fd, MAP_PRIVATE, at);
    if (!strcmp(how, "hidden")) { /* A store through another mapping does not change what a private one showed. */
        volatile uint64_t *p = map(fd, MAP_PRIVATE), *s = map(fd, MAP_SHARED);
        p[at * 8 + 1] = 1;
        s[at * 8] = 1;
        return p[at * 8];
    }
    if (!strcmp(how, "atomic")) {
        uint32_t low = 0, high = 0;
        uint64_t *p = map(fd, MAP_SHARED) + at * 8;
        __asm__ volatile("lock cmpxchg8b %0" : "+m"(*p), "+a"(low), "+d"(high) : "b"(0), "c"(0) : "cc", "memory");
        return low;
    }
    if (!strcmp(how, "pread")) return pread(fd, &v, 8, at * 64) == 8 ? v : 9;
    if (!strcmp(how, "preadv")) return preadv(fd, &piece, 1, at * 64) == 8 ? v : 9;
    if (!strcmp(how, "stdin")) return lseek(0, at * 64, SEEK_SET) >= 0 && read(0, &v, 8) == 8 ? v : 9;
    if (!strcmp(how, "write")) { /* The system reads the image's memory for the program. */
        int p[2];
        return pipe(p) == 0 && write(p[1], (char *)map(fd, MAP_SHARED) + at * 64, 8) == 8 && read(p[0], &v, 8) == 8 ? v : 9;
    }
    if (!strcmp(how, "fork")) {
        int status;
        pid_t child = fork();
        if (child == 0) _exit((int)mapped(fd, MAP_SHARED, at));
        return waitpid(child, &status, 0) == child ? (uint64_t)WEXITSTATUS(status) : 9;
    }
    if (!strcmp(how, "thread")) {
        pthread_t t;
        void *result;
        threads_fd = fd;
        return pthread_create(&t, 0, threaded, (void *)(long)at) || pthread_join(t, &result) ? 9 : (uint64_t)result;
    }
    return 9;
}
int main(int argc, char **argv) {
    int fd = open(argv[argc - 1], O_RDWR), broken = !strcmp(argv[2], "broken");
    volatile uint64_t *own = map(fd, MAP_SHARED);
    own[9 * 8] = 5; /* What recovery stores itself it may read without asking the image. */
    if (own[9 * 8] != 5) return 3;
    if (look("shared", fd, 2) != 1) return 0;
    uint64_t second = look(argv[1], fd, 5);
    if (second > 1) return 4;
    if (broken && second == 0) return printf("the second is missing\n"), 1;
    return 0;
}
"#;

fn run(f: &Folder, log: &str, how: &str, more: &[&str]) -> (i32, Value) {
    let plugin = plugin().display().to_string();
    let recover = format!("{} {how}", f.path("audit"));
    let args = ["crash", "--log", log, "--contract", "px86", "--recover", &recover];
    json(
        &[
            &args[..],
            &["--reads", "emulator", "--jobs", "1", "--plugin", &plugin],
            more,
        ]
        .concat(),
    )
}

/// The states that agree on two words are run once: three runs for 4096 states, and no violation is missed whichever way
/// the second word is read.
#[test]
fn observed_reads_merge_states_and_hide_nothing() {
    if !(have("cc") && have("qemu")) {
        return;
    }
    let f = Folder::new("observed");
    f.write("audit.c", AUDIT);
    f.must("cc -O1 -pthread -o audit audit.c");
    let log = f.write("a.log", &twelve_lines());
    for how in ["shared", "private", "hidden", "atomic", "preadv", "stdin"] {
        let (status, found) = run(&f, &log, &format!("{how} sound"), &["--budget", "10m"]);
        assert_eq!(
            (status, found["verdict"].as_str()),
            (0, Some("clean")),
            "{how}: {found}"
        );
        assert_eq!(
            (&found["states_covered"], &found["reads_unknown"]),
            (&4096.into(), &0.into()),
            "{how}"
        );
        // Without the first word; the first without the second; both. One more may be out before an answer comes.
        let runs = found["recoveries"].as_u64();
        assert!(runs.is_some_and(|n| (3..=5).contains(&n)), "{how}: {found}");
    }
    for how in [
        "shared", "hidden", "atomic", "pread", "stdin", "write", "fork", "thread",
    ] {
        let (status, found) = run(&f, &log, &format!("{how} broken"), &["--budget", "10m"]);
        let w = &found["witness"];
        assert_eq!(
            (status, w["why"].as_str()),
            (1, Some("exit status 1: the second is missing")),
            "{how}: {found}"
        );
        assert_eq!(
            (&w["source"][0], &w["smallest"]),
            (&"a.c:5".into(), &true.into()),
            "{how}"
        );
    }
    // What cannot be followed counts as read: nothing is merged after it, and the output says why.
    for (how, why) in [
        ("fork", "process"),
        ("thread", "thread"),
        ("write", "address of the image"),
    ] {
        let (status, found) = run(&f, &log, &format!("{how} sound"), &["--budget", "6"]);
        assert_eq!(
            (status, found["verdict"].as_str()),
            (0, Some("bounded")),
            "{how}: {found}"
        );
        let said = found["reads_unknown_why"].as_str();
        assert!(said.is_some_and(|s| s.contains(why)), "{how}: {found}");
    }
}

/// An audit that reads another word each time it runs: what one run says must not stand for others.
#[test]
fn a_recovery_that_is_not_deterministic_is_refused() {
    if !(have("cc") && have("qemu")) {
        return;
    }
    let f = Folder::new("chance");
    f.write(
        "chance.c",
        "#include <fcntl.h>\n#include <stdio.h>\n#include <sys/mman.h>\n#include <unistd.h>
         int main(int argc, char **argv) {
             FILE *c = fopen(argv[1], \"a+\");
             fputc('x', c);
             long n = ftell(c);
             fclose(c);
             volatile char *p = mmap(0, 4096, PROT_READ, MAP_SHARED, open(argv[argc - 1], O_RDONLY), 0);
             return p[n % 12 * 64] > 1;
         }",
    );
    f.must("cc -O1 -o audit chance.c");
    let log = f.write("a.log", &twelve_lines());
    let plugin = plugin().display().to_string();
    let recover = format!("{} {}", f.path("audit"), f.path("count"));
    let args = ["crash", "--log", &log, "--contract", "px86", "--recover", &recover];
    let o = fencepost(&[&args[..], &["--reads", "emulator", "--plugin", &plugin]].concat());
    assert!(code(&o) == 2 && text(&o).contains("not deterministic"), "{}", text(&o));
}

#[test]
fn what_the_emulator_cannot_run_is_refused() {
    let f = Folder::new("refused");
    let log = f.write("a.log", "fencepost-log 1\n0 store pm+0 1\n");
    let run = |more: &[&str]| {
        let args = ["crash", "--log", &log, "--contract", "px86", "--reads", "emulator"];
        let o = fencepost(&[&args[..], more].concat());
        (code(&o), text(&o))
    };
    let (status, said) = run(&["--recover", "/bin/true", "--emulator", "/no/such/emulator"]);
    assert!(status == 2 && said.contains("is not there"), "{said}");
    let (status, said) = run(&["--recover", "/bin/true", "--server"]);
    assert!(status == 2 && said.contains("--server"), "{said}");
    if !have("qemu") {
        return;
    }
    let plugin = plugin().display().to_string();
    let script = f.write("audit.sh", "exit 0\n");
    for (recover, why) in [
        ("test 1 = 1 && true", "for a shell"),
        (&script, "interpreter"),
        ("no-such-program", "no program"),
    ] {
        let (status, said) = run(&["--recover", recover, "--plugin", &plugin]);
        assert!(status == 2 && said.contains(why), "{recover}: {said}");
    }
    let (status, said) = run(&["--recover", "/bin/true", "--plugin", "/no/such/plugin.so"]);
    assert!(
        status == 2 && said.contains("cargo build -p fencepost-qemu-plugin"),
        "{said}"
    );
}
