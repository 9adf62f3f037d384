//! A command is issued: bank and buses take note, the request leaves its queue, counters count.

use super::Handle;
use super::bank_queues::{Request, RowState};
use super::channel::ChannelScheduler;
use super::command::Command;
use super::context::{Context, Transfer};
use crate::memory::timing::Direction;
use crate::memory::{CommandKind, CommandRecord};
use fencepost_kernel::Ps;
use fencepost_kernel::units::LINE_BYTES;

impl ChannelScheduler {
    /// Issues `command` for a queued request; answers what a column command transfers.
    pub(super) fn issue(
        &mut self,
        now: Ps,
        direction: Direction,
        handle: Handle,
        command: Command,
        cx: &mut Context<'_>,
    ) -> Option<Transfer> {
        let r = self.queue(direction).request(handle);
        let (bank, row) = (usize::from(r.bank), r.row);
        match command {
            Command::Precharge => r.found = RowState::Conflict,
            Command::Activate if r.found == RowState::Hit => r.found = RowState::Opened,
            _ => {}
        }
        if let Some(list) = &mut cx.commands {
            let kind = match (command, direction) {
                (Command::Activate, _) => CommandKind::Activate { row },
                (Command::Precharge, _) => CommandKind::Precharge,
                (Command::Column, Direction::Read) => CommandKind::Read { row },
                (Command::Column, Direction::Write) => CommandKind::Write { row },
            };
            let (time, channel, bank) = (now, self.number, bank as u16);
            list.push(CommandRecord {
                time,
                channel,
                bank,
                kind,
            });
        }
        let issued = match command {
            Command::Precharge => {
                self.channel.precharge(cx.delays, now, bank);
                None
            }
            Command::Activate => {
                self.channel.activate(cx.delays, now, bank, row);
                None
            }
            Command::Column => {
                let done = self.channel.column(cx.delays, now, bank, direction);
                let r = self.queue(direction).remove(handle);
                self.count(direction, &r, cx);
                Some(Transfer {
                    direction,
                    request: r,
                    done,
                })
            }
        };
        self.reads.bank_changed(bank);
        self.writes.bank_changed(bank);
        issued
    }
    fn count(&mut self, direction: Direction, r: &Request, cx: &mut Context<'_>) {
        let stats = &mut *cx.stats;
        match r.found {
            RowState::Hit => stats.row_hits += 1,
            RowState::Opened => stats.row_misses += 1,
            RowState::Conflict => stats.row_conflicts += 1,
        }
        stats.bytes += LINE_BYTES;
        stats.busy += cx.delays.burst.0;
        let turned = self.last == Direction::Read && direction == Direction::Write;
        stats.drain_switches += u64::from(turned);
        self.last = direction;
        match direction {
            Direction::Read => stats.reads += 1,
            Direction::Write => stats.writes += 1,
        }
        self.turn.served(direction);
    }
}
