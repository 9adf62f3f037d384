//! Servers and clients killed at random moments behind a proxy that loses what it can.

use super::super::scratch::Scratch;
use super::beliefs::Beliefs;
use super::processes::{Children, Process, Site, all};
use super::proxy::{Proxy, Troubles};
use super::transport::Transport;
use super::transports;
use crate::error::NativeError;
use crate::wire::{ClientsPlan, Noted, WireKills, WireLeft, WireProtocol, WireRequest};
use fencepost_kernel::Stream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A process is killed at a moment within this time of the first belief.
const WITHIN: Duration = Duration::from_millis(15);
/// A message is delayed by at most this each way.
const DELAY: Duration = Duration::from_micros(100);
/// Beliefs of all clients together after the kill, before everything is stopped.
const GO_ON: u64 = 12;

/// Says what is wrong with what was left, if anything is.
pub type Judge<'a> = &'a dyn Fn(&WireRequest, &WireLeft) -> Option<String>;

/// Kills `kills` times, each in an episode of its own: clients persist through the proxy, the server, the clients or both are killed
/// and started again, go on, and are stopped. `requests` and protocols take turns. The file is judged after a server was
/// killed, and everything at the end.
pub fn killed(
    requests: &[WireRequest],
    kills: u32,
    (seed, pm): (u64, Option<&Path>),
    children: &Children<'_>,
    judge: Judge<'_>,
) -> Result<WireKills, NativeError> {
    let mut moments = Stream::new(seed, "kill");
    let Some(first) = requests.first() else {
        return Ok(WireKills::default());
    };
    let transport = transports::open(first)?;
    let mut report = WireKills {
        transport: transport.name(),
        ..WireKills::default()
    };
    for k in 0..kills {
        let episode = Episode {
            request: &requests[k as usize % requests.len()],
            protocol: [WireProtocol::Bsp, WireProtocol::Sync][k as usize / requests.len() % 2],
            children,
            transport: &transport,
            pm,
            seed: moments.next_u64(),
        };
        let why = episode.run(&mut moments, judge, &mut report)?;
        report.kills += 1;
        report.violations += u32::from(why.is_some());
        report.why = report.why.take().or(why);
    }
    Ok(report)
}

struct Episode<'a> {
    request: &'a WireRequest,
    protocol: WireProtocol,
    children: &'a Children<'a>,
    transport: &'a Arc<dyn Transport>,
    pm: Option<&'a Path>,
    seed: u64,
}

impl Episode<'_> {
    fn run(
        &self,
        moments: &mut Stream,
        judge: Judge<'_>,
        report: &mut WireKills,
    ) -> Result<Option<String>, NativeError> {
        let channels = self.request.channels;
        let site = Site::new(self.request, self.children, self.pm, true)?;
        let scratch = Scratch::new("beliefs");
        let beliefs = Beliefs::open(scratch.path(), channels)?;
        let mut server = site.server()?;
        let (delay, unreliable, seed) = (DELAY, true, self.seed);
        let troubles = Troubles {
            delay,
            unreliable,
            seed,
        };
        let proxy = Proxy::start(self.transport.clone(), site.board.clone(), troubles)?;
        let mut clients = self.clients(&site, &scratch, &proxy)?;
        site.listens(&mut server)?;
        let believed = || (0..channels).map(|c| beliefs.count(c)).sum::<u64>();
        clients.until("persisted nothing", || believed() > 0)?;
        std::thread::sleep(Duration::from_micros(moments.below(WITHIN.as_micros() as u64)));

        let victim = moments.below(3);
        let mut found = None;
        if victim == 1 {
            drop(clients);
            clients = self.clients(&site, &scratch, &proxy)?;
            report.clients += 1;
        } else {
            // A new server is not started before the old one is gone.
            drop(server);
            site.board.set_port(0);
            found = judge(self.request, &site.left(all(&beliefs, channels), false)?);
            if victim == 0 {
                server = site.server()?;
                site.listens(&mut server)?;
                report.servers += 1;
            } else {
                drop(clients);
                server = site.server()?;
                clients = self.clients(&site, &scratch, &proxy)?;
                site.listens(&mut server)?;
                report.both += 1;
            }
        }
        let before = believed();
        let enough = || believed() >= before + GO_ON || site.board.is_full();
        let went_on = clients.until("did not go on", enough);
        drop((clients, server));
        let left = site.left(all(&beliefs, channels), true)?;
        found = found.or_else(|| judge(self.request, &left));
        report.epochs += left.noted.iter().filter(|n| matches!(n, Noted::Applied { .. })).count() as u64;
        report.beliefs += believed();
        report.again += (0..channels).map(|c| beliefs.again(c)).sum::<u64>();
        // A server that breaks the rules may leave clients without an answer: what it left says why.
        if found.is_none() {
            went_on?;
        }
        Ok(found)
    }
    fn clients(&self, site: &Site<'_>, scratch: &Scratch, proxy: &Proxy) -> Result<Process, NativeError> {
        let plan = ClientsPlan {
            board: site.board_path(),
            beliefs: scratch.path().to_owned(),
            port: proxy.port,
            protocol: self.protocol,
        };
        Process::start((self.children.clients)(self.request, &plan))
    }
}
