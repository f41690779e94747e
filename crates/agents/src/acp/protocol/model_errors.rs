//! Formats model errors that agents report: failed requests, and retries in progress.

use serde_json::Value;

use super::super::table::RetryLines;

/// Maximum number of nested JSON error bodies to unwrap. Providers nest the error body of another provider in their
/// message.
const MAX_NESTED_BODIES: usize = 4;

/// Formats an error reply whose code is an HTTP status. The message may be the response body of the model provider.
/// Returns `None` for all other codes, such as the error codes of JSON-RPC.
pub(super) fn refusal(code: i64, message: &str, log_in: &str) -> Option<String> {
    let code = Some(code).filter(|code| is_http_error(*code))?;
    let (status, details) = unwrapped(code, message);
    let details: Vec<&str> = details.split_whitespace().collect();
    let mut text = format!("the model answered with HTTP {status}");
    if !details.is_empty() {
        text = format!("{text}: {}", details.join(" "));
    }
    Some(if matches!(status, 401 | 403) { format!("{text}; {log_in}") } else { text })
}

/// Converts a log line about a failed model request into a text for the user. Returns `None` if the line is about
/// something else or if the agent does not retry.
pub(super) fn retry(line: &str, lines: &RetryLines) -> Option<String> {
    let (_, attempt) = line.split_once(&lines.marker)?;
    let (number, failure) = attempt.split_once(" failed")?;
    let next = number.parse::<u32>().ok()?.checked_add(1).filter(|next| *next <= lines.max_attempts)?;
    if failure.contains("Max attempts reached") {
        return None;
    }
    let (failure, delay) = failure.rsplit_once(". Retrying ").unwrap_or((failure, ""));
    let status = failure.strip_prefix(" with ").map(|cause| cause.strip_prefix("status ").unwrap_or(cause));
    let status = status.and_then(|status| status.split_whitespace().next());
    let what = match (status, failure.strip_prefix(": ").filter(|details| !details.is_empty())) {
        (Some(status), _) => format!("the model answered with HTTP {status}"),
        (None, Some(details)) => format!("the model answered: {}", unwrapped(0, details).1.trim_end_matches('.')),
        (None, None) => "the model did not answer".to_owned(),
    };
    let milliseconds = delay.strip_prefix("after ").and_then(|delay| delay.split_once("ms")?.0.parse::<f64>().ok());
    let delay = milliseconds.map(|delay| format!(" in {:.1} s", delay / 1000.0)).unwrap_or_default();
    Some(format!("{what}; attempt {next} of {}{delay}", lines.max_attempts))
}

fn is_http_error(code: i64) -> bool {
    (400..600).contains(&code)
}

/// Extracts HTTP status and text from an error message, which may be a JSON body. A status in the body overrides
/// `code`.
fn unwrapped(mut code: i64, message: &str) -> (i64, String) {
    let mut details = message.to_owned();
    for _ in 0..MAX_NESTED_BODIES {
        let Ok(body) = serde_json::from_str::<Value>(&details) else { break };
        let body = body.get(0).unwrap_or(&body);
        let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
        let inner = error.as_str().or_else(|| error["message"].as_str());
        let Some(inner) = inner.filter(|inner| !inner.trim().is_empty()) else { break };
        code = error["code"].as_i64().filter(|code| is_http_error(*code)).unwrap_or(code);
        details = inner.to_owned();
    }
    (code, details)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG_IN: &str = "run `gemini`";

    fn gemini() -> RetryLines {
        RetryLines { marker: "] [WARN] Attempt ".to_owned(), max_attempts: 10 }
    }

    fn refused(code: i64, message: &str) -> Option<String> {
        refusal(code, message, LOG_IN)
    }

    #[test]
    fn a_body_of_json_is_opened() {
        let raw = r#"{"type":"error","error":{"type":"api_error","message":"scripted failure 429"}}"#;
        assert_eq!(refused(429, raw).unwrap(), "the model answered with HTTP 429: scripted failure 429");
        let login = "the model answered with HTTP 401: scripted failure 429; run `gemini`";
        assert_eq!(refused(401, raw).unwrap(), login);
        let google = r#"{"error":{"code":404,"message":"no such model","status":"NOT_FOUND"}}"#;
        let details = "the model answered with HTTP 404: no such model";
        assert_eq!(refused(500, google).unwrap(), details, "its own status counts");
        let nested = serde_json::json!({"error": {"message": google, "code": 500}}).to_string();
        assert_eq!(refused(500, &nested).unwrap(), details);
        assert_eq!(refused(500, &format!("[{google}]")).unwrap(), details);
    }

    #[test]
    fn words_stay_and_other_codes_are_left_alone() {
        let details = "the model answered with HTTP 429: Google says 429 Suggested retry after 3s.";
        assert_eq!(refused(429, "Google says 429\nSuggested retry after 3s.").unwrap(), details);
        assert_eq!(refused(503, "").unwrap(), "the model answered with HTTP 503");
        assert_eq!(refused(500, r#"{"odd":1}"#).unwrap(), r#"the model answered with HTTP 500: {"odd":1}"#);
        for code in [-32603, -32000, 0, 200, 600] {
            assert_eq!(refused(code, "no"), None);
        }
    }

    #[test]
    fn an_attempt_that_failed_is_a_notice_while_another_follows() {
        let said = |line: &str| retry(&format!("[2026-11-18T01:23:27.481Z] [WARN] {line}"), &gemini());
        let cases = [
            (
                "Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {\"type\":\"error\"}",
                Some("the model answered with HTTP 429; attempt 2 of 10"),
            ),
            (
                "Attempt 2 failed with 5xx error. Retrying with backoff... x",
                Some("the model answered with HTTP 5xx; attempt 3 of 10"),
            ),
            (
                "Attempt 1 failed: Google says 429. Retrying after 5711ms...",
                Some("the model answered: Google says 429; attempt 2 of 10 in 5.7 s"),
            ),
            ("Attempt 1 failed: Google says 429", Some("the model answered: Google says 429; attempt 2 of 10")),
            ("Attempt 1 failed. Retrying with backoff... x", Some("the model did not answer; attempt 2 of 10")),
            ("Attempt 3 failed: no. Max attempts reached", None),
            ("Attempt 10 failed with status 500. Retrying with backoff...", None),
            ("Attempt x failed", None),
            ("Attempt 4294967295 failed", None),
            ("Fallback to Flash model failed: x", None),
        ];
        for (line, details) in cases {
            assert_eq!(said(line).as_deref(), details, "{line}");
        }
        assert_eq!(retry("[2026-11-18T01:23:27.481Z] [DEBUG] Attempt 1 failed", &gemini()), None);
    }
}
