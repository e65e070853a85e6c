//! Topics and partitions as given on the command line: `orders`, `orders:3`, `orders:0,2`, as Kafka's tools take them.

use std::str::FromStr;

/// A topic, or some of its partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The topic's name.
    pub(crate) topic: String,
    /// The partitions; all where there are none.
    pub(crate) partitions: Vec<i32>,
}

impl Place {
    /// Whether a partition is meant.
    pub(crate) fn has(&self, topic: &str, partition: i32) -> bool {
        self.topic == topic && (self.partitions.is_empty() || self.partitions.contains(&partition))
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A topic's name has no colon.
        let (topic, partitions) = text.split_once(':').map_or((text, None), |(topic, rest)| (topic, Some(rest)));
        let number = |text: &str| text.trim().parse::<i32>().ok().filter(|number| *number >= 0);
        let partitions: Option<Vec<i32>> =
            partitions.map_or(Some(Vec::new()), |list| list.split(',').map(number).collect());
        match partitions {
            Some(partitions) if !topic.is_empty() => Ok(Self { topic: topic.to_owned(), partitions }),
            _ => Err("expected TOPIC, or TOPIC:PARTITION with more partitions after commas".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_topic_or_some_of_its_partitions() {
        let place: Place = "orders:0,2".parse().unwrap();
        assert!(place.has("orders", 2) && !place.has("orders", 1) && !place.has("other", 0));
        assert!("orders".parse::<Place>().unwrap().has("orders", 7));
        for wrong in ["", ":1", "orders:", "orders:x", "orders:-1", "orders:1,"] {
            assert!(wrong.parse::<Place>().is_err(), "{wrong}");
        }
    }
}
