//! Text for people: columns that line up, headings in bold on terminals, times in UTC, sizes.

mod table;
mod time;

use std::io::{self, IsTerminal, Write};

pub(super) use table::Table;
pub(super) use time::{instant, milliseconds};

/// Writes rows with each column as wide as its widest cell, two blanks between, nothing after the last.
pub(crate) fn write_columns(out: &mut impl Write, rows: &[Vec<String>]) -> io::Result<()> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

/// A row of cells.
pub(crate) fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// Whether standard output is for eyes that see colour: a terminal, and `NO_COLOR` unset (no-color.org).
pub(super) fn is_colour_wanted() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var("TERM").is_ok_and(|terminal| terminal == "dumb");
    io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb
}

/// Text with whatever does not print escaped: names come from anyone, and no name writes to the terminal's controls.
pub(super) fn escaped(text: &str) -> String {
    let escape = |character: char| match character {
        '"' | '\'' | '\\' => character.to_string(),
        other => other.escape_debug().to_string(),
    };
    text.chars().map(escape).collect()
}

/// Bytes in the unit that leaves one to four digits before the point.
pub(super) fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

/// A number that may be missing.
pub(super) fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}
