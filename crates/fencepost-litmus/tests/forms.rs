//! The x86 family in axioms and operationally, contracts and relations, strict orders and observers: the same on random programs.

use fencepost_contract::{Contract, ContractKind, LineOrder};
use fencepost_kernel::Stream;
use fencepost_litmus::crash::{self, Layout, Machine, px86_by_axioms, strict_by_relations, without_x86};
use fencepost_litmus::{Flow, Model, Program, Test, parse};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A random x86 program: two or three threads of at most `ops` instructions over x, y and xb, which shares the line of x.
fn program(rng: &mut Stream, ops: u64, flushes: bool, nt: bool) -> String {
    let threads = 2 + rng.below(8) / 7;
    let ops = if threads == 3 { ops - 1 } else { ops };
    let mut value = 0;
    let mut columns: Vec<Vec<String>> = Vec::new();
    for t in 0..threads {
        let mut column = Vec::new();
        let mut label = 0;
        for _ in 0..=rng.below(ops) {
            let at = ["x", "y", "xb"][rng.below(3) as usize];
            let reg = ["EAX", "EBX"][rng.below(2) as usize];
            value += 1;
            match rng.below(12) {
                0..=2 => column.push(format!("MOV [{at}],${value}")),
                3 if nt => column.push(format!("MOVNTI [{at}],{reg}")),
                3 => column.push(format!("MOV [{at}],{reg}")),
                4 | 5 => column.push(format!("MOV {reg},[{at}]")),
                6 => column.push("MFENCE".into()),
                7 => column.push(format!("XCHG [{at}],{reg}")),
                8 if t < 2 => {
                    column.push(format!("CMP {reg},$0"));
                    column.push(format!("JE L{t}{label}"));
                    column.push(format!("MOV [{at}],${value}"));
                    column.push(format!("L{t}{label}:"));
                    label += 1;
                }
                9 if flushes => column.push("SFENCE".into()),
                10 if flushes => column.push(format!("CLWB [{at}]")),
                11 if flushes => column.push(format!("CLFLUSH [{at}]")),
                _ => column.push(format!("MOV [{at}],${value}")),
            }
        }
        columns.push(column);
    }
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let mut text = String::from("X86 random\nLines=x,xb;y\n{ x=0; y=0; xb=0; }\n");
    let heads: Vec<String> = (0..threads).map(|t| format!("P{t}")).collect();
    let _ = writeln!(text, "{};", heads.join("|"));
    for row in 0..rows {
        let cells: Vec<&str> = columns.iter().map(|c| c.get(row).map_or("", |c| c)).collect();
        let _ = writeln!(text, "{};", cells.join("|"));
    }
    text + "locations [x;y;xb;0:EAX;0:EBX;1:EAX;1:EBX;]\nforall (true)\n"
}

fn read(text: &str) -> Test {
    parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Runs `check` on random programs, on two threads.
fn on_random(name: &str, count: u64, make: impl Fn(&mut Stream) -> String + Sync, check: impl Fn(&str, &Test) + Sync) {
    std::thread::scope(|scope| {
        for part in 0..2 {
            let (make, check) = (&make, &check);
            scope.spawn(move || {
                let mut rng = Stream::new(part, name);
                for _ in 0..count / 2 {
                    let text = make(&mut rng);
                    check(&text, &read(&text));
                }
            });
        }
    });
}

#[test]
fn tso_in_axioms_and_operationally() {
    on_random(
        "tso",
        10_000,
        |rng| program(rng, 4, false, false),
        |text, test| {
            let program = Program::new(test).unwrap();
            let layout = Layout::new(&program);
            let mut axioms = BTreeSet::new();
            program
                .executions(Model::Tso, |s| {
                    let registers: Vec<Vec<u64>> = s.paths.iter().map(|p| p.registers.clone()).collect();
                    axioms.insert((
                        registers,
                        layout.words.iter().map(|w| s.memory(w.at)).collect::<Vec<u64>>(),
                    ));
                    Flow::Go
                })
                .unwrap();
            let machine = Machine::new(&program, &layout, LineOrder::Unordered).visible(false);
            assert_eq!(machine.final_states().unwrap(), axioms, "{text}");
        },
    );
}

#[test]
fn px86_in_axioms_and_operationally() {
    on_random(
        "px86",
        10_000,
        |rng| program(rng, 4, true, false),
        |text, test| {
            let program = Program::new(test).unwrap();
            let layout = Layout::new(&program);
            let operational = Machine::new(&program, &layout, LineOrder::Unordered)
                .crash_states()
                .unwrap();
            assert_eq!(px86_by_axioms(&program, &layout).unwrap(), operational, "{text}");
        },
    );
}

#[test]
fn px86_contract_and_machine_with_line_order_and_non_temporal_stores() {
    on_random(
        "px86 contract",
        600,
        |rng| program(rng, 3, true, true),
        |text, test| {
            let program = Program::new(test).unwrap();
            let layout = Layout::new(&program);
            let order = Contract::from(ContractKind::Px86).line_order();
            let operational = Machine::new(&program, &layout, order).crash_states().unwrap();
            let contract = crash::crash(&program, ContractKind::Px86).unwrap();
            assert_eq!(contract.states, operational, "{text}");
        },
    );
}

/// The contract on one trace of every execution, and the persist order of its relations.
#[test]
fn contracts_that_follow_consistency_are_their_relations() {
    on_random(
        "strict",
        1_000,
        |rng| program(rng, 3, true, false),
        |text, test| {
            let program = Program::new(test).unwrap();
            let layout = Layout::new(&program);
            for (kind, model) in [
                (ContractKind::StrictTso, Model::Tso),
                (ContractKind::StrictSc, Model::Sc),
            ] {
                let contract = crash::crash(&program, kind).unwrap().states;
                assert_eq!(
                    contract,
                    strict_by_relations(&program, &layout, model).unwrap(),
                    "{kind}:\n{text}"
                );
            }
            let relations = strict_by_relations(&without_x86(&program), &layout, Model::Armv7).unwrap();
            assert_eq!(
                crash::crash(&program, ContractKind::Rcbsp).unwrap().states,
                relations,
                "rcbsp:\n{text}"
            );
        },
    );
}

/// A crash state under strict persistency is what one more thread sees that reads everything twice, a fence between, with equal
/// results: consistency alone says so, without a persist order.
#[test]
fn strict_orders_are_what_a_double_collect_sees() {
    let observed = |text: &str, model: Model| {
        let locations = ["x", "xb", "y"];
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let head = lines.iter().position(|l| l.starts_with("P0")).unwrap();
        let end = lines.iter().position(|l| l.starts_with("locations")).unwrap();
        let threads = lines[head].matches('|').count() + 1;
        let regs = ["EAX", "EBX", "ECX", "EDX", "ESI", "EDI"];
        let collect = |half: usize| (0..3).map(move |i| format!("MOV {},[{}]", regs[3 * half + i], locations[i]));
        let column: Vec<String> = collect(0).chain(["MFENCE".to_owned()]).chain(collect(1)).collect();
        while end - head - 1 < column.len() && lines.len() < head + 1 + column.len() + 2 {
            lines.insert(end, format!("{};", vec![""; threads].join("|")));
        }
        for (i, cell) in [format!("P{threads}")].into_iter().chain(column).enumerate() {
            let line = lines[head + i].trim_end_matches(';').to_owned();
            lines[head + i] = format!("{line}|{cell};");
        }
        let text = lines.join("\n");
        let test = read(&text);
        let program = without_x86(&Program::new(&test).unwrap());
        let observer = &test.threads[threads];
        let reg = |name: &str| usize::from(observer.registers.find(name).unwrap());
        let mut states = BTreeSet::new();
        program
            .executions(model, |s| {
                let value = |name: &str| s.paths[threads].registers[reg(name)];
                let [first, second] = [["AX", "BX", "CX"], ["DX", "SI", "DI"]].map(|names| names.map(value));
                if first == second {
                    states.insert(first.to_vec());
                }
                Flow::Go
            })
            .unwrap();
        states
    };
    on_random(
        "observer",
        200,
        |rng| program(rng, 3, false, false),
        |text, test| {
            let program = without_x86(&Program::new(test).unwrap());
            let layout = Layout::new(&program);
            for model in [Model::Sc, Model::Tso, Model::Armv7Mca, Model::Armv7] {
                let order = strict_by_relations(&program, &layout, model).unwrap();
                assert_eq!(observed(text, model), order, "{model}:\n{text}");
            }
        },
    );
}
