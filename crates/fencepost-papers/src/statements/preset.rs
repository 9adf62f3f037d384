//! A paper's machine, for statements that are handwritten programs.

use fencepost_designs::statements::{Machines, Rule, Stage};
use fencepost_run::config::Resolved;
use fencepost_run::request::Request;

/// A machine preset.
pub(crate) struct Preset(pub &'static str);

impl Preset {
    /// Tries a rule on it.
    pub(crate) fn shows(&self, rule: &Rule) -> Result<String, String> {
        (rule.holds)(self)
    }
}
impl Machines for Preset {
    fn stage(&self, design: &str, media: Option<&str>, sets: &[String]) -> Result<Stage, String> {
        let request = Request {
            design: design.into(),
            machine: self.0.into(),
            media: media.map(str::to_owned),
            sets: sets.to_vec(),
            ..Request::default()
        };
        let resolved = Resolved::resolve(&request).map_err(|e| e.to_string())?;
        Ok(Stage {
            info: resolved.design,
            shape: resolved.shape(),
            settings: resolved.design_settings,
            spec: resolved.machine.spec,
        })
    }
}
