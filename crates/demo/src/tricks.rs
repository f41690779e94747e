//! Interprets prompts. A prompt can name a trick; any other prompt gets an answer.

use wh_core::space::item::Attachment;

use super::character::DemoModel;
use super::stage::{DemoTask, TrickResult};

/// Action that a user can ask the demo agent to perform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trick {
    Tour,
    Markdown,
    Code,
    Table,
    Long,
    /// Sends this many messages.
    Crowd(u32),
    Wide,
    Think,
    Slow,
    Tool,
    Run,
    Edit,
    Tools,
    Ask,
    Choose,
    Text,
    Many,
    Stream,
    Ack,
    Status,
    Pause,
    Attach,
    Fail,
}

/// Maximum number of messages of the trick `crowd`.
const MAX_CROWD_MESSAGES: u32 = 1_000_000;

/// Tricks with their names and descriptions. The number of messages of [`Trick::Crowd`] is the default.
pub(super) const TRICKS: [(Trick, &str, &str); 23] = [
    (Trick::Tour, "tour", "a tour of the features, in half a minute"),
    (Trick::Markdown, "markdown", "headings, lists, quotes, links"),
    (Trick::Code, "code", "code in several languages"),
    (Trick::Table, "table", "a table"),
    (Trick::Long, "long", "an answer longer than a screen"),
    (Trick::Crowd(1_000), "crowd", "a thousand messages at once, or N with `crowd N`"),
    (Trick::Wide, "wide", "wide characters and emoji"),
    (Trick::Think, "think", "a longer thought"),
    (Trick::Slow, "slow", "an answer slow enough to interrupt"),
    (Trick::Tool, "tool", "two tools that need no permission"),
    (Trick::Run, "run", "a command that needs a permission"),
    (Trick::Edit, "edit", "a change to a file that needs a permission"),
    (Trick::Tools, "tools", "the tools of the demo agent"),
    (Trick::Ask, "ask", "a permission request"),
    (Trick::Choose, "choose", "a choice"),
    (Trick::Text, "text", "a question that takes any text"),
    (Trick::Many, "many", "three questions at once"),
    (Trick::Stream, "stream", "a stream with frames"),
    (Trick::Ack, "ack", "a message that asks for an acknowledgement"),
    (Trick::Status, "status", "the status of the demo agent"),
    (Trick::Pause, "pause", "a pause that the agent starts"),
    (Trick::Attach, "attach", "a message with attachments"),
    (Trick::Fail, "fail", "a turn that fails"),
];

/// Phrases in a prompt that make the agent perform a trick after its answer.
const TRICK_PHRASES: [(&str, Trick); 6] = [
    ("permission", Trick::Ask),
    ("edit a file", Trick::Edit),
    ("diff", Trick::Edit),
    ("run a command", Trick::Run),
    ("run the tests", Trick::Run),
    ("a table", Trick::Table),
];

/// Maximum number of characters of a prompt that the answer repeats.
const MAX_ECHO_CHARS: usize = 400;

/// Meaning of a prompt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PromptIntent<'a> {
    List,
    Trick(Trick),
    /// Request for a trick that does not exist.
    Unknown(&'a str),
    /// Request for an ordinary answer. If the prompt contains a phrase of [`TRICK_PHRASES`], the trick follows the
    /// answer.
    Answer(Option<Trick>),
}

impl Trick {
    /// Returns the trick with this argument; `None` if the trick does not accept the argument.
    fn with(self, argument: &str) -> Option<Self> {
        match self {
            trick if argument.is_empty() => Some(trick),
            Self::Crowd(_) => {
                argument.parse().ok().map(|messages: u32| Self::Crowd(messages.clamp(1, MAX_CROWD_MESSAGES)))
            }
            _ => None,
        }
    }
}

/// Parses the name of a trick and its argument.
fn trick(asked: &str) -> Option<Trick> {
    let (name, argument) = asked.split_once(char::is_whitespace).unwrap_or((asked, ""));
    let (trick, ..) = TRICKS.iter().find(|(_, known, _)| known.eq_ignore_ascii_case(name))?;
    trick.with(argument.trim())
}

/// Interprets a prompt. `/demo` followed by an unknown name is an error. Without the slash, such a prompt is an
/// ordinary message.
pub(super) fn parse_prompt(text: &str) -> PromptIntent<'_> {
    let text = text.trim();
    let (slash, line) = text.strip_prefix('/').map_or((false, text), |rest| (true, rest));
    let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    if first.eq_ignore_ascii_case("demo") {
        if rest.is_empty() {
            return PromptIntent::List;
        }
        if let Some(trick) = trick(rest) {
            return PromptIntent::Trick(trick);
        }
        if slash {
            return PromptIntent::Unknown(rest);
        }
    }
    let lower = text.to_lowercase();
    PromptIntent::Answer(TRICK_PHRASES.iter().find(|(words, _)| lower.contains(words)).map(|(_, trick)| *trick))
}

impl DemoTask {
    /// Answers a prompt and performs the trick that the prompt asks for.
    pub async fn answer(&mut self, text: &str, attachments: &[Attachment]) -> TrickResult {
        match parse_prompt(text) {
            PromptIntent::List => self.speak(&list()).await.map(drop),
            PromptIntent::Unknown(name) => {
                let text = format!("There is no trick called `{name}`.\n\n{}", list());
                self.speak(&text).await.map(drop)
            }
            PromptIntent::Trick(trick) => self.show_trick(trick).await,
            PromptIntent::Answer(trick) => {
                self.reply(text, attachments, trick.is_none()).await?;
                match trick {
                    Some(trick) => self.show_trick(trick).await,
                    None => Ok(()),
                }
            }
        }
    }

    async fn show_trick(&mut self, trick: Trick) -> TrickResult {
        match trick {
            Trick::Tour => self.tour().await,
            Trick::Markdown => self.markdown().await,
            Trick::Code => self.code().await,
            Trick::Table => self.table().await,
            Trick::Long => self.long().await,
            Trick::Crowd(messages) => self.crowd(messages).await,
            Trick::Wide => self.wide().await,
            Trick::Think => self.ponder().await,
            Trick::Slow => self.slow().await,
            Trick::Tool => self.look_around().await,
            Trick::Run => self.run_a_command().await,
            Trick::Edit => self.edit_a_file(None).await,
            Trick::Tools => self.list_tools().await,
            Trick::Ask => self.ask_permission().await,
            Trick::Choose => self.choose().await,
            Trick::Text => self.ask_for_text().await,
            Trick::Many => self.ask_many().await,
            Trick::Stream => self.stream().await,
            Trick::Ack => self.want_acknowledgement().await,
            Trick::Status => self.tell_status().await,
            Trick::Pause => self.take_a_pause().await,
            Trick::Attach => self.attach().await,
            Trick::Fail => self.fail().await,
        }
    }

    async fn reply(&mut self, text: &str, attachments: &[Attachment], advise: bool) -> TrickResult {
        let model = self.character.model;
        if model != DemoModel::Brief {
            let thought = self.chance.pick(&[
                "A user is talking to me. I repeat the message to show that it arrived.",
                "I confirm that I have read the message, and keep the answer short.",
                "Let me see what this says, and answer kindly.",
            ]);
            self.think("reading the message", thought).await?;
        }
        if model == DemoModel::Steady {
            let thought = "Before I answer: is it a question, a request or a greeting? I know nothing beyond this \
                           terminal, so the honest answer is a short one.";
            self.think("thinking it over", thought).await?;
        }
        let remembered = self.memory.len().saturating_sub(1);
        let mut answer = self.echo(text);
        if model != DemoModel::Brief {
            answer.push_str(&attached(attachments));
            answer.push_str("\n\n");
            answer.push_str(self.remark(text));
            if advise {
                answer.push_str(self.chance.pick(&[
                    "\n\n- `/demo` lists what I can show\n- `/demo tour` shows all of it\n- **Esc** interrupts me",
                    "\n\n- `/demo edit` changes a file, and asks first\n- `/demo slow` can be interrupted with **Esc**\n- \
                     `/demo` lists the rest",
                    "\n\n- `/demo ask` asks for a permission\n- `/demo table` draws a table\n- `/demo` lists the rest",
                ]));
            }
            if remembered > 0 {
                let words = if remembered == 1 { "entry" } else { "entries" };
                answer.push_str(&format!("\n\n_My context has {remembered} earlier {words}._"));
            }
        }
        self.speak(&answer).await.map(drop)
    }

    /// Returns a sentence that repeats the prompt, so that a client can match the answer to the prompt.
    fn echo(&mut self, text: &str) -> String {
        let text = text.trim();
        if text.is_empty() {
            return "Your message is empty.".to_owned();
        }
        let mut shown: String = text.chars().take(MAX_ECHO_CHARS).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        let opening = self.chance.pick(&["You said", "I read", "I received"]);
        if shown.contains('\n') {
            let quoted: Vec<String> = shown.lines().map(|line| format!("> {line}")).collect();
            return format!("{opening}:\n\n{}", quoted.join("\n"));
        }
        let closing = self.chance.pick(&["Got it.", "Thank you.", "Understood."]);
        format!("{opening} “{shown}”. {closing}")
    }

    fn remark(&mut self, text: &str) -> &'static str {
        let lower = text.trim().to_lowercase();
        let first = lower.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
        if ["hello", "hi", "hey", "ahoy", "moin", "hallo"].contains(&first) {
            return self.chance.pick(&[
                "Hello, and welcome aboard!",
                "Ahoy! Good to have you here.",
                "Hello to you too.",
            ]);
        }
        if lower.ends_with('?') {
            return self.chance.pick(&[
                "Good question. I am the **demo agent**: I have no answers, but I can show what an answer looks like.",
                "I do not know the answer. A real agent might know it.",
            ]);
        }
        self.chance.pick(&[
            "I am the **demo agent**: nothing leaves this machine, and none of your files is touched.",
            "I live inside `wh`. What you see here looks the same with a real agent.",
            "I invented this answer. No model was asked and no program was started.",
        ])
    }
}

fn attached(attachments: &[Attachment]) -> String {
    let line = |file: &Attachment| format!("- `{}` ({}, {} bytes)", file.name, file.media_type, file.size);
    let lines: Vec<String> = attachments.iter().map(line).collect();
    if lines.is_empty() { String::new() } else { format!("\n\nAttachments:\n\n{}", lines.join("\n")) }
}

fn list() -> String {
    let rows: Vec<String> = TRICKS.iter().map(|(_, name, shows)| format!("| `/demo {name}` | {shows} |")).collect();
    format!("These are my tricks:\n\n| message | shows |\n|---|---|\n{}", rows.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tricks_are_asked_for_by_name_with_or_without_the_slash() {
        assert_eq!(parse_prompt("/demo"), PromptIntent::List);
        assert_eq!(parse_prompt(" demo \n"), PromptIntent::List);
        for (trick, name, _) in TRICKS {
            assert_eq!(parse_prompt(&format!("/demo {name}")), PromptIntent::Trick(trick));
            assert_eq!(parse_prompt(&format!("Demo  {name} ")), PromptIntent::Trick(trick));
        }
        assert_eq!(parse_prompt("/demo fly"), PromptIntent::Unknown("fly"));
    }

    #[test]
    fn a_number_goes_with_the_trick_that_takes_one() {
        assert_eq!(parse_prompt("/demo crowd"), PromptIntent::Trick(Trick::Crowd(1_000)));
        assert_eq!(parse_prompt("demo Crowd  25 "), PromptIntent::Trick(Trick::Crowd(25)));
        assert_eq!(parse_prompt("/demo crowd 0"), PromptIntent::Trick(Trick::Crowd(1)));
        assert_eq!(parse_prompt("/demo crowd 4000000000"), PromptIntent::Trick(Trick::Crowd(1_000_000)));
        assert_eq!(parse_prompt("/demo crowd of people"), PromptIntent::Unknown("crowd of people"));
        assert_eq!(parse_prompt("/demo table 25"), PromptIntent::Unknown("table 25"));
        assert_eq!(parse_prompt("demo crowd of people"), PromptIntent::Answer(None));
    }

    #[test]
    fn anything_else_is_answered() {
        assert_eq!(parse_prompt("demo the thing to me"), PromptIntent::Answer(None));
        assert_eq!(parse_prompt("demonstrate"), PromptIntent::Answer(None));
        assert_eq!(parse_prompt(""), PromptIntent::Answer(None));
        assert_eq!(parse_prompt("/"), PromptIntent::Answer(None));
        assert_eq!(parse_prompt("show me a diff"), PromptIntent::Answer(Some(Trick::Edit)));
        assert_eq!(parse_prompt("I need Permission"), PromptIntent::Answer(Some(Trick::Ask)));
    }
}
