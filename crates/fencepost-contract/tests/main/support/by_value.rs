//! Logs whose lines are given by value, against every choice of stores for them.

use fencepost_contract::{Contract, ContractKind, Demands, recorded};
use fencepost_kernel::Stream;

const FENCES: [&str; 7] = [
    "sfence",
    "mfence",
    "persist-barrier",
    "dmb",
    "dsb",
    "pcommit",
    "new-strand",
];

/// Words that may stand for this many stores are left out: choices are tried one by one.
const OPEN: usize = 4;

/// A random log conforms exactly if it does for some choice of the stores that its values may stand for. Whether it does; none for
/// a log with too many choices.
pub(crate) fn best_choice(rng: &mut Stream, i: u64) -> Option<bool> {
    let kinds: Vec<ContractKind> = ContractKind::ALL
        .into_iter()
        .filter(|k| !k.is_transactional())
        .collect();
    let kind = kinds[rng.below(kinds.len() as u64) as usize];
    let (threads, words, dsb) = (1 + rng.below(2), 1 + rng.below(3), rng.chance(1, 2));
    let (mut lines, mut open, mut written) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..4 + rng.below(9) {
        let thread = rng.below(threads);
        let word = format!("pm+0x{:x}", rng.below(words) * 64);
        match rng.below(7) {
            0..=2 => {
                let value = 1 + rng.below(2);
                lines.push(format!("{thread} store {word} {value}"));
                written.push((word, value));
            }
            3 => lines.push(format!("{thread} clwb {word}")),
            4 if dsb => lines.push(format!("{thread} dsb")),
            4 => lines.push(format!("{thread} {}", FENCES[rng.below(7) as usize])),
            _ if !written.is_empty() => {
                let (word, value) = &written[rng.below(written.len() as u64) as usize];
                open.push(lines.len());
                lines.push(format!("durable {word} : 0={value}"));
            }
            _ => {}
        }
    }
    if open.len() > OPEN {
        return None;
    }
    let by_value = conforms(&lines, kind);
    let named = any_choice(&lines, &open, &mut Vec::new(), kind);
    assert_eq!(by_value, named, "{kind}, program {i}\n{}", lines.join("\n"));
    Some(named)
}

fn conforms(lines: &[String], kind: ContractKind) -> bool {
    let text = format!("fencepost-log 1\n{}\n", lines.join("\n"));
    let log = recorded::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    log.conform(&Contract::from(kind), Demands::default()).is_ok()
}

/// All choices of stores for the words by value, one by one, judged with names.
fn any_choice(lines: &[String], open: &[usize], choice: &mut Vec<String>, kind: ContractKind) -> bool {
    let Some(at) = open.get(choice.len()) else {
        let mut named = lines.to_vec();
        for (at, text) in open.iter().zip(&*choice) {
            named[*at] = text.clone();
        }
        return conforms(&named, kind);
    };
    let (line, value) = lines[*at].split_once(" : 0=").expect("a word by value");
    let stored = format!("store {} {value}", line.trim_start_matches("durable "));
    let stores = lines[..*at].iter().filter(|l| l.contains(" store ")).enumerate();
    let fitting: Vec<usize> = stores
        .filter(|(_, l)| l.ends_with(&stored))
        .map(|(n, _)| n + 1)
        .collect();
    fitting.into_iter().any(|number| {
        choice.push(format!("{line} : 0=#{number}"));
        let fits = any_choice(lines, open, choice, kind);
        choice.pop();
        fits
    })
}
