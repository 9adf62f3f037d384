//! Recoveries that do not keep to what they said that they read.

use super::*;

#[test]
fn a_recovery_that_contradicts_itself_is_noticed() {
    let log = recorded::parse("fencepost-log 1\n0 store pm+0 1\n0 store pm+64 1\n").unwrap();
    let space = Contract::from(ContractKind::Px86).space(&log.trace, &log.initial);
    let (mut search, mut n) = (Images::new(&space, true), 0);
    while let Next::Run(job) = search.next_image() {
        n += 1;
        let reads = if n % 2 == 0 {
            vec![(0, 8), (64, 8)]
        } else {
            vec![(64, 8), (0, 8)]
        };
        if !search.answer(
            &job,
            &Answer {
                failed: None,
                reads: Some(reads),
                unknown: None,
            },
        ) {
            break;
        }
    }
    assert!(!search.is_steady());
}

/// So is one that read on once, and ends with the same values another time.
#[test]
fn a_recovery_that_ends_earlier_with_the_same_values_contradicts_itself() {
    let log = recorded::parse("fencepost-log 1\n0 store pm+0 1\n0 store pm+64 1\n").unwrap();
    let space = Contract::from(ContractKind::Px86).space(&log.trace, &log.initial);
    let mut search = Images::new(&space, true);
    let mut told = true;
    while let Next::Run(job) = search.next_image() {
        let image = bytes(&job).1;
        let second = image.contains_key(&fencepost_kernel::Addr::pm(64).0);
        let reads = if second { vec![(0, 8), (64, 8)] } else { vec![(0, 8)] };
        told = search.answer(
            &job,
            &Answer {
                reads: Some(reads),
                ..Answer::default()
            },
        );
        if !told {
            break;
        }
    }
    assert!(!told && !search.is_steady());
}
