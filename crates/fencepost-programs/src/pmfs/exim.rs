//! `exim`: mails through a mail server's spool into mailboxes, on the file system, as postal makes Exim do it (WHISPER).
//!
//! The server itself is not simulated: threads make the calls that Exim makes for a mail that it receives and delivers at once. An
//! operation is a call.
//!
//! **By rule**, in the order of a recorded run of Exim 4.96 (`experiments/fgc/TRACES.md`). The body into a spool file, 4 KiB at a time,
//! synced; the header into a file of another name in two writes, synced and renamed, and the directory synced; a line of the message's own log and one of
//! the server's. The delivery: header read, journal file created, the mailbox's lock file; the mail is copied from spool to mailbox,
//! 8 KiB at a time, and synced; the lock goes; the delivery is noted in the journal, synced; log lines; message log and spool files go,
//! the journal last. Bodies are as long as any between nothing and the largest, uniformly, as postal's are. Files of the spool are each
//! thread's own, mailboxes drawn.
//!
//! **Otherwise**: lengths are whole words; no call opens, closes, locks or changes modes; the lock file has a name of the thread's
//! own, because a call that finds the name taken does not wait here.

use super::calls::Call;
use super::program::{OnPmfs, Workload, whole_words};
use super::shape::Shape;
use crate::draw;
use crate::settings::Settings;
use fencepost_kernel::{Bytes, params, rng};

params! {
    /// Parameters of `exim`.
    pub struct EximParams {
        /// Mailboxes.
        #[range(1..=1 << 16)]
        mailboxes: u64 = 100,
        /// Bytes of the largest body; whole words. (postal's `-m 100`.)
        #[range(Bytes(8)..=Bytes(1 << 20))]
        largest: Bytes = Bytes(100 << 10),
        /// Bytes of a header file; whole words.
        #[range(Bytes(8)..=Bytes(1 << 16))]
        header: Bytes = Bytes(720),
        /// Bytes of a line of a log; whole words.
        #[range(Bytes(8)..=Bytes(4096))]
        line: Bytes = Bytes(72),
        /// Bytes that the server writes to the spool at a time; whole words. It copies to mailboxes twice as many.
        #[range(Bytes(8)..=Bytes(1 << 16))]
        chunk: Bytes = Bytes(4096),
        /// Bytes of a block of the file system, a power of two.
        #[range(Bytes(64)..=Bytes(4096))]
        block: Bytes = Bytes(4096),
        /// Undo entries of the journal.
        #[range(16..=1 << 20)]
        journal: u64 = 16_384,
    }
}

/// Names of a thread's own: body, header before and after it is renamed, message log, journal, lock.
const OWN: u64 = 6;
/// Names of one directory: spool and mailboxes of more than that have several.
const NAMES_PER_DIR: u64 = 128;
/// Bytes of a delivery's note.
const NOTE: u64 = 16;

/// Postal's mails.
#[derive(Clone, Debug)]
pub struct Mail {
    params: EximParams,
    seed: u64,
    threads: u64,
    /// Per thread, the calls before each of its mails.
    before: Vec<Vec<u32>>,
}

/// The program `exim`.
pub type Exim = OnPmfs<Mail>;

/// Parts of so many bytes at most.
fn parts(len: u64, most: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..len).step_by(most as usize).map(move |at| (at, most.min(len - at)))
}

impl Mail {
    /// The calls of a mail.
    fn calls(&self, thread: u64, mail: u64) -> Vec<Call> {
        let own = |n: u64| thread * OWN + n;
        let [body, new, header, messages, journal, lock] = [0, 1, 2, 3, 4, 5].map(own);
        let log = self.threads * OWN;
        let h = rng::hash(&[self.seed, thread, mail]);
        let mailbox = log + 1 + draw::below(h, self.params.mailboxes);
        let len = 8 * draw::between(rng::mix(h), 1, self.params.largest.0 / 8);
        let (line, chunk) = (self.params.line.0, self.params.chunk.0);
        let half = self.params.header.0 / 16 * 8;
        let mut all = vec![Call::Create { name: body }];
        let append = |name, len| Call::Append { name, len };
        all.extend(parts(len, chunk).map(|(_, n)| append(body, n)));
        all.extend([
            Call::Sync,
            Call::Create { name: new },
            append(new, half),
            append(new, self.params.header.0 - half),
            Call::Sync,
            Call::Rename { from: new, to: header },
            Call::Sync,
            Call::Create { name: messages },
            append(messages, line),
            append(log, line),
            Call::Read {
                name: header,
                at: 0,
                most: self.params.header.0,
            },
            Call::Create { name: journal },
            Call::Create { name: lock },
            append(mailbox, self.params.header.0),
        ]);
        for (at, most) in parts(len, 2 * chunk) {
            all.extend([Call::Read { name: body, at, most }, append(mailbox, most)]);
        }
        all.extend([
            Call::Sync,
            Call::Delete { name: lock },
            append(journal, NOTE),
            Call::Sync,
            append(messages, line),
            append(log, line),
            Call::Delete { name: messages },
            Call::Delete { name: body },
            Call::Delete { name: header },
            append(log, line),
            Call::Delete { name: journal },
        ]);
        all
    }
}

impl Workload for Mail {
    const NAME: &'static str = "exim";
    const ABOUT: &'static str = "a mail server on pmfs: spool files, mailboxes, logs (WHISPER)";
    const SMALL: &'static [(&'static str, &'static str)] = &[
        ("mailboxes", "2"),
        ("largest", "136B"),
        ("header", "72B"),
        ("line", "24B"),
        ("chunk", "72B"),
        ("block", "64B"),
        ("journal", "16"),
    ];
    type Params = EximParams;

    fn new(params: EximParams, settings: &Settings) -> Result<Mail, String> {
        let p = &params;
        let words = [
            ("largest", p.largest),
            ("header", p.header),
            ("line", p.line),
            ("chunk", p.chunk),
        ];
        whole_words(&words, p.block)?;
        let mut mail = Mail {
            params,
            seed: settings.seed,
            threads: u64::from(settings.threads),
            before: Vec::new(),
        };
        mail.before = (0..mail.threads)
            .map(|thread| {
                let (mut starts, mut calls) = (vec![0], 0);
                while calls < settings.ops {
                    calls += mail.calls(thread, starts.len() as u64 - 1).len() as u32;
                    starts.push(calls);
                }
                starts
            })
            .collect();
        Ok(mail)
    }
    fn shape(&self) -> Shape {
        let p = &self.params;
        Shape {
            names: self.threads * OWN + 1 + p.mailboxes,
            names_per_dir: NAMES_PER_DIR,
            block: p.block.0,
            journal: p.journal,
            largest: (2 * p.chunk.0).max(p.header.0).max(p.line.0).max(NOTE),
            inodes: 0,
            blocks: 0,
        }
    }
    /// The log and the mailboxes are there, and empty.
    fn planted(&self, name: u64) -> Option<u64> {
        (name >= self.threads * OWN).then_some(0)
    }
    fn call(&self, thread: u32, k: u32) -> Call {
        let before = &self.before[thread as usize];
        let mail = before.partition_point(|calls| *calls <= k) - 1;
        let calls = self.calls(u64::from(thread), mail as u64);
        calls[(k - before[mail]) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    /// After each mail what is left is the log and the mailboxes.
    #[test]
    fn mails_leave_nothing_in_the_spool() {
        let settings = Settings {
            ops: 1000,
            ..Settings::default()
        };
        let w = Mail::new(EximParams::default(), &settings).expect("sizes that fit");
        let (mut there, mut mails) = (BTreeSet::new(), 0);
        for k in 0..1000 {
            mails += usize::from(w.before[0].contains(&k));
            assert_eq!(there.is_empty(), w.before[0].contains(&k), "before call {k}");
            match w.call(0, k) {
                Call::Create { name } => assert!(there.insert(name)),
                Call::Rename { from, to } => assert!(there.remove(&from) && there.insert(to)),
                Call::Delete { name } => assert!(there.remove(&name)),
                _ => {}
            }
        }
        assert!(mails > 10);
    }
    #[test]
    fn parts_are_whole_but_the_last() {
        assert_eq!(
            parts(10_000, 4096).collect::<Vec<_>>(),
            [(0, 4096), (4096, 4096), (8192, 1808)]
        );
        assert_eq!(parts(8, 4096).collect::<Vec<_>>(), [(0, 8)]);
    }

    /// What is received is what is delivered: the body goes to the spool in chunks, to one mailbox in twice as large ones behind the header,
    /// and both it and the header are read whole.
    #[test]
    fn a_mail_is_delivered_whole() {
        let settings = Settings {
            threads: 3,
            ..Settings::default()
        };
        let params = EximParams {
            mailboxes: 4,
            largest: Bytes(20_000),
            header: Bytes(728),
            ..EximParams::default()
        };
        let w = Mail::new(params, &settings).expect("sizes that fit");
        let (mut lengths, mut mailboxes) = (Vec::new(), BTreeSet::new());
        for mail in 0..800 {
            let calls = w.calls(1, mail);
            let body = OWN;
            let appended = |to: u64| -> Vec<u64> {
                let of = |c: &Call| match *c {
                    Call::Append { name, len } if name == to => Some(len),
                    _ => None,
                };
                calls.iter().filter_map(of).collect()
            };
            let len: u64 = appended(body).iter().sum();
            assert!(appended(body).iter().rev().skip(1).all(|n| *n == 4096) && len.is_multiple_of(8));
            let read = calls.iter().filter_map(|c| match *c {
                Call::Read { name, at, most } if name == body => Some((at, most)),
                _ => None,
            });
            let mut next = 0;
            for (at, most) in read {
                assert!(at == next && (most == 8192 || at + most == len));
                next = at + most;
            }
            assert_eq!(next, len);
            // The log has three lines, the message's own two, the journal a note, the header two halves of whole words.
            let log = 3 * OWN;
            assert_eq!(
                (appended(log), appended(body + 3), appended(body + 4)),
                (vec![72; 3], vec![72; 2], vec![NOTE])
            );
            assert_eq!(appended(body + 1), [360, 368]);
            assert!(calls.contains(&Call::Rename {
                from: body + 1,
                to: body + 2
            }));
            assert!(calls.contains(&Call::Read {
                name: body + 2,
                at: 0,
                most: 728
            }));
            let to: Vec<u64> = (log + 1..log + 5).filter(|m| !appended(*m).is_empty()).collect();
            assert_eq!(to.len(), 1);
            let delivered = appended(to[0]);
            assert_eq!((delivered[0], delivered[1..].iter().sum::<u64>()), (728, len));
            mailboxes.extend(to);
            lengths.push(len);
            assert_eq!(calls.iter().filter(|c| matches!(c, Call::Sync)).count(), 5);
        }
        assert_eq!(mailboxes.len(), 4);
        let mean = lengths.iter().sum::<u64>() / 800;
        assert!(mean.abs_diff(10_000) < 800, "{mean}");
        assert!(lengths.iter().all(|l| (8..=20_000).contains(l)) && lengths.iter().max() > Some(&19_500));
    }
    /// A thread's calls are those of its mails, one behind the other.
    #[test]
    fn mails_follow_each_other() {
        let settings = Settings {
            threads: 2,
            ops: 500,
            ..Settings::default()
        };
        let w = Mail::new(EximParams::default(), &settings).expect("sizes that fit");
        for thread in 0..2 {
            let all: Vec<Call> = (0..20).flat_map(|mail| w.calls(u64::from(thread), mail)).collect();
            let called: Vec<Call> = (0..500).map(|k| w.call(thread, k)).collect();
            assert_eq!(called, all[..500]);
        }
        assert_ne!(w.calls(0, 0).len(), w.calls(0, 1).len(), "lengths differ");
    }
    /// Six names a thread, the log and the mailboxes, which are there and empty; no write is longer than the largest.
    #[test]
    fn names_and_the_largest_write_are_those_of_the_calls() {
        let settings = Settings {
            threads: 3,
            ops: 600,
            ..Settings::default()
        };
        for (chunk, header, line) in [(4096, 720, 72), (8, 720, 72), (8, 32, 4096), (8, 8, 8)] {
            let params = EximParams {
                chunk: Bytes(chunk),
                header: Bytes(header),
                line: Bytes(line),
                largest: Bytes(10_000),
                mailboxes: 7,
                ..EximParams::default()
            };
            let w = Mail::new(params, &settings).expect("sizes that fit");
            let shape = w.shape();
            assert_eq!((shape.names, shape.names_per_dir), (3 * 6 + 1 + 7, 128));
            let planted: Vec<Option<u64>> = (0..shape.names).map(|n| w.planted(n)).collect();
            assert_eq!(planted, [vec![None; 18], vec![Some(0); 8]].concat());
            let longest = (0..600).filter_map(|k| match w.call(2, k) {
                Call::Append { len, .. } => Some(len),
                _ => None,
            });
            assert_eq!(longest.max(), Some(shape.largest));
        }
    }
}
