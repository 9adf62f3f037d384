//! Where the emulator's plugin lies. The emulator opens it by its path, so it is no part of the command, and `cargo install` leaves it out:
//! a command whose sources are still there builds it from them when it is asked for first.

use fencepost_run::BadInput;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// File name of the plugin.
const PLUGIN: &str = "libfencepost_qemu_plugin.so";
/// Its package, in the sources that this command was built from.
const PACKAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fencepost-qemu-plugin/Cargo.toml");

/// The plugin: the one asked for, the one that lies where builds and installations put it, or one that is built now.
///
/// # Errors
/// It is not there, or does not build; with how to get it.
pub(crate) fn plugin(asked: Option<&Path>) -> Result<PathBuf, BadInput> {
    let own = std::env::current_exe().ok();
    let folder = own.as_deref().and_then(Path::parent);
    let found = match asked {
        Some(path) => Some(path.to_owned()).filter(|p| p.is_file()),
        None => match folder.and_then(installed) {
            Some(path) => Some(path),
            None => folder.map_or(Ok(None), |f| built(Path::new(PACKAGE), f))?,
        },
    };
    found.and_then(|p| std::path::absolute(p).ok()).ok_or_else(|| {
        let missing = asked.unwrap_or(Path::new(PLUGIN)).display();
        BadInput::new(format!("the emulator's plugin {missing} is not there"))
            .hint(folder.map_or_else(String::new, how))
    })
}

/// Built from this package by cargo, for a command that lies in `folder`; what cargo says goes to standard error. `None` where the
/// sources are gone.
fn built(package: &Path, folder: &Path) -> Result<Option<PathBuf>, BadInput> {
    let Ok(package) = package.canonicalize() else {
        return Ok(None);
    };
    let sources = package.ancestors().nth(3).expect("crates/NAME/Cargo.toml");
    let (target, profile) = build_folder(folder).unwrap_or_else(|| (sources.join("target"), "release".to_owned()));
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--profile", if profile == "debug" { "dev" } else { &profile }]);
    cargo
        .arg("--manifest-path")
        .arg(&package)
        .arg("--target-dir")
        .arg(&target);
    let so = target.join(&profile).join(PLUGIN);
    if so.is_file() {
        cargo.arg("--quiet"); // asked only whether it is of today
    }
    let failed = |why: String| {
        let found = format!("the emulator's plugin is not there, and building it failed: {why}");
        Err(BadInput::new(found).hint(how(folder)))
    };
    match cargo.stdin(Stdio::null()).stdout(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(Some(so)),
        Ok(status) => failed(format!("cargo ended with {status}")),
        Err(e) => failed(format!("cargo does not start ({e})")),
    }
}

/// The target folder and the profile's folder in it, where the command in `folder` was built there.
fn build_folder(folder: &Path) -> Option<(PathBuf, String)> {
    let folder = if folder.ends_with("deps") {
        folder.parent()?
    } else {
        folder
    };
    let target = folder.parent().filter(|p| p.join("CACHEDIR.TAG").is_file())?;
    Some((target.to_owned(), folder.file_name()?.to_string_lossy().into_owned()))
}

/// Beside the command; for its tests, where cargo puts what they depend on, or above it; or in the `lib` that belongs to its `bin`.
fn installed(folder: &Path) -> Option<PathBuf> {
    let above = folder.parent()?;
    [
        folder.join(PLUGIN),
        folder.join("deps").join(PLUGIN),
        above.join(PLUGIN),
        above.join("lib/fencepost").join(PLUGIN),
    ]
    .into_iter()
    .find(|p| p.is_file())
}

/// How to get it, for a command that lies in `folder`.
fn how(folder: &Path) -> String {
    format!(
        "in fencepost's sources, `cargo build -p fencepost-qemu-plugin --release` makes target/release/{PLUGIN}: copy it to {}, or \
         name it with --plugin",
        folder.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A folder of this test's own, with these files in it.
    fn prefix(name: &str, files: &[&str]) -> PathBuf {
        let top = std::env::temp_dir().join(format!("fencepost-plugin-{name}-{}", std::process::id()));
        for file in files {
            let path = top.join(file);
            fs::create_dir_all(path.parent().expect("it lies in a folder")).unwrap();
            fs::write(path, "").unwrap();
        }
        top
    }

    #[test]
    fn it_is_found_beside_the_command_and_in_the_library_of_its_prefix() {
        let beside = format!("bin/{PLUGIN}");
        let library = format!("lib/fencepost/{PLUGIN}");
        let both = prefix("both", &[&beside, &library]);
        assert_eq!(installed(&both.join("bin")), Some(both.join(&beside)));
        fs::remove_file(both.join(&beside)).unwrap();
        assert_eq!(installed(&both.join("bin")), Some(both.join(&library)));
        fs::remove_file(both.join(&library)).unwrap();
        assert_eq!(installed(&both.join("bin")), None);
        fs::remove_dir_all(both).unwrap();
    }

    #[test]
    fn it_is_built_where_the_command_was() {
        let target = prefix("target", &["CACHEDIR.TAG", "release/fencepost", "quick/deps/tests"]);
        let of = |folder: &str| build_folder(&target.join(folder));
        assert_eq!(of("release"), Some((target.clone(), "release".into())));
        assert_eq!(of("quick/deps"), Some((target.clone(), "quick".into())));
        fs::remove_file(target.join("CACHEDIR.TAG")).unwrap();
        assert_eq!(of("release"), None);
        fs::remove_dir_all(target).unwrap();
    }

    #[test]
    fn a_package_that_does_not_build_is_an_error_and_one_that_is_gone_is_none() {
        let sources = prefix("sources", &["crates/broken/Cargo.toml"]);
        let e = built(&sources.join("crates/broken/Cargo.toml"), &sources.join("bin")).unwrap_err();
        assert!(e.to_string().contains("building it failed: cargo ended with"), "{e}");
        let gone = built(&sources.join("crates/gone/Cargo.toml"), &sources.join("bin"));
        assert_eq!(gone.unwrap(), None);
        fs::remove_dir_all(sources).unwrap();
    }

    #[test]
    fn one_that_was_asked_for_is_named() {
        let e = plugin(Some(Path::new("/no/such.so"))).unwrap_err();
        assert!(e.to_string().contains("/no/such.so is not there"), "{e}");
    }
}
