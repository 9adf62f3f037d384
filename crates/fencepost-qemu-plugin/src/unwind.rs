//! Who called: the frames of a stack of the guest, by the unwinding tables of its programs and by frame pointers.

use crate::guest;
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, Module, Unwinder};
use object::{Object, ObjectSection, ObjectSegment, SegmentFlags, elf};
use std::fs::File;
use std::io::Read;

/// Frames of a stack that are noted.
const MOST_FRAMES: usize = 24;

/// Unwinds stacks.
pub(crate) struct Stacks {
    unwinder: UnwinderX86_64<Vec<u8>>,
    cache: CacheX86_64,
}

impl Default for Stacks {
    fn default() -> Stacks {
        Stacks {
            unwinder: UnwinderX86_64::new(),
            cache: CacheX86_64::new(),
        }
    }
}

impl Stacks {
    /// A file is mapped: `length` bytes from `offset` on at `start`. Nothing is known of one that is no program with code there.
    pub(crate) fn add(&mut self, path: &str, start: u64, length: u64, offset: u64) -> Option<()> {
        // What is mapped may be anything, and large.
        let mut magic = [0; 4];
        File::open(path).and_then(|mut f| f.read_exact(&mut magic)).ok()?;
        let bytes = (magic == *b"\x7fELF").then(|| std::fs::read(path).ok()).flatten()?;
        let file = object::File::parse(&*bytes).ok()?;
        // The emulator reads code and does not execute it: only the file says what is code.
        let holds = |s: &object::Segment<'_, '_>| {
            let (from, bytes) = s.file_range();
            let executable = matches!(s.flags(), SegmentFlags::Elf { p_flags, .. } if p_flags.0 & elf::PF_X.0 != 0);
            executable && from < offset + length && offset < from + bytes
        };
        let segment = file.segments().find(holds)?;
        let bias = start.wrapping_sub(
            segment
                .address()
                .wrapping_add(offset)
                .wrapping_sub(segment.file_range().0),
        );
        let end = file.segments().map(|s| s.address() + s.size()).max().unwrap_or(0);
        let first = file.segments().map(|s| s.address()).min().unwrap_or(0);
        let range = |name: &str| file.section_by_name(name).map(|s| s.address()..s.address() + s.size());
        let data = |name: &str| Some(file.section_by_name(name)?.uncompressed_data().ok()?.into_owned());
        let sections = ExplicitModuleSectionInfo {
            text_svma: range(".text"),
            eh_frame_svma: range(".eh_frame"),
            eh_frame: data(".eh_frame"),
            eh_frame_hdr_svma: range(".eh_frame_hdr"),
            eh_frame_hdr: data(".eh_frame_hdr"),
            got_svma: range(".got"),
            // Go has nothing else.
            debug_frame: data(".debug_frame"),
            ..ExplicitModuleSectionInfo::default()
        };
        let places = first.wrapping_add(bias)..end.wrapping_add(bias);
        self.unwinder
            .add_module(Module::new(path.to_owned(), places, bias, sections));
        Some(())
    }
    /// Addresses in the frames of a stack: where it is, and then of each call.
    pub(crate) fn frames(&mut self, at: u64, stack: u64, frame: u64) -> Vec<u64> {
        let mut read = |address: u64| match address >= stack {
            true => guest::read(address).ok_or(()),
            false => Err(()),
        };
        let registers = UnwindRegsX86_64::new(at, stack, frame);
        let mut frames = self.unwinder.iter_frames(at, registers, &mut self.cache, &mut read);
        let mut found = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            // Of a return address, the call before it.
            found.push(frame.address_for_lookup());
            if found.len() == MOST_FRAMES {
                break;
            }
        }
        if found.is_empty() {
            found.push(at);
        }
        found
    }
}
