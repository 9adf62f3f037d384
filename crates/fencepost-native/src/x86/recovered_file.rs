//! Recovery and audit of a file, in place, in a process that did not write it.

use super::any::AnyProgram;
use super::file::PmFile;
use super::mapping::Mapping;
use super::memory::Raw;
use super::recovering::{Expected, Recovering};
use crate::error::NativeError;
use fencepost_programs::layout::Footprint;

/// Recovers the file in place and, if told what must be there, audits it. Returns why that failed.
pub(super) fn recover(
    program: &dyn AnyProgram,
    size: Footprint,
    file: &PmFile,
    raw: Raw,
    expected: Option<&Expected<'_>>,
) -> Result<Option<String>, NativeError> {
    let mapping = Mapping::new(size, Some(file))?;
    let mut m = Recovering { raw, mapping: &mapping };
    Ok(program.recover_and_audit(&mut m, expected))
}

#[cfg(test)]
mod tests {
    use super::super::any::Logged;
    use super::super::choice::BASELINE;
    use super::super::progress::Progress;
    use super::super::watched::Watched;
    use super::*;
    use crate::native_report::FlushWith;
    use fencepost_kernel::units::PM_BASE;
    use fencepost_kernel::{Addr, At, CrashPoint, Mem as _, Program as _, Val};
    use fencepost_programs::Coupling;
    use fencepost_programs::settings::{Described, Settings};
    use fencepost_programs::sps::Sps;
    use std::os::unix::fs::FileExt as _;

    /// Swaps of eight entries, then a word of the file changed behind the program's back: 0 changes nothing.
    fn verdict(changed: u64) -> Option<String> {
        let params = vec![("entries".to_owned(), fencepost_kernel::params::Raw::Int(8))];
        let settings = Settings {
            ops: 40,
            params,
            ..Settings::default()
        };
        let (program, size) = (
            Sps::checked(&settings).unwrap(),
            Sps::checked(&settings).unwrap().footprint(),
        );
        let logged = Logged::new(program, settings.scheme.mode(Coupling::Auto, &BASELINE));
        #[allow(unsafe_code, reason = "the type cannot know that memory is mapped")]
        // SAFETY: mapped below whenever it is used.
        let raw = unsafe { Raw::new(FlushWith::found(&[]).unwrap()) };
        let file = PmFile::create(None, size.pm.0).unwrap();
        let progress = Progress::heap(1, 40);
        {
            let _mapping = Mapping::new(size, Some(&file)).unwrap();
            logged.set_up(&mut Watched::new(raw, None, 0));
            let mut m = Watched::new(raw, Some(&progress), 0);
            logged.run_ops(&mut m, 0, 0..40);
        }
        let word = logged.program.resident()[0].at.0 - PM_BASE + 64;
        let mut bytes = [0; 8];
        file.file.read_exact_at(&mut bytes, word).unwrap();
        let value = u64::from_le_bytes(bytes) ^ changed;
        file.file.write_all_at(&value.to_le_bytes(), word).unwrap();
        let expected = Expected {
            ops: &progress.history(),
            crash: CrashPoint {
                begun: vec![40],
                acked: vec![40],
            },
        };
        recover(&logged, size, &file, raw, Some(&expected)).unwrap()
    }
    #[test]
    fn an_audit_sees_one_changed_word() {
        assert_eq!(verdict(0), None);
        assert!(verdict(1).is_some());
    }
    #[test]
    fn wild_accesses_read_zero_and_change_nothing() {
        let size = Footprint {
            dram: fencepost_kernel::Bytes(4096),
            pm: fencepost_kernel::Bytes(4096),
        };
        let mapping = Mapping::new(size, None).unwrap();
        #[allow(unsafe_code, reason = "the type cannot know that memory is mapped")]
        // SAFETY: `mapping` lives until the end.
        let raw = unsafe { Raw::new(FlushWith::found(&[]).unwrap()) };
        let mut m = Recovering { raw, mapping: &mapping };
        for wild in [Addr(4096), Addr(u64::MAX - 7), Addr::pm(4096), Addr::pm(1 << 50)] {
            m.store(At::new(wild), Val::lit(7));
            assert_eq!(m.load(At::new(wild)).v, 0);
        }
        m.store(At::new(Addr::pm(4088)), Val::lit(7));
        assert_eq!(m.load(At::new(Addr::pm(4088))).v, 7);
    }
}
