//! One field of a message: its type, and in which versions it is there, nullable or tagged.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Expr, GenericArgument, Ident, LitInt, PathArguments, Type};

use crate::versions::Versions;

/// A field with what its attribute says.
pub(crate) struct Field {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    /// What an `Option` holds; the type itself otherwise.
    pub(crate) inner: Type,
    pub(crate) optional: bool,
    pub(crate) versions: Versions,
    pub(crate) nullable: Option<Versions>,
    pub(crate) tag: Option<u32>,
    pub(crate) tagged: Versions,
    pub(crate) ignorable: bool,
    default: Option<Expr>,
}

impl Field {
    /// Reads a field and its `#[field(…)]`.
    pub(crate) fn parse(field: &syn::Field) -> syn::Result<Self> {
        let name = field.ident.clone().ok_or_else(|| syn::Error::new_spanned(field, "fields are named"))?;
        let option = option_argument(&field.ty);
        let mut parsed = Self {
            name,
            ty: field.ty.clone(),
            inner: option.clone().unwrap_or_else(|| field.ty.clone()),
            optional: option.is_some(),
            versions: Versions::ALL,
            nullable: None,
            tag: None,
            tagged: Versions::ALL,
            ignorable: false,
            default: None,
        };
        let mut tagged = None;
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("field")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("versions") {
                    parsed.versions = Versions::parse(&meta.value()?.parse()?)?.unwrap_or(Versions::ALL);
                } else if meta.path.is_ident("nullable") {
                    parsed.nullable = Versions::parse(&meta.value()?.parse()?)?;
                } else if meta.path.is_ident("tag") {
                    parsed.tag = Some(meta.value()?.parse::<LitInt>()?.base10_parse()?);
                } else if meta.path.is_ident("tagged") {
                    tagged = Versions::parse(&meta.value()?.parse()?)?;
                } else if meta.path.is_ident("default") {
                    parsed.default = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("ignorable") {
                    parsed.ignorable = true;
                } else {
                    return Err(meta.error("expected versions, nullable, tag, tagged, default or ignorable"));
                }
                Ok(())
            })?;
        }
        parsed.tagged = tagged.unwrap_or(parsed.versions);
        if parsed.nullable.is_some() != parsed.optional {
            return Err(syn::Error::new_spanned(&field.ty, "a field is an Option if and only if it is nullable"));
        }
        Ok(parsed)
    }

    /// The value a version without the field gives it.
    pub(crate) fn default_value(&self) -> TokenStream {
        match &self.default {
            Some(default) => quote!(#default),
            None if self.optional => quote!(Some(::core::default::Default::default())),
            None => quote!(::core::default::Default::default()),
        }
    }

    /// Code that asks whether `self.field` has its default value.
    pub(crate) fn is_default(&self) -> TokenStream {
        let (name, ty, default) = (&self.name, &self.ty, self.default_value());
        quote!(self.#name == { let default: #ty = #default; default })
    }
}

/// `T` of `Option<T>`.
fn option_argument(ty: &Type) -> Option<Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    if last.ident != "Option" {
        return None;
    }
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(inner) => Some(inner.clone()),
        _ => None,
    }
}
