//! Grids counted and enumerated by hand.

use super::*;

fn plan(text: &str) -> Result<Plan, BadInput> {
    Plan::read(&Node::from_toml("g.toml", text)?, MOST)
}
fn cells(text: &str) -> Vec<Cell> {
    let plan = plan(text).unwrap_or_else(|e| panic!("{e}"));
    (0..plan.len()).map(|i| plan.cell(i).unwrap()).collect()
}
/// Values of some axes, cell by cell.
fn values(text: &str, axes: &[&str]) -> Vec<String> {
    let of = |c: &Cell| {
        axes.iter()
            .map(|a| c.values[*a].to_string())
            .collect::<Vec<_>>()
            .join(" ")
    };
    cells(text).iter().map(of).collect()
}
fn refused(text: &str, part: &str) {
    let e = plan(text).expect_err(text).to_string();
    assert!(e.contains(part), "{text}: no `{part}` in {e}");
}

#[test]
fn products_are_every_value_with_every_other_and_the_last_axis_moves_fastest() {
    let text = "[[product]]\nprogram = [\"cq\", \"sps\"]\nseed = { from = 1, to = 5, step = 2 }\n";
    assert_eq!(
        values(text, &["program", "seed"]),
        ["cq 1", "cq 3", "cq 5", "sps 1", "sps 3", "sps 5"]
    );
}
#[test]
fn zipped_axes_advance_together_and_tables_set_several_things() {
    let text = "[[zip]]\nmachine = [\"dpo\", \"loc\"]\nthreads = [1, 2]\n";
    assert_eq!(values(text, &["machine", "threads"]), ["dpo 1", "loc 2"]);
    let text = "[[product]]\npoint = [{ design = \"so\", ops = 5 }, { design = \"volatile\" }]\nseed = [1, 2]\n";
    let all = cells(text);
    let of = |c: &Cell| (c.request.design.clone(), c.request.ops, c.request.seed);
    let ops = Request::default().ops;
    let expected = [("so", 5, 1), ("so", 5, 2), ("volatile", ops, 1), ("volatile", ops, 2)];
    assert_eq!(
        all.iter().map(of).collect::<Vec<_>>(),
        expected.map(|(d, o, s)| (d.to_owned(), o, s))
    );
}
#[test]
fn conditions_leave_out_what_they_say() {
    let text =
        |condition: &str| format!("[[product]]\ndesign = [\"so\", \"volatile\"]\nthreads = [1, 2, 3]\n{condition}\n");
    let left = |condition: &str| values(&text(condition), &["design", "threads"]);
    assert_eq!(
        left("skip = [{ design = \"so\", threads = [2, 3] }]"),
        ["so 1", "volatile 1", "volatile 2", "volatile 3"]
    );
    assert_eq!(left("only = [{ threads = { at_least = 3 } }]"), ["so 3", "volatile 3"]);
    assert_eq!(
        left("only = [{ threads = 1 }, { design = \"so\" }]\nskip = [{ threads = 3 }]"),
        ["so 1", "so 2", "volatile 1"]
    );
    let base = "[base]\nmachine = \"loc\"\n[[product]]\nseed = [1, 2]\nonly = [{ machine = \"dpo\" }]\n";
    assert!(plan(base).unwrap().is_empty());
}
#[test]
fn a_latin_hypercube_meets_every_part_of_every_axis_once() {
    let text =
        "[[latin]]\nsamples = 40\n\"pm.media.write_pulse\" = { from = \"100ns\", to = \"500ns\" }\nthreads = [1, 2]\n";
    let all = cells(text);
    let mut parts: Vec<u32> = Vec::new();
    for c in &all {
        let Scalar::Text(t) = &c.values["pm.media.write_pulse"] else {
            panic!("a quantity")
        };
        let ns: f64 = t.strip_suffix("ns").unwrap().parse().unwrap();
        parts.push(((ns - 100.0) / 10.0) as u32);
    }
    parts.sort_unstable();
    assert_eq!(parts, (0..40).collect::<Vec<_>>());
    assert_eq!(all.iter().filter(|c| c.request.threads == Some(1)).count(), 20);
    assert_eq!(cells(text), all, "the same samples again");
    assert_ne!(
        cells(&text.replace("samples = 40", "samples = 40\nsample_seed = 2")),
        all
    );
}
#[test]
fn settings_are_those_of_the_command_line() {
    let text = "[base]\nprogram = \"sps\"\nack = \"every\"\ncheck = true\n[[cell]]\n\"l1.ways\" = 8\n\"pm.media.write_pulse\" = \"300ns\"\n\"design.delegated.entries\" = 4\n";
    let [cell] = &cells(text)[..] else { panic!("one cell") };
    let sets = ["l1.ways=8", "pm.media.write_pulse=300ns", "design.delegated.entries=4"];
    assert_eq!(cell.request.sets, sets.map(String::from));
    assert!(cell.request.ack_every && cell.request.check);
}
#[test]
fn shards_part_the_cells() {
    let plan = plan("[[product]]\nseed = { from = 1, to = 10 }\n").unwrap();
    let seeds = |p: &Plan| {
        (0..p.len())
            .map(|i| p.cell(i).unwrap().request.seed)
            .collect::<Vec<_>>()
    };
    let shards: Vec<Plan> = (1..=3).map(|i| plan.clone().shard(i, 3)).collect();
    assert_eq!(seeds(&shards[0]), [1, 4, 7, 10]);
    let mut all: Vec<u64> = shards.iter().flat_map(seeds).collect();
    all.sort_unstable();
    assert_eq!(all, seeds(&plan));
    assert!(shards.iter().all(|s| s.digest() == plan.digest()));
}
#[test]
fn a_huge_grid_is_refused_before_it_is_made() {
    let axis = "{ from = 1, to = 1000 }";
    let text = format!("[[product]]\nseed = {axis}\nops = {axis}\nwarmup = {axis}\n");
    refused(&text, "1,000,000,000 cells, and at most 1,000,000");
    let many = format!("{text}threads = {axis}\ncycles = {axis}\npoints = {axis}\n");
    refused(&many, "cells");
}
#[test]
fn mistakes_are_named_with_their_place() {
    refused(
        "[[product]]\nprogram = [\"cq\", \"spss\"]\n",
        "g.toml:2:18: unknown program `spss` (did you mean `sps`",
    );
    refused("[[product]]\ndesgn = [\"so\"]\n", "did you mean `design`");
    refused("[[product]]\n\"l1.wayz\" = [4]\n", "did you mean `l1.ways`");
    refused("[[product]]\nmachine = [\"dpi\"]\n", "unknown machine");
    refused("[[prodct]]\nseed = [1]\n", "did you mean `product`");
    refused("[[product]]\nseed = [\"x\"]\n", "`seed` must be a whole number");
    refused("[[product]]\nseed = [-1]\n", "from 0 up");
    refused("[[product]]\nseed = []\n", "has no value");
    refused("[[zip]]\nseed = [1, 2]\nops = [1]\n", "of one length");
    refused("[[latin]]\nseed = [1, 2]\n", "needs `samples`");
    refused(
        "[[latin]]\nsamples = 2\n\"pm.media.write_pulse\" = { from = \"1us\", to = \"100ns\" }\n",
        "is no range",
    );
    refused("[[product]]\nseed = { from = 5, to = 1 }\n", "from a whole number up");
    refused("[[product]\n", "not valid TOML");
}
#[test]
fn a_grid_without_blocks_is_one_cell_and_json_says_the_same_as_toml() {
    assert_eq!(cells("[base]\nops = 5\n").len(), 1);
    let toml = plan("[base]\nops = 5\n[[product]]\nseed = [1, 2]\n\"l1.ways\" = [4, 8]\n").unwrap();
    let json = serde_json::json!({"base": {"ops": 5}, "product": [{"seed": [1, 2], "l1.ways": [4, 8]}]});
    let json = Plan::read(&Node::from_json(&json).unwrap(), MOST).unwrap();
    let sorted = |p: &Plan| {
        let mut v: Vec<String> = (0..p.len())
            .map(|i| format!("{:?}", p.cell(i).unwrap().request))
            .collect();
        v.sort();
        v
    };
    assert_eq!(sorted(&toml), sorted(&json));
}
