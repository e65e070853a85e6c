//! Version ranges as Kafka's schemas write them: `3+`, `0-5`, `2`, `none`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::LitStr;

/// A range of versions, inclusive.
#[derive(Clone, Copy)]
pub(crate) struct Versions {
    first: i16,
    last: Option<i16>,
}

impl Versions {
    /// Every version.
    pub(crate) const ALL: Self = Self { first: 0, last: None };

    /// Parses `3+`, `0-5` or `2`; `None` for `none`.
    pub(crate) fn parse(literal: &LitStr) -> syn::Result<Option<Self>> {
        let text = literal.value();
        let number = |part: &str| {
            part.parse::<i16>().map_err(|_| syn::Error::new_spanned(literal, "versions are written 3+, 0-5, 2 or none"))
        };
        if text == "none" {
            return Ok(None);
        }
        if let Some(first) = text.strip_suffix('+') {
            return Ok(Some(Self { first: number(first)?, last: None }));
        }
        if let Some((first, last)) = text.split_once('-') {
            return Ok(Some(Self { first: number(first)?, last: Some(number(last)?) }));
        }
        let only = number(&text)?;
        Ok(Some(Self { first: only, last: Some(only) }))
    }

    /// The first version.
    pub(crate) fn first(self) -> i16 {
        self.first
    }

    /// First and last version of a range that must have both.
    pub(crate) fn bounded(self, site: &syn::Ident) -> syn::Result<(i16, i16)> {
        let last = self.last.ok_or_else(|| syn::Error::new_spanned(site, "a message's versions have an end"))?;
        Ok((self.first, last))
    }

    /// Code that asks whether `version` is in the range; `None` when it always is.
    pub(crate) fn test(self) -> Option<TokenStream> {
        let first = self.first;
        match (first, self.last) {
            (0, None) => None,
            (_, None) => Some(quote!(version >= #first)),
            (_, Some(last)) if last == first => Some(quote!(version == #first)),
            (_, Some(last)) => Some(quote!((#first..=#last).contains(&version))),
        }
    }
}
