//! Real agents, driven in two ways. [`AgentInSpace`] sends messages to a space of wh over HTTP. [`DirectAgent`] sends
//! lines of the agent's own protocol to its stdin.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use wh_api::blocking::{self, EventIterator};
use wh_api::wire::control::{EventBody, StreamBody};
use wh_api::{EventOptions, HttpRequest};
use wh_testkit::{Lab, Wh, process};

use crate::{BenchConfig, BenchResult, client};

/// Maximum time to wait for one event of an agent.
const AGENT_EVENT_TIMEOUT: Duration = Duration::from_secs(60);

/// Time in seconds from the prompt to the first event of the turn (`first`), and to the end of the turn (`whole`).
pub struct TurnTimes {
    pub first: f64,
    pub whole: f64,
}

/// A real agent, and the parts of its protocol that the benchmark needs.
#[derive(Clone, Copy)]
pub struct AgentProtocol {
    pub name: &'static str,
    /// Agent id in wh.
    pub id: &'static str,
    command: &'static [&'static str],
    /// Environment variables for the agent. wh sets the same variables.
    environment: &'static [(&'static str, &'static str)],
    /// Messages of the handshake, each with a text that occurs in its reply. The text is empty if there is no reply.
    greetings: &'static [(&'static str, &'static str)],
    /// Text before the conversation id in the last reply of the handshake.
    conversation: &'static str,
    /// Prompt as wh sends it, with placeholders `CONVERSATION`, `NUMBER`, `UUID` and `TEXT`.
    prompt: &'static str,
    /// Text that occurs in every event that contains model output.
    event: &'static str,
    /// Text that occurs in the message that ends a turn.
    end: &'static str,
}

pub const AGENTS: [AgentProtocol; 3] = [
    AgentProtocol {
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
    AgentProtocol {
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
    AgentProtocol {
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

/// Agent process that is driven directly, without wh.
pub struct DirectAgent {
    agent: AgentProtocol,
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    conversation: String,
    number: u64,
}

impl DirectAgent {
    pub fn start(lab: &Lab, agent: AgentProtocol) -> BenchResult<Self> {
        let (program, arguments) = agent.command.split_first().ok_or("the command of the agent is empty")?;
        let mut command = lab.command(program);
        command
            .args(arguments)
            .envs(agent.environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn()?;
        let (stdin, stdout) = (
            child.stdin.take().ok_or("the agent has no stdin")?,
            child.stdout.take().ok_or("the agent has no stdout")?,
        );
        let mut direct =
            Self { agent, child, stdin, stdout: BufReader::new(stdout), conversation: String::new(), number: 10 };
        let mut last = String::new();
        for (greeting, reply) in agent.greetings {
            direct.write_line(&greeting.replace("DIRECTORY", &lab.project.to_string_lossy()))?;
            if !reply.is_empty() {
                last = direct.read_until(reply)?;
            }
        }
        if !agent.conversation.is_empty() {
            let (_, rest) =
                last.split_once(agent.conversation).ok_or_else(|| format!("no conversation id in {last}"))?;
            direct.conversation = rest.split('"').next().unwrap_or_default().to_owned();
        }
        Ok(direct)
    }

    fn write_line(&mut self, line: &str) -> BenchResult<()> {
        self.stdin.write_all(format!("{line}\n").as_bytes())?;
        Ok(self.stdin.flush()?)
    }

    /// Reads lines until one contains the text `wanted`, and returns that line.
    fn read_until(&mut self, wanted: &str) -> BenchResult<String> {
        let start = Instant::now();
        let mut line = String::new();
        loop {
            line.clear();
            if self.stdout.read_line(&mut line)? == 0 || start.elapsed() > AGENT_EVENT_TIMEOUT {
                return Err(
                    format!("{} sent no line with {wanted} within {AGENT_EVENT_TIMEOUT:?}", self.agent.name).into()
                );
            }
            if line.contains(wanted) {
                return Ok(line);
            }
        }
    }

    pub fn turn(&mut self, text: &str) -> BenchResult<TurnTimes> {
        self.number += 1;
        let prompt = self.agent.prompt.replace("CONVERSATION", &self.conversation);
        let prompt = prompt.replace("UUID", &format!("00000000-0000-4000-8000-{:012}", self.number));
        let prompt = prompt.replace("NUMBER", &self.number.to_string()).replace("TEXT", text);
        let start = Instant::now();
        self.write_line(&prompt)?;
        self.read_until(self.agent.event)?;
        let first = start.elapsed().as_secs_f64();
        self.read_until(self.agent.end)?;
        Ok(TurnTimes { first, whole: start.elapsed().as_secs_f64() })
    }
}

impl Drop for DirectAgent {
    fn drop(&mut self) {
        let _ = process::terminate(&mut self.child, Duration::from_secs(2));
    }
}

/// Agent in a space of wh, with a client that reads the events of the space.
pub struct AgentInSpace {
    agent: AgentProtocol,
    client: blocking::Client,
    events: EventIterator,
    _wh: Wh,
}

impl AgentInSpace {
    pub fn start(config: &BenchConfig, lab: &Lab, agent: AgentProtocol) -> BenchResult<Self> {
        let wh = Wh::options(&config.wh).space().environment(lab.env()).directory(&lab.project);
        let wh = wh.flags(&["--agent", agent.id]).start(&[]);
        wh.wait(r#"screen_contains "Type a message" and idle"#);
        let client = client::of(&wh)?;
        let events = client.events(EventOptions::new().reconnect_for(Duration::ZERO));
        let mut in_space = Self { agent, client, events, _wh: wh };
        in_space.wait_for_event("a snapshot", |message| matches!(message, StreamBody::Snapshot { .. }))?;
        Ok(in_space)
    }

    fn wait_for_event(&mut self, what: &str, wanted: impl Fn(&StreamBody) -> bool) -> BenchResult<()> {
        loop {
            match self.events.next_within(AGENT_EVENT_TIMEOUT) {
                Some(Ok(message)) if wanted(&message) => return Ok(()),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(client::describe_error(&error).into()),
                None => return Err(format!("wh did not report {what} of {}", self.agent.name).into()),
            }
        }
    }

    pub fn turn(&mut self, text: &str) -> BenchResult<TurnTimes> {
        let request = HttpRequest::post("/message", &serde_json::json!({ "message": text }));
        let start = Instant::now();
        client::ask(&self.client, &request)?;
        // The item ids of agents begin with `i`.
        self.wait_for_event("an item", |message| {
            matches!(message, StreamBody::Event { event: EventBody::Item { item, .. }, .. } if item.starts_with('i'))
        })?;
        let first = start.elapsed().as_secs_f64();
        self.wait_for_event("the end of a turn", |message| {
            matches!(message, StreamBody::Event { event: EventBody::TurnEnded(_), .. })
        })?;
        Ok(TurnTimes { first, whole: start.elapsed().as_secs_f64() })
    }
}
