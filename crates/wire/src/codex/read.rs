//! Lenient access to the fields of a JSON value.

use serde_json::Value;

/// Reads fields of a JSON object. A field of an unexpected type counts as missing.
pub(super) trait JsonFields {
    /// Returns a string field; `None` if missing.
    fn text(&self, field: &str) -> Option<String>;
    /// Returns a non-negative integer field; `None` if missing.
    fn number(&self, field: &str) -> Option<u64>;
    /// Returns true if the field is `true`.
    fn is(&self, field: &str) -> bool;
    /// Returns an array field; empty if missing.
    fn list(&self, field: &str) -> &[Value];
    /// Returns the strings of an array field.
    fn texts(&self, field: &str) -> Vec<String>;
    /// Returns a field of any type; `None` if missing or null.
    fn some(&self, field: &str) -> Option<&Value>;
}

impl JsonFields for Value {
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
