//! The machine that a time was measured on.

use std::num::NonZero;
use std::{env, fs, thread};

/// Its processor's model and how many of its cores this process may use.
pub(super) fn name() -> String {
    let table = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    format!("{}, {cores} cores", model(&table).unwrap_or(env::consts::ARCH))
}

/// The model of the first processor in a table as Linux writes it.
fn model(table: &str) -> Option<&str> {
    let fields = table.lines().filter_map(|line| line.split_once(':'));
    let mut models = fields.filter(|(name, _)| name.trim_end() == "model name");
    models.next().map(|(_, model)| model.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_that_of_the_first_processor() {
        let table = "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nprocessor\t: 1\n";
        assert_eq!(model(table), Some("Some CPU @ 2.0GHz"));
        assert_eq!(model(""), None);
        assert!(name().ends_with(" cores"));
    }
}
