//! Times as the doors write them.

use std::time::SystemTime;

use jiff::Timestamp;

/// ISO 8601 in UTC with milliseconds, as JavaScript's `toISOString` writes it.
pub(crate) fn iso(time: SystemTime) -> String {
    let timestamp = Timestamp::try_from(time).unwrap_or_default();
    timestamp.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_time_has_three_digits_of_a_second_always() {
        assert_eq!(iso(SystemTime::UNIX_EPOCH), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso(SystemTime::UNIX_EPOCH + Duration::from_millis(1_736_157_662_345)), "2025-01-06T10:01:02.345Z");
    }
}
