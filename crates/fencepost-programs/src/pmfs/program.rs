//! A program that calls the file system: a workload says what its threads call, an operation is a call.

use super::calls::{Call, Caller};
use super::fs::FileSystem;
use super::oracle::{FsModel, digest};
use super::recovery::FsRebuild;
use super::shape::Shape;
use crate::choices::{Scheme, Variant, schemes_for};
use crate::registers::RegisterAudit;
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{Bytes, CrashPoint, Flow, Footprint, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span};

/// Operations of a thread, beyond which names of calls would repeat.
const MOST_OPS: u32 = 1 << 23;

/// Blocks in use before the run, at most.
const MOST_PLANTED: u64 = 1 << 22;

/// What threads call.
pub trait Workload: Clone + Send + Sync + 'static {
    /// Its name on the command line.
    const NAME: &'static str;
    /// One line for listings.
    const ABOUT: &'static str;
    /// Parameters that make it small.
    const SMALL: &'static [(&'static str, &'static str)];
    /// Its declared parameters.
    type Params: Params + Default;

    /// The workload of these parameters; or why there is none.
    fn new(params: Self::Params, settings: &Settings) -> Result<Self, String>;
    /// How large the file system must be. What threads create and take is added up from their calls.
    fn shape(&self) -> Shape;
    /// Bytes of the file that a name has before the run, if it has one.
    fn planted(&self, name: u64) -> Option<u64>;
    /// Call `k` of a thread: a function of parameters, seed, thread and number.
    fn call(&self, thread: u32, k: u32) -> Call;
}

/// Whether sizes are whole words and blocks powers of two; or which is not.
pub(super) fn whole_words(sizes: &[(&str, Bytes)], block: Bytes) -> Result<(), String> {
    let odd = sizes.iter().find(|(_, size)| !size.0.is_multiple_of(8));
    match odd {
        Some((name, size)) => Err(format!("{name} = {}B: expected whole words of 8 bytes", size.0)),
        None if !block.0.is_power_of_two() => Err(format!("block = {}B: expected a power of two", block.0)),
        None => Ok(()),
    }
}

/// A program of the file system.
#[derive(Clone, Debug)]
pub struct OnPmfs<W> {
    workload: W,
    threads: u32,
    fs: FileSystem,
}

impl<W: Workload> Described for OnPmfs<W> {
    const NAME: &'static str = W::NAME;
    const ABOUT: &'static str = W::ABOUT;
    const SCHEMES: &'static [Scheme] = schemes_for!(Journal);
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake, Variant::SizeFirst];
    const SMALL: &'static [(&'static str, &'static str)] = W::SMALL;
    // Threads draw among many kinds of calls.
    const FEW_OPS: u32 = 16;

    fn fields() -> Vec<Field> {
        W::Params::fields()
    }
    fn build(s: &Settings) -> Result<Self, ProgramError> {
        let params = read_params::<Self, W::Params>(s)?;
        if s.ops > MOST_OPS {
            return Err(impossible::<Self>(format!("ops = {} exceeds {MOST_OPS}", s.ops)));
        }
        let workload = W::new(params, s).map_err(impossible::<Self>)?;
        let mut shape = workload.shape();
        let sizes = || (0..shape.names).filter_map(|name| workload.planted(name));
        let planted: u64 = sizes().map(|size| shape.blocks_of(size)).sum();
        if planted > MOST_PLANTED {
            let (files, largest) = (sizes().count(), sizes().max().unwrap_or_default());
            return Err(impossible::<Self>(format!(
                "block = {}B: {files} files of up to {largest}B before the run fill {planted} of them, and {MOST_PLANTED} is the most: \
                 fewer or smaller files, or larger blocks",
                shape.block
            )));
        }
        for thread in 0..s.threads {
            let (mut inodes, mut blocks) = (0, 0);
            for k in 0..s.ops {
                match workload.call(thread, k) {
                    Call::Create { .. } => inodes += 1,
                    // One more block than bytes fill, and as many nodes again as the tree may grow in height.
                    Call::Append { len, .. } => blocks += shape.blocks_of(len) + 5,
                    _ => {}
                }
            }
            (shape.inodes, shape.blocks) = (shape.inodes.max(inodes), shape.blocks.max(blocks));
        }
        let fs = FileSystem::new(s, shape, |name| workload.planted(name));
        Ok(OnPmfs {
            workload,
            threads: s.threads,
            fs,
        })
    }
}

impl<W: Workload> Program for OnPmfs<W> {
    type Input = Call;
    type Rebuild = FsRebuild;
    type Audit = RegisterAudit;
    type Model = FsModel;

    fn footprint(&self) -> Footprint {
        self.fs.footprint()
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        self.fs.setup(m, |name| self.workload.planted(name));
    }
    fn resident(&self) -> Vec<Span> {
        self.fs.resident()
    }
    fn ranges(&self, thread: u32) -> Vec<Span> {
        self.fs.ranges(thread, self.threads)
    }
    fn input(&self, thread: u32, k: u32) -> Call {
        self.workload.call(thread, k)
    }
    #[inline(always)]
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, input: &Call) -> Result<Outcome, Rollback> {
        self.fs.serve(pm, Caller { thread, k }, input)
    }
    fn rebuild_start(&self) -> FsRebuild {
        FsRebuild::Starts
    }
    fn rebuild<M: Mem<Dep = ()>>(&self, m: &mut M, state: FsRebuild) -> Flow<FsRebuild> {
        self.fs.rebuild_step(m, state)
    }
    fn model(&self, ops: &[OpRecord]) -> FsModel {
        let planted = |name| self.workload.planted(name);
        digest(ops, |t, k| self.workload.call(t, k), self.fs.shape.names, planted)
    }
    fn audit_start(&self, model: &FsModel, crash: &CrashPoint) -> RegisterAudit {
        model.registers.start(crash)
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &FsModel, m: &mut M, state: RegisterAudit) -> Flow<RegisterAudit> {
        self.fs.audit_step(model, m, state)
    }
}
