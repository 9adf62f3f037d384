//! A whole grid: its blocks, counted before anything is made of them, and its cells.

use super::axes::{Setting, several};
use super::block::Block;
use super::conditions::Conditions;
use super::node::{Node, Scalar};
use super::request::set;
use fencepost_run::BadInput;
use fencepost_run::kept::hex;
use fencepost_run::request::Request;
use std::collections::BTreeMap;

/// Cells that a grid may have unless more are asked for.
pub const MOST: u64 = 1_000_000;

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Its number among all cells of the grid, those that conditions leave out included.
    pub number: u64,
    /// What its block sets, by axis.
    pub values: BTreeMap<String, Scalar>,
    /// What is run.
    pub request: Request,
}

/// A grid that is known to be well-formed.
#[derive(Clone, Debug)]
pub struct Plan {
    base: Request,
    base_values: Setting,
    blocks: Vec<(u64, Block)>,
    conditions: Conditions,
    /// Numbers of the cells that are meant.
    chosen: Vec<u64>,
    digest: String,
}

impl Plan {
    /// Reads a grid of at most `most` cells.
    ///
    /// # Errors
    /// What is wrong with it, with its place; too many cells, before any is made.
    pub fn read(grid: &Node, most: u64) -> Result<Plan, BadInput> {
        let mut base_values = Vec::new();
        let (mut blocks, mut conditions) = (Vec::new(), Conditions::default());
        for (key, node) in grid.entries("a grid")? {
            match key.as_str() {
                "about" => drop(node.scalar("`about`")?),
                "base" => base_values = several(node)?,
                "product" | "zip" | "latin" => {
                    for n in node.elements(&format!("[[{key}]]"))? {
                        blocks.push(Block::read(key, n)?);
                    }
                }
                "cell" => {
                    for n in node.elements("[[cell]]")? {
                        blocks.push(Block::cell(n)?);
                    }
                }
                _ if conditions.read(key, node)? => {}
                other => {
                    let known = ["about", "base", "product", "zip", "latin", "cell", "only", "skip"];
                    let e = BadInput::unknown("part of a grid", other, known);
                    return Err(BadInput {
                        place: node.place.clone(),
                        ..e
                    });
                }
            }
        }
        if blocks.is_empty() {
            blocks.push(Block::single());
        }
        let total = blocks.iter().map(Block::cells).fold(0, u128::saturating_add);
        if total > u128::from(most) {
            let e = BadInput::new(format!(
                "the grid has {} cells, and at most {} are run",
                grouped(total),
                grouped(most.into())
            ));
            return Err(
                e.hint("make the grid smaller, sample it with [[latin]], or raise the limit with --most-cells N")
            );
        }
        let mut base = Request::default();
        for (name, value) in &base_values {
            set(&mut base, name, value)?;
        }
        let mut first = 0;
        let placed = blocks.into_iter().map(|b| {
            let at = first;
            first += b.cells() as u64;
            (at, b)
        });
        let mut plan = Plan {
            base,
            base_values,
            blocks: placed.collect(),
            conditions,
            chosen: Vec::new(),
            digest: String::new(),
        };
        plan.chosen = (0..total as u64).filter(|n| plan.is_meant(*n)).collect();
        plan.digest = plan.sum();
        Ok(plan)
    }
    /// Keeps every `of`-th cell from the `part`-th on, counted from 1.
    #[must_use]
    pub fn shard(mut self, part: u64, of: u64) -> Plan {
        let mine = |(i, _): &(usize, u64)| *i as u64 % of == part - 1;
        self.chosen = self.chosen.into_iter().enumerate().filter(mine).map(|c| c.1).collect();
        self
    }
    /// Number of cells that are meant.
    pub fn len(&self) -> usize {
        self.chosen.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.chosen.is_empty()
    }
    /// Digest of all cells of the grid, whatever part of it is kept.
    pub fn digest(&self) -> &str {
        &self.digest
    }
    /// One of the cells that are meant.
    ///
    /// # Errors
    /// A value of the wrong kind; those of lists were looked at before.
    pub fn cell(&self, i: usize) -> Result<Cell, BadInput> {
        let number = self.chosen[i];
        let mut request = self.base.clone();
        let settings = self.settings(number);
        for (name, value) in &settings {
            set(&mut request, name, value)?;
        }
        Ok(Cell {
            number,
            values: settings.into_iter().collect(),
            request,
        })
    }
    /// The axes of all cells, in the order in which they are first met.
    pub fn axes(&self) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        for name in self.blocks.iter().flat_map(|b| b.1.names()) {
            if !out.contains(&name) {
                out.push(name);
            }
        }
        out
    }
    fn block(&self, number: u64) -> (u64, &Block) {
        let after = self.blocks.partition_point(|b| b.0 <= number);
        let (first, block) = &self.blocks[after - 1];
        (number - first, block)
    }
    fn settings(&self, number: u64) -> Setting {
        let (within, block) = self.block(number);
        block.settings(within)
    }
    fn is_meant(&self, number: u64) -> bool {
        let settings = self.settings(number);
        let all = self.base_values.iter().chain(&settings);
        let values: BTreeMap<&str, &Scalar> = all.map(|(name, value)| (name.as_str(), value)).collect();
        self.block(number).1.conditions.hold(&values) && self.conditions.hold(&values)
    }
    fn sum(&self) -> String {
        let mut text = format!("{:?}\n", self.base);
        for number in &self.chosen {
            text.push_str(&format!("{number} {:?}\n", self.settings(*number)));
            // A digest of digests: the text of a million cells is not held.
            if text.len() > 1 << 20 {
                text = hex(text.as_bytes());
            }
        }
        hex(text.as_bytes())
    }
}

/// A number with its thousands apart.
fn grouped(n: u128) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests;
