//! Planted faults that the environment asks for: refused where they cannot be had, and said where they never acted.

use fencepost_run::{BadInput, LabError, designs, fault, nearest};

/// Whether the faults that the environment asks for can be had.
pub(crate) fn check() -> Result<(), LabError> {
    fault::check().map_err(|refused| {
        let hint = match &refused {
            fault::Refused::Disabled(_) => {
                "build with `--features faults`, or in a profile that is no release".to_owned()
            }
            fault::Refused::Unknown(name) => known(name),
        };
        BadInput::new(refused.to_string()).hint(hint).into()
    })
}

/// What may have been meant by a name that no planted line has.
fn known(name: &str) -> String {
    let declared = designs().iter().find_map(|d| {
        let fault = d.faults.iter().find(|f| f.name == name)?;
        let (parameter, value) = fault.values.iter().find(|v| v.0 == "fault")?;
        Some(format!(
            "`{}` has it as a parameter: --set design.{parameter}={value}",
            d.name
        ))
    });
    let names: Vec<&str> = fault::names().collect();
    let near = || nearest(name, &names).map(|near| format!("did you mean `{near}`?"));
    let all = || {
        "`cargo run -p xtask -- faults` lists them; of a new one `cargo run -p xtask -- generate` writes the name"
            .into()
    };
    declared.or_else(near).unwrap_or_else(all)
}

/// A sentence for each fault that was asked for and that nothing has acted on in this process.
pub(crate) fn warnings() -> Vec<String> {
    let never = |name| format!("the planted fault `{name}` never acted: what was done here says nothing about it");
    fault::idle().into_iter().map(never).collect()
}
