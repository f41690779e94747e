//! Histogram of durations with fixed buckets, in Prometheus form.

use std::time::Duration;

/// Upper bounds of the buckets in seconds, ascending.
pub const BUCKET_BOUNDS_SECONDS: [f64; 12] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5];

/// Histogram of durations: the count of each bucket, and the sum of all durations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Histogram {
    counts: [u64; BUCKET_BOUNDS_SECONDS.len()],
    overflow: u64,
    sum: f64,
}

impl Histogram {
    /// Counts a duration in its bucket, and adds it to the sum.
    pub fn observe(&mut self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        match BUCKET_BOUNDS_SECONDS.iter().position(|bound| seconds <= *bound) {
            Some(bucket) => self.counts[bucket] += 1,
            None => self.overflow += 1,
        }
        self.sum += seconds;
    }

    /// Returns the number of observed durations.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.overflow
    }

    /// Returns the sum of all durations in seconds.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Returns each bucket bound with the number of durations that do not exceed it.
    pub fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        BUCKET_BOUNDS_SECONDS.iter().zip(&self.counts).scan(0, |total, (bound, count)| {
            *total += count;
            Some((*bound, *total))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_duration_counts_in_its_bucket_and_all_above() {
        let mut histogram = Histogram::default();
        for milliseconds in [0, 1, 3, 60_000] {
            histogram.observe(Duration::from_millis(milliseconds));
        }
        let cumulative: Vec<(f64, u64)> = histogram.cumulative().collect();
        assert_eq!(cumulative[0], (0.0001, 1));
        assert_eq!(cumulative[3], (0.001, 2));
        assert_eq!(cumulative[5], (0.005, 3));
        assert_eq!(cumulative[11], (2.5, 3));
        assert_eq!((histogram.count(), histogram.sum().round()), (4, 60.0));
    }
}
