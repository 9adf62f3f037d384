//! What a memory is made of: declared parameters of the medium, the controller and the optional module stage.

use fencepost_kernel::{Bytes, Ps};

fencepost_kernel::param_enum! {
    /// What happens to a row after a column access.
    pub enum PagePolicy {
        /// The row stays open until another row, or a refresh, needs the bank.
        Open = "open",
        /// Every access precharges its bank (auto-precharge).
        Closed = "closed",
    }
}

fencepost_kernel::param_enum! {
    /// When a bank writes its array, and what waits for it. A write is durable at the end of its own pulse in all.
    pub enum WritePolicy {
        /// With every write: the bank takes no other access until the pulse has ended.
        Through = "through",
        /// Behind the row buffer: accesses to the open row go on, and the row is closed only after the pulse (as write
        /// recovery of DRAM interfaces).
        RowBuffer = "row-buffer",
        /// The module buffers writes: their data needs the bus only, whatever row is open; every bank then works off
        /// its writes one after the other, before it reads again.
        Buffered = "buffered",
    }
}

fencepost_kernel::param_enum! {
    /// When a write counts as stored.
    pub enum StoredAt {
        /// At the end of its pulse.
        Pulse = "pulse",
        /// When its data has crossed the bus, as simulators of DRAM count: optimistic where the array is slower.
        Burst = "burst",
    }
}

fencepost_kernel::param_enum! {
    /// Where durability starts.
    pub enum DurableAt {
        /// In the medium.
        Device = "device",
        /// In the controller's write queue (persistent write queue, ADR).
        Accept = "accept",
    }
}

fencepost_kernel::param_enum! {
    /// The controller's say about where durability starts.
    pub enum DurableOverride {
        /// Wherever the medium's own `durable_at` says.
        Media = "media",
        /// In the medium.
        Device = "device",
        /// In the controller's write queue (persistent write queue, ADR).
        Accept = "accept",
    }
}

fencepost_kernel::param_enum! {
    /// Which address bits choose channel, bank, row and column; written from the most significant part down.
    pub enum Mapping {
        /// Lines alternate over channels, then fill a row; the next row-sized piece goes to the next bank.
        RowBankColumn = "row-bank-column",
        /// Lines alternate over channels, then over banks (line interleaving).
        RowColumnBank = "row-column-bank",
        /// Lines alternate over channels, then fill a row, then every row of one bank.
        BankRowColumn = "bank-row-column",
        /// Whole row-buffer-sized groups alternate over channels and banks.
        RowBufferStride = "row-buffer-stride",
    }
}

fencepost_kernel::param_enum! {
    /// When a write gives its queue entry back.
    pub enum SlotFreed {
        /// When its data went to the medium.
        Issue = "issue",
        /// When the medium has stored it.
        Done = "done",
    }
}

fencepost_kernel::params! {
    /// A storage medium behind one controller: geometry, timing, and when a write is durable. Times follow the JEDEC
    /// names; all are rounded up to whole clocks as commands issue on clock edges.
    pub struct MediaSpec {
        /// Independent channels, each with its own command and data bus.
        channels: u16 = 1,
        /// Ranks per channel; they share its buses.
        ranks: u16 = 1,
        /// Banks per rank.
        banks: u16 = 8,
        /// Bank groups per rank; 1 where the medium has none.
        bank_groups: u16 = 1,
        /// Bytes of a row over all devices of a rank (the row buffer).
        row_size: Bytes = Bytes(8192),
        /// Address mapping.
        mapping: Mapping = Mapping::RowBankColumn,
        /// Whether the bank number is XORed with the low bits of the row number.
        bank_xor: bool = false,
        /// What happens to a row after an access; without effect where `writes` is `buffered`.
        page: PagePolicy = PagePolicy::Open,
        /// Clock period of the command bus.
        t_ck: Ps = Ps(1250),
        /// Activate to column command (array read into the row buffer).
        t_rcd: Ps = Ps(13_750),
        /// Precharge to activate.
        t_rp: Ps = Ps(13_750),
        /// Read command to first data.
        t_cl: Ps = Ps(13_750),
        /// Write command to first data.
        t_cwl: Ps = Ps(10_000),
        /// Activate to precharge.
        t_ras: Ps = Ps(35_000),
        /// End of write data to precharge (write recovery).
        t_wr: Ps = Ps(15_000),
        /// End of write data to a read command of the same rank, in another bank group.
        t_wtr: Ps = Ps(7500),
        /// End of write data to a read command in the same bank group.
        t_wtr_l: Ps = Ps(7500),
        /// Read command to precharge.
        t_rtp: Ps = Ps(7500),
        /// Idle bus time between read data and following write data.
        t_rtw: Ps = Ps(2500),
        /// Idle bus time between data of different ranks.
        t_rtrs: Ps = Ps(2500),
        /// Column command to column command, other bank group.
        t_ccd: Ps = Ps(5000),
        /// Column command to column command, same bank group.
        t_ccd_l: Ps = Ps(5000),
        /// Column command to column command in one bank, for media whose banks do not pipeline accesses; 0 where
        /// `t_ccd_l` says it all.
        t_ccd_bank: Ps = Ps(0),
        /// Activate to activate of another bank, other bank group.
        t_rrd: Ps = Ps(6250),
        /// Activate to activate of another bank of the same bank group.
        t_rrd_l: Ps = Ps(6250),
        /// Window in which a rank may have at most four activates; 0 means no limit.
        t_faw: Ps = Ps(30_000),
        /// Data bus time of one line.
        t_burst: Ps = Ps(5000),
        /// Average time between refreshes of a rank; 0 means the medium needs none.
        t_refi: Ps = Ps(7_800_000),
        /// Duration of an all-bank refresh.
        t_rfc: Ps = Ps(260_000),
        /// Array read time, where it exceeds `t_rcd`: an activate takes the longer of the two.
        read_pulse: Ps = Ps(0),
        /// Array write time of one line, paid as `writes` says; 0 for DRAM.
        write_pulse: Ps = Ps(0),
        /// When a bank writes its array, and what waits for it.
        writes: WritePolicy = WritePolicy::Through,
        /// When a write counts as stored: what waits for it goes on, and it is durable.
        stored_at: StoredAt = StoredAt::Pulse,
        /// Writes that the module of a channel may hold before its banks have stored them, where `writes` is `buffered`.
        write_buffer: u16 = 128,
        /// Where durability starts.
        durable_at: DurableAt = DurableAt::Device,
    }
}

fencepost_kernel::params! {
    /// A memory controller: queues and policies.
    pub struct ControllerSpec {
        /// Entries of the write queue (divided evenly where a design asks for sub-queues).
        write_queue: u16 = 64,
        /// Entries of the read queue; an entry is held until its data returned.
        read_queue: u16 = 32,
        /// Fill level of a write queue, in percent, at which writes drain although reads wait.
        drain_high: u8 = 85,
        /// Fill level, in percent, down to which such a drain continues.
        drain_low: u8 = 50,
        /// Writes issued before a drain gives way to waiting reads.
        min_writes: u16 = 16,
        /// Whether reads end a drain that began because no read waited, once `min_writes` were issued.
        read_priority: bool = true,
        /// Whether commands of the other direction use time in which the current direction waits for banks.
        fill_idle: bool = true,
        /// Whether rows that were opened for one direction are used before the bus turns to the other.
        finish_open_rows: bool = false,
        /// Whether rows are closed and opened for writes whose epoch does not have its turn yet, in banks where nothing else
        /// waits. A design's own scheduler decides that itself.
        rows_ahead: bool = false,
        /// A write that has waited this long starts a drain although reads wait; 0 means never.
        write_wait_max: Ps = Ps(1_000_000),
        /// A read that has waited this long ends a drain, however full the queue, once `min_writes` were issued; 0 means
        /// never.
        read_wait_max: Ps = Ps(1_000_000),
        /// Row hits that may pass an older request of the same bank; 0 means any number.
        row_hits_max: u16 = 16,
        /// Added to every read, for the controller's own pipeline.
        static_latency: Ps = Ps(10_000),
        /// Whether a write merges into a queued one to the same line, in the same queue and epoch.
        coalesce: bool = true,
        /// When a write gives its queue entry back.
        slot_freed: SlotFreed = SlotFreed::Done,
        /// Where durability starts, if not where the medium says.
        durable_at: DurableOverride = DurableOverride::Media,
    }
}

/// Why a memory cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// A size that must be a power of two is not.
    #[error("`{field}` must be a power of two of at least {least}; it is {value}")]
    PowerOfTwo {
        /// The parameter.
        field: &'static str,
        /// Its value.
        value: u64,
        /// The smallest admissible value.
        least: u64,
    },
    /// A number lies outside its range.
    #[error("`{field}` must be between {min} and {max}; it is {value}")]
    Range {
        /// The parameter.
        field: &'static str,
        /// Its value.
        value: u64,
        /// Smallest admissible value.
        min: u64,
        /// Largest admissible value.
        max: u64,
    },
}

fn power(field: &'static str, value: u64, least: u64) -> Result<(), SpecError> {
    match value.is_power_of_two() && value >= least {
        true => Ok(()),
        false => Err(SpecError::PowerOfTwo { field, value, least }),
    }
}
/// Checks a number against its range.
pub(super) fn range(field: &'static str, value: u64, min: u64, max: u64) -> Result<(), SpecError> {
    match (min..=max).contains(&value) {
        true => Ok(()),
        false => Err(SpecError::Range { field, value, min, max }),
    }
}

impl MediaSpec {
    /// Most banks a channel may have, over all its ranks.
    pub const MAX_CHANNEL_BANKS: u16 = 64;
    /// Longest admissible clock period: a microsecond.
    const MAX_CLOCK: u64 = 1_000_000;
    /// Longest admissible time of any parameter: ten seconds, far below overflow.
    const MAX_TIME: u64 = 10_000_000_000_000;

    /// Checks that the geometry can be mapped and that time advances.
    pub fn validate(&self) -> Result<(), SpecError> {
        power("channels", self.channels.into(), 1)?;
        power("ranks", self.ranks.into(), 1)?;
        power("banks", self.banks.into(), 1)?;
        power("bank_groups", self.bank_groups.into(), 1)?;
        power("row_size", self.row_size.0, fencepost_kernel::units::LINE_BYTES)?;
        range("channels", self.channels.into(), 1, 64)?;
        range("bank_groups", self.bank_groups.into(), 1, self.banks.into())?;
        range("row_size", self.row_size.0, 64, 1 << 20)?;
        let most = u64::from(Self::MAX_CHANNEL_BANKS / self.ranks.min(Self::MAX_CHANNEL_BANKS));
        range("ranks", self.ranks.into(), 1, Self::MAX_CHANNEL_BANKS.into())?;
        range("banks", self.banks.into(), 1, most)?;
        range("write_buffer", self.write_buffer.into(), 1, 4096)?;
        range("t_ck", self.t_ck.0, 1, Self::MAX_CLOCK)?;
        range("t_burst", self.t_burst.0, 1, Self::MAX_TIME)?;
        for (field, value) in self.times() {
            range(field, value.0, 0, Self::MAX_TIME)?;
        }
        if self.t_refi > Ps::ZERO {
            // A rank that refreshes longer than it rests would never serve a request.
            range("t_rfc", self.t_rfc.0, 0, self.t_refi.0 / 2)?;
            // Nor would one that cannot open a row between two refreshes, or has hardly a clock for commands there.
            range("t_ck", self.t_ck.0, 1, self.t_refi.0 / 8)?;
            range("t_rcd", self.t_rcd.0, 0, self.t_refi.0 / 2)?;
            range("read_pulse", self.read_pulse.0, 0, self.t_refi.0 / 2)?;
            // Eight refreshes may be outstanding: a row must be closed again before.
            for (field, value) in [("t_ras", self.t_ras), ("t_rtp", self.t_rtp), ("t_wr", self.t_wr)] {
                range(field, value.0, 0, self.t_refi.0 * 4)?;
            }
        }
        Ok(())
    }

    fn times(&self) -> [(&'static str, Ps); 21] {
        [
            ("t_rcd", self.t_rcd),
            ("t_rp", self.t_rp),
            ("t_cl", self.t_cl),
            ("t_cwl", self.t_cwl),
            ("t_ras", self.t_ras),
            ("t_wr", self.t_wr),
            ("t_wtr", self.t_wtr),
            ("t_wtr_l", self.t_wtr_l),
            ("t_rtp", self.t_rtp),
            ("t_rtw", self.t_rtw),
            ("t_rtrs", self.t_rtrs),
            ("t_ccd", self.t_ccd),
            ("t_ccd_l", self.t_ccd_l),
            ("t_ccd_bank", self.t_ccd_bank),
            ("t_rrd", self.t_rrd),
            ("t_rrd_l", self.t_rrd_l),
            ("t_faw", self.t_faw),
            ("t_refi", self.t_refi),
            ("t_rfc", self.t_rfc),
            ("read_pulse", self.read_pulse),
            ("write_pulse", self.write_pulse),
        ]
    }
}

impl ControllerSpec {
    /// Checks queue sizes and watermarks.
    pub fn validate(&self) -> Result<(), SpecError> {
        range("write_queue", self.write_queue.into(), 1, 4096)?;
        range("read_queue", self.read_queue.into(), 1, 4096)?;
        range("drain_high", self.drain_high.into(), 1, 100)?;
        range("drain_low", self.drain_low.into(), 0, u64::from(self.drain_high) - 1)
    }
    /// Where durability starts with this controller in front of `media`.
    pub fn durable_at(&self, media: &MediaSpec) -> DurableAt {
        match self.durable_at {
            DurableOverride::Media => media.durable_at,
            DurableOverride::Device => DurableAt::Device,
            DurableOverride::Accept => DurableAt::Accept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each time of a medium has a largest value, and who passes it is told which.
    #[test]
    fn a_time_that_is_too_long_is_refused_by_its_name() {
        let longest = Ps(MediaSpec::MAX_TIME);
        let medium = || MediaSpec {
            t_refi: Ps::ZERO,
            ..MediaSpec::preset("ddr4-2400").expect("a preset")
        };
        let refused = |set: fn(&mut MediaSpec) -> &mut Ps, name: &str| {
            let mut m = medium();
            *set(&mut m) = longest;
            assert_eq!(m.validate(), Ok(()), "{name}");
            *set(&mut m) = longest + Ps(1);
            let why = m.validate().expect_err(name).to_string();
            assert!(why.contains(&format!("`{name}`")), "{why}");
        };
        refused(|m| &mut m.t_rcd, "t_rcd");
        refused(|m| &mut m.t_faw, "t_faw");
        refused(|m| &mut m.t_wtr_l, "t_wtr_l");
        refused(|m| &mut m.write_pulse, "write_pulse");
    }
}
