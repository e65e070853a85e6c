//! The body of `Codec::encode`.

use proc_macro2::TokenStream;
use quote::quote;

use crate::field::Field;

/// Plain fields in order, then the tagged ones that differ from their defaults.
pub(crate) fn body(fields: &[Field]) -> TokenStream {
    let plain = fields.iter().map(plain_field);
    let present = fields.iter().filter_map(present_tag);
    let contents = fields.iter().filter_map(|field| {
        let tag = field.tag?;
        let value = value(field);
        Some(quote!(#tag => { #value }))
    });
    quote! {
        #(#plain)*
        if writer.is_flexible() {
            let mut tags: ::std::vec::Vec<u32> = ::std::vec::Vec::new();
            #(#present)*
            tags.sort_unstable();
            writer.put_tagged_fields(&tags, |writer, tag| {
                match tag {
                    #(#contents)*
                    _ => {}
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// A field outside its tagged versions; in versions that lack it, a value must be droppable.
fn plain_field(field: &Field) -> TokenStream {
    let (name, value) = (field.name.to_string(), value(field));
    let refuse = (!field.ignorable).then(|| {
        let is_default = field.is_default();
        quote! {
            if !(#is_default) {
                return Err(::pillion_wire::EncodeError::FieldNotInVersion { field: #name, version });
            }
        }
    });
    let is_tagged = field.tag.is_some().then(|| field.tagged.test().unwrap_or(quote!(true)));
    let write = match is_tagged {
        Some(tagged) => quote!(if !(#tagged) { #value }),
        None => value,
    };
    match field.versions.test() {
        Some(test) => quote!(if #test { #write } else { #refuse }),
        None => write,
    }
}

/// Pushes the tag of a tagged field that has a value to send.
fn present_tag(field: &Field) -> Option<TokenStream> {
    let tag = field.tag?;
    let is_default = field.is_default();
    let tagged = field.tagged.test().unwrap_or(quote!(true));
    Some(quote!(if #tagged && !(#is_default) { tags.push(#tag); }))
}

/// Writes the field's value; versions without null insist on one.
fn value(field: &Field) -> TokenStream {
    let name = &field.name;
    let whole = quote!(::pillion_wire::Codec::encode(&self.#name, writer, version)?;);
    let Some(nullable) = field.nullable else { return whole };
    let Some(test) = nullable.test() else { return whole };
    let text = name.to_string();
    quote! {
        if #test {
            #whole
        } else if let Some(value) = &self.#name {
            ::pillion_wire::Codec::encode(value, writer, version)?;
        } else {
            return Err(::pillion_wire::EncodeError::UnexpectedNull { field: #text, version });
        }
    }
}
