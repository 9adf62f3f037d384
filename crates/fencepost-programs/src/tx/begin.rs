//! How a transaction begins.

use super::runtime::{NO_LINE, RECORDS, Runtime, TX_PER_OP};
use super::slips::Slips;
use super::transaction::Tx;
use crate::sites;
use fencepost_kernel::{Mem, Mode, Pm, Rollback};

impl Runtime {
    /// Starts the only transaction of operation `k`. The locks of everything it writes are held until after its commit.
    /// `Err`: the hardware rolled this thread back; release the locks and return it.
    #[track_caller]
    #[inline(always)]
    pub fn begin<'a, 'm, M: Mem>(
        &'a self,
        pm: &'a mut Pm<'m, M>,
        thread: u32,
        k: u32,
    ) -> Result<Tx<'a, 'm, M>, Rollback> {
        self.begin_part(pm, thread, k, 0)
    }
    /// Starts transaction `part` (0 or 1) of operation `k`: only the deliberately non-atomic variants have two.
    #[track_caller]
    #[inline(always)]
    pub fn begin_part<'a, 'm, M: Mem>(
        &'a self,
        pm: &'a mut Pm<'m, M>,
        thread: u32,
        k: u32,
        part: u32,
    ) -> Result<Tx<'a, 'm, M>, Rollback> {
        let mode = match M::FIXED {
            Some(build) => build.mode,
            None => self.scheme.mode(self.coupling, &pm.dialect),
        };
        if mode == Mode::Hardware {
            pm.m.tx_begin()?;
        }
        pm.m.compute(sites::TX_BEGIN);
        let log = self.log(thread).0;
        let mut tx = Tx {
            pm,
            rt: self,
            mode,
            thread,
            seq: k * TX_PER_OP + part + 1,
            log,
            cursor: log + RECORDS,
            sealed: log + RECORDS,
            previous: 0,
            line: NO_LINE,
            block: (NO_LINE, 0),
            regions: 0,
            freed: None,
            slips: Slips::of(self.variant),
        };
        if M::FIXED.is_none() {
            tx.slip_at_begin();
        }
        Ok(tx)
    }
}
