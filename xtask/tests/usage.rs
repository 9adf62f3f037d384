//! The command as developers meet it.

use std::process::Command;

/// A task that does not exist ends with exit code 2 and the list of those that do.
#[test]
fn an_unknown_task_is_answered_with_the_tasks() {
    let run = Command::new(env!("CARGO_BIN_EXE_xtask")).arg("family").output();
    let run = run.expect("the command starts");
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{said}");
    for task in [
        "generate", "digests", "battery", "faults", "rules", "families", "inputs",
    ] {
        assert!(said.contains(task), "{said}");
    }
}
