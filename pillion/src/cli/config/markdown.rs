//! docs/configuration.md, written from the table of keys.

use std::fmt::Write as _;

use crate::config::{self, Key, Part};

/// What stands above the tables.
const INTRODUCTION: &str = "\
# Configuration

This page is written by `pillion config keys --markdown` from the table that the program itself reads; a test holds
the two together.

A setting comes from a file (`--config FILE` or `PILLION_CONFIG`), over that from the environment, over that from flags.
`pillion config` prints what is in force and where it comes from, `pillion config check` every problem at once and
nothing else. Unknown keys are refused, with the nearest known one.

- **TOML**: dotted keys and tables come to the same, `num.partitions = 3` or `partitions = 3` under `[num]`; an array
  stands for its elements with commas between.
- **`server.properties`** of Apache Kafka (a file that ends in `.properties`, KRaft): keys that are listed below are
  taken; those of controllers, replication and thread pools are left out, and a warning names them; those that promise
  what pillion does not keep (TLS and SASL of listeners, authorizers, tiered storage, plug-ins) are refused with the
  reason. Listeners of controllers are left out.
- **Environment**: `PILLION_NUM_PARTITIONS` for `num.partitions`.
- **Flags**: `--set num.partitions=3`, and those of each command.

**Changes.** *at start*: with the next start. *at run time*: at once, by `pillion topic`, Kafka's tools
(IncrementalAlterConfigs) or SIGHUP. *SIGHUP*: a signal reads the file and the environment again; what can only change
at start is named in a warning, and a configuration with a problem changes nothing.
";

/// The whole page.
pub(super) fn document() -> String {
    let mut page = INTRODUCTION.to_owned();
    for (part, title, words) in [
        (Part::Process, "The process", "For every command that runs on."),
        (Part::Broker, "The broker", "Kafka's names, and its defaults unless the last column says why not."),
        (
            Part::Connector,
            "The outbox connector",
            "Debezium's and Kafka's names where they have one. `connector.<name>.<key>`, or `[connector.<name>]` in the \
             file, says a key for one connector only; `topic.creation.<group>.<setting>` says how topics are made. \
             [connector.md](connector.md) and [debezium.md](debezium.md) say more.",
        ),
    ] {
        // Writing to a String cannot fail.
        let _ = write!(
            page,
            "\n## {title}\n\n{words}\n\n| key | type | takes | default | change | what for |\n|-|-|-|-|-|-|\n"
        );
        for key in config::keys().iter().filter(|key| key.part == part) {
            page.push_str(&row(key));
        }
    }
    page
}

fn row(key: &Key) -> String {
    let change = super::change(key.change);
    let default = key.default.map_or_else(String::new, |default| format!("`{default}`"));
    let cell = |text: &str| text.replace('|', "\\|");
    format!(
        "| `{}` | {} | {} | {default} | {change} | {} |\n",
        key.name,
        key.kind,
        cell(&as_code(key.expected)),
        cell(key.purpose)
    )
}

/// A range of the broker's table as a person writes it.
fn as_code(expected: &str) -> String {
    let text = expected.replace("..=", " to ").replace("i32::MAX", "2147483647").replace("u64::MAX", "2^64-1");
    let is_digit = |at: Option<usize>| at.and_then(|at| text.as_bytes().get(at)).is_some_and(u8::is_ascii_digit);
    let is_within_number = |at: usize| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
    text.char_indices()
        .filter(|(at, character)| *character != '_' || !is_within_number(*at))
        .map(|(_, one)| one)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_in_docs_is_the_one_that_the_program_writes() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/configuration.md");
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            written == document(),
            "docs/configuration.md is old: `pillion config keys --markdown > docs/configuration.md`"
        );
    }
}
