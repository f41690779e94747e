//! Formatting of times as text.

use std::time::SystemTime;

use jiff::Timestamp;

/// Formats a time as ISO 8601 in UTC with milliseconds, like JavaScript's `toISOString`. The alphabetical order of
/// formatted times is their chronological order. A time outside the years -9999 to 9999 is formatted as
/// `1970-01-01T00:00:00.000Z`.
pub fn iso(time: SystemTime) -> String {
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

    #[test]
    fn fractions_of_a_millisecond_are_truncated() {
        let almost = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_999_999_999);
        assert_eq!(iso(almost), "1970-01-01T00:00:01.999Z");
    }

    #[test]
    fn a_written_time_reads_back_as_the_same_millisecond() {
        for millis in [0, 1, 999, 1_736_157_662_345, 4_102_444_799_999] {
            let time = SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
            let read: Timestamp = iso(time).parse().unwrap();
            assert_eq!(SystemTime::from(read), time);
        }
    }

    #[test]
    fn a_time_that_no_calendar_has_is_written_all_the_same() {
        let far = SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 40);
        assert_eq!(iso(far), "1970-01-01T00:00:00.000Z");
    }
}
