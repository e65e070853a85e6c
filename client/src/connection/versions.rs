//! Which versions a broker speaks, as it told in ApiVersions. Pure.

use pillion_wire::Request;
use pillion_wire::messages::ApiVersionsResponse;

/// A broker's APIs, ordered by key, and its cluster's features.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiVersions {
    ranges: Vec<(i16, i16, i16)>,
    /// Features in force, by name.
    features: Vec<(String, i16)>,
}

impl ApiVersions {
    /// What a broker answered.
    pub(crate) fn new(response: &ApiVersionsResponse) -> Self {
        let apis = response.api_keys.iter();
        let mut ranges: Vec<_> = apis.map(|api| (api.api_key, api.min_version, api.max_version)).collect();
        ranges.sort_unstable();
        // Without an epoch the features are not known (KIP-584).
        let known = response.finalized_features.iter().filter(|_| response.finalized_features_epoch >= 0);
        let features = known.map(|feature| (feature.name.clone(), feature.max_version_level)).collect();
        Self { ranges, features }
    }

    /// The level of a feature in force; 0 where there is none.
    pub(crate) fn finalized_feature(&self, name: &str) -> i16 {
        self.features.iter().find(|(known, _)| known == name).map_or(0, |(_, level)| *level)
    }

    /// The newest version that broker and client speak, not above `newest`.
    pub(crate) fn pick<R: Request>(&self, newest: i16) -> Option<i16> {
        let (oldest_there, newest_there) = self.range(R::KEY)?;
        let ours = R::VERSIONS;
        let version = newest_there.min(*ours.end()).min(newest);
        (version >= oldest_there && ours.contains(&version)).then_some(version)
    }

    /// The broker's range of an API, for people.
    pub(crate) fn describe(&self, key: i16) -> String {
        self.range(key).map_or_else(|| "none".to_owned(), |(oldest, newest)| format!("{oldest} to {newest}"))
    }

    fn range(&self, key: i16) -> Option<(i16, i16)> {
        let at = self.ranges.partition_point(|range| range.0 < key);
        self.ranges.get(at).filter(|range| range.0 == key).map(|range| (range.1, range.2))
    }
}

#[cfg(test)]
mod tests;
