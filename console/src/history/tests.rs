use super::*;

#[test]
fn the_oldest_sample_goes_when_there_are_too_many() {
    let history = History::default();
    for at_ms in 0..SAMPLES_MAX as i64 + 3 {
        history.add(Sample { at_ms, ..Sample::default() });
    }
    let samples = history.samples();
    assert_eq!((samples.len(), samples[0].at_ms), (SAMPLES_MAX, 3));
}
