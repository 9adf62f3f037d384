//! A command is issued: bank and buses take note, the request leaves its queue, counters count.

use super::bank_queues::RowState;
use super::channel::{ChannelScheduler, Next};
use super::command::Command;
use super::context::{Context, Transfer};
use crate::memory::timing::Direction;
use crate::memory::{CommandKind, CommandRecord};
use fencepost_kernel::Ps;
use fencepost_kernel::units::LINE_BYTES;

impl ChannelScheduler {
    /// Issues a command for a queued request; returns what a column command transfers.
    pub(super) fn issue(&mut self, now: Ps, next: Next, cx: &mut Context<'_>) -> Option<Transfer> {
        let Next {
            direction,
            handle,
            command,
        } = next;
        let r = self.queue(direction).request(handle);
        let (bank, row, line) = (usize::from(r.bank), r.row, r.line);
        if let Some(list) = &mut cx.commands {
            let column = cx.map.locate(line).column;
            let kind = match (command, direction) {
                (Command::Activate, _) => CommandKind::Activate { row },
                (Command::Precharge, _) => CommandKind::Precharge,
                (Command::Column, Direction::Read) => CommandKind::Read { row, column },
                (Command::Column, Direction::Write) => CommandKind::Write { row, column },
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
                self.queue(direction).request(handle).found = RowState::Conflict;
                self.channel.precharge(cx.delays, now, bank);
                self.row_changed(direction, bank, cx);
                None
            }
            Command::Activate => {
                let found = &mut self.queue(direction).request(handle).found;
                if *found == RowState::Hit {
                    *found = RowState::Opened;
                }
                self.channel.activate(cx.delays, now, bank, row);
                self.row_changed(direction, bank, cx);
                None
            }
            Command::Column => {
                let done = self.channel.column(cx.delays, now, bank, direction);
                let r = self.queue(direction).remove(handle);
                self.count(direction, r.found, cx);
                Some(Transfer {
                    direction,
                    key: r.key,
                    line: r.line,
                    done,
                })
            }
        };
        self.queue(direction.other()).changed(1 << bank);
        issued
    }
    /// A row was closed or opened for the next request of its bank; a scheduler of the design's own may then choose another.
    fn row_changed(&mut self, direction: Direction, bank: usize, cx: &Context<'_>) {
        let queue = match direction {
            Direction::Read => &mut self.reads,
            Direction::Write => &mut self.writes,
        };
        if direction == Direction::Write && cx.scheduler.is_some() {
            queue.changed(1 << bank);
        } else {
            queue.row_changed(bank, &self.channel);
        }
    }
    fn count(&mut self, direction: Direction, found: RowState, cx: &mut Context<'_>) {
        let stats = &mut *cx.stats;
        match found {
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
