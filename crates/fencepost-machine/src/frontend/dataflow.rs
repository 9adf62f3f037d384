//! Threads whose loads give their values when they perform, out of program order where the core lets them: litmus tests.
//!
//! A coroutine ([`super::SimMem`]) has the value of a plain load at once, from functional memory, which is right for programs without
//! races. A litmus test is nothing but races, so its threads are asked for one operation at a time and told what loads returned.

use super::op::{Op, OpKind, Port};
use super::own_lines::Access;
use fencepost_kernel::{Addr, Rmw};
use std::panic::Location;

/// What a thread does next.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// An access, a flush or a fence.
    Do(Step),
    /// An atomic.
    Atomic(Step, Rmw),
    /// That depends on a load that has not performed.
    Wait,
    /// It has returned.
    End,
}

/// An operation of a dataflow thread.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What.
    pub kind: OpKind,
    /// The word that it accesses, or a byte of the line that it flushes.
    pub addr: Addr,
    /// What a store writes, if that is known; instructions of a compute site.
    pub value: Option<u64>,
    /// The operation whose result it needs before it can be issued (0: none).
    pub dep: u32,
}

/// A thread that hands over operations one at a time.
///
/// Operations are numbered from 1 as they are handed over. One that is handed over may still lack the value that it stores: it must
/// then depend on a load, and [`Dataflow::loaded`] tells the value before that load's result is used.
pub trait Dataflow {
    /// The next operation.
    fn next(&mut self) -> Next;
    /// Operation `id`, a load or an atomic, read `value`. Adds to `known` the stores handed over whose value is known by that, each
    /// by its number.
    fn loaded(&mut self, id: u32, value: u64, known: &mut Vec<(u32, u64)>);
}

/// A dataflow thread and how far it has come.
pub(super) struct Flow {
    pub program: Box<dyn Dataflow>,
    pub ended: bool,
    /// Operations handed over.
    pub handed: u32,
}

impl Flow {
    /// The next operation, if it is known.
    pub(super) fn fetch(&mut self, port: &Port) -> Option<Op> {
        let step = match self.program.next() {
            Next::Do(step) => step,
            Next::Atomic(step, rmw) => {
                port.rmw.set(Some(rmw));
                step
            }
            Next::Wait => return None,
            Next::End => {
                self.ended = true;
                return None;
            }
        };
        self.handed += 1;
        Some(Op {
            kind: step.kind,
            access: Access::WORD,
            addr: step.addr,
            value: step.value.unwrap_or(0),
            dep: step.dep,
            source: Location::caller(),
        })
    }
}
