use super::*;
use crate::log::load;
use crate::recovery::scratch::Scratch;
use crate::search::states::tests::request;
use fencepost_contract::explore::ReplayId;
use fencepost_contract::images::{Images, Next};
use fencepost_contract::{Contract, ContractKind};

/// A log of these lines under x86, and the state in which its last store alone is durable.
fn last_alone(events: &str) -> (ExternalRequest, Loaded, ImageWitness) {
    let scratch = Scratch::new().expect("a folder");
    let path = scratch.path().join("a.log");
    std::fs::write(&path, format!("fencepost-log 1\n{events}")).expect("a folder to write to");
    let loaded = load(&path, 0, None).expect("a log");
    let space = Contract::from(ContractKind::Px86).space(&loaded.log.trace, &loaded.log.initial);
    let last = loaded.log.trace.stores.last().expect("a store");
    let wanted = [(last.addr.0 - Addr::pm(0).0, last.value)];
    let mut images = Images::new(&space, false);
    let found = std::iter::from_fn(|| match images.next_image() {
        Next::Run(job) => {
            images.answer(&job, &Default::default());
            Some(job)
        }
        Next::Wait | Next::Done => None,
    });
    let job = found.into_iter().find(|job| job.words == wanted).expect("it may be");
    let mut w = ImageWitness::of(&space, &job);
    w.why = "exit status 1".into();
    (request(&path, "audit"), loaded, w)
}
const FOUR: &str = "0 store pm+0 1 @ b.c:2 < main (b.c:9)\n0 store pm+64 1 @ a.c:1\n0 store pm+128 1 @ b.c:2 < main (b.c:9)\n\
                    0 store pm+192 1 @ z.c:7\n";

#[test]
fn a_state_is_told_by_the_stores_that_deviate() {
    let (request, loaded, mut w) = last_alone(FOUR);
    assert_eq!((w.missing.len(), w.persisted.len()), (3, 1));
    let names = |stores: &[StoreId]| stores.iter().map(|s| loaded.log.name(*s)).collect::<Vec<_>>();
    w.deviation = Deviation::Missing;
    let told = tell(&request, &loaded, &w, None);
    let state = told.witness.state.expect("a state");
    assert_eq!((state.persisted.len(), state.missing), (0, names(&w.missing)));
    assert_eq!(told.witness.source, ["a.c:1", "b.c:2"]);
    assert_eq!(told.stacks, ["b.c:2, called by main (b.c:9)"], "each once");
    assert_eq!((told.log_line, told.missing_unread, told.apart), (5, None, None));
    assert_eq!(told.newest.as_deref(), Some(&loaded.log.name(w.persisted[0])[..]));
    let id = told.witness.replay.expect("an id");
    let (decoded, state) = ImageId::decode(&id).expect("an id");
    assert_eq!(
        (decoded.log, decoded.recover.command.as_str(), state),
        (request.log.clone(), "audit", w.id.clone())
    );
    w.deviation = Deviation::Persisted;
    let told = tell(&request, &loaded, &w, None);
    let state = told.witness.state.expect("a state");
    assert_eq!(
        (state.persisted, state.missing),
        (names(&w.persisted), names(&w.missing))
    );
    assert_eq!((told.witness.source, told.stacks.len()), (vec!["z.c:7".to_owned()], 0));
    // Where nothing is durable what is lost tells, and where nothing is lost either the newest store does.
    w.persisted.clear();
    assert_eq!(tell(&request, &loaded, &w, None).witness.source, ["a.c:1", "b.c:2"]);
    w.missing.clear();
    assert_eq!(tell(&request, &loaded, &w, None).witness.source, ["z.c:7"]);
}
/// A piece reads each word of which it has a byte.
#[test]
fn what_is_lost_and_was_not_read_is_left_out() {
    let (request, loaded, w) = last_alone(FOUR);
    let unread = |pieces: &[(u64, u64)]| {
        let told = tell(&request, &loaded, &w, Some(pieces));
        let missing = told.witness.state.expect("a state").missing;
        assert_eq!(told.missing_unread, Some(3 - missing.len()));
        missing.len()
    };
    for (piece, read) in [
        ((60, 4), 0),
        ((60, 5), 1),
        ((72, 8), 0),
        ((71, 1), 1),
        ((0, 129), 3),
        ((8, u64::MAX), 2),
    ] {
        assert_eq!(unread(&[piece]), read, "{piece:?}");
    }
    assert_eq!((unread(&[]), unread(&[(0, 8), (128, 8)])), (0, 2));
}
#[test]
fn of_many_stores_the_first_are_named() {
    let stores: String = (0..17).map(|i| format!("0 store pm+{} 1\n", i * 64)).collect();
    let log = fencepost_contract::recorded::parse(&format!("fencepost-log 1\n{stores}")).expect("a log");
    let all: Vec<StoreId> = (0..17).filter_map(StoreId::from_index).collect();
    let (some, more) = (named(&log, &all[..16]), named(&log, &all));
    assert_eq!((some.len(), more.len()), (16, 17));
    assert_eq!((&more[..16], &more[16][..]), (&some[..], "and 1 more"));
    assert_eq!(some[15], log.name(all[15]));
}
/// Recovery fails again on what its own stores have left: those tell, before those of the program.
#[test]
fn a_state_in_the_middle_of_recovery_is_told_after_the_first() {
    let (request, loaded, first) = last_alone(FOUR);
    let (_, recovery, mut second) = last_alone("0 store pm+0 2 @ r.c:1\n0 store pm+64 2 @ r.c:2\n");
    second.why = "killed by signal 6".into();
    let newest = recovery.log.name(second.newest.expect("a store"));
    let lost = recovery.log.name(second.missing[0]);
    second.deviation = Deviation::Missing;
    second.persisted.clear();
    let id = second.id.clone();
    let mut twice = Twice {
        first,
        second,
        recovery,
    };
    let told = tell_twice(&request, &loaded, &twice);
    let state = told.witness.state.expect("a state");
    assert_eq!(state.recovery, Some([vec![], vec![lost]]));
    assert_eq!(
        (told.witness.source[0].as_str(), &told.witness.why[..]),
        ("r.c:1", "killed by signal 6")
    );
    let replay = told.witness.replay.expect("an id");
    assert_eq!(ReplayId::decode_again(&replay).expect("an id"), Some(id));
    // With none of its stores out of order the newest of them tells.
    twice.second.missing.clear();
    let told = tell_twice(&request, &loaded, &twice);
    let state = told.witness.state.expect("a state");
    assert_eq!(state.recovery, Some([vec![newest], vec![]]));
    assert_eq!(told.witness.source[0], "r.c:2");
}
#[test]
fn two_threads_that_were_not_seen_to_meet_are_named_with_their_stores() {
    let log = "fencepost-log 1\n3 store pm+0 1 @ a.c:1\n1 store pm+64 2 @ b.c:1\n";
    let log = fencepost_contract::recorded::parse(log).expect("a log");
    let stores: Vec<StoreId> = (0..2).filter_map(StoreId::from_index).collect();
    let (before, after) = (log.name(stores[0]), log.name(stores[1]));
    let text = not_met(&log, (stores[0], stores[1]));
    let wanted = format!("thread 3 made {before} before thread 1 made {after}, and the log has no meeting");
    assert!(text.starts_with(&wanted), "{text}");
}
