//! Objects that say what they are in one of their own fields, read in one pass wherever that field stands.
//! What comes before it is kept until the kind is known; what comes after it goes straight into its type.

use std::{borrow::Cow, fmt, marker::PhantomData, vec};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, MapAccess, Visitor, value::MapAccessDeserializer, value::StringDeserializer},
};
use serde_json::{Map, Value};

use super::json::Json;

/// A type that is chosen by a field of the object that it is read from.
pub(super) trait Tagged: Sized {
    /// The field that says what the object is.
    const TAG: &'static str;

    /// Reads the other fields, knowing the kind.
    fn read<'de, A: MapAccess<'de>>(kind: &str, fields: Fields<A>) -> Result<Self, A::Error>;
}

/// Reads an object by its tag. Of two tags the first counts.
pub(super) fn tagged<'de, T: Tagged, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_map(TaggedVisitor(PhantomData))
}

/// Reads an object whose kind is known already, without keeping anything back.
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
        Fields::of(map).sort()
    }
}

struct KnownVisitor<'a, T>(&'a str, PhantomData<T>);

impl<'de, T: Tagged> Visitor<'de> for KnownVisitor<'_, T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::read(self.0, Fields::of(map))
    }
}

/// The fields of an object but for its tag.
pub(super) struct Fields<A> {
    before: vec::IntoIter<(String, Value)>,
    value: Option<Value>,
    rest: A,
}

impl<'de, A: MapAccess<'de>> Fields<A> {
    fn of(map: A) -> Self {
        Self { before: Vec::new().into_iter(), value: None, rest: map }
    }

    /// Finds the tag and hands over to the type.
    pub(super) fn sort<T: Tagged>(mut self) -> Result<T, A::Error> {
        let mut before = Vec::new();
        while let Some(key) = self.next_key_seed(Wanted(T::TAG))? {
            match key {
                Key::Wanted => {
                    let kind: Word = self.next_value()?;
                    before.extend(self.before);
                    return T::read(&kind.0, Fields { before: before.into_iter(), value: None, rest: self.rest });
                }
                Key::Other(key) => before.push((key, self.next_value()?)),
            }
        }
        Err(A::Error::custom(format_args!("no `{}`", T::TAG)))
    }

    /// Reads the fields into a type that has no tag.
    pub(super) fn typed<T: Deserialize<'de>>(self) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(self))
    }

    /// Keeps the fields as they are, with the tag.
    pub(super) fn raw(mut self, tag: &str, kind: &str) -> Result<Json, A::Error> {
        let mut object = Map::new();
        object.insert(tag.to_owned(), Value::String(kind.to_owned()));
        while let Some((key, value)) = self.next_entry()? {
            object.insert(key, value);
        }
        Ok(Json::from(Value::Object(object)))
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<A> {
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

/// Compares a key without keeping it.
struct Wanted(&'static str);

impl<'de> DeserializeSeed<'de> for Wanted {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Wanted {
    type Value = Key;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Key, E> {
        Ok(if key == self.0 { Key::Wanted } else { Key::Other(key.to_owned()) })
    }
}

/// A string that is copied only if it has to be.
pub(super) struct Word<'de>(pub(super) Cow<'de, str>);

impl<'de> Deserialize<'de> for Word<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordVisitor;

        impl<'de> Visitor<'de> for WordVisitor {
            type Value = Word<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, word: &'de str) -> Result<Word<'de>, E> {
                Ok(Word(Cow::Borrowed(word)))
            }

            fn visit_str<E>(self, word: &str) -> Result<Word<'de>, E> {
                Ok(Word(Cow::Owned(word.to_owned())))
            }
        }

        deserializer.deserialize_str(WordVisitor)
    }
}
