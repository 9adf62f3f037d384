//! Functions of the program whose calls mean something to a recording: where it begins, what is acknowledged.

use crate::executed::program;
use crate::guest_recorder::Recorder;
use crate::qemu;
use fencepost_record::Event;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SectionKind};
use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

/// What a call of a function means.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The region of interest begins.
    Region,
    /// What the thread did before is acknowledged.
    Acknowledge,
}

/// The functions, by their addresses in the running program.
pub(crate) fn find(recorder: &Recorder) -> HashMap<u64, Mark> {
    let options = &recorder.options;
    let wanted = [
        (&options.region, Mark::Region),
        (&options.acknowledge, Mark::Acknowledge),
    ];
    let wanted: Vec<(&String, Mark)> = wanted
        .into_iter()
        .filter_map(|(name, mark)| Some((name.as_ref()?, mark)))
        .collect();
    let mut found = HashMap::new();
    if wanted.is_empty() {
        return found;
    }
    let Ok(bytes) = std::fs::read(program()) else {
        return found;
    };
    let Ok(file) = object::File::parse(&*bytes) else {
        return found;
    };
    // The lowest address of code in the file is where the emulator says that the program's code starts.
    let segment = |at: u64| {
        file.segments()
            .find(|s| (s.address()..s.address() + s.size()).contains(&at))
            .map(|s| s.address())
    };
    let code = file
        .sections()
        .filter(|s| s.kind() == SectionKind::Text)
        .filter_map(|s| segment(s.address()))
        .min()
        .unwrap_or(0);
    // SAFETY: without precondition once the program is loaded.
    let bias = unsafe { qemu::qemu_plugin_start_code() }.wrapping_sub(code);
    for (name, mark) in wanted {
        let number = name.strip_prefix("0x").and_then(|h| u64::from_str_radix(h, 16).ok());
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let symbol = symbols
            .filter(|s| s.is_definition() && s.name() == Ok(name))
            .map(|s| s.address())
            .next();
        if let Some(at) = number.or(symbol) {
            found.insert(at.wrapping_add(bias), mark);
            recorder.found(name);
        }
    }
    found
}

impl Recorder {
    /// A function is called whose calls mean something.
    pub(crate) fn marked(&self, vcpu: u32, mark: Mark, at: u64) {
        self.take();
        match mark {
            Mark::Region => self.begin_region(),
            Mark::Acknowledge => {
                let place = self.lock().code.place(at);
                let ended = self.lock().next_operation(vcpu);
                if let Some(k) = ended {
                    for event in [
                        Event::Operation("end", k),
                        Event::Operation("ack", k),
                        Event::Operation("begin", k + 1),
                    ] {
                        self.note(vcpu, &event, &place);
                    }
                }
            }
        }
    }
    /// The region of interest begins, if it has not yet: what the files hold now is what it starts from.
    pub(crate) fn begin_region(&self) {
        if self.shared.inside.swap(1, Relaxed) != 0 {
            return;
        }
        self.take();
        for k in self.files.all_touched().collect::<Vec<_>>() {
            self.files.begins_with(k, self.files.length_now(k));
            match self.files.held(k) {
                Ok(lines) => self.tell(&lines),
                Err(why) => self.refuse("the region of interest", &why, "its begin"),
            }
        }
    }
}
