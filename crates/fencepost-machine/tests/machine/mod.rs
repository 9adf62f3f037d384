//! Cores and caches put together, as designs and programs see them.

mod common;
mod core_times;
mod dataflow;
mod fences;
mod nontemporal;
mod seam_hooks;
mod timing;
