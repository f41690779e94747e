//! Fields of JSON that may be anything.

use serde_json::Value;

/// Looks for fields, and takes what is of another type as missing.
pub(super) trait Read {
    /// The text of a field.
    fn text(&self, field: &str) -> Option<String>;
    /// The number of a field, if it is whole and not negative.
    fn number(&self, field: &str) -> Option<u64>;
    /// Whether a field is true.
    fn is(&self, field: &str) -> bool;
    /// The list of a field.
    fn list(&self, field: &str) -> &[Value];
    /// The texts in the list of a field.
    fn texts(&self, field: &str) -> Vec<String>;
    /// A field that is there and not null.
    fn some(&self, field: &str) -> Option<&Value>;
}

impl Read for Value {
    fn text(&self, field: &str) -> Option<String> {
        self.get(field)?.as_str().map(str::to_owned)
    }

    fn number(&self, field: &str) -> Option<u64> {
        self.get(field)?.as_u64()
    }

    fn is(&self, field: &str) -> bool {
        self.get(field).and_then(Self::as_bool).unwrap_or(false)
    }

    fn list(&self, field: &str) -> &[Value] {
        self.get(field).and_then(Self::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    fn texts(&self, field: &str) -> Vec<String> {
        self.list(field).iter().filter_map(Self::as_str).map(str::to_owned).collect()
    }

    fn some(&self, field: &str) -> Option<&Value> {
        self.get(field).filter(|value| !value.is_null())
    }
}
