//! Tracks the models and modes of a session, and the way to select them: with a dedicated request or with a config
//! option.

use serde_json::{Value, json};
use wh_core::space::harness::AgentOption;
use wh_wire::acp::{ConfigOption, SessionReply};

/// Available and selected models and modes of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionSettings {
    pub modes: SettingChoices,
    pub models: SettingChoices,
}

/// Available choices and the selected choice.
#[derive(Debug, Clone, Default)]
pub(super) struct SettingChoices {
    method: SettingMethod,
    pub all: Vec<AgentOption>,
    pub current: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum SettingMethod {
    /// Selected with a dedicated request, such as `session/set_mode`.
    #[default]
    Method,
    /// Selected by setting the config option with this id.
    Option(String),
}

impl SessionSettings {
    /// Updates the settings from a reply or notification. Settings that the message does not contain stay unchanged.
    pub fn learn(&mut self, reply: &SessionReply) {
        if let Some(modes) = &reply.modes {
            let all = modes.available_modes.iter();
            self.modes = SettingChoices {
                method: SettingMethod::Method,
                all: all.map(|mode| named(&mode.id, &mode.name, &mode.description)).collect(),
                current: modes.current_mode_id.clone(),
            };
        } else if let Some(option) = reply.option("mode") {
            self.modes.learn(option);
        }
        // Older versions of the protocol have a separate list of models. A config option takes precedence over this
        // list.
        if let Some(option) = reply.option("model") {
            self.models.learn(option);
        } else if let Some(models) = &reply.models {
            let all = models.available_models.iter();
            self.models = SettingChoices {
                method: SettingMethod::Method,
                all: all.map(|model| named(&model.model_id, &model.name, &model.description)).collect(),
                current: models.current_model_id.clone(),
            };
        }
    }

    /// Returns method and parameters of the request that selects a mode.
    pub fn mode(&self, session: &str, mode: &str) -> (&'static str, Value) {
        match &self.modes.method {
            SettingMethod::Method => ("session/set_mode", json!({ "sessionId": session, "modeId": mode })),
            SettingMethod::Option(id) => option(session, id, mode),
        }
    }

    /// Returns method and parameters of the request that selects a model.
    pub fn model(&self, session: &str, model: &str) -> (&'static str, Value) {
        match &self.models.method {
            SettingMethod::Method => ("session/set_model", json!({ "sessionId": session, "modelId": model })),
            SettingMethod::Option(id) => option(session, id, model),
        }
    }
}

impl SettingChoices {
    fn learn(&mut self, option: &ConfigOption) {
        self.current = option.current_value.as_str().map(str::to_owned).or(self.current.take());
        // If the agent also has a dedicated request, that request remains in use.
        if self.all.is_empty() || self.method != SettingMethod::Method {
            self.method = SettingMethod::Option(option.id.clone());
            self.all = option.choices().iter().map(|one| named(&one.value, &one.name, &one.description)).collect();
        }
    }

    /// Returns true if a choice with this id is available.
    pub fn has(&self, id: &str) -> bool {
        self.all.iter().any(|one| one.id == id)
    }
}

fn option(session: &str, id: &str, value: &str) -> (&'static str, Value) {
    ("session/set_config_option", json!({ "sessionId": session, "configId": id, "value": value }))
}

fn named(id: &str, name: &Option<String>, description: &Option<String>) -> AgentOption {
    let words = [description, name].into_iter().flatten().find(|words| !words.is_empty());
    AgentOption { id: id.to_owned(), title: words.map_or(id, String::as_str).to_owned() }
}

#[cfg(test)]
mod tests {
    use wh_wire::acp;

    use super::*;

    #[test]
    fn an_option_is_set_as_one_and_a_method_is_called() {
        let mut settings = SessionSettings::default();
        settings.learn(&acp::read(json!({
            "modes": {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}, {"id": "b", "description": "B!"}]},
            "models": {"currentModelId": "m", "availableModels": [{"modelId": "m"}]},
        })));
        assert_eq!(settings.modes.all[1], AgentOption { id: "b".into(), title: "B!".into() });
        assert_eq!(settings.mode("s", "b").0, "session/set_mode");
        assert_eq!(settings.model("s", "m").0, "session/set_model");
        settings.learn(&acp::read(json!({"configOptions": [
            {"id": "mode", "category": "mode", "currentValue": "b", "options": [{"value": "a"}, {"value": "b"}]},
        ]})));
        assert_eq!(settings.modes.current.as_deref(), Some("b"), "the option tells of a change");
        assert_eq!(settings.mode("s", "b").0, "session/set_mode", "and the method stays");
    }

    #[test]
    fn an_agent_with_options_only_is_told_by_them() {
        let mut settings = SessionSettings::default();
        settings.learn(&acp::read(json!({"models": {"availableModels": [{"modelId": "old"}]}, "configOptions": [
            {"id": "which", "category": "model", "currentValue": "n", "options": [{"value": "n", "name": "New"}]},
            {"id": "how", "category": "mode", "currentValue": "x", "options": [{"value": "x"}]},
        ]})));
        assert!(settings.models.has("n") && !settings.models.has("old"));
        let (method, params) = settings.model("s", "n");
        assert_eq!(
            (method, &params["configId"], &params["value"]),
            ("session/set_config_option", &json!("which"), &json!("n"))
        );
        assert_eq!(settings.mode("s", "x").1["configId"], "how");
    }
}
