//! The list of planted faults, read from the sources: every `planted!("name", "rule")`.

use crate::sources::of_crates;

/// One planted line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Planted {
    /// Its name.
    pub name: String,
    /// The rule that it breaks.
    pub breaks: String,
    /// File and line.
    pub place: String,
}

/// The text of the string literal that comes next, and what follows it.
fn literal(text: &str) -> Option<(&str, &str)> {
    let (_, rest) = text.split_once('"')?;
    rest.split_once('"')
}

/// The planted lines of one source; comments and the macro's own definition and tests do not count.
fn planted_in(file: &str, source: &str) -> Vec<Planted> {
    let mut found = Vec::new();
    for (at, _) in source.match_indices("planted!(") {
        let line = source[..at].rfind('\n').map_or(0, |n| n + 1);
        let comment = source[line..at].contains("//");
        let names = literal(&source[at..]).and_then(|(name, rest)| Some((name, literal(rest)?.0)));
        if let (false, Some((name, breaks))) = (comment, names) {
            found.push(Planted {
                name: name.to_owned(),
                breaks: breaks.split_whitespace().collect::<Vec<_>>().join(" "),
                place: format!("{file}:{}", source[..at].matches('\n').count() + 1),
            });
        }
    }
    found
}

/// Every planted line of the workspace, by name.
pub(crate) fn all() -> Vec<Planted> {
    let mut found: Vec<Planted> = (of_crates().iter())
        .filter(|s| !s.0.contains("fencepost-kernel/src/fault"))
        .flat_map(|(file, text)| planted_in(file, text))
        .collect();
    found.sort_by(|a, b| (&a.name, &a.place).cmp(&(&b.name, &b.place)));
    found
}

/// The file from which a build knows the names of all faults, and its text: one name a line.
pub(crate) fn names_file() -> (String, String) {
    let mut names: Vec<String> = all().into_iter().map(|f| f.name).collect();
    names.dedup();
    (
        "crates/fencepost-kernel/src/fault/names.txt".into(),
        names.join("\n") + "\n",
    )
}

/// The file from which a build knows the names of all decisions (`decision!("name", condition)`), and its text: one name a line.
pub(crate) fn decisions_file() -> (String, String) {
    let mut names = std::collections::BTreeSet::new();
    for (file, text) in of_crates() {
        if !file.contains("fencepost-kernel/src/fault") {
            let found = text
                .match_indices("decision!(")
                .filter_map(|(at, _)| literal(&text[at..]));
            names.extend(found.map(|(name, _)| format!("{name}\n")));
        }
    }
    let text = names.into_iter().collect();
    ("crates/fencepost-kernel/src/fault/decisions.txt".into(), text)
}

#[test]
fn names_are_dotted_and_mean_one_rule() {
    let all = all();
    for p in &all {
        let (place, what) = p.name.split_once('.').unwrap_or_default();
        assert!(
            !place.is_empty() && !what.is_empty(),
            "{}: `{}` is not place.what",
            p.place,
            p.name
        );
        assert!(!p.breaks.is_empty(), "{}", p.place);
    }
    for two in all.windows(2).filter(|w| w[0].name == w[1].name) {
        assert_eq!(two[0].breaks, two[1].breaks, "{} and {}", two[0].place, two[1].place);
    }
}

/// A reason for an escape is a reason for a fault that there is.
#[test]
fn every_escape_with_a_reason_is_a_planted_fault() {
    let all = all();
    for (name, why) in fencepost_battery::planted::ESCAPES {
        assert!(all.iter().any(|p| p.name == *name), "{name}: {why}");
    }
}

/// At least 15 faults in each part of the code.
#[test]
fn every_part_of_the_code_has_its_faults() {
    use fencepost_battery::planted::{PARTS, declared, part_of};
    let mut names: std::collections::BTreeSet<String> = all().into_iter().map(|p| p.name).collect();
    names.extend(declared().into_iter().map(str::to_owned));
    for (part, (title, _)) in PARTS.iter().enumerate() {
        let here = names.iter().filter(|n| part_of(n) == part).count();
        assert!(here >= 15, "{title}: {here}");
    }
}

#[test]
fn planted_lines_are_found() {
    let source =
        "// planted!(\"a.comment\", \"x\")\nif fencepost_kernel::planted!(\n    \"core.x\",\n    \"a rule\") {}\n";
    let one = Planted {
        name: "core.x".into(),
        breaks: "a rule".into(),
        place: "a.rs:2".into(),
    };
    assert_eq!(planted_in("a.rs", source), [one]);
}

/// Whether this build lacks planted faults; then it says with which command one has them.
pub(crate) fn lacking(task: &str) -> bool {
    if !fencepost_kernel::fault::ENABLED {
        eprintln!(
            "this build has no planted faults, and `{task}` plants them: \
             cargo run --profile quick --features faults -p xtask -- {task} (`--release --features faults` will do, and so will `--profile test`)"
        );
    }
    !fencepost_kernel::fault::ENABLED
}

/// What plants faults is shown with a build that has them: a release, and the profile `quick`, have them with the feature alone.
#[test]
fn commands_of_the_pages_build_the_faults_that_they_plant() {
    let pages = std::fs::read_dir(crate::sources::root().join("docs")).expect("there are pages");
    let mut seen = 0;
    for page in pages
        .map(|p| p.expect("a readable folder").path())
        .filter(|p| p.is_file())
    {
        let text = std::fs::read_to_string(&page).expect("a readable page");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for command in text
            .split("cargo run ")
            .skip(1)
            .map(|rest| rest.split('`').next().unwrap_or_default())
        {
            let (build, task) = command.split_once(" -- ").unwrap_or_default();
            if ["battery", "faults --run", "rules", "net"]
                .iter()
                .any(|t| task.starts_with(t))
            {
                let release = build.contains("--release") || build.contains("--profile quick");
                assert!(
                    !release || build.contains("--features faults"),
                    "{}: {command}",
                    page.display()
                );
                seen += 1;
            }
        }
    }
    assert!(seen >= 3, "{seen} commands");
}
