//! `pillion log`: looks into the files of a data directory, pillion's or Kafka's; it needs no broker and writes nothing.

mod text;

use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use pillion_broker::inspect::{self, DumpOptions, Item, Severity};
use serde::Serialize;

/// Look into a data directory's files, of pillion or Kafka
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion log verify pillion-data                         is everything as it should be?
  pillion log dump pillion-data/orders-0 --records        batches, records, indexes of a partition
  pillion log dump 00000000000000000000.timeindex
  pillion log dump pillion-data/orders-0 --offsets 40..50 --records --json

Both only read, also while a broker runs; they end with 1 when something is wrong.")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Dump(Dump),
    Verify(Verify),
}

/// Print what files hold: batches and records, indexes, snapshots, checkpoints
#[derive(Debug, Args)]
struct Dump {
    /// Files, or directories with all files in them
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print the records in each batch too
    #[arg(short, long)]
    records: bool,
    /// Only these offsets: the first, and the one behind the last; either may be left out
    #[arg(short, long, value_name = "FROM..TO", default_value = "..", hide_default_value = true)]
    offsets: Offsets,
    /// Print one JSON object a line
    #[arg(short = 'J', long)]
    json: bool,
}

/// Check files against their formats and each other, and say what to do about what is wrong
#[derive(Debug, Args)]
struct Verify {
    /// Data directories, partitions' directories, or files
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print notes too: what is worth knowing and not wrong
    #[arg(short, long)]
    notes: bool,
    /// Print one JSON object a line: findings, notes among them, then a summary of each path
    #[arg(short = 'J', long)]
    json: bool,
}

/// `FROM..TO` as a range of offsets.
#[derive(Debug, Clone)]
struct Offsets(Range<i64>);

impl FromStr for Offsets {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "expected FROM..TO, such as 40..50, 40.. or ..50";
        let (from, to) = text.split_once("..").ok_or(EXPECTED)?;
        let number = |text: &str, default| match text {
            "" => Ok(default),
            text => text.parse::<i64>().map_err(|_| EXPECTED.to_owned()),
        };
        let range = number(from, i64::MIN)?..number(to, i64::MAX)?;
        if range.is_empty() { Err("there is no offset in it".to_owned()) } else { Ok(Self(range)) }
    }
}

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        match self.command {
            Command::Dump(dump) => dump.execute(),
            Command::Verify(verify) => verify.execute(),
        }
    }
}

/// One line of `dump --json`.
#[derive(Serialize)]
struct Line<'a> {
    file: &'a str,
    #[serde(flatten)]
    item: &'a Item,
}

impl Dump {
    fn execute(self) -> Result<()> {
        let options = DumpOptions { records: self.records, offsets: self.offsets.0.clone() };
        let mut out = BufWriter::new(std::io::stdout().lock());
        let mut wrong = 0;
        for path in &self.paths {
            wrong += inspect::dump(path, &options, &mut |file, item| self.write(&mut out, file, &item))?;
        }
        out.flush()?;
        if wrong > 0 { bail!("{} in these files", count(wrong, "thing is wrong", "things are wrong")) } else { Ok(()) }
    }

    fn write(&self, out: &mut impl Write, file: &Path, item: &Item) -> Result<()> {
        if !self.json {
            return Ok(text::write_item(out, file, item)?);
        }
        match item {
            // It names the file itself.
            Item::Finding(_) => serde_json::to_writer(&mut *out, item).map_err(std::io::Error::from)?,
            _ => {
                let line = Line { file: &file.to_string_lossy(), item };
                serde_json::to_writer(&mut *out, &line).map_err(std::io::Error::from)?;
            }
        }
        Ok(writeln!(out)?)
    }
}

impl Verify {
    fn execute(self) -> Result<()> {
        let mut out = BufWriter::new(std::io::stdout().lock());
        let mut wrong: u64 = 0;
        for path in &self.paths {
            let report = inspect::verify(path).with_context(|| format!("cannot check {}", path.display()))?;
            wrong += report.findings.iter().filter(|finding| finding.is_wrong()).count() as u64;
            if self.json {
                for finding in &report.findings {
                    serde_json::to_writer(&mut out, &Item::Finding(finding.clone())).map_err(std::io::Error::from)?;
                    writeln!(out)?;
                }
                let summary = serde_json::json!({
                    "type": "summary",
                    "path": path.to_string_lossy(),
                    "sound": report.is_sound(),
                    "partitions": report.partitions,
                    "segments": report.segments,
                    "batches": report.batches,
                    "records": report.records,
                    "bytes": report.bytes,
                });
                writeln!(out, "{summary}")?;
            } else {
                let mut shown = report.findings.iter().filter(|finding| self.notes || finding.is_wrong());
                shown.try_for_each(|finding| text::write_finding(&mut out, &finding.file, finding))?;
                let path = text::path(path);
                let verdict = if report.is_sound() { "sound" } else { "not sound" };
                let of = |severity| report.findings.iter().filter(|one| one.severity == severity).count() as u64;
                writeln!(
                    out,
                    "{path}: {verdict}; {}, {}, {}, {}, {} bytes; {} damaged, {} repairable, {}",
                    count(report.partitions, "partition", "partitions"),
                    count(report.segments, "segment", "segments"),
                    count(report.batches, "batch", "batches"),
                    count(report.records, "record", "records"),
                    report.bytes,
                    of(Severity::Damage),
                    of(Severity::Repairable),
                    count(of(Severity::Note), "note", "notes"),
                )?;
            }
        }
        out.flush()?;
        if wrong > 0 { bail!("{}", count(wrong, "thing is wrong", "things are wrong")) } else { Ok(()) }
    }
}

fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
