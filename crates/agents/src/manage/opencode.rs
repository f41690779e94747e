//! Reads OpenCode's login state and parses its list of models.

use std::path::PathBuf;

use serde_json::Value;
use wh_core::space::roster::ModelCard;

use crate::interface::{LoginState, QueryContext};

/// Reads the login state from OpenCode's credentials file, which contains one entry per model provider.
pub(crate) fn login(here: &QueryContext) -> LoginState {
    let data = here.variable("XDG_DATA_HOME").map(PathBuf::from).or_else(|| here.home(".local/share"));
    let file = data.map(|data| data.join("opencode/auth.json"));
    let text = file.and_then(|file| std::fs::read(file).ok()).unwrap_or_default();
    let providers: Option<Value> = serde_json::from_slice(&text).ok();
    let names: Vec<&str> = providers
        .as_ref()
        .and_then(Value::as_object)
        .map(|all| all.keys().map(String::as_str).collect())
        .unwrap_or_default();
    if names.is_empty() { LoginState::Unknown } else { LoginState::Yes { account: Some(names.join(", ")) } }
}

/// Parses the output of `opencode models`, one line `PROVIDER/MODEL` per model.
pub(crate) fn models(output: &str) -> Vec<ModelCard> {
    let model = |id: &str| ModelCard { id: id.to_owned(), title: id.to_owned(), is_default: false, is_current: false };
    output.lines().map(str::trim).filter(|line| line.contains('/') && !line.contains(' ')).map(model).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_logged_in_with_the_providers_of_its_file() {
        let home = tempfile::tempdir().unwrap();
        let mut here = QueryContext::new("/");
        here.environment.insert("XDG_DATA_HOME".into(), Some(home.path().into()));
        assert_eq!(login(&here), LoginState::Unknown);
        std::fs::create_dir(home.path().join("opencode")).unwrap();
        std::fs::write(home.path().join("opencode/auth.json"), r#"{"a": {}, "b": {}}"#).unwrap();
        assert_eq!(login(&here), LoginState::Yes { account: Some("a, b".into()) });
    }

    #[test]
    fn a_model_is_a_line_with_its_provider() {
        let ids: Vec<String> = models("a/one\n  b/two \nsome words / more\n").into_iter().map(|card| card.id).collect();
        assert_eq!(ids, ["a/one", "b/two"]);
    }
}
