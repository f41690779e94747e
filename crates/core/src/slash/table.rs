//! Table of slash commands. Each row has the names, arguments, help and parser of a command.

use super::read::{self, Words};
use super::{SlashCommand, UiCommand};
use crate::space::command::ConversationCommand;
use crate::space::harness::Call;

#[derive(Debug, Clone, Copy)]
pub struct CommandRow {
    /// Name of the command, then its aliases, without the slash.
    pub names: &'static [&'static str],
    /// Argument forms of the command; most commands have one.
    pub forms: &'static [ArgumentForm],
    /// Line of the command in the help.
    pub listing: HelpListing,
    /// Parser for a line that begins with one of the names.
    pub(super) read: fn(&Words<'_>) -> Result<SlashCommand, &'static str>,
}

/// Argument form of a command, with its help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArgumentForm {
    /// Arguments in the order in which they are typed.
    pub arguments: &'static [Argument],
    /// Completion candidates for each word after the last argument.
    pub rest: &'static [CompletionSource],
    /// Description of the form in the help.
    pub about: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument {
    /// Argument as the usage shows it: `PARTICIPANT`, `[open|close|auto]`.
    pub written: &'static str,
    /// Completion candidates for the argument.
    pub completes: &'static [CompletionSource],
}

/// Source of completion candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionSource {
    /// Fixed list of words.
    Words(&'static [&'static str]),
    /// Ids of the agents in the space.
    Agents,
    /// Models of the agents.
    Models,
    /// Modes of the agents.
    Modes,
    /// Ids of the open streams.
    Streams,
    /// Tools of the participant that the previous word names.
    Tools,
}

/// Line of a command in the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HelpListing {
    /// Separate line in this section for each form of the command.
    Own(HelpSection),
    /// Common line for this command and others: section, usage and description.
    Joint(HelpSection, &'static str, &'static str),
    /// No separate line: the line of the command with this name also describes this command.
    With(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HelpSection {
    /// Commands for the space and the display.
    General,
    /// Commands for acknowledgements and interrupts.
    ChatQueue,
    ParticipantControls,
    /// Commands for streams and for envelopes of other kinds.
    Streams,
}

impl HelpSection {
    /// Returns the heading of the section in the help.
    pub fn title(self) -> &'static str {
        match self {
            Self::General => "General",
            Self::ChatQueue => "Chat Queue",
            Self::ParticipantControls => "Participant Controls",
            Self::Streams => "Streams",
        }
    }
}

impl ArgumentForm {
    /// Returns the usage of this form for a command with this name.
    pub fn usage(&self, name: &str) -> String {
        let written = self.arguments.iter().map(|argument| format!(" {}", argument.written));
        format!("/{name}{}", written.collect::<String>())
    }

    /// True if a line of this form can begin with these arguments: each required argument that the form restricts to
    /// fixed words must be one of these words.
    pub fn fits(&self, words: &[&str]) -> bool {
        let fixed = |argument: &Argument| !argument.written.starts_with('[') && argument.is_words();
        words
            .iter()
            .zip(self.arguments)
            .all(|(word, argument)| !fixed(argument) || argument.words().any(|one| one == *word))
    }

    /// Returns the completion candidates for the argument that follows these arguments.
    pub fn completes(&self, words: &[&str]) -> &'static [CompletionSource] {
        match self.arguments.get(words.len()) {
            _ if !self.fits(words) => &[],
            Some(argument) => argument.completes,
            None => self.rest,
        }
    }
}

impl Argument {
    /// True if the argument consists of fixed words, as in `[open|close|auto]`.
    fn is_words(&self) -> bool {
        self.written.chars().all(|letter| !letter.is_ascii_uppercase())
    }

    fn words(&self) -> impl Iterator<Item = &'static str> {
        self.written.trim_matches(['[', ']']).split('|')
    }
}

impl CommandRow {
    /// Returns the command name without the slash.
    pub fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }

    /// Returns the usage of the first form.
    pub fn usage(&self) -> String {
        self.forms.first().map(|form| form.usage(self.name())).unwrap_or_default()
    }

    /// Returns the description of the first form.
    pub fn about(&self) -> &'static str {
        self.forms.first().map_or("", |form| form.about)
    }
}

const fn row(
    names: &'static [&'static str],
    listing: HelpListing,
    forms: &'static [ArgumentForm],
    read: fn(&Words<'_>) -> Result<SlashCommand, &'static str>,
) -> CommandRow {
    CommandRow { names, forms, listing, read }
}

const fn form(arguments: &'static [Argument], about: &'static str) -> ArgumentForm {
    ArgumentForm { arguments, rest: &[], about }
}

const fn argument(written: &'static str, completes: &'static [CompletionSource]) -> Argument {
    Argument { written, completes }
}

/// Creates an argument that has no completion.
const fn free(written: &'static str) -> Argument {
    argument(written, &[])
}

use CompletionSource::{Agents, Models, Modes, Tools, Words as Fixed};
use HelpListing::{Joint, Own, With};
use HelpSection::{ChatQueue, General, ParticipantControls};

const PARTICIPANT: Argument = argument("PARTICIPANT", &[Agents]);
const OPTIONAL_PARTICIPANT: Argument = argument("[PARTICIPANT]", &[Agents]);
const OPTIONAL_AGENT: Argument = argument("[AGENT]", &[Agents]);
const VISIBILITY: Argument = argument("[open|close|auto]", &[Fixed(&["open", "close", "auto"])]);
const SELECTOR: Argument = free("[SELECTOR]");
const REASON: Argument = free("[REASON]");

/// Slash commands of `wh`, in the order of the help.
pub const ROWS: &[CommandRow] = &[
    row(&["help", "?"], Own(General), &[form(&[], "Show this list")], |_| read::space(ConversationCommand::Help)),
    row(&["participants", "who"], Own(General), &[form(&[], "List participants and their status")], |_| {
        read::space(ConversationCommand::Participants)
    }),
    row(&["verbose"], Own(General), &[form(&[], "Show or hide details")], |_| read::ui(UiCommand::Verbose)),
    row(&["streams"], Own(General), &[form(&[], "Show or hide stream data")], |_| read::ui(UiCommand::Streams)),
    row(
        &["target"],
        Own(General),
        &[ArgumentForm {
            arguments: &[argument("[show|none|PARTICIPANT...]", &[Agents, Fixed(&["show", "none"])])],
            rest: &[Agents],
            about: "Show or set the chat targets",
        }],
        read::target,
    ),
    row(
        &["agent"],
        Joint(General, "/agent|sessions", "Choose the target agent, or one of its saved conversations"),
        &[form(&[OPTIONAL_AGENT], "Send chat to an agent; start it if it is not running")],
        read::agent,
    ),
    row(
        &["sessions", "conversations"],
        With("agent"),
        &[form(&[OPTIONAL_AGENT], "List the agent's saved conversations, or resume one")],
        read::conversations,
    ),
    row(
        &["ui"],
        Joint(General, "/ui board|tools [open|close|auto]", "Show or hide the signal board or the tool activity"),
        &[
            form(
                &[argument("board|tools", &[Fixed(read::PANES)]), VISIBILITY],
                "Show or hide the signal board or the tool activity",
            ),
            form(&[argument("clear", &[Fixed(&["clear"])])], "Clear the display; the conversation remains"),
        ],
        read::ui_pane,
    ),
    row(&["ui-board"], With("ui"), &[form(&[VISIBILITY], "Show or hide the signal board")], |words| {
        read::pane(words, "board")
    }),
    row(&["tools"], With("ui"), &[form(&[VISIBILITY], "Show or hide the tool activity")], |words| {
        read::pane(words, "tools")
    }),
    row(&["ui-clear"], Own(General), &[form(&[], "Clear the display; the conversation remains")], |_| {
        read::ui(UiCommand::ClearView)
    }),
    row(&["keys"], Own(General), &[form(&[], "List the keys")], |_| read::toggle("keys")),
    row(&["exit", "quit"], Own(General), &[form(&[], "Exit")], |_| read::ui(UiCommand::Exit)),
    row(&["ack"], Own(ChatQueue), &[form(&[SELECTOR, free("[STATUS]")], "Acknowledge pending messages")], |words| {
        read::space(ConversationCommand::Acknowledge { selector: words.selector(), status: words.from(1) })
    }),
    row(
        &["cancel", "reason-cancel"],
        Own(ChatQueue),
        &[form(&[SELECTOR, REASON], "Interrupt reasoning, or cancel pending acknowledgements")],
        |words| read::space(ConversationCommand::Cancel { selector: words.selector(), reason: words.from(1) }),
    ),
    row(&["interrupt"], Own(ChatQueue), &[form(&[OPTIONAL_PARTICIPANT], "Interrupt the running turn")], |words| {
        read::space(ConversationCommand::Interrupt(words.participant()))
    }),
    row(
        &["model"],
        Joint(ParticipantControls, "/model|mode [NAME]", "List the agent's models or modes, or choose one"),
        &[form(
            &[argument("[AGENT]", &[Models]), argument("[MODEL]", &[Models])],
            "List the agent's models, or choose one",
        )],
        |words| read::space(ConversationCommand::Model(None, words.from(0))),
    ),
    row(&["models"], With("model"), &[form(&[OPTIONAL_AGENT], "List the agent's models")], |words| {
        read::space(ConversationCommand::Model(words.participant(), None))
    }),
    row(
        &["mode", "modes"],
        With("model"),
        &[form(&[argument("[MODE]", &[Modes])], "List the agent's modes, or choose one")],
        |words| read::space(ConversationCommand::Mode(None, words.from(0))),
    ),
    row(
        &["status"],
        Own(ParticipantControls),
        &[form(&[OPTIONAL_PARTICIPANT], "Request a participant's status")],
        |words| read::call(words, Call::ReportStatus),
    ),
    row(
        &["pause"],
        Own(ParticipantControls),
        &[form(&[PARTICIPANT, free("[SECONDS]"), REASON], "Pause a participant")],
        read::pause,
    ),
    row(
        &["resume"],
        Own(ParticipantControls),
        &[form(&[OPTIONAL_PARTICIPANT], "Resume a paused participant, or open /sessions")],
        |words| read::call(words, Call::Resume),
    ),
    row(
        &["forget"],
        Own(ParticipantControls),
        &[form(
            &[PARTICIPANT, argument("[oldest|newest]", &[Fixed(&["oldest", "newest"])]), free("[COUNT]")],
            "Remove entries from the context",
        )],
        read::forget,
    ),
    row(
        &["clear"],
        Joint(
            ParticipantControls,
            "/clear|compact|restart [PARTICIPANT]",
            "Clear or compact the context, or restart the agent",
        ),
        &[form(&[OPTIONAL_PARTICIPANT], "Clear the context")],
        |words| read::call(words, Call::Clear),
    ),
    row(
        &["compact"],
        With("clear"),
        &[form(&[OPTIONAL_PARTICIPANT, free("[TOKENS]")], "Compact the context")],
        read::compact,
    ),
    row(&["restart"], With("clear"), &[form(&[OPTIONAL_PARTICIPANT], "Restart a participant")], |words| {
        read::call(words, Call::Restart)
    }),
    row(&["shutdown"], Own(ParticipantControls), &[form(&[PARTICIPANT, REASON], "Shut down a participant")], |words| {
        read::space(ConversationCommand::Shutdown(words.required_participant()?, words.from(1)))
    }),
    row(
        &["mcp"],
        Own(ParticipantControls),
        &[form(
            &[OPTIONAL_AGENT, argument("[reconnect|enable|disable", &[Fixed(read::MCP_VERBS)]), free("SERVER]")],
            "List the MCP servers, or change one",
        )],
        read::mcp,
    ),
    row(&["context"], Own(ParticipantControls), &[form(&[], "Show what uses the context")], read::call_by_name),
    row(
        &["rewind"],
        Own(ParticipantControls),
        &[form(&[free("[NUMBER"), argument("[now]]", &[Fixed(&["now"])])], "List or restore file checkpoints")],
        read::call_by_name,
    ),
    row(&["agents"], With("agent"), &[form(&[], "List the agents")], read::agents),
    row(
        &["login"],
        Joint(ParticipantControls, "/login|logout [AGENT]", "Log in to or out of an agent"),
        &[form(
            &[OPTIONAL_AGENT, argument("[cancel|CODE]", &[Fixed(&["cancel"])])],
            "Log in to an agent; cancel the login, or enter its code",
        )],
        read::login,
    ),
    row(&["logout"], With("login"), &[form(&[OPTIONAL_AGENT], "Log out of an agent")], read::logout),
    row(
        &["stream"],
        Own(HelpSection::Streams),
        &[
            form(
                &[
                    argument("request", &[Fixed(&["request"])]),
                    PARTICIPANT,
                    argument("DIRECTION", &[Fixed(&["upload", "download", "both"])]),
                    free("[DESCRIPTION]"),
                ],
                "Request a stream",
            ),
            form(
                &[argument("close", &[Fixed(&["close"])]), argument("ID", &[CompletionSource::Streams])],
                "Close a stream",
            ),
        ],
        read::stream,
    ),
    row(
        &["envelope"],
        Own(HelpSection::Streams),
        &[form(
            &[
                argument("mcp/request", &[Fixed(&["mcp/request"])]),
                argument("tool/call", &[Fixed(&["tool/call"])]),
                PARTICIPANT,
                argument("TOOL", &[Tools]),
                free("[JSON]"),
            ],
            "Call a tool of a participant",
        )],
        read::envelope,
    ),
];
