//! The part of libfabric's binary interface that is used: structures as their headers (`rdma/fabric.h`, `fi_domain.h`, `fi_endpoint.h`,
//! `fi_eq.h`, `fi_cm.h`) lay them out since API 1.5.
//!
//! Most are allocated by the library, are used through pointers only, and are longer than what stands here: later versions append. Those
//! that the caller allocates are complete. The test compares all of it with the headers, where they and a C compiler are installed.

use std::ffi::{c_char, c_int, c_void};

/// The version of the interface that is asked for: 1.11. A library that is older is refused by itself.
pub const VERSION: u32 = 1 << 16 | 11;

pub const FI_MSG: u64 = 1 << 1;
pub const FI_RECV: u64 = 1 << 10;
pub const FI_TRANSMIT: u64 = 1 << 11;
pub const FI_SOURCE: u64 = 1 << 57;
pub const FI_SOCKADDR_IN: u32 = 2;
pub const FI_EP_MSG: c_int = 1;
pub const FI_THREAD_SAFE: c_int = 1;
pub const FI_ENABLE: c_int = 6;
pub const FI_WAIT_UNSPEC: c_int = 1;
pub const FI_CQ_FORMAT_MSG: c_int = 2;
pub const FI_CONNREQ: u32 = 1;
pub const FI_CONNECTED: u32 = 2;
/// Nothing yet.
pub const FI_EAGAIN: isize = 11;
/// An error waits to be read.
pub const FI_EAVAIL: isize = 259;

/// What every object begins with.
#[repr(C)]
pub struct Fid {
    pub fclass: usize,
    pub context: *mut c_void,
    pub ops: *const FidOps,
}
#[repr(C)]
pub struct FidOps {
    pub size: usize,
    pub close: unsafe extern "C" fn(*mut Fid) -> c_int,
    pub bind: unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int,
    pub control: unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int,
}

#[repr(C)]
pub struct Info {
    pub next: *mut Info,
    pub caps: u64,
    pub mode: u64,
    pub addr_format: u32,
    pub src_addrlen: usize,
    pub dest_addrlen: usize,
    pub src_addr: *mut c_void,
    pub dest_addr: *mut c_void,
    pub handle: *mut Fid,
    pub tx_attr: *mut c_void,
    pub rx_attr: *mut c_void,
    pub ep_attr: *mut EpAttr,
    pub domain_attr: *mut DomainAttr,
    pub fabric_attr: *mut FabricAttr,
}
#[repr(C)]
pub struct EpAttr {
    pub kind: c_int,
}
#[repr(C)]
pub struct DomainAttr {
    pub domain: *mut Domain,
    pub name: *mut c_char,
    pub threading: c_int,
}
#[repr(C)]
pub struct FabricAttr {
    pub fabric: *mut Fabric,
    pub name: *mut c_char,
    pub prov_name: *mut c_char,
    pub prov_version: u32,
    pub api_version: u32,
}

#[repr(C)]
pub struct Fabric {
    pub fid: Fid,
    pub ops: *const FabricOps,
}
/// Makes an object of kind `T` of something, as its attributes say.
pub type Open<Of, Attributes, T> = unsafe extern "C" fn(*mut Of, *mut Attributes, *mut *mut T, *mut c_void) -> c_int;
#[repr(C)]
pub struct FabricOps {
    pub size: usize,
    pub domain: Open<Fabric, Info, Domain>,
    pub passive_ep: Open<Fabric, Info, PassiveEp>,
    pub eq_open: Open<Fabric, EqAttr, Eq>,
}
#[repr(C)]
pub struct Domain {
    pub fid: Fid,
    pub ops: *const DomainOps,
}
#[repr(C)]
pub struct DomainOps {
    pub size: usize,
    pub av_open: *const c_void,
    pub cq_open: Open<Domain, CqAttr, Cq>,
    pub endpoint: Open<Domain, Info, Ep>,
}

#[repr(C)]
pub struct Ep {
    pub fid: Fid,
    pub ops: *const c_void,
    pub cm: *const CmOps,
    pub msg: *const MsgOps,
}
#[repr(C)]
pub struct PassiveEp {
    pub fid: Fid,
    pub ops: *const c_void,
    pub cm: *const CmOps,
}
#[repr(C)]
pub struct CmOps {
    pub size: usize,
    pub setname: *const c_void,
    pub getname: unsafe extern "C" fn(*mut Fid, *mut c_void, *mut usize) -> c_int,
    pub getpeer: *const c_void,
    pub connect: unsafe extern "C" fn(*mut Ep, *const c_void, *const c_void, usize) -> c_int,
    pub listen: unsafe extern "C" fn(*mut PassiveEp) -> c_int,
    pub accept: unsafe extern "C" fn(*mut Ep, *const c_void, usize) -> c_int,
    pub reject: *const c_void,
    pub shutdown: unsafe extern "C" fn(*mut Ep, u64) -> c_int,
}
#[repr(C)]
pub struct MsgOps {
    pub size: usize,
    pub recv: unsafe extern "C" fn(*mut Ep, *mut c_void, usize, *mut c_void, u64, *mut c_void) -> isize,
    pub recvv: *const c_void,
    pub recvmsg: *const c_void,
    pub send: unsafe extern "C" fn(*mut Ep, *const c_void, usize, *mut c_void, u64, *mut c_void) -> isize,
}

#[repr(C)]
pub struct EqAttr {
    pub size: usize,
    pub flags: u64,
    pub wait_obj: c_int,
    pub signaling_vector: c_int,
    pub wait_set: *mut c_void,
}
#[repr(C)]
pub struct Eq {
    pub fid: Fid,
    pub ops: *const EqOps,
}
#[repr(C)]
pub struct EqOps {
    pub size: usize,
    pub read: unsafe extern "C" fn(*mut Eq, *mut u32, *mut c_void, usize, u64) -> isize,
    pub readerr: unsafe extern "C" fn(*mut Eq, *mut EqErrEntry, u64) -> isize,
    pub write: *const c_void,
    pub sread: unsafe extern "C" fn(*mut Eq, *mut u32, *mut c_void, usize, c_int, u64) -> isize,
}
#[repr(C)]
pub struct EqCmEntry {
    pub fid: *mut Fid,
    pub info: *mut Info,
    /// As much of what the other end said when connecting as fits; nothing here says anything.
    pub data: [u8; 64],
}
#[repr(C)]
pub struct EqErrEntry {
    pub fid: *mut Fid,
    pub context: *mut c_void,
    pub data: u64,
    pub err: c_int,
    pub prov_errno: c_int,
    pub err_data: *mut c_void,
    pub err_data_size: usize,
}

#[repr(C)]
pub struct CqAttr {
    pub size: usize,
    pub flags: u64,
    pub format: c_int,
    pub wait_obj: c_int,
    pub signaling_vector: c_int,
    pub wait_cond: c_int,
    pub wait_set: *mut c_void,
}
#[repr(C)]
pub struct Cq {
    pub fid: Fid,
    pub ops: *const CqOps,
}
#[repr(C)]
pub struct CqOps {
    pub size: usize,
    pub read: *const c_void,
    pub readfrom: *const c_void,
    pub readerr: unsafe extern "C" fn(*mut Cq, *mut CqErrEntry, u64) -> isize,
    pub sread: unsafe extern "C" fn(*mut Cq, *mut c_void, usize, *const c_void, c_int) -> isize,
}
#[repr(C)]
pub struct CqMsgEntry {
    pub op_context: *mut c_void,
    pub flags: u64,
    pub len: usize,
}
#[repr(C)]
pub struct CqErrEntry {
    pub op_context: *mut c_void,
    pub flags: u64,
    pub len: usize,
    pub buf: *mut c_void,
    pub data: u64,
    pub tag: u64,
    pub olen: usize,
    pub err: c_int,
    pub prov_errno: c_int,
    pub err_data: *mut c_void,
    pub err_data_size: usize,
}

/// An object of the library.
///
/// # Safety
/// The structure begins with a [`Fid`].
pub unsafe trait Object {}
macro_rules! objects {
    ($($t:ty),*) => { $(
        #[allow(unsafe_code, reason = "asserts the layout above")]
        // SAFETY: `fid` is its first field.
        unsafe impl Object for $t {}
    )* };
}
objects!(Fabric, Domain, Ep, PassiveEp, Eq, Cq);

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};
    use std::process::Command;

    /// Name in C, and what Rust takes it to be.
    fn expected() -> Vec<(String, u64)> {
        let mut all = Vec::new();
        macro_rules! fields {
            ($($ours:ident = $c:literal { $($field:ident $(= $name:literal)?),* $(,)? })*) => { $( $(
                let name = [$($name,)? stringify!($field)][0];
                all.push((format!("offsetof(struct {}, {name})", $c), offset_of!($ours, $field) as u64));
            )* )* };
        }
        macro_rules! sizes {
            ($($ours:ident = $c:literal),*) => { $( all.push((format!("sizeof(struct {})", $c), size_of::<$ours>() as u64)); )* };
        }
        macro_rules! values {
            ($($v:ident),*) => { $( all.push((stringify!($v).into(), $v as u64)); )* };
        }
        fields! {
            Fid = "fid" { fclass, context, ops }
            FidOps = "fi_ops" { size, close, bind, control }
            Info = "fi_info" { next, caps, mode, addr_format, src_addrlen, dest_addrlen, src_addr, dest_addr, handle, tx_attr, rx_attr,
                ep_attr, domain_attr, fabric_attr }
            EpAttr = "fi_ep_attr" { kind = "type" }
            DomainAttr = "fi_domain_attr" { domain, name, threading }
            FabricAttr = "fi_fabric_attr" { fabric, name, prov_name, prov_version, api_version }
            Fabric = "fid_fabric" { fid, ops }
            FabricOps = "fi_ops_fabric" { size, domain, passive_ep, eq_open }
            Domain = "fid_domain" { fid, ops }
            DomainOps = "fi_ops_domain" { size, av_open, cq_open, endpoint }
            Ep = "fid_ep" { fid, ops, cm, msg }
            PassiveEp = "fid_pep" { fid, ops, cm }
            CmOps = "fi_ops_cm" { size, setname, getname, getpeer, connect, listen, accept, reject, shutdown }
            MsgOps = "fi_ops_msg" { size, recv, recvv, recvmsg, send }
            EqAttr = "fi_eq_attr" { size, flags, wait_obj, signaling_vector, wait_set }
            Eq = "fid_eq" { fid, ops }
            EqOps = "fi_ops_eq" { size, read, readerr, write, sread }
            EqCmEntry = "fi_eq_cm_entry" { fid, info, data }
            EqErrEntry = "fi_eq_err_entry" { fid, context, data, err, prov_errno, err_data, err_data_size }
            CqAttr = "fi_cq_attr" { size, flags, format, wait_obj, signaling_vector, wait_cond, wait_set }
            Cq = "fid_cq" { fid, ops }
            CqOps = "fi_ops_cq" { size, read, readfrom, readerr, sread }
            CqMsgEntry = "fi_cq_msg_entry" { op_context, flags, len }
            CqErrEntry = "fi_cq_err_entry" { op_context, flags, len, buf, data, tag, olen, err, prov_errno, err_data, err_data_size }
        }
        // What the caller allocates.
        sizes!(
            EqAttr = "fi_eq_attr",
            EqErrEntry = "fi_eq_err_entry",
            CqAttr = "fi_cq_attr"
        );
        sizes!(
            CqMsgEntry = "fi_cq_msg_entry",
            CqErrEntry = "fi_cq_err_entry",
            Fid = "fid"
        );
        values!(
            FI_MSG,
            FI_RECV,
            FI_TRANSMIT,
            FI_SOURCE,
            FI_SOCKADDR_IN,
            FI_EP_MSG,
            FI_THREAD_SAFE,
            FI_ENABLE
        );
        values!(
            FI_WAIT_UNSPEC,
            FI_CQ_FORMAT_MSG,
            FI_CONNREQ,
            FI_CONNECTED,
            FI_EAGAIN,
            FI_EAVAIL
        );
        all.push(("FI_VERSION(1, 11)".into(), VERSION.into()));
        all
    }

    #[test]
    fn layouts_are_those_of_the_headers() {
        let expected = expected();
        let base = std::env::temp_dir().join(format!("fencepost-libfabric-abi-{}", std::process::id()));
        let source = base.with_extension("c");
        let mut text = "#include <stddef.h>\n#include <stdio.h>\n".to_owned();
        for header in ["fabric", "fi_cm", "fi_domain", "fi_endpoint", "fi_eq", "fi_errno"] {
            text += &format!("#include <rdma/{header}.h>\n");
        }
        text += "int main(void) {\n";
        for (name, _) in &expected {
            text += &format!("printf(\"%llu\\n\", (unsigned long long)({name}));\n");
        }
        std::fs::write(&source, text + "return 0; }\n").unwrap();
        let built = Command::new("cc").arg("-o").arg(&base).arg(&source).output();
        let why = match &built {
            Ok(o) if o.status.success() => None,
            Ok(o) => Some(String::from_utf8_lossy(&o.stderr).into_owned()),
            Err(e) => Some(e.to_string()),
        };
        let told = why.is_none().then(|| Command::new(&base).output().unwrap());
        let _ = (std::fs::remove_file(&source), std::fs::remove_file(&base));
        let Some(told) = told else {
            let why = why.unwrap_or_default();
            // Only what is not installed may keep this from being compared.
            assert!(why.contains("No such file") || why.contains("not found"), "{why}");
            println!("skipped: needs cc and the headers of libfabric (libfabric-dev): {why}");
            return;
        };
        let told = String::from_utf8(told.stdout).unwrap();
        let told: Vec<u64> = told.lines().map(|l| l.parse().unwrap()).collect();
        assert_eq!(told.len(), expected.len());
        for ((name, ours), theirs) in expected.iter().zip(told) {
            assert_eq!(*ours, theirs, "{name}");
        }
    }
}
