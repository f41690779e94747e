//! The real agents, spoken to in two ways: through a space of wh's, over HTTP; and straight, in the agent's own protocol, by
//! lines on its standard input and output.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use wh_api::blocking::{self, Events};
use wh_api::wire::control::{EventBody, StreamBody};
use wh_api::{Follow, Request};
use wh_testkit::{Lab, Wh, process};

use crate::{Outcome, Setting, client};

/// Who says nothing within this has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// When the first event of a turn came, and when its end.
pub struct Turn {
    pub first: f64,
    pub whole: f64,
}

/// A real agent, and what of its protocol is needed here.
#[derive(Clone, Copy)]
pub struct Spoken {
    pub name: &'static str,
    /// What wh knows it by.
    pub id: &'static str,
    command: &'static [&'static str],
    /// Variables that wh gives it as well.
    environment: &'static [(&'static str, &'static str)],
    /// What is said first, and what its reply has in it.
    greetings: &'static [(&'static str, &'static str)],
    /// What stands before the conversation's name in the last of these replies.
    conversation: &'static str,
    /// A prompt, as wh sends it; `CONVERSATION`, `NUMBER`, `UUID` and `TEXT` are put in.
    prompt: &'static str,
    /// What an event has in it that says words.
    event: &'static str,
    /// What the end of a turn has in it; with the prompt's number where it has one.
    end: &'static str,
}

pub const AGENTS: [Spoken; 3] = [
    Spoken {
        name: "Claude Code",
        id: "claude",
        command: &[
            "claude",
            "--output-format",
            "stream-json",
            "--verbose",
            "--input-format",
            "stream-json",
            "--permission-prompt-tool=stdio",
            "--include-partial-messages",
        ],
        environment: &[
            ("CLAUDE_CODE_ENTRYPOINT", "sdk-rs"),
            ("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1"),
            ("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1"),
            ("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "true"),
        ],
        greetings: &[(
            r#"{"type":"control_request","request_id":"r1","request":{"subtype":"initialize"}}"#,
            r#""control_response""#,
        )],
        conversation: "",
        prompt: r#"{"type":"user","message":{"role":"user","content":"TEXT"},"parent_tool_use_id":null,"session_id":"","uuid":"UUID"}"#,
        event: r#""content_block_delta""#,
        end: r#""type":"result""#,
    },
    Spoken {
        name: "Codex",
        id: "codex",
        command: &["codex", "app-server"],
        environment: &[],
        greetings: &[
            (
                r#"{"method":"initialize","id":0,"params":{"clientInfo":{"name":"bench","title":"Bench","version":"0"},"capabilities":{"experimentalApi":true,"requestAttestation":false}}}"#,
                r#""id":0"#,
            ),
            (r#"{"method":"initialized"}"#, ""),
            (
                r#"{"method":"thread/start","id":1,"params":{"approvalPolicy":"on-request","sandbox":"workspace-write"}}"#,
                r#""id":1"#,
            ),
        ],
        conversation: r#""thread":{"id":""#,
        prompt: r#"{"method":"turn/start","id":NUMBER,"params":{"threadId":"CONVERSATION","input":[{"type":"text","text":"TEXT","text_elements":[]}]}}"#,
        event: "item/agentMessage/delta",
        end: "turn/completed",
    },
    Spoken {
        name: "Gemini CLI",
        id: "gemini",
        command: &["gemini", "--acp"],
        environment: &[],
        greetings: &[
            (
                r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false}}}"#,
                r#""id":0"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"DIRECTORY","mcpServers":[]}}"#,
                r#""id":1"#,
            ),
        ],
        conversation: r#""sessionId":""#,
        prompt: r#"{"jsonrpc":"2.0","id":NUMBER,"method":"session/prompt","params":{"sessionId":"CONVERSATION","prompt":[{"type":"text","text":"TEXT"}]}}"#,
        event: "agent_message_chunk",
        end: r#""stopReason""#,
    },
];

/// An agent, straight.
pub struct Straight {
    agent: Spoken,
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    conversation: String,
    number: u64,
}

impl Straight {
    pub fn start(lab: &Lab, agent: Spoken) -> Outcome<Self> {
        let (program, arguments) = agent.command.split_first().ok_or("no command")?;
        let mut command = lab.command(program);
        command
            .args(arguments)
            .envs(agent.environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn()?;
        let (stdin, stdout) = (child.stdin.take().ok_or("no stdin")?, child.stdout.take().ok_or("no stdout")?);
        let mut straight =
            Self { agent, child, stdin, stdout: BufReader::new(stdout), conversation: String::new(), number: 10 };
        let mut last = String::new();
        for (greeting, reply) in agent.greetings {
            straight.say(&greeting.replace("DIRECTORY", &lab.project.to_string_lossy()))?;
            if !reply.is_empty() {
                last = straight.until(reply)?;
            }
        }
        if !agent.conversation.is_empty() {
            let (_, rest) = last.split_once(agent.conversation).ok_or_else(|| format!("no conversation in {last}"))?;
            straight.conversation = rest.split('"').next().unwrap_or_default().to_owned();
        }
        Ok(straight)
    }

    fn say(&mut self, line: &str) -> Outcome<()> {
        self.stdin.write_all(format!("{line}\n").as_bytes())?;
        Ok(self.stdin.flush()?)
    }

    /// The next line with this in it.
    fn until(&mut self, wanted: &str) -> Outcome<String> {
        let start = Instant::now();
        let mut line = String::new();
        loop {
            line.clear();
            if self.stdout.read_line(&mut line)? == 0 || start.elapsed() > PATIENCE {
                return Err(format!("{} does not say {wanted}", self.agent.name).into());
            }
            if line.contains(wanted) {
                return Ok(line);
            }
        }
    }

    pub fn turn(&mut self, text: &str) -> Outcome<Turn> {
        self.number += 1;
        let prompt = self.agent.prompt.replace("CONVERSATION", &self.conversation);
        let prompt = prompt.replace("UUID", &format!("00000000-0000-4000-8000-{:012}", self.number));
        let prompt = prompt.replace("NUMBER", &self.number.to_string()).replace("TEXT", text);
        let start = Instant::now();
        self.say(&prompt)?;
        self.until(self.agent.event)?;
        let first = start.elapsed().as_secs_f64();
        self.until(self.agent.end)?;
        Ok(Turn { first, whole: start.elapsed().as_secs_f64() })
    }
}

impl Drop for Straight {
    fn drop(&mut self) {
        let _ = process::end(&mut self.child, Duration::from_secs(2));
    }
}

/// An agent in a space of wh's, with somebody who watches.
pub struct Through {
    agent: Spoken,
    client: blocking::Client,
    events: Events,
    _wh: Wh,
}

impl Through {
    pub fn start(setting: &Setting, lab: &Lab, agent: Spoken) -> Outcome<Self> {
        let wh = Wh::options(&setting.wh).space().environment(lab.env()).directory(&lab.project);
        let wh = wh.flags(&["--agent", agent.id]).start(&[]);
        wh.wait(r#"screen_contains "Type a message" and idle"#);
        let client = client::of(&wh)?;
        let events = client.events(Follow::new().reconnect_for(Duration::ZERO));
        let mut through = Self { agent, client, events, _wh: wh };
        through.until("a snapshot", |message| matches!(message, StreamBody::Snapshot { .. }))?;
        Ok(through)
    }

    fn until(&mut self, what: &str, wanted: impl Fn(&StreamBody) -> bool) -> Outcome<()> {
        loop {
            match self.events.next_within(PATIENCE) {
                Some(Ok(message)) if wanted(&message) => return Ok(()),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(client::explained(&error).into()),
                None => return Err(format!("wh does not tell of {what} of {}", self.agent.name).into()),
            }
        }
    }

    pub fn turn(&mut self, text: &str) -> Outcome<Turn> {
        let request = Request::post("/message", &serde_json::json!({ "message": text }));
        let start = Instant::now();
        client::ask(&self.client, &request)?;
        // What an agent makes is called by i and a number.
        self.until("an item", |message| {
            matches!(message, StreamBody::Event { event: EventBody::Item { item, .. }, .. } if item.starts_with('i'))
        })?;
        let first = start.elapsed().as_secs_f64();
        self.until("the end of a turn", |message| {
            matches!(message, StreamBody::Event { event: EventBody::TurnEnded(_), .. })
        })?;
        Ok(Turn { first, whole: start.elapsed().as_secs_f64() })
    }
}
