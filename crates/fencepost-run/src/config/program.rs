//! What a request says about its program.

use super::machine::MachineConfig;
use crate::error::BadInput;
use crate::request::Request;
use fencepost_designs::DesignInfo;
use fencepost_kernel::params::{ParamValue, Raw};
use fencepost_programs::{About, Scheme, Variant};

/// Software threads of a run: as asked, or one per hardware thread.
pub(super) fn threads(request: &Request, machine: &MachineConfig) -> Result<u32, BadInput> {
    let hw_threads = u32::from(machine.spec.hw_threads());
    match request.threads.unwrap_or(hw_threads) {
        0 => Err(BadInput::new("a run needs at least one thread")),
        n if n > hw_threads => {
            let set = ["cores", "threads_per_core"].map(|key| ("core".to_owned(), key.to_owned()));
            let place = set
                .iter()
                .find_map(|key| machine.origins.get(key))
                .map(|o| o.place.clone());
            let many = match hw_threads {
                1 => "the one hardware thread".to_owned(),
                n => format!("the {n} hardware threads"),
            };
            let e = BadInput::new(format!("{n} threads do not fit on {many} of `{}`", machine.name)).hint(format!(
                "ask for at most {hw_threads}, or give it more with --set core.cores=N (64 hardware threads at most)"
            ));
            Err(match place {
                Some(place) => e.at(place),
                None => e,
            })
        }
        n => Ok(n),
    }
}

/// How the program is built: logging runtime, variant, amount of work.
pub(super) fn program_settings(
    request: &Request,
    about: &About,
    design: &DesignInfo,
    machine: &MachineConfig,
    threads: u32,
) -> Result<fencepost_programs::Settings, BadInput> {
    let scheme = match &request.log {
        None => {
            let designs = about.schemes.iter().copied().find(|s| Some(s.name()) == design.log);
            let natural = about.schemes.first().copied();
            designs.or(natural).unwrap_or(Scheme::UndoArray)
        }
        Some(name) => named(name, "logging runtime", about.schemes.iter().map(|s| s.name()))?,
    };
    let variant = match &request.variant {
        None => Variant::Correct,
        Some(name) => named(name, "variant", variants(about, scheme).into_iter())?,
    };
    if request.ops == 0 {
        return Err(BadInput::new("a run needs at least one operation per thread"));
    }
    let ops = request
        .ops
        .checked_add(request.warmup)
        .ok_or_else(|| BadInput::new("too many operations"))?;
    Ok(fencepost_programs::Settings {
        threads: threads / u32::from(machine.general.processes),
        ops,
        seed: request.seed,
        log_stagger: machine.general.log_stagger.0,
        scheme,
        variant,
        params: Vec::new(),
        honours: Some(design.promise.honours),
    })
}

/// Names of the variants that a program has under a logging scheme.
fn variants(about: &About, scheme: Scheme) -> Vec<&'static str> {
    let of_scheme = about.variants.iter().filter(|v| v.0 == scheme);
    of_scheme.flat_map(|v| v.1.iter().map(|x| x.name())).collect()
}

fn named<'a, T: ParamValue>(name: &str, what: &str, known: impl Iterator<Item = &'a str>) -> Result<T, BadInput> {
    let known: Vec<&str> = known.collect();
    let parsed = known
        .contains(&name)
        .then(|| T::from_raw(&Raw::Text(name.to_owned())).ok())
        .flatten();
    parsed.ok_or_else(|| BadInput::unknown(what, name, known))
}
