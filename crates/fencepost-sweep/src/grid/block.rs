//! A block of a grid: its axes, how they are combined, and each of its cells by number.

use super::axes::{Axis, Setting, Values, several};
use super::conditions::Conditions;
use super::latin;
use super::node::Node;
use fencepost_run::BadInput;

/// How axes are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Every value with every other.
    Product,
    /// First with first, second with second.
    Zip,
    /// So many samples, with a seed.
    Latin {
        /// Number of cells.
        samples: u64,
        /// Chooses them.
        seed: u64,
    },
}

/// One block.
#[derive(Clone, Debug)]
pub(super) struct Block {
    form: Form,
    axes: Vec<Axis>,
    /// Which cells are meant.
    pub conditions: Conditions,
}

impl Block {
    /// Reads a block of the form that its heading names.
    ///
    /// # Errors
    /// What is wrong with it, with its place.
    pub(super) fn read(form: &str, node: &Node) -> Result<Block, BadInput> {
        let mut conditions = Conditions::default();
        let (mut axes, mut samples, mut seed) = (Vec::new(), None, 1);
        for (key, n) in node.entries(&format!("[[{form}]]"))? {
            match (form, key.as_str()) {
                ("latin", "samples") => samples = Some(n.count("`samples`")?),
                ("latin", "sample_seed") => seed = n.count("`sample_seed`")?,
                _ if conditions.read(key, n)? => {}
                _ => axes.push(Axis::read(key, n, form == "latin")?),
            }
        }
        let form = match (form, samples) {
            ("product", _) => Form::Product,
            ("zip", _) => Form::Zip,
            (_, Some(samples)) => Form::Latin { samples, seed },
            (_, None) => return Err(node.wrong("[[latin]] needs `samples`")),
        };
        if form == Form::Zip {
            same_length(&axes)?;
        }
        Ok(Block { form, axes, conditions })
    }
    /// A block of one cell.
    ///
    /// # Errors
    /// What is wrong with it, with its place.
    pub(super) fn cell(node: &Node) -> Result<Block, BadInput> {
        let axes = several(node)?.into_iter().map(|(name, value)| Axis {
            node: node.clone(),
            values: Values::Listed(vec![vec![(name.clone(), value)]]),
            name,
        });
        Ok(Block {
            form: Form::Product,
            axes: axes.collect(),
            conditions: Conditions::default(),
        })
    }
    /// A block of one cell that sets nothing.
    pub(super) fn single() -> Block {
        Block {
            form: Form::Product,
            axes: Vec::new(),
            conditions: Conditions::default(),
        }
    }
    /// Everything that its cells set.
    pub(super) fn names(&self) -> Vec<String> {
        let of = |a: &Axis| match &a.values {
            Values::Listed(list) => list.iter().flatten().map(|s| s.0.clone()).collect(),
            Values::Between(_) => vec![a.name.clone()],
        };
        self.axes.iter().flat_map(of).collect()
    }
    /// Number of cells, those that conditions leave out included.
    pub(super) fn cells(&self) -> u128 {
        let lengths = || self.axes.iter().map(|a| a.listed().len() as u128);
        match self.form {
            Form::Product => lengths().try_fold(1u128, u128::checked_mul).unwrap_or(u128::MAX),
            Form::Zip => lengths().next().unwrap_or(0),
            Form::Latin { samples, .. } => samples.into(),
        }
    }
    /// What a cell sets. The last axis moves fastest.
    pub(super) fn settings(&self, cell: u64) -> Setting {
        let mut left = cell;
        let mut out: Vec<Setting> = Vec::with_capacity(self.axes.len());
        for (number, axis) in self.axes.iter().enumerate().rev() {
            out.push(match self.form {
                Form::Latin { samples, seed } => latin::sample(axis, number as u64, seed, samples, cell),
                Form::Zip => axis.listed()[cell as usize].clone(),
                Form::Product => {
                    let n = axis.listed().len() as u64;
                    let value = &axis.listed()[(left % n) as usize];
                    left /= n;
                    value.clone()
                }
            });
        }
        out.into_iter().rev().flatten().collect()
    }
}

fn same_length(axes: &[Axis]) -> Result<(), BadInput> {
    let Some(first) = axes.first() else { return Ok(()) };
    let n = first.listed().len();
    match axes.iter().find(|a| a.listed().len() != n) {
        None => Ok(()),
        Some(other) => Err(other.node.wrong(format!(
            "`{}` has {} values and `{}` has {n}: zipped axes are of one length",
            other.name,
            other.listed().len(),
            first.name
        ))),
    }
}
