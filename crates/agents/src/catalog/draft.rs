//! Builds agent definitions: applies `agents.toml` files in order to the built-in agents.

use std::path::PathBuf;

use toml::Spanned;
use wh_core::input::closest;

use super::expand::{VariableLookup, expand};
use super::file::{
    AgentDefinition, AgentSection, AgentsFile, AgentsFileError, COMMON_KEYS, OneOrMany, SpannedText, VariableChange,
    is_acp_key,
};
use crate::program::{Environment, Program, owned};
use crate::table::{self, AccountCommands, AgentEntry, AuthenticationMethod, ProtocolKind, Quirks};

/// Agent definition under construction, with the files that changed it.
pub(super) struct AgentDraft {
    pub agent: AgentEntry,
    pub files: Vec<PathBuf>,
}

/// Creates drafts of the built-in agents.
pub(super) fn built_in() -> Vec<AgentDraft> {
    table::built_in().into_iter().map(|agent| AgentDraft { agent, files: Vec::new() }).collect()
}

/// Applies a file: changes existing agents and adds new agents. `reserved` contains the ids of internal agents, which a
/// file cannot change.
pub(super) fn apply(
    drafts: &mut Vec<AgentDraft>,
    reserved: &[String],
    file: &AgentsFile,
    variables: VariableLookup,
) -> Result<(), AgentsFileError> {
    for section in &file.sections {
        let context = SectionContext { file, section, variables };
        let id = section.id.get_ref();
        if reserved.contains(id) {
            let wrong = format!("the agent {id:?} is built in and cannot be changed");
            return Err(context.error_at(&section.id, wrong, "choose another name"));
        }
        match drafts.iter_mut().find(|draft| draft.agent.id == *id) {
            Some(draft) => {
                context.change(&mut draft.agent)?;
                draft.files.push(file.path().to_owned());
            }
            None => {
                let ids = drafts.iter().map(|draft| draft.agent.id.as_str());
                let known: Vec<&str> = reserved.iter().map(String::as_str).chain(ids).collect();
                let agent = context.add(&known)?;
                drafts.push(AgentDraft { agent, files: vec![file.path().to_owned()] });
            }
        }
    }
    Ok(())
}

/// Data needed to apply the section of one agent in a file.
struct SectionContext<'a> {
    file: &'a AgentsFile,
    section: &'a AgentSection,
    variables: VariableLookup<'a>,
}

impl SectionContext<'_> {
    fn change(&self, agent: &mut AgentEntry) -> Result<(), AgentsFileError> {
        let given = self.section.definition.protocol.as_ref();
        if let Some(protocol) = given.filter(|protocol| *protocol.get_ref() != agent.protocol) {
            let wrong = format!(
                "the agent {:?} can only use the protocol {:?}",
                self.section.id.get_ref(),
                agent.protocol.name()
            );
            return Err(self.error_at(protocol, wrong, "remove the line, or give the agent another name"));
        }
        self.fill(agent)
    }

    fn add(&self, known: &[&str]) -> Result<AgentEntry, AgentsFileError> {
        let (id, says) = (self.section.id.get_ref(), &self.section.definition);
        let protocol = says.protocol.as_ref().map_or(ProtocolKind::Acp, |protocol| *protocol.get_ref());
        let mut agent = match AgentEntry::of(protocol) {
            Some(like) => AgentEntry { id: id.clone(), title: format!("{} ({id})", like.title), ..like },
            None => self.new_entry(known)?,
        };
        self.fill(&mut agent)?;
        Ok(agent)
    }

    /// Creates the entry of a new agent, with the defaults for ACP agents. Fails if the section has no command.
    fn new_entry(&self, known: &[&str]) -> Result<AgentEntry, AgentsFileError> {
        let id = self.section.id.get_ref();
        if self.section.definition.command.is_none() {
            let hint = match closest(id, known.iter().copied()) {
                Some(meant) => format!("add command = \"{id}\"; or did you mean [agents.{meant}]?"),
                None => format!("add command = \"{id}\""),
            };
            let wrong = format!("the agent {id:?} is new and has no command");
            return Err(self.error_at(&self.section.id, wrong, hint));
        }
        Ok(AgentEntry {
            id: id.clone(),
            title: id.clone(),
            protocol: ProtocolKind::Acp,
            program: Program {
                commands: Vec::new(),
                arguments: Vec::new(),
                environment: Environment::new(),
                install: None,
                file: None,
            },
            version: owned(table::VERSION),
            log_in: format!("log in with {id}'s own program"),
            account: AccountCommands::default(),
            authenticate: None,
            skipping_modes: Vec::new(),
            quirks: Quirks::default(),
        })
    }

    fn fill(&self, agent: &mut AgentEntry) -> Result<(), AgentsFileError> {
        if agent.protocol != ProtocolKind::Acp {
            self.refuse_acp_keys()?;
        }
        if let Some(text) = &self.section.definition.title {
            agent.title = self.single_line(text)?;
        }
        self.fill_program(&mut agent.program)?;
        self.fill_entry(agent)
    }

    fn refuse_acp_keys(&self) -> Result<(), AgentsFileError> {
        let wrong = self.section.keys.iter().filter(|(key, _)| is_acp_key(key)).min_by_key(|(_, at)| at.start);
        let Some((key, at)) = wrong else { return Ok(()) };
        let message = format!("{key:?} is only valid for agents that use the Agent Client Protocol");
        let hint = format!("keys of {:?}: {}", self.section.id.get_ref(), COMMON_KEYS.join(", "));
        Err(self.file.error_at(at.clone(), message, hint))
    }

    fn fill_program(&self, program: &mut Program) -> Result<(), AgentsFileError> {
        let says = &self.section.definition;
        if let Some(command) = &says.command {
            program.commands = self.commands(command)?;
            program.file = Some(self.file.path().to_owned());
            // The install hint belongs to the command that is replaced here.
            program.install = None;
        }
        if let Some(arguments) = &says.arguments {
            program.arguments = self.expand_list(arguments)?;
        }
        for (name, value) in says.environment.iter().flatten() {
            if name.get_ref().is_empty() || name.get_ref().contains(['=', '\0']) {
                let wrong = format!("{:?} is not a valid variable name", name.get_ref());
                return Err(self.error_at(name, wrong, "use letters, digits and _"));
            }
            let set = match value.get_ref() {
                VariableChange::Set(text) => Some(self.expand_text(value, text)?.into()),
                VariableChange::Removed => None,
            };
            program.environment.insert(name.get_ref().into(), set);
        }
        if let Some(hint) = &says.install_hint {
            program.install = Some(self.single_line(hint)?);
        }
        Ok(())
    }

    fn fill_entry(&self, entry: &mut AgentEntry) -> Result<(), AgentsFileError> {
        let AgentDefinition { version_arguments, login_hint, login, logout, status, .. } = &self.section.definition;
        let account = &mut entry.account;
        for (given, place) in [
            (version_arguments, &mut entry.version),
            (login, &mut account.log_in),
            (logout, &mut account.log_out),
            (status, &mut account.status),
        ] {
            if let Some(words) = given {
                *place = self.expand_list(words)?;
            }
        }
        match (login_hint, login) {
            (Some(hint), _) => entry.log_in = self.single_line(hint)?,
            (None, Some(login)) if !login.is_empty() => {
                let command = entry.program.commands.first().map_or("", String::as_str);
                entry.log_in = format!("run `{command} {}`", entry.account.log_in.join(" "));
            }
            (None, _) => {}
        }
        if let Some(how) = &self.section.definition.authenticate {
            entry.authenticate =
                Some(AuthenticationMethod { method: self.single_line(&how.method)?, always: how.always });
        }
        if let Some(modes) = &self.section.definition.modes_skipping_permissions {
            entry.skipping_modes = modes.iter().map(|mode| self.single_line(mode)).collect::<Result<_, _>>()?;
        }
        if let Some(given) = self.section.definition.quirks.clone() {
            let quirks = &mut entry.quirks;
            if let Some(prefix) = given.mode_message_prefix {
                quirks.mode_message_prefix = Some(prefix).filter(|prefix| !prefix.is_empty());
            }
            if let Some(only_after) = given.resume_only_after_start_minute {
                quirks.resume_only_after_start_minute = only_after;
            }
            if let Some(requests) = given.acknowledged_requests {
                quirks.acknowledged_requests = requests;
            }
            if let Some(capabilities) = given.client_capabilities {
                quirks.client_capabilities = capabilities;
            }
        }
        Ok(())
    }

    /// Validates commands, which must be names on the PATH or absolute paths. Expands variables.
    fn commands(&self, given: &Spanned<OneOrMany>) -> Result<Vec<String>, AgentsFileError> {
        let commands: Vec<SpannedText> = match given.get_ref() {
            OneOrMany::One(command) => vec![Spanned::new(given.span(), command.clone())],
            OneOrMany::Several(commands) => commands.clone(),
        };
        if commands.is_empty() {
            return Err(self.error_at(given, "the list of commands is empty", "add a command"));
        }
        commands.iter().map(|command| self.command(command)).collect()
    }

    fn command(&self, given: &SpannedText) -> Result<String, AgentsFileError> {
        let command = self.expand_text(given, given.get_ref())?;
        if let Some(rest) = command.strip_prefix("~/") {
            let home = expand("$HOME", self.variables).map_err(|(wrong, hint)| self.error_at(given, wrong, hint))?;
            return Ok(format!("{home}/{rest}"));
        }
        if command.is_empty() || command.ends_with('/') {
            let wrong = format!("{command:?} is not a command");
            return Err(self.error_at(given, wrong, "give a name on the PATH, or a path that starts with / or ~/"));
        }
        if command.contains('/') && !command.starts_with('/') {
            let wrong = format!("{command:?} is a relative path");
            return Err(self.error_at(given, wrong, "give a path that starts with / or ~/, or a name on the PATH"));
        }
        Ok(command)
    }

    fn expand_list(&self, given: &[SpannedText]) -> Result<Vec<String>, AgentsFileError> {
        given.iter().map(|text| self.expand_text(text, text.get_ref())).collect()
    }

    /// Expands variables in a text for a command line or the environment.
    fn expand_text<T>(&self, at: &Spanned<T>, text: &str) -> Result<String, AgentsFileError> {
        let word = expand(text, self.variables).map_err(|(wrong, hint)| self.error_at(at, wrong, hint))?;
        if word.contains('\0') {
            return Err(self.error_at(at, "the character U+0000 is not allowed", "remove it"));
        }
        Ok(word)
    }

    /// Validates a text that is displayed on one line.
    fn single_line(&self, text: &SpannedText) -> Result<String, AgentsFileError> {
        let line = text.get_ref().trim();
        if line.is_empty() || line.chars().any(char::is_control) {
            return Err(self.error_at(
                text,
                format!("{line:?} is not one line of text"),
                "write one line without control characters",
            ));
        }
        Ok(line.to_owned())
    }

    fn error_at<T>(&self, at: &Spanned<T>, message: impl Into<String>, hint: impl Into<String>) -> AgentsFileError {
        self.file.error_at(at.span(), message, hint)
    }
}
