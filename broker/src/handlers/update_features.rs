//! UpdateFeatures (57), versions 0 to 2: finalizes levels of features, which are fixed here (KIP-584).
//!
//! The level a feature has may be asked for; all else is refused, and with it the whole request: a level that is not
//! supported as Kafka refuses it, one that is with FEATURE_UPDATE_FAILED.

use pillion_wire::ErrorCode;
use pillion_wire::messages::update_features::{FeatureUpdateKey, UpdatableFeatureResult};
use pillion_wire::messages::{UpdateFeaturesRequest, UpdateFeaturesResponse};

use crate::dispatch::{Call, Flow};
use crate::features::{FEATURES, Feature};

/// Upgrades only, safe downgrades, unsafe downgrades.
const UPGRADE_TYPES: [i8; 3] = [1, 2, 3];

/// Answers.
pub(crate) fn handle(call: Call, request: UpdateFeaturesRequest) -> Flow {
    let (error_code, error_message, results) = match request.feature_updates.iter().find_map(|one| check(one).err()) {
        Some((code, message)) => (code, Some(format!("nothing was updated: {message}")), Vec::new()),
        None => (ErrorCode::None, None, request.feature_updates.iter().map(unchanged).collect()),
    };
    call.answer(&UpdateFeaturesResponse { throttle_time_ms: 0, error_code: error_code.code(), error_message, results })
}

fn unchanged(update: &FeatureUpdateKey) -> UpdatableFeatureResult {
    UpdatableFeatureResult { feature: update.feature.clone(), ..UpdatableFeatureResult::default() }
}

fn check(update: &FeatureUpdateKey) -> Result<(), (ErrorCode, String)> {
    let (name, level) = (&update.feature, update.max_version_level);
    let invalid = |message: String| Err((ErrorCode::InvalidUpdateVersion, message));
    if !UPGRADE_TYPES.contains(&update.upgrade_type) {
        return invalid(format!("upgrade type {} of {name} is not known", update.upgrade_type));
    }
    let Some(Feature { min, max, finalized, .. }) = FEATURES.iter().find(|feature| feature.name == name) else {
        return if level == 0 { Ok(()) } else { invalid(format!("there is no feature {name}")) };
    };
    if !(*min..=*max).contains(&level) {
        return invalid(format!("level {level} of {name} is not supported: it has {min} to {max}"));
    }
    if level == *finalized {
        return Ok(());
    }
    let may_be_lower = update.allow_downgrade || update.upgrade_type != UPGRADE_TYPES[0];
    if level < *finalized && !may_be_lower {
        return invalid(format!(
            "level {level} of {name} is lower than {finalized}, and only an upgrade was asked for"
        ));
    }
    Err((ErrorCode::FeatureUpdateFailed, format!("level {finalized} of {name} is fixed in this broker")))
}
