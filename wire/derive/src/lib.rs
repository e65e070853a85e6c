//! `#[derive(Message)]`: a Kafka message's codec from one struct.
//!
//! A struct with `#[message(versions = "0-13", flexible = "9+")]` becomes a message of its own; with `key`, `name`
//! and, on requests, `response` it belongs to an API. A struct without the attribute is part of another message.
//! Each field says what Kafka's schemas say of it:
//!
//! ```text
//! versions = "3+" | "0-5" | "2"   versions that have the field; all of them when left out
//! nullable = "3+"                 versions that allow null; the type is then an Option
//! default = EXPR                  when it is not the type's own default
//! tag = 0, tagged = "9+"          a tagged field, in these versions (all that have it, when left out)
//! ignorable                       versions without the field drop its value instead of refusing it
//! ```

mod attributes;
mod decode;
mod encode;
mod field;
mod versions;

use proc_macro::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Fields, parse_macro_input};

use attributes::MessageAttributes;
use field::Field;

/// Derives the codec, `Default` and, with `#[message(…)]`, the message traits of `pillion_wire`.
#[proc_macro_derive(Message, attributes(message, field))]
pub fn derive_message(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

fn expand(input: &DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(syn::Error::new_spanned(input, "a message is a struct with named fields"));
    };
    let Fields::Named(named) = &data.fields else {
        return Err(syn::Error::new_spanned(input, "a message is a struct with named fields"));
    };
    let attributes = MessageAttributes::parse(&input.attrs)?;
    let fields = named.named.iter().map(Field::parse).collect::<syn::Result<Vec<_>>>()?;
    let name = &input.ident;
    let encode = encode::body(&fields);
    let decode = decode::body(&fields);
    let sample = decode::sample(&fields);
    let defaults = fields.iter().map(|field| {
        let (name, value) = (&field.name, field.default_value());
        quote!(#name: #value)
    });
    let nullable = nullable(name);
    let message = attributes.map(|attributes| message(name, &attributes)).transpose()?;
    Ok(quote! {
        impl ::core::default::Default for #name {
            fn default() -> Self {
                Self { #(#defaults),* }
            }
        }

        #[allow(clippy::all, clippy::pedantic, unused_variables, unused_comparisons)]
        impl ::pillion_wire::Codec for #name {
            fn encode(
                &self,
                writer: &mut ::pillion_wire::Writer,
                version: i16,
            ) -> ::core::result::Result<(), ::pillion_wire::EncodeError> {
                #encode
            }

            fn decode(
                reader: &mut ::pillion_wire::Reader<'_>,
                version: i16,
            ) -> ::core::result::Result<Self, ::pillion_wire::DecodeError> {
                #decode
            }

            fn sample(random: &mut dyn FnMut() -> u64, version: i16) -> Self {
                #sample
            }
        }

        #nullable
        #message
    })
}

/// A nullable struct is a byte, −1 or 1, and then the struct (KIP-893).
fn nullable(name: &syn::Ident) -> proc_macro2::TokenStream {
    quote! {
        impl ::pillion_wire::Nullable for #name {
            fn encode_nullable(
                value: ::core::option::Option<&Self>,
                writer: &mut ::pillion_wire::Writer,
                version: i16,
            ) -> ::core::result::Result<(), ::pillion_wire::EncodeError> {
                match value {
                    Some(value) => {
                        writer.put_i8(1);
                        ::pillion_wire::Codec::encode(value, writer, version)
                    }
                    None => {
                        writer.put_i8(-1);
                        Ok(())
                    }
                }
            }

            fn decode_nullable(
                reader: &mut ::pillion_wire::Reader<'_>,
                version: i16,
            ) -> ::core::result::Result<::core::option::Option<Self>, ::pillion_wire::DecodeError> {
                if reader.get_i8()? < 0 {
                    return Ok(None);
                }
                <Self as ::pillion_wire::Codec>::decode(reader, version).map(Some)
            }
        }
    }
}

fn message(name: &syn::Ident, attributes: &MessageAttributes) -> syn::Result<proc_macro2::TokenStream> {
    let text = name.to_string();
    let (first, last) = attributes.versions.bounded(name)?;
    let flexible = attributes.flexible_from;
    let api_key = attributes.key.map(|key| quote!(const API_KEY: ::core::option::Option<i16> = Some(#key);));
    let api = match (attributes.key, &attributes.api) {
        (Some(key), Some(api)) => Some(quote! {
            impl ::pillion_wire::ApiMessage for #name {
                const KEY: i16 = #key;
                const API: &'static str = #api;
            }
        }),
        (None, None) => None,
        _ => return Err(syn::Error::new_spanned(name, "`key` and `name` come together")),
    };
    let request = attributes.response.as_ref().map(|response| {
        let response = format_ident!("{response}");
        quote! {
            impl ::pillion_wire::Request for #name {
                type Response = #response;
            }
        }
    });
    Ok(quote! {
        impl ::pillion_wire::Message for #name {
            const NAME: &'static str = #text;
            const VERSIONS: ::core::ops::RangeInclusive<i16> = #first..=#last;
            const FLEXIBLE_FROM: i16 = #flexible;
            #api_key
        }
        #api
        #request
    })
}
