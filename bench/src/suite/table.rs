//! The table: one line a goal, in Markdown that is also plain to read.

use super::goal::Goal;
use super::results::Results;
use super::rows::Row;
use crate::figures::number;

const HEAD: [&str; 6] = ["work", "ours", "Kafka", "ratio", "goal", "met"];

/// The rows that something was measured for, and how many of their goals are met.
pub(super) fn render(rows: &[Row], results: &Results) -> String {
    let mut lines = Vec::new();
    let (mut met, mut judged) = (0, 0);
    for row in rows {
        let judgement = row.goal.judge(results, &row.load, row.figure);
        if judgement.ours.is_none() {
            continue;
        }
        met += usize::from(judgement.is_met == Some(true));
        judged += usize::from(judgement.is_met.is_some());
        let value = |value: Option<f64>| value.map(|value| format!("{} {}", number(value), row.unit));
        let other = value(judgement.other).map(|text| format!("{}{text}", row.goal.other_name()));
        lines.push([
            row.work.clone(),
            value(judgement.ours).unwrap_or_default(),
            other.unwrap_or_else(|| "–".to_owned()),
            judgement.ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{}×", number(ratio))),
            row.goal.text(row.unit),
            verdict(row.goal, judgement.is_met).to_owned(),
        ]);
    }
    format!("{}\n{met} of {judged} goals that could be judged are met.", aligned(&HEAD.map(str::to_owned), &lines))
}

fn verdict(goal: Goal, is_met: Option<bool>) -> &'static str {
    match (goal, is_met) {
        (Goal::Open, _) => "",
        (_, Some(true)) => "yes",
        (_, Some(false)) => "no",
        (_, None) => "not judged",
    }
}

/// A Markdown table whose columns are as wide as their widest cell.
pub(crate) fn aligned<const COLUMNS: usize>(head: &[String; COLUMNS], lines: &[[String; COLUMNS]]) -> String {
    let all = || std::iter::once(head).chain(lines);
    let widths: [usize; COLUMNS] =
        std::array::from_fn(|column| all().map(|line| line[column].chars().count()).max().unwrap_or(0));
    let row = |line: &[String; COLUMNS]| {
        let cells = line.iter().zip(widths).map(|(cell, width)| format!(" {cell:width$} |"));
        format!("|{}\n", cells.collect::<String>())
    };
    let rule = format!("|{}\n", widths.iter().map(|width| format!("{}|", "-".repeat(width + 2))).collect::<String>());
    std::iter::once(row(head)).chain(std::iter::once(rule)).chain(lines.iter().map(row)).collect()
}

#[cfg(test)]
mod tests;
