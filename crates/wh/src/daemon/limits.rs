//! The limits of control messages, set by flags of `wh daemon start` and by variables; and the daemon's own limit of descriptors.

use std::time::Duration;

use clap::{Args, value_parser};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tracing::{info, warn};
use wh_core::gate::{Limits, Times};
use wh_engine::store::Limits as StoreLimits;

use crate::failure::{Failure, code};

/// Descriptors that the daemon wants: every session has a few, and every connection one. Programs inherit the limit, so it is not higher: some
/// try to close every descriptor that there could be.
const WANTED_DESCRIPTORS: u64 = 16_384;

const HARD_LIMIT: Setting =
    Setting { flag: "--control-hard-limit", variable: "WH_CONTROL_HARD_LIMIT", smallest: 1 << 10, largest: 4 << 20 };
const MAX_AGE: Setting =
    Setting { flag: "--control-max-age", variable: "WH_CONTROL_MAX_AGE", smallest: 1, largest: 43_200 };
const MAX_SKEW: Setting =
    Setting { flag: "--control-max-skew", variable: "WH_CONTROL_MAX_SKEW", smallest: 0, largest: 43_200 };
const DEDUPE_TTL: Setting =
    Setting { flag: "--control-dedupe-ttl", variable: "WH_CONTROL_DEDUPE_TTL", smallest: 1, largest: 86_400 };
const DEDUPE_CAPACITY: Setting = Setting {
    flag: "--control-dedupe-capacity",
    variable: "WH_CONTROL_DEDUPE_CAPACITY",
    smallest: 1,
    largest: 10_000_000,
};

/// Limits of control messages. A flag counts before its variable.
#[derive(Debug, Args)]
#[command(next_help_heading = "Control messages")]
pub struct ControlLimits {
    /// Longest text that is sent inline, in bytes; a longer one needs a content_ref. From 1024 to 4194304 [default: 1048576, or WH_CONTROL_HARD_LIMIT]
    #[arg(long, value_name = "BYTES", value_parser = value_parser!(u64).range(HARD_LIMIT.smallest..=HARD_LIMIT.largest))]
    control_hard_limit: Option<u64>,

    /// Oldest message that is accepted, in seconds since its sent_at. From 1 to 43200 [default: 600, or WH_CONTROL_MAX_AGE]
    #[arg(long, value_name = "SECS", value_parser = value_parser!(u64).range(MAX_AGE.smallest..=MAX_AGE.largest))]
    control_max_age: Option<u64>,

    /// Largest time that a message's sent_at may be ahead of this machine's clock, in seconds. From 0 to 43200 [default: 300, or WH_CONTROL_MAX_SKEW]
    #[arg(long, value_name = "SECS", value_parser = value_parser!(u64).range(MAX_SKEW.smallest..=MAX_SKEW.largest))]
    control_max_skew: Option<u64>,

    /// Time that a request_id is remembered, in seconds: at least the largest age and the largest skew together, at most 86400 [default: 900 or
    /// these two together, or WH_CONTROL_DEDUPE_TTL]
    #[arg(long, value_name = "SECS", value_parser = value_parser!(u64).range(DEDUPE_TTL.smallest..=DEDUPE_TTL.largest))]
    control_dedupe_ttl: Option<u64>,

    /// Number of request_ids that are remembered at once; beyond that new messages are refused. From 1 to 10000000 [default: 200000, or
    /// WH_CONTROL_DEDUPE_CAPACITY]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(DEDUPE_CAPACITY.smallest..=DEDUPE_CAPACITY.largest))]
    control_dedupe_capacity: Option<u64>,
}

/// The limits in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen {
    pub times: Times,
    pub limits: Limits,
    /// Request ids that are remembered at once.
    pub capacity: u64,
}

/// One limit: its names and its bounds.
struct Setting {
    flag: &'static str,
    variable: &'static str,
    smallest: u64,
    largest: u64,
}

impl Setting {
    /// The value of the flag, or else of the variable.
    fn value(&self, flag: Option<u64>, variable: impl Fn(&str) -> Option<String>) -> Result<Option<u64>, Failure> {
        let Self { variable: name, smallest, largest, .. } = self;
        if flag.is_some() {
            return Ok(flag);
        }
        let Some(text) = variable(name).filter(|text| !text.is_empty()) else { return Ok(None) };
        match text.parse() {
            Ok(value) if (*smallest..=*largest).contains(&value) => Ok(Some(value)),
            _ => Err(Failure::new(
                code::USAGE,
                format!("{name} is {text:?}; it must be a number from {smallest} to {largest}"),
            )),
        }
    }
}

impl ControlLimits {
    /// The limits by the flags, the variables and the defaults, or why they cannot be.
    pub fn chosen(&self) -> Result<Chosen, Failure> {
        self.chosen_with(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    fn chosen_with(&self, variable: impl Fn(&str) -> Option<String> + Copy) -> Result<Chosen, Failure> {
        let (times, limits, store) = (Times::default(), Limits::default(), StoreLimits::default());
        let hard = HARD_LIMIT.value(self.control_hard_limit, variable)?;
        let hard = hard.map_or(limits.hard, |bytes| usize::try_from(bytes).unwrap_or(limits.hard));
        let seconds = |value: Option<u64>, otherwise| value.map_or(otherwise, Duration::from_secs);
        let max_age = seconds(MAX_AGE.value(self.control_max_age, variable)?, times.max_age);
        let max_skew = seconds(MAX_SKEW.value(self.control_max_skew, variable)?, times.max_skew);
        let least = max_age + max_skew;
        let ttl = DEDUPE_TTL.value(self.control_dedupe_ttl, variable)?;
        let dedupe = seconds(ttl, times.dedupe.max(least));
        if dedupe < least {
            let (flag, name) = (DEDUPE_TTL.flag, DEDUPE_TTL.variable);
            let message = format!(
                "{flag} ({name}) is {} s; it must be at least the largest age and the largest skew together, {} s",
                dedupe.as_secs(),
                least.as_secs()
            );
            return Err(Failure::new(code::USAGE, message).hint(
                "a request_id that is forgotten earlier could be carried out twice; raise it, or lower --control-max-age or --control-max-skew",
            ));
        }
        let capacity = DEDUPE_CAPACITY.value(self.control_dedupe_capacity, variable)?;
        Ok(Chosen {
            times: Times { max_age, max_skew, dedupe },
            limits: Limits { hard, soft: limits.soft.min(hard), ..limits },
            capacity: capacity.unwrap_or(store.requests),
        })
    }
}

/// Raises this process's limit of descriptors, as far as the system allows.
pub fn raise_descriptor_limit() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(soft, hard)| {
        let wanted = WANTED_DESCRIPTORS.min(hard);
        if soft < wanted {
            setrlimit(Resource::RLIMIT_NOFILE, wanted, hard)?;
            info!(before = soft, now = wanted, "the limit of descriptors was raised");
        }
        Ok(())
    });
    if let Err(error) = raised {
        warn!(%error, "the limit of descriptors cannot be raised");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: ControlLimits = ControlLimits {
        control_hard_limit: None,
        control_max_age: None,
        control_max_skew: None,
        control_dedupe_ttl: None,
        control_dedupe_capacity: None,
    };

    fn variables(all: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> + Copy {
        move |name| all.iter().find(|(one, _)| *one == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn a_flag_counts_before_its_variable_and_both_before_the_default() {
        let usual = NOTHING.chosen_with(|_| None).unwrap();
        assert_eq!((usual.times, usual.limits, usual.capacity), (Times::default(), Limits::default(), 200_000));
        let variables = variables(&[("WH_CONTROL_MAX_AGE", "1000"), ("WH_CONTROL_MAX_SKEW", "7")]);
        let flags = ControlLimits { control_max_skew: Some(9), control_hard_limit: Some(2048), ..NOTHING };
        let chosen = flags.chosen_with(variables).unwrap();
        let seconds = Duration::from_secs;
        let times = Times { max_age: seconds(1000), max_skew: seconds(9), dedupe: seconds(1009) };
        assert_eq!((chosen.times, chosen.limits.hard, chosen.limits.soft), (times, 2048, 2048));
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        for (name, value) in [
            ("WH_CONTROL_MAX_AGE", "0"),
            ("WH_CONTROL_MAX_AGE", "ten"),
            ("WH_CONTROL_HARD_LIMIT", "99999999"),
            ("WH_CONTROL_DEDUPE_CAPACITY", "-1"),
        ] {
            let refused = NOTHING.chosen_with(variables(&[(name, value)])).unwrap_err().told();
            assert!(refused.contains(name) && refused.contains(value), "{refused}");
        }
        let forgetful = ControlLimits { control_dedupe_ttl: Some(899), ..NOTHING };
        let refused = forgetful.chosen_with(|_| None).unwrap_err().told();
        assert!(refused.contains("at least") && refused.contains("900 s"), "{refused}");
    }
}
