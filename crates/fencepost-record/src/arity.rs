//! How many arguments a Linux system call has: what is in the other registers means nothing.

use syscalls::Sysno;

/// Arguments of the system call with this number; all six of one that is not known.
#[rustfmt::skip]
pub fn arity(number: i64) -> usize {
    use Sysno as S;
    let Some(call) = usize::try_from(number).ok().and_then(Sysno::new) else {
        return 6;
    };
    match call {
        S::rt_sigreturn => 0,
        S::pipe | S::uname | S::sysinfo | S::times | S::time | S::adjtimex | S::timer_getoverrun | S::chdir | S::rmdir
            | S::unlink | S::set_tid_address => 1,
        S::stat | S::fstat | S::lstat | S::statfs | S::fstatfs | S::getcwd | S::pipe2 | S::gettimeofday | S::clock_gettime
            | S::clock_getres | S::clock_adjtime | S::getrlimit | S::setrlimit | S::getrusage | S::getitimer
            | S::timer_gettime | S::timerfd_gettime | S::getgroups | S::sched_getparam | S::sched_rr_get_interval
            | S::rt_sigpending | S::sigaltstack | S::capget | S::mq_notify | S::ustat | S::arch_prctl | S::access
            | S::nanosleep | S::mkdir | S::rename | S::truncate | S::kill | S::set_robust_list => 2,
        S::readlink | S::getdents | S::getdents64 | S::listxattr | S::llistxattr | S::flistxattr | S::poll | S::accept
            | S::getsockname | S::getpeername | S::recvmsg | S::setitimer | S::timer_create | S::getresuid | S::getresgid
            | S::getcpu | S::sched_getaffinity | S::sched_setaffinity | S::get_robust_list | S::mq_getsetattr | S::syslog
            | S::getrandom | S::sysfs | S::mincore | S::fcntl | S::shmctl | S::msgctl | S::write | S::open | S::faccessat
            | S::unlinkat | S::tgkill => 3,
        S::newfstatat | S::readlinkat | S::getxattr | S::lgetxattr | S::fgetxattr | S::epoll_wait | S::socketpair
            | S::accept4 | S::clock_nanosleep | S::prlimit64 | S::timer_settime | S::timerfd_settime | S::sched_getattr
            | S::rt_sigaction | S::rt_sigprocmask | S::rt_sigtimedwait | S::mq_open | S::migrate_pages | S::semctl
            | S::wait4 | S::openat | S::pwrite64 | S::faccessat2 | S::renameat | S::rseq | S::utimensat => 4,
        S::statx | S::ppoll | S::select | S::getsockopt | S::recvmmsg | S::waitid | S::get_mempolicy | S::msgrcv
            | S::mq_timedreceive | S::name_to_handle_at | S::prctl | S::mremap => 5,
        _ => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Effect, effect};

    /// A call that may store behind any of its arguments, with more of them than are looked at, would store unseen. Those with six are
    /// named here, after `man 2`.
    #[test]
    fn calls_that_store_have_a_known_number_of_arguments() {
        let six = [
            Sysno::pselect6,
            Sysno::epoll_pwait,
            Sysno::epoll_pwait2,
            Sysno::move_pages,
        ];
        for call in Sysno::iter() {
            let number = i64::from(call.id());
            if effect(number) == Effect::Stores {
                assert_eq!(arity(number) == 6, six.contains(&call), "{call:?}");
                assert!(arity(number) > 0, "{call:?}");
            }
        }
        let number = |call: Sysno| arity(i64::from(call.id()));
        assert_eq!(
            [number(Sysno::wait4), number(Sysno::fstat), number(Sysno::futex)],
            [4, 2, 6]
        );
        assert_eq!([arity(-1), arity(100_000)], [6, 6]);
    }
}
