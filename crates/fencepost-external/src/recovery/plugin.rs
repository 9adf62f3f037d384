//! Where the emulator's plugin lies. The emulator opens it by its path, so it is no part of the command, and `cargo install` leaves it out.

use fencepost_run::BadInput;
use std::path::{Path, PathBuf};

/// File name of the plugin.
const PLUGIN: &str = "libfencepost_qemu_plugin.so";

/// The plugin: the one asked for, or the one that lies where builds and installations put it.
///
/// # Errors
/// It is not there; with how to get it.
pub(crate) fn plugin(asked: Option<&Path>) -> Result<PathBuf, BadInput> {
    let own = std::env::current_exe().ok();
    let folder = own.as_deref().and_then(Path::parent);
    let found = match asked {
        Some(path) => Some(path.to_owned()).filter(|p| p.is_file()),
        None => folder.and_then(installed),
    };
    found.and_then(|p| std::path::absolute(p).ok()).ok_or_else(|| {
        let missing = asked.unwrap_or(Path::new(PLUGIN)).display();
        BadInput::new(format!("the emulator's plugin {missing} is not there"))
            .hint(folder.map_or_else(String::new, how))
    })
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

/// How to get it, for a command that lies in `folder`: a build of the same profile puts it beside a command that was built there; for an
/// installed one it has to be copied.
fn how(folder: &Path) -> String {
    let built = folder.parent().is_some_and(|p| p.join("CACHEDIR.TAG").is_file());
    let profile = folder.file_name().unwrap_or_default().to_string_lossy();
    match (built, &*profile) {
        (true, "debug") => "build it with `cargo build -p fencepost-qemu-plugin`, or name it with --plugin".into(),
        (true, profile) => {
            format!(
                "build it with `cargo build -p fencepost-qemu-plugin --profile {profile}`, or name it with --plugin"
            )
        }
        (false, _) => format!(
            "in fencepost's sources, `cargo build -p fencepost-qemu-plugin --release` makes target/release/{PLUGIN}: copy it to {}, or \
             name it with --plugin",
            folder.display()
        ),
    }
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
    fn the_hint_fits_where_the_command_lies() {
        let target = prefix("target", &["CACHEDIR.TAG", "release/fencepost"]);
        assert!(how(&target.join("release")).contains("--profile release`"));
        fs::remove_file(target.join("CACHEDIR.TAG")).unwrap();
        let copied = format!("copy it to {}", target.join("release").display());
        assert!(how(&target.join("release")).contains(&copied));
        fs::remove_dir_all(target).unwrap();
    }

    #[test]
    fn one_that_was_asked_for_is_named() {
        let e = plugin(Some(Path::new("/no/such.so"))).unwrap_err();
        assert!(e.to_string().contains("/no/such.so is not there"), "{e}");
    }
}
