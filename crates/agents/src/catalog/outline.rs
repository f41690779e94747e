//! Summarises an `agents.toml` file for the prompt that asks the user to trust the file. The summary contains every key
//! with its quoted value. Variables are not expanded.

use super::file::{AgentDefinition, AgentsFile, OneOrMany, QuirksTable, SpannedText, VariableChange};

/// Summary of one agent's table in `agents.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentOutline {
    pub id: String,
    /// Keys with their quoted values.
    pub lines: Vec<(&'static str, String)>,
}

impl AgentsFile {
    /// Summarises the file, one outline per agent in file order.
    pub fn outline(&self) -> Vec<AgentOutline> {
        let sections = self.sections.iter();
        sections
            .map(|section| AgentOutline { id: section.id.get_ref().clone(), lines: lines(&section.definition) })
            .collect()
    }
}

fn lines(says: &AgentDefinition) -> Vec<(&'static str, String)> {
    let AgentDefinition {
        protocol,
        title,
        command,
        arguments,
        version_arguments,
        environment,
        install_hint,
        login_hint,
        login,
        logout,
        status,
        authenticate,
        modes_skipping_permissions,
        quirks,
    } = says;
    let text = |text: &Option<SpannedText>| text.as_ref().map(|text| format!("{:?}", text.get_ref()));
    let list = |list: &Option<Vec<SpannedText>>| list.as_ref().map(|list| quoted(list));
    let protocol = protocol.as_ref().map(|protocol| protocol.get_ref().name().to_owned());
    let command = command.as_ref().map(|command| match command.get_ref() {
        OneOrMany::One(command) => format!("{command:?}"),
        OneOrMany::Several(commands) => quoted(commands),
    });
    let environment = environment.as_ref().map(|environment| {
        let one = environment.iter().map(|(name, value)| match value.get_ref() {
            VariableChange::Set(value) => format!("{:?}={value:?}", name.get_ref()),
            VariableChange::Removed => format!("without {:?}", name.get_ref()),
        });
        one.collect::<Vec<_>>().join(" ")
    });
    let authenticate = authenticate.as_ref().map(|how| {
        let when = if how.always { "before every session" } else { "only if the agent refuses to open a session" };
        format!("{:?}, {when}", how.method.get_ref())
    });
    let quirks = quirks.as_ref().map(|quirks| {
        let QuirksTable {
            mode_message_prefix,
            resume_only_after_start_minute,
            acknowledged_requests,
            client_capabilities,
        } = quirks;
        let values = [
            ("mode_message_prefix", mode_message_prefix.as_ref().map(|prefix| format!("{prefix:?}"))),
            ("resume_only_after_start_minute", resume_only_after_start_minute.map(|value| value.to_string())),
            ("acknowledged_requests", acknowledged_requests.as_ref().map(|requests| format!("{requests:?}"))),
            ("client_capabilities", client_capabilities.as_ref().map(|names| format!("{names:?}"))),
        ];
        let given = values.into_iter().filter_map(|(key, value)| Some(format!("{key} {}", value?)));
        given.collect::<Vec<_>>().join(", ")
    });
    let all = [
        ("protocol", protocol),
        ("title", text(title)),
        ("command", command),
        ("arguments", list(arguments)),
        ("environment", environment),
        ("version_arguments", list(version_arguments)),
        ("login", list(login)),
        ("logout", list(logout)),
        ("status", list(status)),
        ("authenticate", authenticate),
        ("modes_skipping_permissions", list(modes_skipping_permissions)),
        ("quirks", quirks),
        ("install_hint", text(install_hint)),
        ("login_hint", text(login_hint)),
    ];
    all.into_iter().filter_map(|(key, said)| Some((key, said?))).collect()
}

fn quoted(words: &[SpannedText]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("{:?}", word.get_ref())).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(" ") }
}
