//! `pillion version`: what this is, what it reads and speaks, and what it is made of.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};

/// Crates in the binary, a line each: name, version, licence. `make generated` writes it, a test holds it against the
/// build.
const DEPENDENCIES: &str = include_str!("version/dependencies.txt");

/// Show the version, and with --json the licences of all that is built in
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion version
  pillion version --json
  pillion version --licences")]
pub(super) struct Arguments {
    /// Print JSON
    #[arg(short = 'J', long)]
    json: bool,
    /// List what is built in, with its licences
    #[arg(long, conflicts_with = "json")]
    licences: bool,
}

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        let mut stdout = std::io::stdout().lock();
        if self.json {
            writeln!(stdout, "{}", document())?;
        } else if self.licences {
            dependencies().try_for_each(|(name, version, licence)| writeln!(stdout, "{name} {version}  {licence}"))?;
        } else {
            writeln!(stdout, "pillion {}", env!("CARGO_PKG_VERSION"))?;
        }
        Ok(())
    }
}

fn document() -> Value {
    let dependencies =
        dependencies().map(|(name, version, licence)| json!({ "name": name, "version": version, "licence": licence }));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "licence": env!("CARGO_PKG_LICENSE"),
        "rust": env!("CARGO_PKG_RUST_VERSION"),
        "system": std::env::consts::OS,
        "machine": std::env::consts::ARCH,
        "dependencies": dependencies.collect::<Vec<_>>(),
    })
}

fn dependencies() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    DEPENDENCIES.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ' ');
        Some((parts.next()?, parts.next()?, parts.next()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cargo's own word on what is built in: `name vVERSION LICENCE` a line, in any order.
    fn built_in() -> Vec<String> {
        let cargo = std::env::var("CARGO").unwrap();
        let output = std::process::Command::new(cargo)
            .args(["tree", "--package", "pillion", "--edges", "normal", "--prefix", "none", "--no-dedupe"])
            .args(["--target", "x86_64-unknown-linux-gnu", "--format", "{p} {l}", "--locked"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines: Vec<String> = text
            .lines()
            .filter(|line| !line.contains("(/"))
            .map(|line| line.replacen(" v", " ", 1).replace(" (proc-macro)", ""))
            .collect();
        lines.sort();
        lines.dedup();
        lines
    }

    #[test]
    fn the_list_of_what_is_built_in_is_that_of_the_build() {
        let listed: Vec<String> = DEPENDENCIES.lines().map(str::to_owned).collect();
        let built_in = built_in();
        let missing: Vec<_> = built_in.iter().filter(|line| !listed.contains(line)).collect();
        let gone: Vec<_> = listed.iter().filter(|line| !built_in.contains(line)).collect();
        assert!(missing.is_empty() && gone.is_empty(), "`make generated`: missing {missing:?}, gone {gone:?}");
    }

    #[test]
    fn every_dependency_has_a_licence() {
        assert_eq!(dependencies().count(), DEPENDENCIES.lines().count());
        assert!(dependencies().all(|(_, _, licence)| !licence.trim().is_empty()));
    }
}
