//! What a file about agents says, for somebody who has to decide whether to trust it: every key of it, with its words as
//! they are written, and nothing that a terminal would obey.

use super::file::{AgentsFile, Definition, Text, Variable, Words};

/// What a file says of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// Which.
    pub id: String,
    /// Each key that it gives, with what it says.
    pub lines: Vec<(&'static str, String)>,
}

impl AgentsFile {
    /// What it says, agent by agent, in the order in which it is written.
    pub fn outline(&self) -> Vec<Outline> {
        let sections = self.sections.iter();
        sections.map(|section| Outline { id: section.id.get_ref().clone(), lines: lines(&section.says) }).collect()
    }
}

fn lines(says: &Definition) -> Vec<(&'static str, String)> {
    let Definition {
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
    let text = |text: &Option<Text>| text.as_ref().map(|text| format!("{:?}", text.get_ref()));
    let list = |list: &Option<Vec<Text>>| list.as_ref().map(|list| quoted(list));
    let protocol = protocol.as_ref().map(|protocol| protocol.get_ref().name().to_owned());
    let command = command.as_ref().map(|command| match command.get_ref() {
        Words::One(command) => format!("{command:?}"),
        Words::Several(commands) => quoted(commands),
    });
    let environment = environment.as_ref().map(|environment| {
        let one = environment.iter().map(|(name, value)| match value.get_ref() {
            Variable::Set(value) => format!("{:?}={value:?}", name.get_ref()),
            Variable::Removed => format!("without {:?}", name.get_ref()),
        });
        one.collect::<Vec<_>>().join(" ")
    });
    let authenticate = authenticate.as_ref().map(|how| {
        let when = if how.always { "always" } else { "when refused" };
        format!("{:?}, {when}", how.method.get_ref())
    });
    let quirks = quirks.as_ref().map(|quirks| {
        let told = quirks.told.iter().map(|told| format!("told {told:?}"));
        let client = quirks.client.iter().map(|client| format!("client {client:?}"));
        let words = quirks.mode_in_words.iter().map(|words| format!("mode_in_words {words:?}"));
        let minute = quirks.kept_by_minute.iter().map(|minute| format!("kept_by_minute {minute}"));
        words.chain(minute).chain(told).chain(client).collect::<Vec<_>>().join(", ")
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

fn quoted(words: &[Text]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("{:?}", word.get_ref())).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(" ") }
}
