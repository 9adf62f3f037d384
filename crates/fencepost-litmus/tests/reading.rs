//! What is read, what is refused and why, and that nothing panics.

use fencepost_kernel::Stream;
use fencepost_litmus::{Model, Outcome, Program, ReadError, parse, picture};

fn observation(text: &str, model: Model) -> (&'static str, usize) {
    let test = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let outcome = Outcome::of(&test, model).unwrap();
    (outcome.observation(), outcome.states.len())
}

/// One thread computes: every value follows from the instruction set.
#[test]
fn one_thread_computes_what_its_instructions_say() {
    let programs = [
        "AArch64 a\n{ 0:X0=1; }\nP0;\n CBZ W0,foo;\n ADD W0,W0,#1;\n foo: NOP;\nforall (0:X0=2)",
        "AArch64 b\n{ 0:X1=x; x=5; }\nP0;\n LDR W0,[X1];\n CMP W0,#5;\n CSEL W2,W0,WZR,EQ;\n CSET W3,NE;\nforall (0:X2=5 /\\ 0:X3=0)",
        "AArch64 c\n{ int64_t t[2]={1,-1}; 0:X1=t; int64_t 0:X2; }\nP0;\n LDR X2,[X1,#8];\nforall 0:X2 = -1",
        "AArch64 d\n{ 0:X1=x; x=1; }\nP0;\n MOV W2,#3;\n LDADDAL W2,W3,[X1];\n SWP W2,W4,[X1];\n MOV W5,#3;\n MOV W6,#9;\n CAS W5,W6,[X1];\nforall (0:X3=1 /\\ 0:X4=4 /\\ 0:X5=3 /\\ [x]=9)",
        "X86_64 e\n{ int64_t t[2]={1,-1}; 0:rax=t; 0:rbx=1; int64_t 0:rcx; }\nP0;\nmovq 0(%rax,%ebx,8),%rcx;\nforall 0:rcx = -1",
        "X86_64 f\n{ uint64_t x; 0:RBX=0x202020202020202; }\nP0;\nMOVQ %RBX,(x);\nlocations [x;]\nforall [x] = 0x202020202020202",
        "X86 g\n{ x=3; }\nP0;\nMOV EAX,$2;\nLOCK XADD [x],EAX;\nMOV EBX,$7;\nCMPXCHG [x],EBX;\nINC [x];\nforall (0:EAX=5 /\\ [x]=6)",
        "ARM h\n{ %x0=x; x=4; }\nP0;\nLDR R0,[%x0];\nCMP R0,#4;\nMOVEQ R1,#8;\nMOVNE R2,#8;\nRSB R3,R0,#1;\nforall (0:R1=8 /\\ 0:R2=0 /\\ 0:R3=-3)",
        "AArch64 j\n{ 0:X1=0x80ff; 0:X9=3; }\nP0;\nMOVN W0,#0;\nSXTB W2,W1;\nUBFX W3,W1,#8,#8;\nSBFX W4,W1,#8,#8;\nMADD W5,W9,W9,W1;\nCMP W9,#3;\nCNEG W6,W9,EQ;\nPRFM PLDL1KEEP,[X8];\nRET;\nMOV W7,#1;\nforall (0:X0=0xffffffff /\\ 0:X2=0xffffffff /\\ 0:X3=0x80 /\\ 0:X4=0xffffff80 /\\ 0:X5=0x8108 /\\ 0:X6=0xfffffffd /\\ 0:X7=0)",
        "ARM k\n{}\nP0;\nMOVW R0,#1;\nMOVT R0,#2;\nUXTB R1,R0;\nBX LR;\nMOV R2,#1;\nforall (0:R0=0x20001 /\\ 0:R1=1 /\\ 0:R2=0)",
        "PPC l\n{ 0:r1=5; }\nP0;\nnor r3,r1,r1;\nblr;\nli r4,1;\nforall (0:r3=-6 /\\ 0:r4=0)",
        "X86_64 m\n{ }\nP0;\nmovl $1,%eax;\nret;\nmovl $2,%eax;\nforall (0:eax=1)",
        // Flags are N, Z, C and V: less is N unlike V, lower is no C.
        "AArch64 n\n{ 0:X0=3; 0:X1=4; 0:X7=-4; }\nP0;\nCMP W0,#3;\nCCMP W1,#4,#0,EQ;\nCSET W2,EQ;\nCMP W0,#9;\nCCMP W1,#4,#4,EQ;\nCSET W3,EQ;\nCMP W0,#9;\nCCMP W1,#4,#9,EQ;\nCSET W4,LT;\nCMP W0,#9;\nCCMP W1,#4,#2,EQ;\nCSET W5,HS;\nCMP W0,#3;\nCCMN W1,W7,#0,EQ;\nCSET W6,EQ;\nforall (0:X2=1 /\\ 0:X3=1 /\\ 0:X4=0 /\\ 0:X5=1 /\\ 0:X6=1)",
        "PPC i\n{ 0:r2=x; x=7; }\nP0;\nlwz r1,0(r2);\nxor. r3,r1,r1;\nbeq L;\nli r4,1;\nL:;\nsubf r5,r1,r3;\nforall (0:r3=0 /\\ 0:r4=0 /\\ 0:r5=-7)",
    ];
    for text in programs {
        // CMPXCHG finds 5, not what EAX holds, and EAX becomes 5.
        assert_eq!(observation(text, Model::Sc).0, "Always", "{text}");
    }
}

/// Two threads add one each: with exclusives that succeeded, both count; a store-exclusive may fail.
#[test]
fn atomics_and_exclusives() {
    let add = |op: &str| {
        format!("AArch64 add\n{{ 0:X1=x; 1:X1=x; }}\nP0|P1;\nMOV W2,#1|MOV W2,#1;\n{op}|{op};\nexists ([x]=1)")
    };
    assert_eq!(observation(&add("LDADD W2,W3,[X1]"), Model::Aarch64), ("Never", 1));
    assert_eq!(observation(&add("STADD W2,[X1]"), Model::Aarch64), ("Never", 1));
    let plain = "X86 inc\n{}\nP0|P1;\nINC [x]|INC [x];\nexists ([x]=1)";
    assert_eq!(observation(plain, Model::Tso), ("Sometimes", 2));
    assert_eq!(observation(&plain.replace("INC", "LOCK INC"), Model::Tso), ("Never", 1));
    let pair = "PPC pair\n{ 0:r2=x; 1:r2=x; }\nP0|P1;\nlwarx r1,0,r2|lwarx r1,0,r2;\naddi r1,r1,1|addi r1,r1,1;\nstwcx. r1,0,r2|stwcx. r1,0,r2;\nbne F0|bne F1;\nli r3,1|li r3,1;\nF0:|F1:;\nexists (0:r3=1 /\\ 1:r3=1 /\\ [x]=1)";
    assert_eq!(observation(pair, Model::Ppc).0, "Never");
    // Both fail, one or the other does, both succeed.
    let listed = pair.replace("exists", "locations [0:r3;1:r3;x;]\nexists");
    assert_eq!(observation(&listed, Model::Ppc).1, 4);
}

/// What the result of a compare and swap needs: of one that fails what it read, of one that succeeds either that or the register that
/// it compared, whose choice by the read orders stores only.
#[test]
fn the_result_of_a_compare_and_swap_needs_what_it_came_from() {
    let mp = |expected: u8, end: &str| {
        format!(
            "AArch64 MP\n{{ 0:X0=x; 0:X1=y; 1:X0=x; 1:X1=y; 1:X2={expected}; 1:X5=2; }}\nP0|P1;\n\
             MOV W2,#1|CAS W2,W5,[X0];\nSTR W2,[X1]|EOR W3,W2,W2;\nSTLR W2,[X0]|LDR W4,[X1,W3,SXTW];\n\
             exists (1:X2=1 /\\ 1:X4=0 {end})"
        )
    };
    assert_eq!(observation(&mp(1, "/\\ [x]=2"), Model::Aarch64).0, "Sometimes");
    assert_eq!(observation(&mp(0, ""), Model::Aarch64).0, "Never");
    let lb = |expected: u8| {
        format!(
            "AArch64 LB\n{{ 0:X0=x; 0:X1=y; 1:X0=x; 1:X1=y; 1:X2={expected}; 1:X5=2; 1:X6=1; }}\nP0|P1;\n\
             LDR W4,[X1]|CAS W2,W5,[X0];\nMOV W2,#1|EOR W3,W2,W2;\nSTLR W2,[X0]|STR W6,[X1,W3,SXTW];\n\
             exists (1:X2=1 /\\ 0:X4=1)"
        )
    };
    assert_eq!(observation(&lb(1), Model::Aarch64).0, "Never");
    assert_eq!(observation(&lb(0), Model::Aarch64).0, "Never");
    // The address is computed from the register compared, which an earlier load gave: of a failure it needs memory alone.
    let compared = |first: u8, end: &str| {
        format!(
            "AArch64 MP2\n{{ 0:X0=x; 0:X1=y; 1:X0=x; 1:X1=y; 1:X7=z; z={first}; 1:X5=2; }}\nP0|P1;\n\
             MOV W2,#1|LDR W2,[X0];\nSTR W2,[X1]|CAS W2,W5,[X7];\nSTLR W2,[X0]|EOR W3,W2,W2;\n\
             |LDR W4,[X1,W3,SXTW];\nexists (1:X4=0 {end})"
        )
    };
    assert_eq!(
        observation(&compared(1, "/\\ [z]=2 /\\ 1:X2=1"), Model::Aarch64).0,
        "Sometimes"
    );
}

/// A value that was chosen, stored and loaded again by the thread hands its choice on to what is stored of it.
#[test]
fn a_choice_goes_through_memory_of_the_own_thread() {
    let lb = |second: &str| {
        format!(
            "AArch64 LB\n{{ 0:X0=x; 0:X1=y; 1:X0=x; 1:X1=y; 1:X7=z; 1:X3=1; 1:X4=1; }}\nP0|P1;\n\
             LDR W4,[X1]|LDR W0,[X0];\nMOV W2,#1|CMP W0,#1;\nSTLR W2,[X0]|CSEL W2,W3,W4,EQ;\n\
             |STR W2,[X7];\n|LDR W5,[X7];\n|{second};\nexists (0:X4=1 /\\ 1:X0=1)"
        )
    };
    assert_eq!(observation(&lb("STR W5,[X1]"), Model::Aarch64).0, "Never");
    // The constant has nothing to do with it.
    assert_eq!(observation(&lb("STR W3,[X1]"), Model::Aarch64).0, "Sometimes");
}

#[test]
fn conditions_filters_and_comments() {
    let sb = |end: &str| {
        format!(
            "X86 SB (* a (* nested *) comment *)\n\"{{ a brace }}\"\n{{ x=0; }}\nP0|P1;\nMOV [x],$1|MOV [y],$1;\nMOV EAX,[y]|MOV EAX,[x];\n{end}"
        )
    };
    // Blanks and a last semicolon are as in published tests.
    let loose = "AArch64 loose\n{\n0: X0 = x; 1: X0 = x;\nuint64_t 1: X3;\n}\nP0 | P1 ;\n\nMOV W2, #1 | LDR W2, [X0] ;\nSTR W2, [X0] | ;\n\nlocations [ 1: X2 ; x ; ]\nexists 1: X2 = 1 /\\ x = 1;\n";
    assert_eq!(observation(loose, Model::Aarch64), ("Sometimes", 2));
    for (end, observed, states) in [
        ("exists (0:EAX=0 /\\ 1:EAX=0)", "Sometimes", 4),
        ("~exists (0:EAX=0 /\\ 1:EAX=0)", "Sometimes", 4),
        ("forall (0:EAX=1 \\/ 1:EAX=1)", "Sometimes", 4),
        ("forall (0:EAX=0 => (0:EAX<>1))", "Always", 2),
        ("filter (0:EAX=1)\nexists (0:EAX=0)", "Never", 1),
        ("locations [x;y;]\nexists (not (0:EAX=0))", "Sometimes", 2),
        ("exists (0:EAX=1:EAX /\\ true)", "Sometimes", 4),
    ] {
        assert_eq!(observation(&sb(end), Model::Tso), (observed, states), "{end}");
    }
    let test = parse(&sb("~exists (0:EAX=0 /\\ 1:EAX=0)")).unwrap();
    assert_eq!(Outcome::of(&test, Model::Tso).unwrap().verdict(), "No");
    assert_eq!(Outcome::of(&test, Model::Sc).unwrap().verdict(), "Ok");
}

#[test]
fn what_is_not_read_says_why() {
    let good = "X86 t\n{ x=0; }\nP0;\nMOV [x],$1;\nexists ([x]=1)";
    assert!(parse(good).is_ok());
    for (from, to, supported) in [
        ("X86 t", "RISCV t", false),
        ("MOV [x],$1", "VMOVDQA [x],$1", false),
        ("MOV [x],$1", "MOV [x],[y]", true),
        ("MOV [x],$1", "JMP nowhere", true),
        ("{ x=0; }", "", true),
        ("exists ([x]=1)", "", true),
        ("exists ([x]=1)", "exists ([x]=1", true),
        ("exists ([x]=1)", "exists (7:EAX=1)", true),
        ("x=0", "struct s x=0", false),
        ("x=0", "int x[99999999999999]", true),
        ("P0", "Q0", true),
        ("exists ([x]=1)", "exists fault(P0,x)", false),
    ] {
        let text = good.replacen(from, to, 1);
        match parse(&text) {
            Err(ReadError::Unsupported(_)) => assert!(!supported, "{text}"),
            Err(ReadError::Syntax(_)) => assert!(supported, "{text}"),
            Ok(_) => panic!("was read:\n{text}"),
        }
    }
    let deep = good.replacen(
        "([x]=1)",
        &format!("{}[x]=1{}", "(".repeat(100_000), ")".repeat(100_000)),
        1,
    );
    assert!(parse(&deep).is_err());
    let mixed = "X86 m\n{ x=0; 0:EAX=x; }\nP0;\nMOVQ [x],$1;\nMOVW [x+2],$1;\nexists ([x]=1)";
    let test = parse(mixed).unwrap();
    assert!(Program::new(&test).unwrap_err().to_string().contains("mixed size"));
}

/// Damaged tests are read or refused; nothing panics.
#[test]
fn damaged_tests_do_no_harm() {
    let seeds = [
        "AArch64 MP\n\"doc\"\nLines=x,y\nCrash=exists ([x]=0)\n{ int x[2]={1,2}; 0:X1=x; 0:X3=y; 1:X1=y; }\nP0 | P1 ;\nMOV W0,#1 | LDAXR W0,[X1] ;\nSTR W0,[X1,W2,SXTW #2] | CBNZ W0,L0 ;\nDMB ISHST | L0: ISB ;\nMOVK W0,#1,LSL #16 | LDP W4,W5,[X1],#8 ;\nexists (1:X0=1 /\\ ~([x]=0 \\/ x[1]=0x10))",
        "X86_64 t\n{ x=0; 0:rax=x; }\nP0 ;\nmovq $1,8(%rax,%rbx,4) ;\nlock; xaddl %ecx,(x) ;\nL: jne L ;\nlocations [x;] filter (true)\nforall (0:rcx=-1)",
    ];
    let mut rng = Stream::new(1, "damage");
    for round in 0..20_000 {
        let mut text: Vec<char> = seeds[round % seeds.len()].chars().collect();
        for _ in 0..=rng.below(4) {
            let at = rng.below(text.len() as u64) as usize;
            let from = rng.below(text.len() as u64) as usize;
            match rng.below(4) {
                0 => text.truncate(at.max(1)),
                1 => text[at] = text[from],
                2 => text.insert(at, ['(', '{', '|', 'é', '9', ';', '\n', '-'][rng.below(8) as usize]),
                _ => drop(text.remove(at)),
            }
            if text.is_empty() {
                text.push(' ');
            }
        }
        let text: String = text.into_iter().collect();
        if let Ok(test) = parse(&text)
            && let Ok(program) = Program::new(&test)
        {
            let _ = Outcome::of_program(&program, Model::of(test.arch));
        }
    }
}

#[test]
fn a_picture_shows_the_cycle_that_forbids() {
    let text = "X86 MP\n{}\nP0|P1;\nMOV [x],$1|MOV EAX,[y];\nMOV [y],$1|MOV EBX,[x];\nexists (1:EAX=1 /\\ 1:EBX=0)";
    let test = parse(text).unwrap();
    let program = Program::new(&test).unwrap();
    let forbidden = picture::witness(&program, Model::Tso).unwrap().unwrap();
    let broken = forbidden.broken.clone().unwrap();
    assert_eq!((broken.axiom, broken.cycle.len()), ("tso", 4));
    assert_eq!(forbidden.dot().matches("color=red").count(), 4);
    assert!(forbidden.svg().starts_with("<svg") && forbidden.svg().contains("forbidden by tso"));
    let allowed = picture::witness(&program, Model::Armv7).unwrap().unwrap();
    assert!(allowed.broken.is_none() && !allowed.dot().contains("red"));
    let impossible = parse(&text.replace("1:EBX=0", "1:EBX=9")).unwrap();
    let program = Program::new(&impossible).unwrap();
    assert!(picture::witness(&program, Model::Tso).unwrap().is_none());
}

#[test]
fn a_picture_of_a_crash_state_shows_what_is_lost_the_order_and_the_missing_fence() {
    let of = |between: &str| {
        let text = format!(
            "X86 P\nCrash=exists ([x]=0 /\\ [y]=1)\n{{ x=0; y=0; }}\n P0 ;\n MOV [x],$1 ;\n{between} MOV [y],$1 ;\nforall (true)"
        );
        let test = parse(&text).unwrap_or_else(|e| panic!("{e}"));
        let program = Program::new(&test).unwrap();
        picture::crash_witness(&program, "px86".parse().unwrap())
            .unwrap()
            .unwrap()
    };
    let open = of("");
    let count = |svg: &str, what: &str| svg.matches(what).count();
    let svg = open.svg();
    assert!(open.broken.is_none());
    assert_eq!(
        ["durable", "lost", "fence"].map(|c| count(&svg, &format!("class=\"{c}\""))),
        [1; 3],
        "{svg}"
    );
    assert!(open.dot().contains("a fence is missing here"));
    let closed = of(" CLWB [x] ;\n SFENCE ;\n");
    let svg = closed.svg();
    assert!(closed.broken.is_some() && svg.contains("flush before fence"), "{svg}");
    assert_eq!(count(&svg, "class=\"fence\""), 0, "the fence is there");
}
