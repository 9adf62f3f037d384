//! Clients that persist over a network: which runs have them, and what of such a run follows from its design and program.
//!
//! A design of network persistence says how clients persist. The program of its run is what the clients do, if it names one of their
//! [workloads](Workload); otherwise it runs on the server, beside clients. Any other design with a network port serves clients
//! if `network.clients` says that there are any.

use super::find::find_program;
use super::machine::MachineConfig;
use super::program;
use crate::error::BadInput;
use crate::request::Request;
use fencepost_designs::{DesignInfo, MachineShape};
use fencepost_kernel::params::{ParamValue as _, Raw};
use fencepost_kernel::{Bytes, Ps, Transactions};
use fencepost_machine::network::{MOST_CLIENTS, Protocol};
use fencepost_programs::clients::{self, Workload};
use fencepost_programs::{About, Settings, clients_beside, footprint};

/// Clients of a run on a design of network persistence that does not say how many (Table IV of Hu et al., MICRO 2018).
const CLIENTS: u8 = 4;

/// How clients persist on a design that is defined by it.
pub fn protocol_of(design: &DesignInfo) -> Option<Protocol> {
    let mut built = (design.build)(&[], MachineShape::default()).ok()?;
    built.network_port()?.protocol()
}

/// What clients of network persistence do: programs on designs of network persistence only.
pub fn workloads() -> &'static [&'static str] {
    Workload::NAMES
}

fn workload(name: &str) -> Option<Workload> {
    Workload::from_raw(&Raw::Text(name.to_owned())).ok()
}

/// The program of a run on a design: for network persistence, also what clients do.
pub fn program_of(name: &str, design: &DesignInfo) -> Result<About, BadInput> {
    let known = || Workload::NAMES.iter().copied().find(|w| *w == name);
    if let Some(name) = protocol_of(design).and_then(|_| known()) {
        return Ok(About {
            races: false,
            name,
            about: "what clients do that persist over a network",
            schemes: &[],
            variants: Vec::new(),
            fields: Vec::new(),
            small: &[],
            smallest: &[],
            few_ops: 6,
        });
    }
    find_program(name)
}

/// Software threads of a run, or its clients where those are the program.
pub(super) fn threads(request: &Request, machine: &MachineConfig, design: &DesignInfo) -> Result<u32, BadInput> {
    match is_replication(design, &request.program) {
        true => Ok(machine.spec.network.clients.into()),
        false => program::threads(request, machine),
    }
}

/// Fills in what design and program say of the network.
pub(super) fn connect(machine: &mut MachineConfig, request: &Request, design: &DesignInfo) -> Result<(), BadInput> {
    let Some(protocol) = protocol_of(design) else {
        return Ok(());
    };
    let workload = workload(&request.program);
    if machine.spec.network.clients == 0 {
        machine.spec.network.clients = match request.threads.filter(|_| workload.is_some()) {
            None => CLIENTS,
            Some(n) if (1..=MOST_CLIENTS.into()).contains(&n) => n as u8,
            Some(n) => {
                let e = BadInput::new(format!("{n} threads: the threads of `{}` are clients", request.program));
                return Err(e.hint(format!("from 1 to {MOST_CLIENTS} of them")));
            }
        };
    }
    let network = &mut machine.spec.network;
    network.protocol = protocol;
    if let Some(workload) = workload {
        machine.client.workload = workload;
        if network.transactions == 0 {
            network.transactions = request.ops;
        }
    }
    Ok(())
}

/// Refuses a timeout within which no ACK can arrive even over an idle network: every transaction would be sent again for ever.
pub(super) fn answered_in_time(machine: &MachineConfig) -> Result<(), BadInput> {
    let network = &machine.spec.network;
    let messages = network.duration(network.header.0 + machine.client.element.0 + network.ack.0);
    let way = Ps(2 * network.latency.0 + messages.0);
    if network.clients == 0 || network.timeout > way {
        return Ok(());
    }
    let (timeout, way) = (network.timeout, Ps(way.0.next_multiple_of(1000)));
    let e = BadInput::new(format!("`network.timeout` of {timeout} ends before an ACK can arrive"));
    Err(e.hint(format!(
        "a block and its ACK take {way} over this network, and the server's time besides"
    )))
}

/// Whether the program of a run is what clients do: no program runs on the server.
pub(super) fn is_replication(design: &DesignInfo, program: &str) -> bool {
    protocol_of(design).is_some() && workload(program).is_some()
}

/// What the clients of a machine do, if it has any: what the local program says, or transactions behind its memory.
pub(super) fn transactions(
    machine: &MachineConfig,
    local: Option<(&str, &Settings)>,
    seed: u64,
) -> Option<Transactions> {
    if machine.spec.network.clients == 0 {
        return None;
    }
    if let Some((program, settings)) = local
        && let Ok(Some(own)) = clients_beside(program, settings, seed)
    {
        return Some(own);
    }
    let behind = local.and_then(|(program, settings)| footprint(program, settings).ok());
    let behind = behind.map_or(Bytes(0), |f| f.pm);
    let beside = local.map(|(program, _)| program);
    Some(clients::transactions_beside(&machine.client, beside, behind, seed))
}
