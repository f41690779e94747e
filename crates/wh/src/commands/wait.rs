//! Implements `wh wait`, which waits for a condition.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use wh_wire::control::WaitBody;

use crate::failure::{CliFailure, code, with_exit_codes};
use crate::print::clean_line;
use crate::target::{RunSelector, TargetArguments};

/// Wait for a condition
///
/// Conditions: screen_contains "text", screen_matches /pattern/, screen_stable 300, title_contains "text", cursor_at
/// 0,3, frames > 5, exited. For agents also: idle (no work left), question (a question is open), no_pending_operations,
/// reasoning_complete, message_count > 3. Combine conditions with and, or, not and parentheses. On timeout, wh prints
/// the screen.
#[derive(Debug, Args)]
#[command(override_usage = "wh wait [OPTIONS] [SESSION] <CONDITION>")]
#[command(after_help = with_exit_codes(
    "  wh wait 'screen_contains \"$\"'\n  wh wait 'screen_matches /^done$/m and screen_stable 300' --timeout 2m\n  wh wait exited --timeout 500ms && echo over\n  wh wait a 'idle or question' --timeout 10m",     &[code::TIMEOUT, code::REFUSED, code::UNAUTHORISED, code::UNREACHABLE]
))]
pub struct WaitCommand {
    /// Session and condition. Without SESSION, the only run or session is used
    #[arg(value_names = ["SESSION", "CONDITION"], num_args = 1..=2, required = true)]
    words: Vec<String>,

    /// Maximum time to wait, e.g. 500ms, 5s, 2m, or a number of seconds
    #[arg(id = "wait_timeout", long = "timeout", value_name = "TIME", default_value = "5s", value_parser = duration)]
    timeout: Duration,

    #[command(flatten)]
    run: RunSelector,

    /// Print the response as JSON on one line, including errors
    #[arg(long)]
    json: bool,
}

impl WaitCommand {
    pub fn run(mut self) -> Result<ExitCode, CliFailure> {
        let condition = self.words.pop().unwrap_or_default();
        let target = TargetArguments::new(self.run, self.json);
        if self.words.is_empty() {
            target.check_not_session(&condition, "wh wait", "CONDITION")?;
        }
        let target = target.with_session(self.words.pop())?;
        let timeout = u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX);
        let body = json!({ "condition": condition, "timeout": timeout });
        let answer = target.post("wait", &body, self.timeout)?;
        let shown = answer.show(target.json, |waited: WaitBody| format!("matched after {} ms\n", waited.elapsed));
        shown.map_err(|failure| {
            let refusal = answer.refusal();
            match refusal.body.position {
                Some(position) => failure.hint(pointed_at(&condition, position)),
                None if refusal.screen.is_empty() => failure,
                None => {
                    let lines: Vec<String> = refusal.screen.iter().map(|line| clean_line(line)).collect();
                    failure.hint(format!("the screen shows:\n{}", lines.join("\n")))
                }
            }
        })
    }
}

/// Returns the condition with a caret below the error.
fn pointed_at(condition: &str, position: usize) -> String {
    format!("{}\n{:position$}^", clean_line(condition), "", position = position.min(condition.chars().count()))
}

pub fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) =
        text.split_at(text.find(|character: char| character.is_ascii_alphabetic()).unwrap_or(text.len()));
    let unit = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("expected a duration such as 500ms, 5s, 2m or 1h".to_owned()),
    };
    let number: f64 = match number.parse() {
        Ok(value) if !number.starts_with(['+', '-']) => value,
        _ => return Err("expected a duration such as 500ms, 5s, 2m or 1h".to_owned()),
    };
    Duration::try_from_secs_f64(number * unit).map_err(|_| "the duration is too long".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_as_people_write_it() {
        for (text, milliseconds) in [
            ("500ms", 500),
            ("5s", 5000),
            ("2m", 120_000),
            ("1h", 3_600_000),
            ("7", 7000),
            ("0.25", 250),
            ("0", 0),
            ("1.5s", 1500),
        ] {
            assert_eq!(duration(text).map(|time| time.as_millis()), Ok(milliseconds), "{text}");
        }
        for wrong in ["", "s", "-1s", "+1", "5 s", "5min", "1e3", "inf", "nan", "1e400", "5S", "٣s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert!(duration(&"9".repeat(400)).is_err());
    }

    #[test]
    fn a_mark_stands_below_what_is_wrong() {
        assert_eq!(pointed_at("exited)", 6), "exited)\n      ^");
        assert_eq!(pointed_at("a\nb", 99), "a␊b\n   ^");
    }
}
