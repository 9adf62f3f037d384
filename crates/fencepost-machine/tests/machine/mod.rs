//! Cores and caches put together, as designs and programs see them.

mod common;
mod core_times;
mod dataflow;
mod ends;
mod fences;
mod nontemporal;
mod recorded;
mod resident;
mod seam_hooks;
mod timing;
mod traced;
