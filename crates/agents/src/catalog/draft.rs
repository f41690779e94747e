//! An agent in the making: what wh knows of it by itself, changed by what each file says, in the order of the files.

use std::path::PathBuf;

use toml::Spanned;
use wh_core::input::closest;

use super::expand::{Variables, expand};
use super::file::{AgentsFile, COMMON, Definition, FileError, Section, Text, Variable, Words, is_of_acp};
use crate::program::{Environment, Program, owned};
use crate::table::{self, Account, Authenticate, Entry, Protocol, Quirks};

/// An agent, and the files that had a say in it.
pub(super) struct Draft {
    pub agent: Entry,
    pub files: Vec<PathBuf>,
}

/// The agents of the table.
pub(super) fn built_in() -> Vec<Draft> {
    table::built_in().into_iter().map(|agent| Draft { agent, files: Vec::new() }).collect()
}

/// Has a file change agents and add others. `reserved` are the ids of agents that are a part of wh.
pub(super) fn apply(
    drafts: &mut Vec<Draft>,
    reserved: &[String],
    file: &AgentsFile,
    variables: Variables,
) -> Result<(), FileError> {
    for section in &file.sections {
        let hand = Hand { file, section, variables };
        let id = section.id.get_ref();
        if reserved.contains(id) {
            let wrong = format!("the agent {id:?} is a part of wh");
            return Err(hand.wrong(&section.id, wrong, "give it another name"));
        }
        match drafts.iter_mut().find(|draft| draft.agent.id == *id) {
            Some(draft) => {
                hand.change(&mut draft.agent)?;
                draft.files.push(file.path().to_owned());
            }
            None => {
                let ids = drafts.iter().map(|draft| draft.agent.id.as_str());
                let known: Vec<&str> = reserved.iter().map(String::as_str).chain(ids).collect();
                let agent = hand.add(&known)?;
                drafts.push(Draft { agent, files: vec![file.path().to_owned()] });
            }
        }
    }
    Ok(())
}

/// One section at work.
struct Hand<'a> {
    file: &'a AgentsFile,
    section: &'a Section,
    variables: Variables<'a>,
}

impl Hand<'_> {
    fn change(&self, agent: &mut Entry) -> Result<(), FileError> {
        let said = self.section.says.protocol.as_ref();
        if let Some(protocol) = said.filter(|protocol| *protocol.get_ref() != agent.protocol) {
            let wrong = format!("the agent {:?} does not speak that protocol", self.section.id.get_ref());
            return Err(self.wrong(protocol, wrong, "take the line out, or give the agent another name"));
        }
        self.fill(agent)
    }

    fn add(&self, known: &[&str]) -> Result<Entry, FileError> {
        let (id, says) = (self.section.id.get_ref(), &self.section.says);
        let protocol = says.protocol.as_ref().map_or(Protocol::Acp, |protocol| *protocol.get_ref());
        let mut agent = match Entry::of(protocol) {
            Some(like) => Entry { id: id.clone(), title: format!("{} ({id})", like.title), ..like },
            None => self.new_entry(known)?,
        };
        self.fill(&mut agent)?;
        Ok(agent)
    }

    /// One that behaves as the Agent Client Protocol says.
    fn new_entry(&self, known: &[&str]) -> Result<Entry, FileError> {
        let id = self.section.id.get_ref();
        if self.section.says.command.is_none() {
            let hint = match closest(id, known.iter().copied()) {
                Some(meant) => format!("give one, as command = \"{id}\"; or did you mean [agents.{meant}]?"),
                None => format!("give one, as command = \"{id}\""),
            };
            let wrong = format!("the agent {id:?} is new and has no command");
            return Err(self.wrong(&self.section.id, wrong, hint));
        }
        Ok(Entry {
            id: id.clone(),
            title: id.clone(),
            protocol: Protocol::Acp,
            program: Program {
                commands: Vec::new(),
                arguments: Vec::new(),
                environment: Environment::new(),
                install: None,
                file: None,
            },
            version: owned(table::VERSION),
            log_in: format!("log in with the program of {id} itself"),
            account: Account::default(),
            authenticate: None,
            skipping: Vec::new(),
            quirks: Quirks::default(),
        })
    }

    fn fill(&self, agent: &mut Entry) -> Result<(), FileError> {
        if agent.protocol != Protocol::Acp {
            self.refuse_keys_of_acp()?;
        }
        if let Some(text) = &self.section.says.title {
            agent.title = self.line(text)?;
        }
        self.fill_program(&mut agent.program)?;
        self.fill_entry(agent)
    }

    fn refuse_keys_of_acp(&self) -> Result<(), FileError> {
        let wrong = self.section.keys.iter().filter(|(key, _)| is_of_acp(key)).min_by_key(|(_, at)| at.start);
        let Some((key, at)) = wrong else { return Ok(()) };
        let message = format!("{key:?} is for agents of the Agent Client Protocol alone");
        let hint = format!("of {:?} these can be said: {}", self.section.id.get_ref(), COMMON.join(", "));
        Err(self.file.wrong(at.clone(), message, hint))
    }

    fn fill_program(&self, program: &mut Program) -> Result<(), FileError> {
        let says = &self.section.says;
        if let Some(command) = &says.command {
            program.commands = self.commands(command)?;
            program.file = Some(self.file.path().to_owned());
            // What had to be run for another command does not help with this one.
            program.install = None;
        }
        if let Some(arguments) = &says.arguments {
            program.arguments = self.words(arguments)?;
        }
        for (name, value) in says.environment.iter().flatten() {
            if name.get_ref().is_empty() || name.get_ref().contains(['=', '\0']) {
                let wrong = format!("{:?} cannot be the name of a variable", name.get_ref());
                return Err(self.wrong(name, wrong, "use letters, digits and _"));
            }
            let set = match value.get_ref() {
                Variable::Set(text) => Some(self.word(value, text)?.into()),
                Variable::Removed => None,
            };
            program.environment.insert(name.get_ref().into(), set);
        }
        if let Some(hint) = &says.install_hint {
            program.install = Some(self.line(hint)?);
        }
        Ok(())
    }

    fn fill_entry(&self, entry: &mut Entry) -> Result<(), FileError> {
        let Definition { version_arguments, login_hint, login, logout, status, .. } = &self.section.says;
        let account = &mut entry.account;
        for (said, place) in [
            (version_arguments, &mut entry.version),
            (login, &mut account.log_in),
            (logout, &mut account.log_out),
            (status, &mut account.status),
        ] {
            if let Some(words) = said {
                *place = self.words(words)?;
            }
        }
        match (login_hint, login) {
            (Some(hint), _) => entry.log_in = self.line(hint)?,
            (None, Some(login)) if !login.is_empty() => {
                let command = entry.program.commands.first().map_or("", String::as_str);
                entry.log_in = format!("run `{command} {}`", entry.account.log_in.join(" "));
            }
            (None, _) => {}
        }
        if let Some(how) = &self.section.says.authenticate {
            entry.authenticate = Some(Authenticate { method: self.line(&how.method)?, always: how.always });
        }
        if let Some(modes) = &self.section.says.modes_skipping_permissions {
            entry.skipping = modes.iter().map(|mode| self.line(mode)).collect::<Result<_, _>>()?;
        }
        if let Some(said) = self.section.says.quirks.clone() {
            let quirks = &mut entry.quirks;
            if let Some(words) = said.mode_in_words {
                quirks.mode_in_words = Some(words).filter(|words| !words.is_empty());
            }
            quirks.kept_by_minute = said.kept_by_minute.unwrap_or(quirks.kept_by_minute);
            quirks.told = said.told.unwrap_or(std::mem::take(&mut quirks.told));
            quirks.client = said.client.unwrap_or(std::mem::take(&mut quirks.client));
        }
        Ok(())
    }

    /// The commands, as names on the path or as places that are the same wherever wh is started.
    fn commands(&self, said: &Spanned<Words>) -> Result<Vec<String>, FileError> {
        let commands: Vec<Text> = match said.get_ref() {
            Words::One(command) => vec![Spanned::new(said.span(), command.clone())],
            Words::Several(commands) => commands.clone(),
        };
        if commands.is_empty() {
            return Err(self.wrong(said, "there is no command in the list", "name one"));
        }
        commands.iter().map(|command| self.command(command)).collect()
    }

    fn command(&self, said: &Text) -> Result<String, FileError> {
        let command = self.word(said, said.get_ref())?;
        if let Some(rest) = command.strip_prefix("~/") {
            let home = expand("$HOME", self.variables).map_err(|(wrong, hint)| self.wrong(said, wrong, hint))?;
            return Ok(format!("{home}/{rest}"));
        }
        if command.is_empty() || command.ends_with('/') {
            let wrong = format!("{command:?} is not a command");
            return Err(self.wrong(said, wrong, "give a name on the path, or a place from / or ~/"));
        }
        if command.contains('/') && !command.starts_with('/') {
            let wrong = format!("where {command:?} is depends on where wh is started");
            return Err(self.wrong(said, wrong, "give the whole place, from / or ~/, or a name on the path"));
        }
        Ok(command)
    }

    fn words(&self, said: &[Text]) -> Result<Vec<String>, FileError> {
        said.iter().map(|text| self.word(text, text.get_ref())).collect()
    }

    /// A text with its variables, fit for a command line or an environment.
    fn word<T>(&self, at: &Spanned<T>, text: &str) -> Result<String, FileError> {
        let word = expand(text, self.variables).map_err(|(wrong, hint)| self.wrong(at, wrong, hint))?;
        if word.contains('\0') {
            return Err(self.wrong(at, "a program cannot be given the character U+0000", "take it out"));
        }
        Ok(word)
    }

    /// A text for people, as it is written.
    fn line(&self, text: &Text) -> Result<String, FileError> {
        let line = text.get_ref().trim();
        if line.is_empty() || line.chars().any(char::is_control) {
            return Err(self.wrong(text, format!("{line:?} cannot be shown on a line"), "write a few words"));
        }
        Ok(line.to_owned())
    }

    fn wrong<T>(&self, at: &Spanned<T>, message: impl Into<String>, hint: impl Into<String>) -> FileError {
        self.file.wrong(at.span(), message, hint)
    }
}
