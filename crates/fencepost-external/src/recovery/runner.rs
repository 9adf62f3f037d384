//! Runs recovery on images, one process each or one for many.

use crate::recovery::command::Recover;
use crate::recovery::deadline::Deadlines;
use crate::recovery::image::{Base, ImageFile};
use crate::recovery::process::ProcessRunner;
use crate::recovery::server::ServerRunner;
use fencepost_contract::images::{Answer, ImageJob};
use fencepost_kernel::CrashPoint;
use fencepost_run::LabError;
use std::path::Path;
use std::sync::Arc;

/// Runs recovery on images, one after another.
pub(crate) enum Runner {
    /// One process an image.
    Process(ProcessRunner),
    /// One process for many.
    Server(ServerRunner),
}
impl Runner {
    /// A runner with files of its own in `folder`.
    pub(crate) fn new(
        recover: &Recover,
        folder: &Path,
        number: usize,
        base: &Base,
        deadlines: &Arc<Deadlines>,
    ) -> Runner {
        let image = ImageFile::new(folder.join(format!("image-{number}")), base.clone());
        match recover.server {
            true => Runner::Server(ServerRunner::new(recover.clone(), image, Arc::clone(deadlines))),
            false => Runner::Process(ProcessRunner::new(recover.clone(), image, Arc::clone(deadlines))),
        }
    }
    /// Runs it on one image.
    pub(crate) fn run(&mut self, job: &ImageJob) -> Result<Answer, LabError> {
        self.run_state(&job.words, &job.crash)
    }
    /// Runs it on one state.
    pub(crate) fn run_state(&mut self, words: &[(u64, u64)], crash: &CrashPoint) -> Result<Answer, LabError> {
        let (mut answer, base) = match self {
            Runner::Process(p) => (p.run(words, crash)?, p.base()),
            Runner::Server(s) => (s.run(words, crash)?, s.base()),
        };
        // How long the files are shows before anything in them is read.
        if let Some(reads) = &mut answer.reads {
            reads.splice(0..0, base.length_words());
        }
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::command::ReadsBy;
    use crate::recovery::image::Part;
    use crate::recovery::scratch::Scratch;
    use std::time::Duration;

    /// What recovery says of states of one file of sixteen bytes, whose length is the word behind them.
    fn answers(
        server: bool,
        reads: ReadsBy,
        timeout: Duration,
        script: &str,
        firsts: &[u64],
    ) -> Vec<Result<Answer, String>> {
        let scratch = Scratch::new().expect("a folder");
        let path = scratch.path().join("audit.sh");
        std::fs::write(&path, script).expect("a folder to write to");
        let recover = Recover {
            command: format!("sh {}", path.display()),
            server,
            reads,
            timeout,
            memory: None,
        };
        let part = Part {
            name: "pool".into(),
            offset: 0,
            length: 16,
            length_at: Some(16),
        };
        let mut bytes = [0; 64];
        bytes[16] = 16;
        let base = Base {
            bytes: bytes.into(),
            parts: [part].into(),
        };
        let watch = Deadlines::start();
        let mut runner = Runner::new(&recover, scratch.path(), 3, &base, &watch.0);
        let crash = CrashPoint {
            begun: vec![2, 1],
            acked: vec![1, 0],
        };
        let run = |first: &u64| runner.run_state(&[(0, *first)], &crash).map_err(|e| e.to_string());
        firsts.iter().map(run).collect()
    }
    const LONG: Duration = Duration::from_secs(60);
    fn failed(why: &str) -> Result<Answer, String> {
        Ok(Answer {
            failed: Some(why.into()),
            ..Answer::default()
        })
    }
    fn read(pieces: &[(u64, u64)], failed: Option<&str>) -> Result<Answer, String> {
        Ok(Answer {
            failed: failed.map(str::to_owned),
            reads: Some(pieces.to_vec()),
            unknown: None,
        })
    }

    /// The length of a file is read before anything in it.
    #[test]
    fn a_process_is_told_of_its_image_and_says_what_it_read() {
        let script = "test \"$FENCEPOST_IMAGE $FENCEPOST_BEGUN $FENCEPOST_ACKED\" = \"$1 2,1 1,0\" || exit 9
cmp -s - $1 || exit 8
first=$(od -An -tu1 -N1 $1 | tr -d ' ')
test -z \"$FENCEPOST_READS\" || case $first in
    0) echo read 0 8 > $FENCEPOST_READS;;
    1) echo read 0 > $FENCEPOST_READS;;
esac
echo one >&2
echo the last
exit $first\n";
        let found = answers(false, ReadsBy::Report, LONG, script, &[0, 1, 2]);
        let wanted = [
            read(&[(16, 8), (0, 8)], None),
            // A line that is not understood, or none, may mean anything.
            failed("exit status 1: the last"),
            failed("exit status 2: the last"),
        ];
        assert_eq!(found, wanted);
        let found = answers(false, ReadsBy::Nobody, LONG, script, &[0, 1]);
        assert_eq!(found, [Ok(Answer::default()), failed("exit status 1: the last")]);
        let hangs = answers(
            false,
            ReadsBy::Nobody,
            Duration::from_millis(50),
            "exec sleep 600",
            &[0],
        );
        assert_eq!(hangs, [failed("recovery hangs: no end after 50ms")]);
    }
    /// A server is asked about one image after another, and started again where it has ended.
    #[test]
    fn a_server_is_asked_about_each_image() {
        let script = "echo fencepost-server 1
asked=0
while read word path rest; do
    asked=$((asked + 1))
    test \"$word $rest\" = 'image 16 begun 2,1 acked 1,0' || echo fail it was asked $word $rest
    case $(od -An -tu1 -N1 $path | tr -d ' ') in
    0) echo read 0 8; echo ok;;
    1) echo read 8 8; echo read 0x0 4; echo fail \" asked $asked \";;
    2) echo so it ends >&2; exit 3;;
    3) exit 0;;
    4) echo fine;;
    esac
done\n";
        let found = answers(true, ReadsBy::Report, LONG, script, &[0, 1, 2, 1, 3, 0]);
        let wanted = [
            read(&[(16, 8), (0, 8)], None),
            read(&[(16, 8), (8, 8), (0, 4)], Some("asked 2")),
            failed("exit status 3: so it ends"),
            read(&[(16, 8), (8, 8), (0, 4)], Some("asked 1")),
            failed("the server ended without an answer"),
            read(&[(16, 8), (0, 8)], None),
        ];
        assert_eq!(found, wanted);
        assert_eq!(
            answers(true, ReadsBy::Nobody, LONG, script, &[0]),
            [Ok(Answer::default())]
        );
        let nonsense = answers(true, ReadsBy::Nobody, LONG, script, &[4]).remove(0);
        assert!(
            nonsense
                .as_ref()
                .is_err_and(|e| e.contains("no recovery server: it answered `fine`")),
            "{nonsense:?}"
        );
        let greeting = answers(true, ReadsBy::Nobody, LONG, "echo why >&2; echo hello there", &[0]).remove(0);
        assert!(
            greeting
                .as_ref()
                .is_err_and(|e| e.contains("it said `hello there`: why")),
            "{greeting:?}"
        );
        let silent = answers(true, ReadsBy::Nobody, Duration::from_millis(50), "exec sleep 600", &[0]).remove(0);
        assert!(
            silent.as_ref().is_err_and(|e| e.contains("it said nothing in time")),
            "{silent:?}"
        );
    }
    /// One that never changes its image says so, and finds what differs from the image before.
    #[test]
    fn a_server_that_leaves_images_alone_gets_them_mended() {
        let script = "echo fencepost-server 1 private
while read word path rest; do
    echo fail $(od -An -tu1 -N9 $path)
done\n";
        let found = answers(true, ReadsBy::Nobody, LONG, script, &[1, 256, 0]);
        let wanted = ["1 0 0 0 0 0 0 0 0", "0 1 0 0 0 0 0 0 0", "0 0 0 0 0 0 0 0 0"];
        assert_eq!(found, wanted.map(failed));
    }
}
