//! Deserializer for internally tagged objects with the tag at any position. Fields before the tag are buffered until
//! the type is known; fields after the tag are deserialized directly.

use std::{borrow::Cow, fmt, marker::PhantomData, vec};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, MapAccess, Visitor, value::MapAccessDeserializer, value::StringDeserializer},
};
use serde_json::{Map, Value};

use super::json::Json;

/// Enum whose variant is selected by a tag field of the JSON object.
pub(super) trait Tagged: Sized {
    /// Name of the tag field.
    const TAG: &'static str;

    /// Deserializes the remaining fields of an object with the given tag value.
    fn read<'de, A: MapAccess<'de>>(kind: &str, fields: TaggedFields<A>) -> Result<Self, A::Error>;
}

/// Deserializes an object by its tag. If the tag is repeated, the first value is used.
pub(super) fn tagged<'de, T: Tagged, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_map(TaggedVisitor(PhantomData))
}

/// Deserializes an object whose tag value is already known, without buffering.
pub(super) fn tagged_as<'de, T: Tagged, D: Deserializer<'de>>(kind: &str, deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_map(KnownVisitor(kind, PhantomData))
}

struct TaggedVisitor<T>(PhantomData<T>);

impl<'de, T: Tagged> Visitor<'de> for TaggedVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "an object with `{}`", T::TAG)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        TaggedFields::of(map).dispatch()
    }
}

struct KnownVisitor<'a, T>(&'a str, PhantomData<T>);

impl<'de, T: Tagged> Visitor<'de> for KnownVisitor<'_, T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::read(self.0, TaggedFields::of(map))
    }
}

/// Fields of a tagged object, without the tag.
pub(super) struct TaggedFields<A> {
    before: vec::IntoIter<(String, Value)>,
    value: Option<Value>,
    rest: A,
}

impl<'de, A: MapAccess<'de>> TaggedFields<A> {
    fn of(map: A) -> Self {
        Self { before: Vec::new().into_iter(), value: None, rest: map }
    }

    /// Finds the tag and deserializes the variant that the tag selects.
    pub(super) fn dispatch<T: Tagged>(mut self) -> Result<T, A::Error> {
        let mut before = Vec::new();
        while let Some(key) = self.next_key_seed(TagKeySeed(T::TAG))? {
            match key {
                Key::Wanted => {
                    let kind: TagStr = self.next_value()?;
                    before.extend(self.before);
                    return T::read(&kind.0, TaggedFields { before: before.into_iter(), value: None, rest: self.rest });
                }
                Key::Other(key) => before.push((key, self.next_value()?)),
            }
        }
        Err(A::Error::custom(format_args!("missing field `{}`", T::TAG)))
    }

    /// Deserializes the fields as a type without a tag field.
    pub(super) fn typed<T: Deserialize<'de>>(self) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(self))
    }

    /// Returns the fields and the tag as raw JSON.
    pub(super) fn raw(mut self, tag: &str, kind: &str) -> Result<Json, A::Error> {
        let mut object = Map::new();
        object.insert(tag.to_owned(), Value::String(kind.to_owned()));
        while let Some((key, value)) = self.next_entry()? {
            object.insert(key, value);
        }
        Ok(Json::from(Value::Object(object)))
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for TaggedFields<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.before.next() {
            Some((key, value)) => {
                self.value = Some(value);
                seed.deserialize(StringDeserializer::new(key)).map(Some)
            }
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.value.take() {
            Some(value) => seed.deserialize(value).map_err(A::Error::custom),
            None => self.rest.next_value_seed(seed),
        }
    }
}

enum Key {
    Wanted,
    Other(String),
}

/// Compares a key with the name of the tag field, without allocating.
struct TagKeySeed(&'static str);

impl<'de> DeserializeSeed<'de> for TagKeySeed {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for TagKeySeed {
    type Value = Key;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Key, E> {
        Ok(if key == self.0 { Key::Wanted } else { Key::Other(key.to_owned()) })
    }
}

/// String that is borrowed from the input, or copied if it contains escapes.
pub(super) struct TagStr<'de>(pub(super) Cow<'de, str>);

impl<'de> Deserialize<'de> for TagStr<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TagStrVisitor;

        impl<'de> Visitor<'de> for TagStrVisitor {
            type Value = TagStr<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, word: &'de str) -> Result<TagStr<'de>, E> {
                Ok(TagStr(Cow::Borrowed(word)))
            }

            fn visit_str<E>(self, word: &str) -> Result<TagStr<'de>, E> {
                Ok(TagStr(Cow::Owned(word.to_owned())))
            }
        }

        deserializer.deserialize_str(TagStrVisitor)
    }
}
