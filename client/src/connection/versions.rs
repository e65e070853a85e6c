//! Which versions a broker speaks, as it told in ApiVersions. Pure.

use pillion_wire::Request;
use pillion_wire::messages::api_versions::ApiVersion;

/// A broker's APIs, ordered by key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiVersions {
    ranges: Vec<(i16, i16, i16)>,
}

impl ApiVersions {
    /// What a broker answered.
    pub(crate) fn new(apis: &[ApiVersion]) -> Self {
        let mut ranges: Vec<_> = apis.iter().map(|api| (api.api_key, api.min_version, api.max_version)).collect();
        ranges.sort_unstable();
        Self { ranges }
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
