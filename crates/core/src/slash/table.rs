//! The table of slash commands: a row for each, with its names, its arguments, its help and the function that reads it.

use super::read::{self, Words};
use super::{Slash, UiCommand};
use crate::space::command::Command;
use crate::space::harness::Call;

/// One slash command.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Its name without the slash, then its aliases.
    pub names: &'static [&'static str],
    /// Its forms; most commands have one.
    pub forms: &'static [Form],
    /// Its place in the help.
    pub listing: Listing,
    /// Reads the words of a line with one of its names.
    pub(super) read: fn(&Words<'_>) -> Result<Slash, &'static str>,
}

/// One way to write a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// Its arguments in order.
    pub arguments: &'static [Argument],
    /// Completes every word after the last argument.
    pub rest: &'static [Source],
    /// Its effect, for the help.
    pub about: &'static str,
}

/// An argument of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument {
    /// Its part of the usage: `PARTICIPANT`, `[open|close|auto]`.
    pub written: &'static str,
    /// Completes it.
    pub completes: &'static [Source],
}

/// Candidates for an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// These words.
    Words(&'static [&'static str]),
    /// The agents of the space.
    Agents,
    /// The models of its agents.
    Models,
    /// Their modes.
    Modes,
    /// The ids of the open streams.
    Streams,
    /// The tools of the participant that the word before names.
    Tools,
}

/// Place of a command in the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// A line for each form.
    Own(Section),
    /// One line for several commands: its usage, and what they do.
    Joint(Section, &'static str, &'static str),
    /// The line of the command with this name stands for it.
    With(&'static str),
}

/// A heading of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// The space and its display.
    General,
    /// Acknowledgements and interrupts.
    ChatQueue,
    /// Orders to participants.
    ParticipantControls,
    /// Streams, and envelopes of other kinds.
    Streams,
}

impl Section {
    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::General => "General",
            Self::ChatQueue => "Chat Queue",
            Self::ParticipantControls => "Participant Controls",
            Self::Streams => "Streams",
        }
    }
}

impl Form {
    /// How it is written, with this name.
    pub fn usage(&self, name: &str) -> String {
        let written = self.arguments.iter().map(|argument| format!(" {}", argument.written));
        format!("/{name}{}", written.collect::<String>())
    }

    /// True if these first words of its arguments can belong to it: none contradicts an argument that is one of a few words.
    pub fn fits(&self, words: &[&str]) -> bool {
        let fixed = |argument: &Argument| !argument.written.starts_with('[') && argument.is_words();
        words
            .iter()
            .zip(self.arguments)
            .all(|(word, argument)| !fixed(argument) || argument.words().any(|one| one == *word))
    }

    /// Completes the word after these.
    pub fn completes(&self, words: &[&str]) -> &'static [Source] {
        match self.arguments.get(words.len()) {
            _ if !self.fits(words) => &[],
            Some(argument) => argument.completes,
            None => self.rest,
        }
    }
}

impl Argument {
    /// True if it is one of a few words, which the usage names.
    fn is_words(&self) -> bool {
        self.written.chars().all(|letter| !letter.is_ascii_uppercase())
    }

    fn words(&self) -> impl Iterator<Item = &'static str> {
        self.written.trim_matches(['[', ']']).split('|')
    }
}

impl Row {
    /// Its name, without the slash.
    pub fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }

    /// How its first form is written.
    pub fn usage(&self) -> String {
        self.forms.first().map(|form| form.usage(self.name())).unwrap_or_default()
    }

    /// The effect of its first form.
    pub fn about(&self) -> &'static str {
        self.forms.first().map_or("", |form| form.about)
    }
}

const fn row(
    names: &'static [&'static str],
    listing: Listing,
    forms: &'static [Form],
    read: fn(&Words<'_>) -> Result<Slash, &'static str>,
) -> Row {
    Row { names, forms, listing, read }
}

const fn form(arguments: &'static [Argument], about: &'static str) -> Form {
    Form { arguments, rest: &[], about }
}

const fn argument(written: &'static str, completes: &'static [Source]) -> Argument {
    Argument { written, completes }
}

/// An argument that nothing completes.
const fn free(written: &'static str) -> Argument {
    argument(written, &[])
}

use Listing::{Joint, Own, With};
use Section::{ChatQueue, General, ParticipantControls};
use Source::{Agents, Models, Modes, Tools, Words as Fixed};

const PARTICIPANT: Argument = argument("PARTICIPANT", &[Agents]);
const OPTIONAL_PARTICIPANT: Argument = argument("[PARTICIPANT]", &[Agents]);
const OPTIONAL_AGENT: Argument = argument("[AGENT]", &[Agents]);
const VISIBILITY: Argument = argument("[open|close|auto]", &[Fixed(&["open", "close", "auto"])]);
const SELECTOR: Argument = free("[SELECTOR]");
const REASON: Argument = free("[REASON]");

/// Every command, in the order of the help.
pub const ROWS: &[Row] = &[
    row(&["help", "?"], Own(General), &[form(&[], "Show this list")], |_| read::space(Command::Help)),
    row(&["participants", "who"], Own(General), &[form(&[], "List who takes part, and how they are")], |_| {
        read::space(Command::Participants)
    }),
    row(&["verbose"], Own(General), &[form(&[], "Show or hide details")], |_| read::ui(UiCommand::Verbose)),
    row(&["streams"], Own(General), &[form(&[], "Show or hide what comes through streams")], |_| {
        read::ui(UiCommand::Streams)
    }),
    row(
        &["target"],
        Own(General),
        &[Form {
            arguments: &[argument("[show|none|PARTICIPANT...]", &[Agents, Fixed(&["show", "none"])])],
            rest: &[Agents],
            about: "Whom chat goes to",
        }],
        read::target,
    ),
    row(
        &["agent"],
        Joint(General, "/agent|sessions", "Choose the agent that chat goes to, or a conversation that it keeps"),
        &[form(&[OPTIONAL_AGENT], "Have chat go to an agent, which is started if need be")],
        read::agent,
    ),
    row(
        &["sessions", "conversations"],
        With("agent"),
        &[form(&[OPTIONAL_AGENT], "Go on with a conversation that the agent keeps")],
        read::conversations,
    ),
    row(
        &["ui"],
        Joint(General, "/ui board|tools [open|close|auto]", "The signal board, or what agents do with their tools"),
        &[
            form(
                &[argument("board|tools", &[Fixed(read::PANES)]), VISIBILITY],
                "The signal board, or what agents do with their tools",
            ),
            form(&[argument("clear", &[Fixed(&["clear"])])], "Clear what is shown; the conversation stays"),
        ],
        read::ui_pane,
    ),
    row(&["ui-board"], With("ui"), &[form(&[VISIBILITY], "The signal board")], |words| read::pane(words, "board")),
    row(&["tools"], With("ui"), &[form(&[VISIBILITY], "What agents do with their tools")], |words| {
        read::pane(words, "tools")
    }),
    row(&["ui-clear"], Own(General), &[form(&[], "Clear what is shown; the conversation stays")], |_| {
        read::ui(UiCommand::ClearView)
    }),
    row(&["keys"], Own(General), &[form(&[], "List the keys")], |_| read::toggle("keys")),
    row(&["exit", "quit"], Own(General), &[form(&[], "Leave")], |_| read::ui(UiCommand::Exit)),
    row(
        &["ack"],
        Own(ChatQueue),
        &[form(&[SELECTOR, free("[STATUS]")], "Acknowledge messages that wait for it")],
        |words| read::space(Command::Acknowledge { selector: words.selector(), status: words.from(1) }),
    ),
    row(
        &["cancel", "reason-cancel"],
        Own(ChatQueue),
        &[form(&[SELECTOR, REASON], "Interrupt reasoning, or drop acknowledgements you wait for")],
        |words| read::space(Command::Cancel { selector: words.selector(), reason: words.from(1) }),
    ),
    row(&["interrupt"], Own(ChatQueue), &[form(&[OPTIONAL_PARTICIPANT], "Stop the turn that is under way")], |words| {
        read::space(Command::Interrupt(words.whom()))
    }),
    row(
        &["model"],
        Joint(ParticipantControls, "/model|mode [NAME]", "List the agent's models or modes, or choose one"),
        &[form(
            &[argument("[AGENT]", &[Models]), argument("[MODEL]", &[Models])],
            "List the agent's models, or choose one",
        )],
        |words| read::space(Command::Model(None, words.from(0))),
    ),
    row(&["models"], With("model"), &[form(&[OPTIONAL_AGENT], "List the agent's models")], |words| {
        read::space(Command::Model(words.whom(), None))
    }),
    row(
        &["mode", "modes"],
        With("model"),
        &[form(&[argument("[MODE]", &[Modes])], "List the agent's modes, or choose one")],
        |words| read::space(Command::Mode(None, words.from(0))),
    ),
    row(&["status"], Own(ParticipantControls), &[form(&[OPTIONAL_PARTICIPANT], "Ask how it is")], |words| {
        read::call(words, Call::ReportStatus)
    }),
    row(
        &["pause"],
        Own(ParticipantControls),
        &[form(&[PARTICIPANT, free("[SECONDS]"), REASON], "Ask it to wait")],
        read::pause,
    ),
    row(
        &["resume"],
        Own(ParticipantControls),
        &[form(&[OPTIONAL_PARTICIPANT], "Resume it; no name: the one paused, or /sessions")],
        |words| read::call(words, Call::Resume),
    ),
    row(
        &["forget"],
        Own(ParticipantControls),
        &[form(
            &[PARTICIPANT, argument("[oldest|newest]", &[Fixed(&["oldest", "newest"])]), free("[COUNT]")],
            "Have it forget entries",
        )],
        read::forget,
    ),
    row(
        &["clear"],
        Joint(
            ParticipantControls,
            "/clear|compact|restart [PARTICIPANT]",
            "Have it forget, shorten its context, or begin anew",
        ),
        &[form(&[OPTIONAL_PARTICIPANT], "Have it forget everything")],
        |words| read::call(words, Call::Clear),
    ),
    row(
        &["compact"],
        With("clear"),
        &[form(&[OPTIONAL_PARTICIPANT, free("[TOKENS]")], "Have it shorten its context")],
        read::compact,
    ),
    row(&["restart"], With("clear"), &[form(&[OPTIONAL_PARTICIPANT], "Begin anew with it")], |words| {
        read::call(words, Call::Restart)
    }),
    row(&["shutdown"], Own(ParticipantControls), &[form(&[PARTICIPANT, REASON], "End it")], |words| {
        read::space(Command::Shutdown(words.named()?, words.from(1)))
    }),
    row(
        &["mcp"],
        Own(ParticipantControls),
        &[form(
            &[OPTIONAL_AGENT, argument("[reconnect|enable|disable", &[Fixed(read::MCP_VERBS)]), free("SERVER]")],
            "How its MCP servers fare, or change that",
        )],
        read::mcp,
    ),
    row(&["context"], Own(ParticipantControls), &[form(&[], "What fills its context")], read::other),
    row(
        &["rewind"],
        Own(ParticipantControls),
        &[form(
            &[free("[NUMBER"), argument("[now]]", &[Fixed(&["now"])])],
            "List the prompts that files can go back to, or go back",
        )],
        read::other,
    ),
    row(&["agents"], With("agent"), &[form(&[], "List the agents")], read::agents),
    row(
        &["login"],
        Joint(ParticipantControls, "/login|logout [AGENT]", "Log in with it, or out"),
        &[form(
            &[OPTIONAL_AGENT, argument("[cancel|CODE]", &[Fixed(&["cancel"])])],
            "Log in with it; stop that, or give it the code that it wants",
        )],
        read::login,
    ),
    row(&["logout"], With("login"), &[form(&[OPTIONAL_AGENT], "Log out of it")], read::logout),
    row(
        &["stream"],
        Own(Section::Streams),
        &[
            form(
                &[
                    argument("request", &[Fixed(&["request"])]),
                    PARTICIPANT,
                    argument("DIRECTION", &[Fixed(&["upload", "download", "both"])]),
                    free("[DESCRIPTION]"),
                ],
                "Ask for a stream",
            ),
            form(&[argument("close", &[Fixed(&["close"])]), argument("ID", &[Source::Streams])], "Close one"),
        ],
        read::stream,
    ),
    row(
        &["envelope"],
        Own(Section::Streams),
        &[form(
            &[
                argument("mcp/request", &[Fixed(&["mcp/request"])]),
                argument("tool/call", &[Fixed(&["tool/call"])]),
                PARTICIPANT,
                argument("TOOL", &[Tools]),
                free("[JSON]"),
            ],
            "Have it use a tool",
        )],
        read::envelope,
    ),
];
