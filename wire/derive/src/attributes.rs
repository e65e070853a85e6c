//! The attribute on a struct that is a whole message.

use syn::{Attribute, LitInt, LitStr};

use crate::versions::Versions;

/// `#[message(key = 0, name = "Produce", versions = "3-13", flexible = "9+", response = "ProduceResponse")]`.
pub(crate) struct MessageAttributes {
    pub(crate) key: Option<i16>,
    pub(crate) api: Option<String>,
    pub(crate) versions: Versions,
    pub(crate) flexible_from: i16,
    pub(crate) response: Option<String>,
}

impl MessageAttributes {
    /// Reads the attribute, if the struct has one.
    pub(crate) fn parse(attributes: &[Attribute]) -> syn::Result<Option<Self>> {
        let Some(attribute) = attributes.iter().find(|attribute| attribute.path().is_ident("message")) else {
            return Ok(None);
        };
        let mut parsed =
            Self { key: None, api: None, versions: Versions::ALL, flexible_from: i16::MAX, response: None };
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("key") {
                parsed.key = Some(meta.value()?.parse::<LitInt>()?.base10_parse()?);
            } else if meta.path.is_ident("name") {
                parsed.api = Some(meta.value()?.parse::<LitStr>()?.value());
            } else if meta.path.is_ident("versions") {
                parsed.versions = Versions::parse(&meta.value()?.parse()?)?.unwrap_or(Versions::ALL);
            } else if meta.path.is_ident("flexible") {
                parsed.flexible_from = Versions::parse(&meta.value()?.parse()?)?.map_or(i16::MAX, Versions::first);
            } else if meta.path.is_ident("response") {
                parsed.response = Some(meta.value()?.parse::<LitStr>()?.value());
            } else {
                return Err(meta.error("expected key, name, versions, flexible or response"));
            }
            Ok(())
        })?;
        Ok(Some(parsed))
    }
}
