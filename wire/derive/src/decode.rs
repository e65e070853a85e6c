//! The bodies of `Codec::decode` and `Codec::sample`.

use proc_macro2::TokenStream;
use quote::quote;

use crate::field::Field;

/// Plain fields in order, then whichever tagged ones are there.
pub(crate) fn body(fields: &[Field]) -> TokenStream {
    let plain = fields.iter().map(|field| {
        let name = &field.name;
        let read = value(field);
        let is_tagged = field.tag.is_some().then(|| field.tagged.test().unwrap_or(quote!(true)));
        let assign = match is_tagged {
            Some(tagged) => quote!(if !(#tagged) { message.#name = #read; }),
            None => quote!(message.#name = #read;),
        };
        guarded(field, &assign)
    });
    let tagged = fields.iter().filter_map(|field| {
        let (name, tag, read) = (&field.name, field.tag?, value(field));
        let guard = field.tagged.test().map(|test| quote!(if #test));
        Some(quote!(#tag #guard => { message.#name = #read; Ok(true) }))
    });
    quote! {
        let mut message = Self::default();
        #(#plain)*
        if reader.is_flexible() {
            reader.tagged_fields(|reader, tag| {
                match tag {
                    #(#tagged)*
                    _ => Ok(false),
                }
            })?;
        }
        Ok(message)
    }
}

/// A value for every field that the version has; the rest keep their defaults.
pub(crate) fn sample(fields: &[Field]) -> TokenStream {
    let assignments = fields.iter().map(|field| {
        let (name, ty, inner) = (&field.name, &field.ty, &field.inner);
        let whole = quote!(<#ty as ::pillion_wire::Codec>::sample(random, version));
        let value = match field.nullable.and_then(crate::versions::Versions::test) {
            Some(test) => quote! {
                if #test { #whole } else { Some(<#inner as ::pillion_wire::Codec>::sample(random, version)) }
            },
            None => whole,
        };
        guarded(field, &quote!(message.#name = #value;))
    });
    quote! {
        let mut message = Self::default();
        #(#assignments)*
        message
    }
}

/// `statement`, in the versions that have the field.
fn guarded(field: &Field, statement: &TokenStream) -> TokenStream {
    match field.versions.test() {
        Some(test) => quote!(if #test { #statement }),
        None => statement.clone(),
    }
}

/// Reads the field's value; versions without null refuse one.
fn value(field: &Field) -> TokenStream {
    let (ty, inner) = (&field.ty, &field.inner);
    let whole = quote!(<#ty as ::pillion_wire::Codec>::decode(reader, version)?);
    match field.nullable.and_then(crate::versions::Versions::test) {
        Some(test) => quote! {
            if #test { #whole } else { Some(<#inner as ::pillion_wire::Codec>::decode(reader, version)?) }
        },
        None => whole,
    }
}
