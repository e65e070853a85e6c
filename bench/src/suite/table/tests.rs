use super::super::goal::Bound;
use super::super::results::Side;
use super::*;
use crate::figures::Figures;

fn results(folder: &tempfile::TempDir) -> Results {
    let mut results = Results::to_file(&folder.path().join("lines")).unwrap();
    let figures = |value| {
        let mut figures = Figures::default();
        figures.add("records_per_s", value);
        figures
    };
    for (round, ours, kafka) in [(1, 900.0, 300.0), (2, 1_000.0, 250.0), (3, 5_000.0, 200.0)] {
        results.add(round, Side::Pillion, "produce", figures(ours)).unwrap();
        results.add(round, Side::Kafka, "produce", figures(kafka)).unwrap();
    }
    results
}

fn row(load: &str, goal: Goal) -> Row {
    Row { work: "produce".to_owned(), load: load.to_owned(), figure: "records_per_s", unit: "records/s", goal }
}

#[test]
fn a_line_shows_medians_their_ratio_and_the_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [row("produce", Goal::OfKafka(Bound::AtLeast, 4.0)), row("produce", Goal::OfKafka(Bound::AtLeast, 4.1))];
    let table = render(&rows, &results(&folder));
    assert!(table.contains("| produce | 1,000 records/s | 250 records/s | 4×    | ≥ 4×   | yes |"), "{table}");
    assert!(table.contains("| 4×    | ≥ 4.1× | no  |"), "{table}");
    assert!(table.ends_with("1 of 2 goals that could be judged are met."), "{table}");
}

#[test]
fn what_was_not_measured_is_left_out_and_what_cannot_be_judged_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [row("fetch", Goal::Value(Bound::AtMost, 1.0)), row("produce", Goal::OfNull(Bound::AtLeast, 1.0))];
    let table = render(&rows, &results(&folder));
    assert_eq!(table.matches("| produce").count(), 1);
    assert!(table.contains("not judged"), "{table}");
}

#[test]
fn a_load_can_be_held_against_another_one_of_kafkas() {
    let folder = tempfile::tempdir().unwrap();
    let mut results = results(&folder);
    let mut figures = Figures::default();
    figures.add("records_per_s", 500.0);
    results.add(1, Side::Pillion, "produce, synced", figures).unwrap();
    let goal = |factor| Goal::OfKafkaLoad(Bound::AtLeast, factor, "produce");
    let table = render(&[row("produce, synced", goal(2.0)), row("produce, synced", goal(2.1))], &results);
    assert!(table.contains("| written: 250 records/s | 2×    | ≥ 2× written   | yes |"), "{table}");
    assert!(table.contains("| 2×    | ≥ 2.1× written | no  |"), "{table}");
}

#[test]
fn every_measurement_is_a_line_of_json() {
    let folder = tempfile::tempdir().unwrap();
    let results = results(&folder);
    let text = std::fs::read_to_string(results.path()).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 6);
    assert_eq!(lines[1]["side"], "kafka");
    assert_eq!(lines[4]["records_per_s"], 5_000.0);
}
