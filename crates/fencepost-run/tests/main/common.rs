//! What the tests of several design families share.

/// Settings that make a program's structures small enough for operations of several threads to meet, as it declares them.
pub(crate) fn sizes(program: &str) -> Vec<String> {
    let about = fencepost_programs::programs().into_iter().find(|p| p.name == program);
    let small = about.map_or(&[][..], |p| p.small);
    small
        .iter()
        .map(|(name, value)| format!("program.{program}.{name}={value}"))
        .collect()
}
