//! Deserializes JSON without accepting an array in place of an object.
//!
//! serde reads an array as the fields of a struct in order, so `"settings": []` would mean all
//! defaults, and `["https://a.test/"]` a whole request. [`ObjectsOnly`] requests a map where a
//! struct is expected.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor,
};

/// Wraps a serde deserializer, visitor or access type, and everything that it passes on except a
/// map's keys.
pub(crate) struct ObjectsOnly<T>(pub(crate) T);

macro_rules! pass_on_types {
    ($($method:ident),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            self.0.$method(ObjectsOnly(visitor))
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for ObjectsOnly<D> {
    type Error = D::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0.deserialize_map(FieldsOf(visitor))
    }

    pass_on_types! {
        deserialize_any, deserialize_bool, deserialize_i8, deserialize_i16, deserialize_i32,
        deserialize_i64, deserialize_i128, deserialize_u8, deserialize_u16, deserialize_u32,
        deserialize_u64, deserialize_u128, deserialize_f32, deserialize_f64, deserialize_char,
        deserialize_str, deserialize_string, deserialize_bytes, deserialize_byte_buf,
        deserialize_option, deserialize_unit, deserialize_seq, deserialize_map,
        deserialize_identifier, deserialize_ignored_any,
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0.deserialize_unit_struct(name, ObjectsOnly(visitor))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0.deserialize_newtype_struct(name, ObjectsOnly(visitor))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0.deserialize_tuple(length, ObjectsOnly(visitor))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0.deserialize_tuple_struct(name, length, ObjectsOnly(visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0.deserialize_enum(name, variants, ObjectsOnly(visitor))
    }
}

/// Errors about values other than objects use JSON's terms, without the Rust struct's name.
struct FieldsOf<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for FieldsOf<V> {
    type Value = V::Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
        self.0.visit_map(ObjectsOnly(fields))
    }
}

macro_rules! pass_on_values {
    ($($method:ident($kind:ty)),* $(,)?) => {$(
        fn $method<E: Error>(self, value: $kind) -> Result<Self::Value, E> {
            self.0.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for ObjectsOnly<V> {
    type Value = V::Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(out)
    }

    pass_on_values! {
        visit_bool(bool), visit_i64(i64), visit_i128(i128), visit_u64(u64), visit_u128(u128),
        visit_f64(f64), visit_str(&str), visit_borrowed_str(&'de str), visit_string(String),
        visit_bytes(&[u8]), visit_borrowed_bytes(&'de [u8]), visit_byte_buf(Vec<u8>),
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        self.0.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        self.0.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Self::Value, D::Error> {
        self.0.visit_some(ObjectsOnly(inner))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<Self::Value, D::Error> {
        self.0.visit_newtype_struct(ObjectsOnly(inner))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        self.0.visit_seq(ObjectsOnly(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
        self.0.visit_map(ObjectsOnly(fields))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variants: A) -> Result<Self::Value, A::Error> {
        self.0.visit_enum(ObjectsOnly(variants))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for ObjectsOnly<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<Self::Value, D::Error> {
        self.0.deserialize(ObjectsOnly(inner))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for ObjectsOnly<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Self::Error> {
        self.0.next_element_seed(ObjectsOnly(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for ObjectsOnly<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Self::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, Self::Error> {
        self.0.next_value_seed(ObjectsOnly(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for ObjectsOnly<A> {
    type Error = A::Error;
    type Variant = ObjectsOnly<A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), Self::Error> {
        let (name, content) = self.0.variant_seed(seed)?;
        Ok((name, ObjectsOnly(content)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for ObjectsOnly<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), Self::Error> {
        self.0.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<S::Value, Self::Error> {
        self.0.newtype_variant_seed(ObjectsOnly(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0.tuple_variant(length, ObjectsOnly(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0.struct_variant(fields, ObjectsOnly(visitor))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default, deny_unknown_fields)]
    struct Inner {
        numbers: Option<Vec<u8>>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Choice {
        Keep(Inner),
        Nothing,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        inner: Inner,
        list: Option<Vec<Inner>>,
        choice: Option<Choice>,
        by_name: Option<BTreeMap<String, Inner>>,
    }

    fn read(text: &str) -> Result<Outer, serde_json::Error> {
        Outer::deserialize(ObjectsOnly(&mut serde_json::Deserializer::from_str(text)))
    }

    #[test]
    fn objects_are_accepted_at_every_depth() {
        for text in [
            r#"{"inner": {}}"#,
            r#"{"inner": {"numbers": [1, 2]}, "list": [{}, {"numbers": null}], "choice": null}"#,
            r#"{"inner": {}, "choice": {"keep": {"numbers": []}}, "by_name": {"a": {}}}"#,
            r#"{"inner": {}, "choice": "nothing"}"#,
        ] {
            assert_eq!(read(text).unwrap(), serde_json::from_str(text).unwrap(), "{text}");
        }
    }

    #[test]
    fn anything_but_an_object_is_rejected_at_any_depth() {
        for (text, found) in [
            (r"[{}]", "sequence"),
            ("3", "integer `3`"),
            ("null", "null"),
            (r#"{"inner": []}"#, "sequence"),
            (r#"{"inner": "x"}"#, "string \"x\""),
            (r#"{"inner": [[1]]}"#, "sequence"),
            (r#"{"inner": {}, "list": [[]]}"#, "sequence"),
            (r#"{"inner": {}, "choice": {"keep": []}}"#, "sequence"),
            (r#"{"inner": {}, "by_name": {"a": []}}"#, "sequence"),
        ] {
            let error = read(text).unwrap_err().to_string();
            let expected = format!("invalid type: {found}, expected an object");
            assert!(error.starts_with(&expected), "{error}");
        }
    }
}
