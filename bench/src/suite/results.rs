//! What was measured: by side, load and figure, over the rounds; and each measurement as a JSON line in a file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use crate::figures::Figures;
use crate::latency::median;

/// Who was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    /// Our broker.
    Pillion,
    /// Apache Kafka.
    Kafka,
    /// The broker that stores nothing.
    Null,
    /// The machine without a broker.
    Machine,
    /// Postgres' own sender of the WAL, drained to nowhere.
    Walsender,
    /// Debezium in front of Apache Kafka.
    Debezium,
}

impl Side {
    /// Its name in the lines and in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pillion => "pillion",
            Self::Kafka => "kafka",
            Self::Null => "null",
            Self::Machine => "machine",
            Self::Walsender => "walsender",
            Self::Debezium => "debezium",
        }
    }
}

/// All measurements of a run.
#[derive(Debug)]
pub(crate) struct Results {
    values: BTreeMap<(Side, String, String), Vec<f64>>,
    lines: File,
    path: PathBuf,
}

impl Results {
    /// Nothing yet; lines go to this file, which is emptied.
    pub(crate) fn to_file(path: &Path) -> Result<Self> {
        let lines = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { values: BTreeMap::new(), lines, path: path.to_owned() })
    }

    /// Where the lines are.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds one measurement.
    pub(crate) fn add(&mut self, round: usize, side: Side, load: &str, figures: Figures) -> Result<()> {
        let mut line = Map::new();
        line.insert("round".to_owned(), json!(round));
        line.insert("side".to_owned(), json!(side.name()));
        line.insert("load".to_owned(), json!(load));
        line.extend(figures.to_json());
        writeln!(self.lines, "{}", Value::Object(line))?;
        for (name, value) in figures.iter() {
            self.values.entry((side, load.to_owned(), name.to_owned())).or_default().push(value);
        }
        Ok(())
    }

    /// A figure's median over the rounds.
    pub(crate) fn median(&self, side: Side, load: &str, figure: &str) -> Option<f64> {
        median(self.values.get(&(side, load.to_owned(), figure.to_owned()))?)
    }
}
