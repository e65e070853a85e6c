//! A table: numbers to the right, headings in bold on terminals, and nothing in it that writes to their controls.

use std::io::{self, Write};

use super::{escaped, is_colour_wanted};

const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";

/// A table with its heading.
pub(crate) struct Table {
    heading: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings. One that begins with `>` has its column to the right.
    pub(crate) fn new<const N: usize>(heading: [&'static str; N]) -> Self {
        Self { heading: heading.to_vec(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn push<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.iter().map(|cell| escaped(cell)).collect());
    }

    /// Writes it, coloured where that is wanted on standard output.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        self.write_as(out, is_colour_wanted())
    }

    fn write_as(&self, out: &mut impl Write, is_coloured: bool) -> io::Result<()> {
        let is_right: Vec<bool> = self.heading.iter().map(|name| name.starts_with('>')).collect();
        let heading: Vec<String> = self.heading.iter().map(|name| name.trim_start_matches('>').to_owned()).collect();
        let width = |column: usize| {
            let cells = self.rows.iter().chain([&heading]).filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..heading.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(widths.iter().zip(&is_right)).map(|(cell, (&width, &is_right))| {
                if is_right { format!("{cell:>width$}") } else { format!("{cell:width$}") }
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        match is_coloured {
            true => writeln!(out, "{BOLD}{}{PLAIN}", line(&heading))?,
            false => writeln!(out, "{}", line(&heading))?,
        }
        self.rows.iter().try_for_each(|row| writeln!(out, "{}", line(row)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_to_the_right_and_no_cell_reaches_the_terminals_controls() {
        let mut table = Table::new(["TOPIC", ">LAG", "MEMBER"]);
        table.push(["orders".to_owned(), "7".to_owned(), "a\u{1b}[2J".to_owned()]);
        table.push(["payments".to_owned(), "12345".to_owned(), String::new()]);
        let mut out = Vec::new();
        table.write_as(&mut out, false).unwrap();
        let expected = "TOPIC       LAG  MEMBER\norders        7  a\\u{1b}[2J\npayments  12345\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let mut coloured = Vec::new();
        table.write_as(&mut coloured, true).unwrap();
        assert!(coloured.starts_with(b"\x1b[1mTOPIC       LAG  MEMBER\x1b[0m\n"));
    }
}
