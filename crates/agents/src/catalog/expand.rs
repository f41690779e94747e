//! Expands variables in values of `agents.toml`: `$NAME` and `${NAME}` are replaced by their value, `$$` by a dollar
//! sign.

use std::ffi::OsString;

/// Variable that is never passed to agents. With the control token, an agent could answer its own questions.
const TOKEN_VARIABLE: &str = "WH_CONTROL_TOKEN";

/// Function that looks up the value of a variable.
pub type VariableLookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Error message and suggested fix.
pub(super) type ExpandError = (String, String);

/// Expands all variables in a text.
pub(super) fn expand(text: &str, variables: VariableLookup) -> Result<String, ExpandError> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            expanded.push('$');
            rest = after;
            continue;
        }
        let (name, after) = match after.strip_prefix('{') {
            Some(braced) => braced.split_once('}').unwrap_or(("", "")),
            None => after.split_at(after.find(|letter| !in_name(letter)).unwrap_or(after.len())),
        };
        if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) || !name.chars().all(in_name) {
            let wrong = format!("$ is not followed by a variable name in {text:?}");
            return Err((wrong, "write $NAME or ${NAME}, and $$ for a dollar sign".to_owned()));
        }
        expanded.push_str(&value(name, variables)?);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn value(name: &str, variables: VariableLookup) -> Result<String, ExpandError> {
    if name == TOKEN_VARIABLE {
        return Err((format!("${TOKEN_VARIABLE} is never passed to agents"), "remove it from the file".to_owned()));
    }
    let Some(value) = variables(name) else {
        return Err((format!("the variable {name} is not set"), format!("set {name}, or write $$ for a dollar sign")));
    };
    value
        .into_string()
        .map_err(|_| (format!("the variable {name} is not valid UTF-8"), format!("set {name} to valid UTF-8")))
}

fn in_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn try_it(text: &str) -> Result<String, ExpandError> {
        expand(text, &|name| match name {
            "HOME" => Some("/home/me".into()),
            "A_1" => Some("$HOME".into()),
            "EMPTY" => Some("".into()),
            "WH_CONTROL_TOKEN" => Some("s3cret".into()),
            "BYTES" => Some(OsString::from_vec(vec![0xff])),
            _ => None,
        })
    }

    #[test]
    fn variables_are_what_they_are_set_to_and_two_dollars_are_one() {
        for (text, expanded) in [
            ("", ""),
            ("plain", "plain"),
            ("$HOME", "/home/me"),
            ("${HOME}work", "/home/mework"),
            ("$HOME/bin:$EMPTY-${HOME}", "/home/me/bin:-/home/me"),
            ("$A_1", "$HOME"),
            ("$$HOME costs 5$$", "$HOME costs 5$"),
            ("$$$HOME", "$/home/me"),
            ("é$HOME.é", "é/home/me.é"),
        ] {
            assert_eq!(try_it(text).as_deref(), Ok(expanded), "{text:?}");
        }
    }

    #[test]
    fn what_is_not_set_is_named() {
        for text in ["$NOWHERE", "${NOWHERE}", "a $HOME$NOWHERE b"] {
            let (wrong, hint) = try_it(text).unwrap_err();
            assert_eq!(wrong, "the variable NOWHERE is not set", "{text:?}");
            assert_eq!(hint, "set NOWHERE, or write $$ for a dollar sign");
        }
        assert_eq!(try_it("$BYTES").unwrap_err().0, "the variable BYTES is not valid UTF-8");
    }

    #[test]
    fn a_dollar_before_anything_else_is_an_error() {
        for text in ["$", "5$", "$ ", "${", "${}", "${HOME", "$(ls)", "${HOME:-x}", "$1", "$é"] {
            assert!(try_it(text).unwrap_err().0.contains("not followed by a variable name"), "{text:?}");
        }
    }

    #[test]
    fn the_control_token_is_not_given_to_agents() {
        let (wrong, _) = try_it("--key=${WH_CONTROL_TOKEN}").unwrap_err();
        assert_eq!(wrong, "$WH_CONTROL_TOKEN is never passed to agents");
    }
}
