//! Limits of control messages, from flags of `wh daemon start`, environment variables and config.toml. Also raises the
//! daemon's limit of file descriptors.

use std::ops::RangeInclusive;
use std::time::Duration;

use clap::{Args, value_parser};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tracing::{info, warn};
use wh_core::gate::{AgeLimits, TextLimits};
use wh_engine::store::StoreLimits;

use crate::failure::{CliFailure, code};
use crate::settings::table::by_key;
use crate::settings::value::{SettingType, SettingValue};

/// File descriptor limit of the daemon. Each session needs a few descriptors, each connection needs one. The limit is
/// not higher, because programs inherit it and some programs close every possible descriptor when they start.
const WANTED_DESCRIPTORS: u64 = 16_384;

/// Limits of control messages. A flag overrides its environment variable. A value in config.toml becomes the default of
/// the flag if the environment variable is not set.
#[derive(Debug, Args)]
#[command(next_help_heading = "Control messages")]
pub struct ControlLimits {
    /// Maximum length of inline text in bytes; longer text needs a content_ref. From 1024 to 4194304 [default:
    /// WH_CONTROL_HARD_LIMIT, else 1048576]
    #[arg(long, value_name = "BYTES", value_parser = value_parser!(u64).range(bounds("control.hard_limit")))]
    control_hard_limit: Option<u64>,

    /// Maximum age of a message in seconds since its sent_at. From 1 to 43200 [default: WH_CONTROL_MAX_AGE, else 600]
    #[arg(long, value_name = "SECS", value_parser = value_parser!(u64).range(bounds("control.max_age")))]
    control_max_age: Option<u64>,

    /// Maximum time that a message's sent_at may be ahead of this machine's clock, in seconds. From 0 to 43200
    /// [default: WH_CONTROL_MAX_SKEW, else 300]
    #[arg(long, value_name = "SECS", value_parser = value_parser!(u64).range(bounds("control.max_skew")))]
    control_max_skew: Option<u64>,

    /// Time to remember a request_id, in seconds. At least the maximum age plus the maximum skew, at most 86400
    /// [default: WH_CONTROL_DEDUPE_TTL, else the larger of 900 and this sum]
    #[arg(long, value_name = "SECS", value_parser = value_parser!(u64).range(bounds("control.dedupe_ttl")))]
    control_dedupe_ttl: Option<u64>,

    /// Maximum number of remembered request_ids; beyond that, new messages are refused. From 1 to 10000000 [default:
    /// WH_CONTROL_DEDUPE_CAPACITY, else 200000]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(bounds("control.dedupe_capacity")))]
    control_dedupe_capacity: Option<u64>,
}

/// Effective limits of control messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlLimitValues {
    pub times: AgeLimits,
    pub limits: TextLimits,
    /// Maximum number of remembered request ids.
    pub capacity: u64,
}

fn bounds(key: &str) -> RangeInclusive<u64> {
    match by_key(key).map(|setting| setting.kind) {
        Some(SettingType::Number { smallest, largest }) => smallest..=largest,
        _ => 0..=u64::MAX,
    }
}

/// Returns the value of the flag, else of the environment variable.
fn value(key: &str, flag: Option<u64>, variable: impl Fn(&str) -> Option<String>) -> Result<Option<u64>, CliFailure> {
    let Some(setting) = by_key(key).filter(|_| flag.is_none()) else { return Ok(flag) };
    let name = setting.variable.unwrap_or_default();
    let Some(text) = variable(name).filter(|text| !text.is_empty()) else { return Ok(None) };
    match setting.kind.parse_text(&text) {
        Ok(SettingValue::Number(number)) => Ok(Some(number)),
        Ok(_) => Ok(None),
        Err(wrong) => Err(CliFailure::new(code::USAGE, format!("{name} {}", wrong.message))),
    }
}

impl ControlLimits {
    /// Resolves the limits from flags, environment variables and defaults.
    pub fn resolve(&self) -> Result<ControlLimitValues, CliFailure> {
        self.resolve_with(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    fn resolve_with(&self, variable: impl Fn(&str) -> Option<String> + Copy) -> Result<ControlLimitValues, CliFailure> {
        let (times, limits, store) = (AgeLimits::default(), TextLimits::default(), StoreLimits::default());
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
                "--control-dedupe-ttl (WH_CONTROL_DEDUPE_TTL, control.dedupe_ttl) is {} s; it must be at least {} s, the maximum age plus the maximum skew",
                dedupe.as_secs(),
                least.as_secs()
            );
            return Err(CliFailure::new(code::USAGE, message).hint(
                "with a shorter time a message could be executed twice; raise this limit, or lower --control-max-age or --control-max-skew",
            ));
        }
        let capacity = value("control.dedupe_capacity", self.control_dedupe_capacity, variable)?;
        Ok(ControlLimitValues {
            times: AgeLimits { max_age, max_skew, dedupe },
            limits: TextLimits { hard, soft: limits.soft.min(hard), ..limits },
            capacity: capacity.unwrap_or(store.requests),
        })
    }
}

/// Raises this process's limit of file descriptors to [`WANTED_DESCRIPTORS`], or as far as the system allows.
pub fn raise_descriptor_limit() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(soft, hard)| {
        let wanted = WANTED_DESCRIPTORS.min(hard);
        if soft < wanted {
            setrlimit(Resource::RLIMIT_NOFILE, wanted, hard)?;
            info!(before = soft, now = wanted, "raised the file descriptor limit");
        }
        Ok(())
    });
    if let Err(error) = raised {
        warn!(%error, "cannot raise the file descriptor limit");
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
        let usual = NOTHING.resolve_with(|_| None).unwrap();
        assert_eq!((usual.times, usual.limits, usual.capacity), (AgeLimits::default(), TextLimits::default(), 200_000));
        let variables = variables(&[("WH_CONTROL_MAX_AGE", "1000"), ("WH_CONTROL_MAX_SKEW", "7")]);
        let flags = ControlLimits { control_max_skew: Some(9), control_hard_limit: Some(2048), ..NOTHING };
        let chosen = flags.resolve_with(variables).unwrap();
        let seconds = Duration::from_secs;
        let times = AgeLimits { max_age: seconds(1000), max_skew: seconds(9), dedupe: seconds(1009) };
        assert_eq!((chosen.times, chosen.limits.hard, chosen.limits.soft), (times, 2048, 2048));
    }

    #[test]
    fn invalid_limits_are_refused_by_name() {
        for (name, value) in [
            ("WH_CONTROL_MAX_AGE", "0"),
            ("WH_CONTROL_MAX_AGE", "ten"),
            ("WH_CONTROL_HARD_LIMIT", "99999999"),
            ("WH_CONTROL_DEDUPE_CAPACITY", "-1"),
        ] {
            let refused = NOTHING.resolve_with(variables(&[(name, value)])).unwrap_err().one_line();
            assert!(refused.contains(name) && refused.contains(value), "{refused}");
        }
        let forgetful = ControlLimits { control_dedupe_ttl: Some(899), ..NOTHING };
        let refused = forgetful.resolve_with(|_| None).unwrap_err().one_line();
        assert!(refused.contains("at least") && refused.contains("900 s"), "{refused}");
    }
}
