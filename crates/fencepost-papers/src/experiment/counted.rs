//! What claims count, in the place of what they name: what a paper's words count is a reading too.

use super::rule::Over;
use std::collections::BTreeMap;

/// What a reading has claims count, in the place of what they name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    /// Other metrics, by the metric that claims name.
    pub metrics: BTreeMap<String, String>,
    /// Other ways from programs to one value, by the way that claims name.
    pub over: BTreeMap<Over, Over>,
}
impl Counted {
    /// The metric that a claim's name stands for.
    pub fn metric<'a>(&'a self, name: &'a str) -> &'a str {
        self.metrics.get(name).map_or(name, String::as_str)
    }
    /// The way from programs to one value that a claim's stands for.
    pub fn over(&self, over: Over) -> Over {
        self.over.get(&over).copied().unwrap_or(over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_stands_for_itself() {
        let counted = Counted {
            metrics: [("pm_reads".to_owned(), "loads".to_owned())].into(),
            over: [(Over::Max, Over::Mean)].into(),
        };
        assert_eq!(
            ["pm_reads", "pm_writes"].map(|m| counted.metric(m)),
            ["loads", "pm_writes"]
        );
        assert_eq!([Over::Max, Over::Min].map(|o| counted.over(o)), [Over::Mean, Over::Min]);
    }
}
