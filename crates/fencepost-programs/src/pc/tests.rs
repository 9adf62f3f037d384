//! What the audit makes of broken chains.

use super::*;
use crate::pool::tests::Words;
use fencepost_kernel::params::Raw;

#[test]
fn a_chain_that_comes_back_to_itself_holds_no_key() {
    let params = [("buckets", 1), ("entries", 3)].map(|(name, n)| (name.to_owned(), Raw::Int(n)));
    let settings = Settings {
        params: params.to_vec(),
        ..Settings::default()
    };
    let (pc, mut m) = (Pc::build(&settings).unwrap(), Words::default());
    pc.setup(&mut m);
    for key in 1..=3 {
        assert_eq!(pc.look(&mut m, key).map(|found| found.0), Ok(Pc::first(key)));
    }
    // The head names the last item; it names itself.
    let last = m.load(pc.table.at(pc.bucket(1)));
    m.store(At::new(Addr(last.v + NEXT)), last);
    assert!(pc.look(&mut m, 3).is_ok(), "it is the first of the chain");
    for key in [1, 2] {
        let why = pc.look(&mut m, key).map_err(|v| v.why);
        assert_eq!(why, Err("a key is no longer found".into()), "key {key}");
    }
}
