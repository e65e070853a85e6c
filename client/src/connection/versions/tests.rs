use pillion_wire::messages::api_versions::{ApiVersion, FinalizedFeatureKey};
use pillion_wire::messages::{ApiVersionsResponse, FetchRequest, ProduceRequest};

use super::ApiVersions;

fn versions(ranges: &[(i16, i16, i16)]) -> ApiVersions {
    let api = |(api_key, min_version, max_version): &(i16, i16, i16)| ApiVersion {
        api_key: *api_key,
        min_version: *min_version,
        max_version: *max_version,
    };
    ApiVersions::new(&ApiVersionsResponse { api_keys: ranges.iter().map(api).collect(), ..Default::default() })
}

#[test]
fn newest_version_that_both_sides_speak_is_picked() {
    let broker = versions(&[(1, 4, 11), (0, 0, 99)]);
    assert_eq!(broker.pick::<FetchRequest>(i16::MAX), Some(11));
    assert_eq!(broker.pick::<ProduceRequest>(i16::MAX), Some(13));
    assert_eq!(broker.pick::<ProduceRequest>(12), Some(12));
}

#[test]
fn no_version_is_picked_where_ranges_do_not_meet() {
    let broker = versions(&[(1, 19, 25), (0, 0, 2)]);
    assert_eq!(broker.pick::<FetchRequest>(i16::MAX), None);
    assert_eq!(broker.pick::<ProduceRequest>(i16::MAX), None);
    assert_eq!(versions(&[]).pick::<FetchRequest>(i16::MAX), None);
    assert_eq!((broker.describe(0), broker.describe(7)), ("0 to 2".to_owned(), "none".to_owned()));
}

#[test]
fn features_count_only_with_an_epoch() {
    let feature =
        FinalizedFeatureKey { name: "transaction.version".to_owned(), max_version_level: 2, min_version_level: 2 };
    let told = |finalized_features_epoch| {
        let finalized_features = vec![feature.clone()];
        let response = ApiVersionsResponse { finalized_features_epoch, finalized_features, ..Default::default() };
        ApiVersions::new(&response).finalized_feature("transaction.version")
    };
    assert_eq!((told(7), told(-1)), (2, 0));
    assert_eq!(versions(&[]).finalized_feature("transaction.version"), 0);
}
