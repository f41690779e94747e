//! The limits of control messages, set by flags of `wh daemon start`, by variables and by config.toml; and the daemon's own limit of
//! descriptors.

use std::ops::RangeInclusive;
use std::time::Duration;

use clap::{Args, value_parser};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tracing::{info, warn};
use wh_core::gate::{Limits, Times};
use wh_engine::store::Limits as StoreLimits;

use crate::failure::{Failure, code};
use crate::settings::table::by_key;
use crate::settings::value::{Kind, Value};

/// Descriptors that the daemon wants: every session has a few, and every connection one. Programs inherit the limit, so it is not higher: some
/// try to close every descriptor that there could be.
const WANTED_DESCRIPTORS: u64 = 16_384;

/// Limits of control messages. A flag counts before its variable; a value of config.toml comes as a flag where there is no variable.
#[derive(Debug, Args)]
#[command(next_help_heading = "Control messages")]
pub struct ControlLimits {
    /// Longest text that is sent inline, in bytes; a longer one needs a content_ref. From 1024 to 4194304 [default: 1048576, or WH_CONTROL_HARD_LIMIT]
    #[arg(long, value_name = "BYTES", value_parser = value_parser!(u64).range(bounds("control.hard_limit")))]
    control_hard_limit: Option<u64>,

    /// Oldest message that is accepted, in seconds since its sent_at. From 1 to 43200 [default: 600, or WH_CONTROL_MAX_AGE]
    #[arg(long, value_name = "SECS", value_parser = value_parser!(u64).range(bounds("control.max_age")))]
    control_max_age: Option<u64>,

    /// Largest time that a message's sent_at may be ahead of this machine's clock, in seconds. From 0 to 43200 [default: 300, or WH_CONTROL_MAX_SKEW]
    #[arg(long, value_name = "SECS", value_parser = value_parser!(u64).range(bounds("control.max_skew")))]
    control_max_skew: Option<u64>,

    /// Time that a request_id is remembered, in seconds: at least the largest age and the largest skew together, at most 86400 [default: 900 or
    /// these two together, or WH_CONTROL_DEDUPE_TTL]
    #[arg(long, value_name = "SECS", value_parser = value_parser!(u64).range(bounds("control.dedupe_ttl")))]
    control_dedupe_ttl: Option<u64>,

    /// Number of request_ids that are remembered at once; beyond that new messages are refused. From 1 to 10000000 [default: 200000, or
    /// WH_CONTROL_DEDUPE_CAPACITY]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(bounds("control.dedupe_capacity")))]
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

/// The bounds of a limit.
fn bounds(key: &str) -> RangeInclusive<u64> {
    match by_key(key).map(|setting| setting.kind) {
        Some(Kind::Number { smallest, largest }) => smallest..=largest,
        _ => 0..=u64::MAX,
    }
}

/// The value of the flag, or else of the variable.
fn value(key: &str, flag: Option<u64>, variable: impl Fn(&str) -> Option<String>) -> Result<Option<u64>, Failure> {
    let Some(setting) = by_key(key).filter(|_| flag.is_none()) else { return Ok(flag) };
    let name = setting.variable.unwrap_or_default();
    let Some(text) = variable(name).filter(|text| !text.is_empty()) else { return Ok(None) };
    match setting.kind.parse_text(&text) {
        Ok(Value::Number(number)) => Ok(Some(number)),
        Ok(_) => Ok(None),
        Err(wrong) => Err(Failure::new(code::USAGE, format!("{name} {}", wrong.message))),
    }
}

impl ControlLimits {
    /// The limits by the flags, the variables and the defaults, or why they cannot be.
    pub fn chosen(&self) -> Result<Chosen, Failure> {
        self.chosen_with(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    fn chosen_with(&self, variable: impl Fn(&str) -> Option<String> + Copy) -> Result<Chosen, Failure> {
        let (times, limits, store) = (Times::default(), Limits::default(), StoreLimits::default());
        let hard = value("control.hard_limit", self.control_hard_limit, variable)?;
        let hard = hard.map_or(limits.hard, |bytes| usize::try_from(bytes).unwrap_or(limits.hard));
        let seconds = |value: Option<u64>, otherwise| value.map_or(otherwise, Duration::from_secs);
        let max_age = seconds(value("control.max_age", self.control_max_age, variable)?, times.max_age);
        let max_skew = seconds(value("control.max_skew", self.control_max_skew, variable)?, times.max_skew);
        let least = max_age + max_skew;
        let ttl = value("control.dedupe_ttl", self.control_dedupe_ttl, variable)?;
        let dedupe = seconds(ttl, times.dedupe.max(least));
        if dedupe < least {
            let message = format!(
                "--control-dedupe-ttl (WH_CONTROL_DEDUPE_TTL, control.dedupe_ttl) is {} s; it must be at least the largest age and the largest skew together, {} s",
                dedupe.as_secs(),
                least.as_secs()
            );
            return Err(Failure::new(code::USAGE, message).hint(
                "a request_id that is forgotten earlier could be carried out twice; raise it, or lower --control-max-age or --control-max-skew",
            ));
        }
        let capacity = value("control.dedupe_capacity", self.control_dedupe_capacity, variable)?;
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
