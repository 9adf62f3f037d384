//! Which x86-64 instructions a recorder must know by name: flushes, fences, non-temporal stores, atomics.
//!
//! Only as much of the encoding is read as these need. (Intel SDM volume 2: prefixes 2.1.1, ModRM and SIB 2.1.3, VEX 2.3.)

/// What an instruction is to a recorder.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// An ordinary instruction: its memory accesses are what they are.
    Plain,
    /// Only touches the stack (push, pop, call, return, or an operand based on `rsp`).
    Stack,
    /// An atomic read-modify-write (`lock` prefix, or `xchg` with memory).
    Atomic,
    /// A non-temporal store.
    NonTemporal,
    /// A flush of the line of its operand, by its name in logs.
    Flush(&'static str, Operand),
    /// A fence, by its name in logs.
    Fence(&'static str),
}

/// A register of sixteen, in the order of instruction encodings: `rax rcx rdx rbx rsp rbp rsi rdi r8 .. r15`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Register(pub u8);

/// A memory operand: `base + index * scale + displacement`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Base register; `None` where there is none.
    pub base: Option<Register>,
    /// Index register and what it is multiplied by.
    pub index: Option<(Register, u8)>,
    /// The constant.
    pub displacement: i64,
    /// Relative to the end of the instruction.
    pub from_next: bool,
}

/// Prefixes of an instruction and where its opcode starts.
#[derive(Default)]
struct Prefixes {
    lock: bool,
    operand: bool,
    rex: u8,
    opcode: usize,
}

fn prefixes(code: &[u8]) -> Prefixes {
    let mut p = Prefixes::default();
    for (i, byte) in code.iter().enumerate() {
        p.opcode = i;
        match byte {
            0xf0 => p.lock = true,
            0x66 => p.operand = true,
            0xf2 | 0xf3 | 0x2e | 0x36 | 0x3e | 0x26 | 0x64 | 0x65 | 0x67 => {}
            0x40..=0x4f => {
                p.rex = *byte;
                p.opcode = i + 1;
                break;
            }
            _ => break,
        }
    }
    p
}

/// Classifies one instruction by its bytes.
pub fn classify(code: &[u8]) -> Class {
    let p = prefixes(code);
    let at = |i: usize| code.get(p.opcode + i).copied();
    let (Some(first), second, third) = (at(0), at(1), at(2)) else {
        return Class::Plain;
    };
    let is_memory = |modrm: Option<u8>| modrm.is_some_and(|m| m >> 6 != 3);
    if p.lock || (matches!(first, 0x86 | 0x87) && is_memory(second)) {
        return Class::Atomic;
    }
    match (first, second) {
        (0x50..=0x5f | 0xc2 | 0xc3 | 0xe8 | 0xc9 | 0x68 | 0x6a, _) => Class::Stack,
        (0x0f, Some(0xae)) => group_15(code, &p, third),
        (0x0f, Some(0xc3 | 0xe7 | 0x2b)) if is_memory(third) => Class::NonTemporal,
        // `maskmovq`, `maskmovdqu`: both operands are registers, and memory is where `rdi` points.
        (0x0f, Some(0xf7)) if !is_memory(third) => Class::NonTemporal,
        (0xc5, _) => vex(at(2), at(3)),
        (0xc4, Some(map)) if map & 0x1f == 1 => vex(at(3), at(4)),
        // Opcodes of three bytes.
        (0x0f, Some(0x38 | 0x3a)) => stack_operand(p.rex, at(3), at(4)),
        (0x0f, _) => stack_operand(p.rex, third, at(3)),
        (0x00..=0x3b | 0x63 | 0x69 | 0x6b | 0x80..=0x8f | 0xc0 | 0xc1 | 0xc6 | 0xc7 | 0xd0..=0xd3 | 0xf6 | 0xf7, _) => {
            stack_operand(p.rex, second, at(2))
        }
        _ => Class::Plain,
    }
}

/// Non-temporal stores under a VEX prefix: `vmovntps`, `vmovntpd`, `vmovntdq`, `vmaskmovdqu`.
fn vex(opcode: Option<u8>, modrm: Option<u8>) -> Class {
    match (opcode, modrm) {
        (Some(0xe7 | 0x2b), Some(m)) if m >> 6 != 3 => Class::NonTemporal,
        (Some(0xf7), Some(m)) if m >> 6 == 3 => Class::NonTemporal,
        _ => Class::Plain,
    }
}
/// Whether the operand is based on the stack pointer: a SIB byte with base 4, which REX.B makes `r12`, and no index.
fn stack_operand(rex: u8, modrm: Option<u8>, sib: Option<u8>) -> Class {
    match (modrm, sib) {
        (Some(m), Some(0x24)) if m >> 6 != 3 && m & 7 == 4 && rex & 3 == 0 => Class::Stack,
        _ => Class::Plain,
    }
}
fn group_15(code: &[u8], p: &Prefixes, modrm: Option<u8>) -> Class {
    let Some(m) = modrm else { return Class::Plain };
    let memory = m >> 6 != 3;
    let operand = || operand(&code[p.opcode + 2..], p.rex);
    match (memory, m >> 3 & 7, p.operand) {
        (true, 6, true) => operand().map_or(Class::Plain, |o| Class::Flush("clwb", o)),
        (true, 7, true) => operand().map_or(Class::Plain, |o| Class::Flush("clflushopt", o)),
        (true, 7, false) => operand().map_or(Class::Plain, |o| Class::Flush("clflush", o)),
        (false, 7, _) => Class::Fence("sfence"),
        (false, 6, _) => Class::Fence("mfence"),
        _ => Class::Plain,
    }
}

/// The memory operand that starts with this ModRM byte.
fn operand(code: &[u8], rex: u8) -> Option<Operand> {
    let modrm = *code.first()?;
    let (mode, low) = (modrm >> 6, modrm & 7);
    let extend = |bit: u8| if rex & bit != 0 { 8 } else { 0 };
    let mut o = Operand {
        base: Some(Register(low + extend(1))),
        index: None,
        displacement: 0,
        from_next: false,
    };
    let mut next = 1;
    if low == 4 {
        let sib = *code.get(1)?;
        next = 2;
        let (index, base) = ((sib >> 3 & 7) + extend(2), sib & 7);
        o.index = (index != 4).then_some((Register(index), 1 << (sib >> 6)));
        o.base = (base != 5 || mode != 0).then_some(Register(base + extend(1)));
    }
    let bytes = match (mode, low) {
        (0, 5) => {
            o.base = None;
            o.from_next = true;
            4
        }
        (0, 4) if o.base.is_none() => 4,
        (1, _) => 1,
        (2, _) => 4,
        _ => 0,
    };
    let text = code.get(next..next + bytes)?;
    o.displacement = match text {
        [b] => i64::from(*b as i8),
        [a, b, c, d] => i64::from(i32::from_le_bytes([*a, *b, *c, *d])),
        _ => 0,
    };
    Some(o)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reg(base: u8, displacement: i64) -> Operand {
        Operand {
            base: Some(Register(base)),
            index: None,
            displacement,
            from_next: false,
        }
    }
    /// Encodings by the assembler's own listing.
    #[test]
    fn flushes_have_their_operands() {
        let cases: [(&[u8], Class); 8] = [
            (&[0x66, 0x0f, 0xae, 0x30], Class::Flush("clwb", reg(0, 0))), // clwb (%rax)
            (&[0x66, 0x41, 0x0f, 0xae, 0x33], Class::Flush("clwb", reg(11, 0))), // clwb (%r11)
            (&[0x66, 0x0f, 0xae, 0x7b, 0x40], Class::Flush("clflushopt", reg(3, 64))), // clflushopt 0x40(%rbx)
            (
                &[0x0f, 0xae, 0xb8 | 0x07, 0, 1, 0, 0],
                Class::Flush("clflush", reg(7, 256)),
            ), // clflush 0x100(%rdi)
            (&[0x66, 0x41, 0x0f, 0xae, 0x75, 0xf8], Class::Flush("clwb", reg(13, -8))), // clwb -8(%r13)
            (
                // clwb (%rsi,%rcx,8)
                &[0x66, 0x0f, 0xae, 0x34, 0xce],
                Class::Flush(
                    "clwb",
                    Operand {
                        index: Some((Register(1), 8)),
                        ..reg(6, 0)
                    },
                ),
            ),
            (
                // clwb 0x10(%rip)
                &[0x66, 0x0f, 0xae, 0x35, 0x10, 0, 0, 0],
                Class::Flush(
                    "clwb",
                    Operand {
                        base: None,
                        from_next: true,
                        ..reg(0, 16)
                    },
                ),
            ),
            (&[0x66, 0x41, 0x0f, 0xae, 0x34, 0x24], Class::Flush("clwb", reg(12, 0))), // clwb (%r12)
        ];
        for (code, class) in cases {
            assert_eq!(classify(code), class, "{code:02x?}");
        }
    }
    #[test]
    fn other_classes() {
        let cases: [(&[u8], Class); 18] = [
            (&[0x0f, 0xae, 0xf8], Class::Fence("sfence")),
            (&[0x0f, 0xae, 0xf0], Class::Fence("mfence")),
            (&[0x0f, 0xae, 0xe8], Class::Plain),                      // lfence
            (&[0x48, 0x0f, 0xc3, 0x07], Class::NonTemporal),          // movnti %rax,(%rdi)
            (&[0x66, 0x0f, 0xe7, 0x07], Class::NonTemporal),          // movntdq %xmm0,(%rdi)
            (&[0xc5, 0xfd, 0xe7, 0x07], Class::NonTemporal),          // vmovntdq %ymm0,(%rdi)
            (&[0xc5, 0xfd, 0x7f, 0x07], Class::Plain),                // vmovdqa %ymm0,(%rdi)
            (&[0xf0, 0x48, 0x0f, 0xb1, 0x37], Class::Atomic),         // lock cmpxchg %rsi,(%rdi)
            (&[0x48, 0x87, 0x07], Class::Atomic),                     // xchg %rax,(%rdi)
            (&[0x48, 0x87, 0xc3], Class::Plain),                      // xchg %rax,%rbx
            (&[0x48, 0x89, 0x07], Class::Plain),                      // mov %rax,(%rdi)
            (&[0x48, 0x89, 0x44, 0x24, 0x08], Class::Stack),          // mov %rax,8(%rsp)
            (&[0x41, 0x57], Class::Stack),                            // push %r15
            (&[0xc3], Class::Stack),                                  // ret
            (&[0x66, 0x0f, 0xf7, 0xc1], Class::NonTemporal),          // maskmovdqu %xmm1,%xmm0
            (&[0xc5, 0xf9, 0xf7, 0xc1], Class::NonTemporal),          // vmaskmovdqu %xmm1,%xmm0
            (&[0x66, 0x0f, 0x3a, 0x14, 0x24, 0x08, 0], Class::Plain), // pextrb $0,%xmm4,(%rax,%rcx)
            (&[0x66, 0x0f, 0x3a, 0x14, 0x04, 0x24, 0], Class::Stack), // pextrb $0,%xmm0,(%rsp)
        ];
        for (code, class) in cases {
            assert_eq!(classify(code), class, "{code:02x?}");
        }
    }
    #[test]
    fn an_operand_on_r12_is_not_the_stack() {
        // mov %rax,8(%r12): REX.B extends the base.
        assert_eq!(classify(&[0x49, 0x89, 0x44, 0x24, 0x08]), Class::Plain);
    }
    #[test]
    fn any_bytes_are_read_without_a_panic() {
        let mut x = 1u64;
        for _ in 0..20_000 {
            x = x
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let bytes = x.to_le_bytes();
            for n in 0..=8 {
                classify(&bytes[..n]);
            }
        }
    }
}
