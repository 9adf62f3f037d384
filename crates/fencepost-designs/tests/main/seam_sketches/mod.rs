//! Every hook of the seam, through the recording double.

mod every_hook;
