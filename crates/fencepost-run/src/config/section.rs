//! Sections of a configuration: declared parameter sets addressed by name.

use super::layer::Setting;
use crate::error::BadInput;
use crate::source::Place;
use fencepost_kernel::params::{Field, ParamError, Params, Raw};

/// A declared parameter set, behind a pointer. Implemented by everything that `params!` declares.
pub trait Section {
    /// Every parameter with its default.
    fn fields(&self) -> Vec<Field>;
    /// Sets one parameter.
    fn set(&mut self, name: &str, raw: &Raw) -> Result<(), ParamError>;
    /// Reads one parameter, as a configuration file would write it.
    fn get(&self, name: &str) -> Option<String>;
}
impl<T: Params> Section for T {
    fn fields(&self) -> Vec<Field> {
        T::fields()
    }
    fn set(&mut self, name: &str, raw: &Raw) -> Result<(), ParamError> {
        Params::set(self, name, raw)
    }
    fn get(&self, name: &str) -> Option<String> {
        Params::get(self, name)
    }
}

/// Where the value of a parameter came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// Its place.
    pub place: Place,
    /// The comment beside it.
    pub note: Option<String>,
}

/// Applies `setting` to the section of its name; unknown sections, keys and values name the nearest right one.
pub fn apply(sections: &mut [(&str, &mut dyn Section)], setting: &Setting) -> Result<(), BadInput> {
    let known: Vec<&str> = sections.iter().map(|s| s.0).collect();
    let Some(at) = known.iter().position(|k| *k == setting.section) else {
        return Err(BadInput::unknown("section", &setting.section, known).at(setting.key_place.clone()));
    };
    let (name, section) = &mut sections[at];
    section.set(&setting.key, &setting.value).map_err(|e| match e {
        ParamError::Unknown { name: key, known } => {
            BadInput::unknown(&format!("key of [{name}]"), &key, known).at(setting.key_place.clone())
        }
        ParamError::Value { why, .. } => {
            BadInput::new(format!("`{name}.{}`: {why}", setting.key)).at(setting.value_place.clone())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::layer::parse_set;
    use super::*;
    fencepost_kernel::params! {
        /// A test section.
        pub struct Cache {
            /// Ways.
            ways: u16 = 4,
        }
    }
    #[test]
    fn unknown_names_come_with_the_nearest() {
        let mut c = Cache::default();
        let mut try_set = |text: &str| {
            let mut sections: [(&str, &mut dyn Section); 1] = [("l1", &mut c)];
            apply(&mut sections, &parse_set(text).unwrap())
        };
        assert!(try_set("l1.ways=8").is_ok());
        let e = try_set("l1.wyas=8").unwrap_err();
        assert!(e.hint.unwrap().contains("did you mean `ways`"), "{}", e.message);
        let e = try_set("ll.ways=8").unwrap_err();
        assert!(e.message.contains("unknown section `ll`") && e.hint.unwrap().contains("`l1`"));
        let e = try_set("l1.ways=lots").unwrap_err();
        assert_eq!(e.place.unwrap().to_string(), "--set:1:9");
        assert_eq!(c.ways, 8);
    }
}
