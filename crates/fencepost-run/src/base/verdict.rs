//! What a search of crash states, or a judgement of a log, says: one enum, one spelling in text and in JSON.

pub use fencepost_contract::explore::Verdict;
use serde::Serializer;

/// The verdict of something that either fails or does not.
pub fn of_failure(failed: bool) -> Verdict {
    match failed {
        true => Verdict::Violated,
        false => Verdict::Clean,
    }
}

/// A verdict in a JSON document: as it is printed.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(verdict: &Verdict, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Serialize)]
    struct Document {
        #[serde(serialize_with = "serialize")]
        verdict: Verdict,
    }

    #[test]
    fn documents_and_text_spell_verdicts_alike() {
        for (verdict, text) in [
            (Verdict::Clean, "clean"),
            (Verdict::Violated, "violated"),
            (Verdict::Bounded, "bounded"),
            (Verdict::NothingExplored, "nothing explored"),
        ] {
            let json = serde_json::to_string(&Document { verdict }).expect("a document");
            assert_eq!(
                (json, verdict.to_string()),
                (format!("{{\"verdict\":\"{text}\"}}"), text.to_owned())
            );
        }
    }
}
