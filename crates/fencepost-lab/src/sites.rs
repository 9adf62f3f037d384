//! Instructions of each compute site: the table measured on the native build of the programs.

/// The table, indexed by site.
pub fn table() -> Vec<u32> {
    fencepost_programs::sites::costs()
        .iter()
        .map(|c| c.instructions)
        .collect()
}
