//! The network and the machine that serves it.

use super::agenda::Ev;
use super::compose::Machine;
use super::threads::Rest;
use super::workload::RunError;
use crate::core::Outside as _;
use crate::network::{self, Network, Step};
use crate::seam::Gate;
use fencepost_kernel::{CoreId, Fence, HwThread, LineAddr, Ps, RemoteEpoch, StoreId, TraceKind, Transactions};

impl Machine {
    /// Clients persist on this machine while it runs, as its specification's network says; number `tx` of client `c` is
    /// `transactions(c, tx)`. `seed` decides what is lost.
    ///
    /// # Errors
    /// The design has no port for a network.
    pub fn with_clients(mut self, transactions: Transactions, seed: u64) -> Result<Machine, RunError> {
        if self.rest.design.network_port().is_none() {
            return Err(RunError::NoPort);
        }
        let record = self.rest.sys.recorder.is_some();
        let network = Network::new(&self.rest.sys.spec.network, transactions, seed, record);
        if let Some(r) = &mut self.rest.sys.recorder {
            r.add_threads(network.ports().into());
        }
        self.network = Some(network);
        Ok(self)
    }

    pub(super) fn start_network(&mut self) {
        if let Some(n) = &mut self.network {
            n.start(&mut self.rest);
        }
    }
    /// Whether no client will ask for anything more. Once the local threads have finished, none begins what it need not.
    pub(super) fn network_finished(&mut self) -> bool {
        let Some(n) = &mut self.network else { return true };
        if self.rest.sys.unfinished == 0 {
            n.close();
        }
        n.is_finished()
    }
    pub(super) fn network_step(&mut self, step: Step) {
        if let Some(n) = &mut self.network {
            n.step(&mut self.rest, step);
        }
        self.charge_loads();
    }
    /// What was refused to a port of the network may be asked for again.
    pub(super) fn resume_port(&mut self, port: u8) {
        if let Some(n) = &mut self.network {
            n.resume(&mut self.rest, port);
        }
        self.charge_loads();
    }
    /// As [`Machine::resume_port`], for those of the ports whose bit is set behind the bits of the hardware threads.
    pub(super) fn resume_ports(&mut self, kicked: u64) {
        let hw_threads = self.rest.sys.spec.hw_threads();
        let ports = self.network.as_ref().map_or(0, Network::ports);
        for port in (0..ports).filter(|p| kicked >> (hw_threads + p) & 1 == 1) {
            self.resume_port(port);
        }
    }
}

impl Rest {
    /// A port as the design names it, and its number among cores.
    fn port(&self, port: u8) -> (HwThread, CoreId) {
        let hw_thread = HwThread(self.sys.spec.hw_threads() + port);
        (hw_thread, self.sys.core_of(hw_thread))
    }
    /// A port as the trace names it: behind the threads that run a program.
    fn port_in_trace(&self, port: u8) -> HwThread {
        HwThread(self.sys.threads + port)
    }
}

impl network::Outside for Rest {
    fn now(&self) -> Ps {
        self.sys.now()
    }
    fn schedule(&mut self, at: Ps, step: Step) {
        self.sys.events.schedule(at, Ev::Network(step));
    }
    fn bus_slot(&mut self, at: Ps) -> Ps {
        self.hier.remote_slot(at)
    }
    fn take_line(&mut self, port: u8, epoch: &RemoteEpoch, line: LineAddr) -> bool {
        let (hw_thread, core) = self.port(port);
        let (hier, mut out) = self.split();
        if !hier.may_take_remote(&mut out, port, core, line) {
            return false;
        }
        let mut data = self.line_data(line);
        let next = self.sys.recorder.as_ref().and_then(|r| r.next_store());
        for (i, (at, value)) in epoch.words_in(line).enumerate() {
            data.words[at.word_in_line()] = value;
            data.by[at.word_in_line()] = next.and_then(|first| StoreId::from_index(first.index() + i));
        }
        let (design, mut cx) = self.ask();
        let at_design = design.network_port();
        if at_design.is_none_or(|p| p.line(&mut cx, hw_thread, line, &data) != Gate::Go) {
            return false;
        }
        let thread = self.port_in_trace(port);
        for (at, value) in epoch.words_in(line) {
            let recorder = self.sys.recorder();
            let id = recorder.map(|r| r.remote_store(thread, at, value));
            self.sys.coherent.set_word(at, value, id);
            self.sys.functional.borrow_mut().set_word(at, value, None);
        }
        let (hier, mut out) = self.split();
        hier.take_remote(&mut out, core, line);
        true
    }
    fn end_region(&mut self, port: u8, region: u32) -> bool {
        let hw_thread = self.port(port).0;
        let (design, mut cx) = self.ask();
        let at_design = design.network_port();
        if at_design.is_none_or(|p| p.end(&mut cx, hw_thread, region) != Gate::Go) {
            return false;
        }
        let thread = self.port_in_trace(port);
        if let Some(r) = self.sys.recorder() {
            r.event(thread, TraceKind::Fence(Fence::Dmb));
        }
        true
    }
    fn durable_events(&self) -> u64 {
        self.sys.log.len()
    }
}
