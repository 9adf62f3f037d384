//! The recorder.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The recorder, built if it is not there: no other package needs it. It comes to lie beside the command, where that looks for it.
pub(crate) fn plugin() -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_fencepost")).parent().expect("a folder");
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let target = folder.parent().expect("a target folder");
    let built = Command::new(env!("CARGO"))
        .args([
            "build",
            "--offline",
            "-q",
            "--profile",
            "test",
            "-p",
            "fencepost-qemu-plugin",
            "--target-dir",
        ])
        .arg(target)
        .arg("--manifest-path")
        .arg(manifest)
        .status();
    assert!(built.is_ok_and(|s| s.success()), "the plugin is built");
    target.join("debug/libfencepost_qemu_plugin.so")
}
