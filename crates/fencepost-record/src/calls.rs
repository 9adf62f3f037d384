//! Which Linux system calls (x86-64 numbers) may read a file, as far as an observer of its mappings must know.

/// What a system call is to an observer of one file.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// It changes mappings: the observer follows it.
    Mapping,
    /// It reads nothing of a file and nothing of memory that it is given.
    Quiet,
    /// It reads no file, but memory behind its pointers: that must not be the file's.
    Memory,
    /// It reads from the file descriptor in its first argument, at the descriptor's position.
    Read,
    /// It reads from the file descriptor in its first argument, at the position in its fourth.
    ReadAt,
    /// It writes the pieces of memory that an array in its second argument names, as many as its third says.
    WritePieces,
    /// It depends on its arguments: [`reads_all`].
    Control,
    /// It starts a thread or a process.
    Start,
    /// Nothing is known about it.
    Unknown,
}

const LSEEK: i64 = 8;
const MADVISE: i64 = 28;

/// Whether a [`Call::Control`] with these arguments may show what the file holds other than by its mappings.
pub fn reads_all(number: i64, arguments: &[u64; 6]) -> bool {
    match number {
        // SEEK_DATA and SEEK_HOLE.
        LSEEK => matches!(arguments[2], 3 | 4),
        // MADV_DONTNEED, MADV_FREE and MADV_REMOVE: a private mapping shows the file again.
        MADVISE => matches!(arguments[2], 4 | 8 | 9),
        // ioctl: TCGETS, TIOCGWINSZ and FIONREAD only ask about terminals and pipes; FIONBIO, FIONCLEX and FIOCLEX set flags.
        _ => !matches!(arguments[1], 0x5401 | 0x5413 | 0x541b | 0x5421 | 0x5450 | 0x5451),
    }
}

/// What the system call with this number is. What is not listed is unknown, and must be taken to read everything.
pub fn call(number: i64) -> Call {
    match number {
        // mmap, munmap
        9 | 11 => Call::Mapping,
        // close, mprotect, brk, msync, mincore, sched_yield, getpid, exit, gettid, exit_group, getuid, getgid,
        // geteuid, getegid, getppid, getpgrp, sync, alarm, fsync, fdatasync, dup, dup2, dup3, ftruncate,
        // fallocate, flock, fchmod, fchown, fchdir, fadvise64, umask, pause, munlockall, mlock, munlock, membarrier, getcpu
        3 | 10 | 12 | 26 | 27 | 24 | 39 | 60 | 186 | 231 | 102 | 104 | 107 | 108 | 110 | 111 | 162 | 37 | 74 | 75
        | 32 | 33 | 292 | 77 | 285 | 73 | 91 | 93 | 81 | 221 | 95 | 34 | 152 | 149 | 150 | 324 | 309 => Call::Quiet,
        // write, pwrite64, open, openat, stat, fstat, lstat, newfstatat, statx, access, faccessat, faccessat2, poll, ppoll,
        // select, rt_sigaction, rt_sigprocmask, rt_sigreturn, sigaltstack, nanosleep, clock_nanosleep, clock_gettime,
        // clock_getres, gettimeofday, time, getrandom, uname, sysinfo, getcwd, chdir, mkdir, rmdir, unlink, unlinkat,
        // rename, renameat, readlink, readlinkat, getdents64, truncate, fcntl, getrlimit, setrlimit, prlimit64, getrusage,
        // times, arch_prctl, prctl, set_tid_address, set_robust_list, rseq, futex, sched_getaffinity, sched_setaffinity,
        // pipe, pipe2, statfs, fstatfs, utimensat, mremap, kill, tgkill, setitimer, getitimer
        1 | 18 | 2 | 257 | 4 | 5 | 6 | 262 | 332 | 21 | 269 | 439 | 7 | 271 | 23 | 13 | 14 | 15 | 131 | 35 | 230
        | 228 | 229 | 96 | 201 | 318 | 63 | 99 | 79 | 80 | 83 | 84 | 87 | 263 | 82 | 264 | 89 | 267 | 217 | 76 | 72
        | 97 | 160 | 302 | 98 | 100 | 158 | 157 | 218 | 273 | 334 | 202 | 204 | 203 | 22 | 293 | 137 | 138 | 280
        | 25 | 62 | 234 | 38 | 36 => Call::Memory,
        // read, readv
        0 | 19 => Call::Read,
        // pread64, preadv
        17 | 295 => Call::ReadAt,
        // writev, pwritev
        20 | 296 => Call::WritePieces,
        // ioctl, lseek, madvise
        16 | LSEEK | MADVISE => Call::Control,
        // clone, fork, vfork, execve, execveat, clone3
        56 | 57 | 58 | 59 | 322 | 435 => Call::Start,
        _ => Call::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn only_harmless_controls_pass() {
        assert!(!reads_all(LSEEK, &[3, 0, 2, 0, 0, 0]) && reads_all(LSEEK, &[3, 0, 3, 0, 0, 0]));
        assert!(!reads_all(MADVISE, &[0, 0, 14, 0, 0, 0]) && reads_all(MADVISE, &[0, 0, 4, 0, 0, 0]));
        // FICLONE
        assert!(!reads_all(16, &[1, 0x5401, 0, 0, 0, 0]) && reads_all(16, &[1, 0x4004_9409, 0, 0, 0, 0]));
    }
    /// Those that move bytes of a file where no callback sees it must never count as quiet: sendfile, splice, tee, vmsplice,
    /// copy_file_range, process_vm_readv, io_uring_setup, io_setup, ptrace, sendmsg, sendto, shmat, userfaultfd, preadv2.
    #[test]
    fn calls_that_move_bytes_unseen_are_unknown() {
        for number in [40, 275, 276, 278, 326, 310, 425, 206, 101, 46, 44, 30, 323, 327] {
            assert_eq!(call(number), Call::Unknown, "{number}");
        }
        for number in [-1, 500, i64::MAX] {
            assert_eq!(call(number), Call::Unknown, "{number}");
        }
    }
}
