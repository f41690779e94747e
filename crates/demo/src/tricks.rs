//! Which prompt asks for what: a trick by name, or an answer to whatever was said.

use wh_core::space::item::Attachment;

use super::character::Model;
use super::stage::{Act, Stage};

/// Something that the demo agent can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trick {
    Tour,
    Markdown,
    Code,
    Table,
    Long,
    /// So many messages.
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

/// The longest conversation that is made at once.
const LARGEST_CROWD: u32 = 1_000_000;

/// Every trick, its name, and what it shows. One that takes a number is here with the number that it has without one.
pub(super) const TRICKS: [(Trick, &str, &str); 23] = [
    (Trick::Tour, "tour", "everything, in half a minute"),
    (Trick::Markdown, "markdown", "headings, lists, quotes, links"),
    (Trick::Code, "code", "code in several languages"),
    (Trick::Table, "table", "a table"),
    (Trick::Long, "long", "an answer longer than a screen"),
    (Trick::Crowd(1_000), "crowd", "a thousand messages at once, or N with `crowd N`"),
    (Trick::Wide, "wide", "wide characters and emoji"),
    (Trick::Think, "think", "a longer thought"),
    (Trick::Slow, "slow", "an answer slow enough to interrupt"),
    (Trick::Tool, "tool", "two tools that need no permission"),
    (Trick::Run, "run", "a command, after asking"),
    (Trick::Edit, "edit", "a change to a file, after asking"),
    (Trick::Tools, "tools", "the tools that it has"),
    (Trick::Ask, "ask", "a permission"),
    (Trick::Choose, "choose", "a choice"),
    (Trick::Text, "text", "a question that takes any text"),
    (Trick::Many, "many", "three questions at once"),
    (Trick::Stream, "stream", "a stream with frames"),
    (Trick::Ack, "ack", "a message that wants to be acknowledged"),
    (Trick::Status, "status", "how it is"),
    (Trick::Pause, "pause", "a pause that it takes by itself"),
    (Trick::Attach, "attach", "a message with attachments"),
    (Trick::Fail, "fail", "a turn that fails"),
];

/// Words in a prompt that ask for a trick beside an answer.
const OBVIOUS: [(&str, Trick); 6] = [
    ("permission", Trick::Ask),
    ("edit a file", Trick::Edit),
    ("diff", Trick::Edit),
    ("run a command", Trick::Run),
    ("run the tests", Trick::Run),
    ("a table", Trick::Table),
];

/// Characters of a prompt that are repeated.
const LONGEST_ECHO: usize = 400;

/// What a prompt asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wish<'a> {
    List,
    Trick(Trick),
    /// A trick that there is not.
    Unknown(&'a str),
    /// An answer, and perhaps a trick.
    Answer(Option<Trick>),
}

impl Trick {
    /// The trick with what was written behind its name; `None` if it does not take that.
    fn with(self, argument: &str) -> Option<Self> {
        match self {
            trick if argument.is_empty() => Some(trick),
            Self::Crowd(_) => argument.parse().ok().map(|messages: u32| Self::Crowd(messages.clamp(1, LARGEST_CROWD))),
            _ => None,
        }
    }
}

/// The trick of this name, with what was written behind it.
fn trick(asked: &str) -> Option<Trick> {
    let (name, argument) = asked.split_once(char::is_whitespace).unwrap_or((asked, ""));
    let (trick, ..) = TRICKS.iter().find(|(_, known, _)| known.eq_ignore_ascii_case(name))?;
    trick.with(argument.trim())
}

/// Reads a prompt. Without the slash, `demo` and something unknown is an ordinary sentence.
pub(super) fn wish(text: &str) -> Wish<'_> {
    let text = text.trim();
    let (slash, line) = text.strip_prefix('/').map_or((false, text), |rest| (true, rest));
    let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    if first.eq_ignore_ascii_case("demo") {
        if rest.is_empty() {
            return Wish::List;
        }
        if let Some(trick) = trick(rest) {
            return Wish::Trick(trick);
        }
        if slash {
            return Wish::Unknown(rest);
        }
    }
    let lower = text.to_lowercase();
    Wish::Answer(OBVIOUS.iter().find(|(words, _)| lower.contains(words)).map(|(_, trick)| *trick))
}

impl Stage {
    /// Does what a prompt asks for.
    pub async fn answer(&mut self, text: &str, attachments: &[Attachment]) -> Act {
        match wish(text) {
            Wish::List => self.speak(&list()).await.map(drop),
            Wish::Unknown(name) => {
                let text = format!("There is no trick called `{name}`.\n\n{}", list());
                self.speak(&text).await.map(drop)
            }
            Wish::Trick(trick) => self.show_trick(trick).await,
            Wish::Answer(trick) => {
                self.reply(text, attachments, trick.is_none()).await?;
                match trick {
                    Some(trick) => self.show_trick(trick).await,
                    None => Ok(()),
                }
            }
        }
    }

    async fn show_trick(&mut self, trick: Trick) -> Act {
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

    async fn reply(&mut self, text: &str, attachments: &[Attachment], advise: bool) -> Act {
        let model = self.character.model;
        if model != Model::Brief {
            let thought = self.chance.pick(&[
                "Somebody is talking to me. I repeat what was said, so that they see that it arrived.",
                "A message. I read it, say so, and keep it short.",
                "Let me see what this says, and answer kindly.",
            ]);
            self.think("reading the message", thought).await?;
        }
        if model == Model::Steady {
            let thought = "Before I answer: is it a question, a wish, a greeting? I have no idea of the world beyond this \
                           terminal, so the honest answer is a short one.";
            self.think("thinking it over", thought).await?;
        }
        let remembered = self.memory.len().saturating_sub(1);
        let mut answer = self.echo(text);
        if model != Model::Brief {
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
                answer.push_str(&format!("\n\n_I remember {remembered} earlier {words}._"));
            }
        }
        self.speak(&answer).await.map(drop)
    }

    /// A sentence with the prompt in it, so that whoever waits for an answer to it can tell.
    fn echo(&mut self, text: &str) -> String {
        let text = text.trim();
        if text.is_empty() {
            return "You said nothing, and I heard it.".to_owned();
        }
        let mut shown: String = text.chars().take(LONGEST_ECHO).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        let opening = self.chance.pick(&["You said", "I read", "I have here"]);
        if shown.contains('\n') {
            let quoted: Vec<String> = shown.lines().map(|line| format!("> {line}")).collect();
            return format!("{opening}:\n\n{}", quoted.join("\n"));
        }
        let closing = self.chance.pick(&["Well received.", "Thank you.", "Gladly."]);
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
                "A good question. I am the **demo agent**: I know no answers, but I show well what an answer looks like.",
                "I would have to guess, and I do not guess. A real agent in my place would know.",
            ]);
        }
        self.chance.pick(&[
            "I am the **demo agent**: nothing leaves this machine, and nothing of yours is touched.",
            "I live inside `wh`. What you see here looks the same with a real agent.",
            "No model was asked and no program was started; this is all me.",
        ])
    }
}

fn attached(attachments: &[Attachment]) -> String {
    let line = |file: &Attachment| format!("- `{}` ({}, {} bytes)", file.name, file.media_type, file.size);
    let lines: Vec<String> = attachments.iter().map(line).collect();
    if lines.is_empty() { String::new() } else { format!("\n\nWith it came:\n\n{}", lines.join("\n")) }
}

fn list() -> String {
    let rows: Vec<String> = TRICKS.iter().map(|(_, name, shows)| format!("| `/demo {name}` | {shows} |")).collect();
    format!("Here is what I can show:\n\n| say | and see |\n|---|---|\n{}", rows.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tricks_are_asked_for_by_name_with_or_without_the_slash() {
        assert_eq!(wish("/demo"), Wish::List);
        assert_eq!(wish(" demo \n"), Wish::List);
        for (trick, name, _) in TRICKS {
            assert_eq!(wish(&format!("/demo {name}")), Wish::Trick(trick));
            assert_eq!(wish(&format!("Demo  {name} ")), Wish::Trick(trick));
        }
        assert_eq!(wish("/demo fly"), Wish::Unknown("fly"));
    }

    #[test]
    fn a_number_goes_with_the_trick_that_takes_one() {
        assert_eq!(wish("/demo crowd"), Wish::Trick(Trick::Crowd(1_000)));
        assert_eq!(wish("demo Crowd  25 "), Wish::Trick(Trick::Crowd(25)));
        assert_eq!(wish("/demo crowd 0"), Wish::Trick(Trick::Crowd(1)));
        assert_eq!(wish("/demo crowd 4000000000"), Wish::Trick(Trick::Crowd(1_000_000)));
        assert_eq!(wish("/demo crowd of people"), Wish::Unknown("crowd of people"));
        assert_eq!(wish("/demo table 25"), Wish::Unknown("table 25"));
        assert_eq!(wish("demo crowd of people"), Wish::Answer(None));
    }

    #[test]
    fn anything_else_is_answered() {
        assert_eq!(wish("demo the thing to me"), Wish::Answer(None));
        assert_eq!(wish("demonstrate"), Wish::Answer(None));
        assert_eq!(wish(""), Wish::Answer(None));
        assert_eq!(wish("/"), Wish::Answer(None));
        assert_eq!(wish("show me a diff"), Wish::Answer(Some(Trick::Edit)));
        assert_eq!(wish("I need Permission"), Wish::Answer(Some(Trick::Ask)));
    }
}
