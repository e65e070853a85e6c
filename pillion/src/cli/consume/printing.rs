//! Prints the records that are wanted, until there are enough of them.

use std::io::Write;

use anyhow::Result;
use pillion_client::ConsumedRecord;

use super::document::{json, write_pretty};
use super::filter::Filter;
use super::format::Format;

/// How a record is printed.
#[derive(Debug, Clone)]
pub(super) enum Style {
    /// By a format string.
    Format(Format),
    /// As one line of JSON.
    Json,
    /// Over several lines.
    Pretty,
}

/// Prints to standard output.
pub(super) struct Printer {
    pub(super) style: Style,
    pub(super) filter: Filter,
    /// Records to be printed still.
    pub(super) left: u64,
}

impl Printer {
    /// Prints a record if it is wanted; says whether it was taken, which it is not when there are enough already.
    pub(super) fn print(&mut self, out: &mut impl Write, record: &ConsumedRecord) -> Result<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        if !self.filter.passes(record) {
            return Ok(true);
        }
        self.left -= 1;
        match &self.style {
            Style::Format(format) => format.write(out, record)?,
            Style::Json => writeln!(out, "{}", json(record))?,
            Style::Pretty => write_pretty(out, record)?,
        }
        Ok(true)
    }
}
