//! Options for starting Claude Code, and callbacks for its questions.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use wh_pipe::LaunchSpec;
use wh_wire::claude::{
    CanUseTool, Elicitation, ElicitationResult, HookMatcher, HookOutput, Initialize, PermissionMode, PermissionResult,
};

use crate::handlers::{ElicitationHandler, Handlers, HookHandler, PermissionHandler};
use crate::mcp::LocalMcpServer;

/// Default timeout of control requests.
const DEFAULT_CONTROL_TIMEOUT: Duration = Duration::from_secs(60);

/// Environment variable with the handshake timeout in milliseconds.
const TIMEOUT_VARIABLE: &str = "CLAUDE_CODE_STREAM_CLOSE_TIMEOUT";

/// Conversation to resume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resume {
    /// Most recent conversation in the working directory.
    Latest,
    /// Conversation with this session id.
    Session(String),
}

/// Options for starting Claude Code, and callbacks for its questions.
///
/// ```
/// use wh_claude::{Options, PermissionMode};
///
/// let options = Options::new().model("sonnet").permission_mode(PermissionMode::Plan).directory("/srv/project");
/// ```
#[derive(Clone)]
#[must_use]
pub struct Options {
    pub(crate) program: OsString,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) environment: BTreeMap<OsString, Option<OsString>>,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) supervisor: Option<Vec<OsString>>,
    pub(crate) owner_session: Option<String>,
    pub(crate) kill_switch: Option<wh_pipe::KillSwitch>,
    pub(crate) model: Option<String>,
    pub(crate) permission_mode: Option<PermissionMode>,
    pub(crate) may_bypass: bool,
    pub(crate) resume: Option<Resume>,
    pub(crate) session_id: Option<String>,
    pub(crate) partial: bool,
    pub(crate) checkpoints: bool,
    pub(crate) forward_asks: bool,
    pub(crate) initialize: Initialize,
    pub(crate) initialize_timeout: Duration,
    pub(crate) control_timeout: Duration,
    pub(crate) longest_line: usize,
    pub(crate) handlers: Handlers,
}

/// Omits callbacks, and omits the values of environment variables, which may be secrets.
impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Options")
            .field("program", &self.program)
            .field("directory", &self.directory)
            .field("model", &self.model)
            .field("permission_mode", &self.permission_mode)
            .field("resume", &self.resume)
            .field("owner_session", &self.owner_session)
            .finish_non_exhaustive()
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl Options {
    /// Creates default options: `claude` from the PATH, the current directory, a new conversation.
    pub fn new() -> Self {
        Self {
            program: "claude".into(),
            directory: None,
            environment: BTreeMap::new(),
            arguments: Vec::new(),
            supervisor: None,
            owner_session: None,
            kill_switch: None,
            model: None,
            permission_mode: None,
            may_bypass: false,
            resume: None,
            session_id: None,
            partial: true,
            checkpoints: false,
            forward_asks: false,
            initialize: Initialize::default(),
            initialize_timeout: timeout_of(std::env::var(TIMEOUT_VARIABLE).ok().as_deref()),
            control_timeout: DEFAULT_CONTROL_TIMEOUT,
            longest_line: wh_pipe::lines::MAX_LINE_BYTES,
            handlers: Handlers::default(),
        }
    }

    /// Sets the program to run instead of `claude`: a name on the PATH, or a path.
    pub fn program(mut self, program: impl Into<OsString>) -> Self {
        self.program = program.into();
        self
    }

    /// Sets the working directory.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.insert(name.into(), Some(value.into()));
        self
    }

    /// Removes an environment variable.
    pub fn without_env(mut self, name: impl Into<OsString>) -> Self {
        self.environment.insert(name.into(), None);
        self
    }

    /// Appends a command-line argument.
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Sets the command of a supervisor (such as `wh-keep`) that ends all processes started by Claude Code if this
    /// process is killed.
    pub fn supervisor(mut self, command: impl IntoIterator<Item = OsString>) -> Self {
        self.supervisor = Some(command.into_iter().collect());
        self
    }

    /// Sets the id of the session for which the [supervisor](Self::supervisor) is registered. See
    /// [`LaunchSpec::session`].
    pub fn owner_session(mut self, id: impl Into<String>) -> Self {
        self.owner_session = Some(id.into());
        self
    }

    /// Sets a kill switch for Claude Code and all processes that it starts.
    pub fn kill_switch(mut self, kill_switch: wh_pipe::KillSwitch) -> Self {
        self.kill_switch = Some(kill_switch);
        self
    }

    /// Sets the initial model.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets the initial model; `None` selects Claude Code's default.
    pub fn model_or_default(mut self, model: Option<&str>) -> Self {
        self.model = model.map(str::to_owned);
        self
    }

    /// Sets the initial permission mode.
    pub fn permission_mode(mut self, mode: PermissionMode) -> Self {
        self.permission_mode = Some(mode);
        self
    }

    /// Allows [`PermissionMode::BypassPermissions`], initially or later. Claude Code rejects that mode otherwise.
    pub fn may_skip_permissions(mut self, may: bool) -> Self {
        self.may_bypass = may;
        self
    }

    /// Resumes a conversation.
    pub fn resume(mut self, resume: Resume) -> Self {
        self.resume = Some(resume);
        self
    }

    /// Starts a new conversation.
    pub fn without_resume(mut self) -> Self {
        self.resume = None;
        self
    }

    /// Sets the id of a new conversation, a UUID.
    pub fn session_id(mut self, id: impl Into<String>) -> Self {
        self.session_id = Some(id.into());
        self
    }

    /// Enables or disables partial messages, which are sent while the model generates its output. Enabled by default.
    pub fn partial_messages(mut self, partial: bool) -> Self {
        self.partial = partial;
        self
    }

    /// Enables file checkpoints before each prompt, which [`rewind_files`](crate::Connection::rewind_files) requires.
    pub fn file_checkpoints(mut self, keep: bool) -> Self {
        self.checkpoints = keep;
        self
    }

    /// Appends instructions to Claude Code's system prompt.
    pub fn append_system_prompt(mut self, text: impl Into<String>) -> Self {
        self.initialize.append_system_prompt = Some(text.into());
        self
    }

    /// Adds a subagent with its name and its definition in Claude Code's format (`description`, `prompt`, `tools`,
    /// `model`).
    pub fn agent(mut self, name: impl Into<String>, definition: Value) -> Self {
        self.initialize.agents.get_or_insert_with(Map::new).insert(name.into(), definition);
        self
    }

    /// Sets the timeout of the handshake. The default is one minute, or `CLAUDE_CODE_STREAM_CLOSE_TIMEOUT` in
    /// milliseconds.
    pub fn initialize_timeout(mut self, timeout: Duration) -> Self {
        self.initialize_timeout = timeout;
        self
    }

    /// Sets the timeout of control requests. The default is one minute.
    pub fn control_timeout(mut self, timeout: Duration) -> Self {
        self.control_timeout = timeout;
        self
    }

    /// Sets the maximum length of a line in bytes. Longer lines are skipped and reported as
    /// [`Event::Skipped`](crate::Event::Skipped).
    pub fn longest_line(mut self, bytes: usize) -> Self {
        self.longest_line = bytes;
        self
    }

    /// Sets the callback for permission requests. The callback may take any amount of time. If Claude Code withdraws
    /// the request, the callback's future is dropped.
    pub fn can_use_tool<F, R>(mut self, callback: F) -> Self
    where
        F: Fn(CanUseTool) -> R + Send + Sync + 'static,
        R: Future<Output = PermissionResult> + Send + 'static,
    {
        let handler: PermissionHandler = Arc::new(move |ask| Box::pin(callback(ask)));
        self.handlers.permission = Some(handler);
        self
    }

    /// Sets the callback for elicitations, which are questions of MCP servers to the user.
    pub fn elicitation<F, R>(mut self, callback: F) -> Self
    where
        F: Fn(Elicitation) -> R + Send + Sync + 'static,
        R: Future<Output = ElicitationResult> + Send + 'static,
    {
        let handler: ElicitationHandler = Arc::new(move |ask| Box::pin(callback(ask)));
        self.handlers.elicitation = Some(handler);
        self
    }

    /// Adds a callback for a hook event (`PreToolUse`, `PostToolUse`, `UserPromptSubmit`, …). `matcher` selects tools;
    /// `None` matches all.
    pub fn hook<F, R>(mut self, event: impl Into<String>, matcher: Option<&str>, callback: F) -> Self
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = HookOutput> + Send + 'static,
    {
        let id = format!("hook_{}", self.handlers.hooks.len());
        let handler: HookHandler = Arc::new(move |input| Box::pin(callback(input)));
        self.handlers.hooks.insert(id.clone(), handler);
        let hooks = self.initialize.hooks.get_or_insert_with(BTreeMap::new);
        hooks.entry(event.into()).or_default().push(HookMatcher {
            matcher: matcher.map(str::to_owned),
            hook_callback_ids: vec![id],
            timeout: None,
            on_failure: None,
        });
        self
    }

    /// Adds an MCP server that runs in this process.
    pub fn mcp_server(mut self, server: LocalMcpServer) -> Self {
        let name = server.name().to_owned();
        self.initialize.sdk_mcp_servers.get_or_insert_with(Vec::new).push(name.clone());
        self.handlers.servers.insert(name, Arc::new(server));
        self
    }

    /// Forwards permission requests and elicitations that have no callback as [`Event::Ask`](crate::Event::Ask). For
    /// programs that read the events of a [`Connection`](crate::Connection) themselves.
    pub fn forward_asks(mut self) -> Self {
        self.forward_asks = true;
        self
    }

    /// Returns the launch settings: program, arguments and environment.
    pub(crate) fn launch(&self) -> LaunchSpec {
        let mut launch = LaunchSpec::new(&self.program);
        launch.arguments = self.command_line();
        launch.directory.clone_from(&self.directory);
        launch.supervisor.clone_from(&self.supervisor);
        launch.session.clone_from(&self.owner_session);
        launch.kill_switch.clone_from(&self.kill_switch);
        let set = |value: &str| Some(OsString::from(value));
        launch.environment = BTreeMap::from([
            // These three variables are removed: Claude Code refuses to start if CLAUDECODE is set, and the other two
            // change the behaviour or output of its runtime.
            ("CLAUDECODE".into(), None),
            ("NODE_OPTIONS".into(), None),
            ("DEBUG".into(), None),
            ("CLAUDE_CODE_ENTRYPOINT".into(), set("sdk-rs")),
            ("CLAUDE_AGENT_SDK_VERSION".into(), set(env!("CARGO_PKG_VERSION"))),
            // Requests state events: the first variable is for newer versions, the second for older versions.
            ("CLAUDE_CODE_SDK_READS_SESSION_STATE".into(), set("1")),
            ("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS".into(), set("1")),
        ]);
        if self.checkpoints {
            launch.environment.insert("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING".into(), set("true"));
        }
        if let Some(directory) = &self.directory {
            launch.environment.insert("PWD".into(), Some(directory.clone().into_os_string()));
        }
        launch.environment.extend(self.environment.clone());
        launch
    }

    fn command_line(&self) -> Vec<OsString> {
        let mut line: Vec<OsString> =
            ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"].map(OsString::from).into();
        // A value in the same argument as its flag cannot be mistaken for another flag.
        let mut flag = |name: &str, value: &str| line.push(format!("--{name}={value}").into());
        if self.asks() {
            flag("permission-prompt-tool", "stdio");
        }
        if let Some(model) = &self.model {
            flag("model", model);
        }
        if let Some(mode) = &self.permission_mode {
            flag("permission-mode", &mode_name(mode));
        }
        match &self.resume {
            Some(Resume::Session(id)) => flag("resume", id),
            Some(Resume::Latest) => line.push("--continue".into()),
            None => {
                if let Some(id) = &self.session_id {
                    flag("session-id", id);
                }
            }
        }
        if !self.handlers.servers.is_empty() {
            let names = self.handlers.servers.keys();
            let servers: Map<String, Value> =
                names.map(|name| (name.clone(), json!({"type": "sdk", "name": name}))).collect();
            line.push(format!("--mcp-config={}", json!({ "mcpServers": servers })).into());
        }
        if self.partial {
            line.push("--include-partial-messages".into());
        }
        if self.may_bypass {
            line.push("--allow-dangerously-skip-permissions".into());
        }
        line.extend(self.arguments.iter().cloned());
        line
    }

    /// Returns true if a callback or the owner of the connection answers questions.
    fn asks(&self) -> bool {
        self.forward_asks || self.handlers.permission.is_some()
    }
}

/// Returns the name of a permission mode, as used in command-line flags and requests.
pub fn mode_name(mode: &PermissionMode) -> String {
    serde_json::to_value(mode).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

fn timeout_of(milliseconds: Option<&str>) -> Duration {
    milliseconds
        .and_then(|value| value.trim().parse().ok())
        .filter(|value| *value > 0)
        .map_or(DEFAULT_CONTROL_TIMEOUT, Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(options: &Options) -> Vec<String> {
        options.command_line().into_iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_value_never_stands_alone_on_the_command_line() {
        let options = Options::new()
            .model("--dangerous")
            .resume(Resume::Session("-x".to_owned()))
            .permission_mode(PermissionMode::AcceptEdits)
            .forward_asks();
        let words = words(&options);
        for word in
            ["--model=--dangerous", "--resume=-x", "--permission-mode=acceptEdits", "--permission-prompt-tool=stdio"]
        {
            assert!(words.iter().any(|other| other == word), "{word}: {words:?}");
        }
        assert!(!words.iter().any(|word| word.starts_with("--allow-dangerously")));
    }

    #[test]
    fn nobody_is_asked_where_nobody_answers() {
        assert!(!words(&Options::new()).iter().any(|word| word.contains("permission-prompt-tool")));
        let options = Options::new().can_use_tool(|ask| async move { PermissionResult::allow(ask.input) });
        assert!(words(&options).iter().any(|word| word.contains("permission-prompt-tool")));
    }

    #[test]
    fn a_server_in_this_process_is_named_on_the_command_line_and_in_the_handshake() {
        let options = Options::new().mcp_server(LocalMcpServer::new("desk", "1"));
        let config = words(&options).into_iter().find_map(|word| word.strip_prefix("--mcp-config=").map(str::to_owned));
        let config: Value = serde_json::from_str(&config.unwrap()).unwrap();
        assert_eq!(config, json!({"mcpServers": {"desk": {"type": "sdk", "name": "desk"}}}));
        assert_eq!(options.initialize.sdk_mcp_servers, Some(vec!["desk".to_owned()]));
    }

    #[test]
    fn the_session_of_the_owner_is_registered() {
        assert_eq!(Options::new().launch().session, None);
        assert_eq!(Options::new().owner_session("s1").launch().session.as_deref(), Some("s1"));
    }

    #[test]
    fn the_environment_is_cleaned_and_ours_has_the_last_word() {
        let launch = Options::new().env("DEBUG", "mine").without_env("TOKEN").file_checkpoints(true).launch();
        assert_eq!(launch.environment.get(&OsString::from("CLAUDECODE")), Some(&None));
        assert_eq!(launch.environment.get(&OsString::from("TOKEN")), Some(&None));
        assert_eq!(launch.environment.get(&OsString::from("DEBUG")), Some(&Some("mine".into())));
        let checkpoints = launch.environment.get(&OsString::from("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"));
        assert_eq!(checkpoints, Some(&Some("true".into())));
    }

    #[test]
    fn the_handshakes_timeout_comes_from_the_environment() {
        assert_eq!(timeout_of(Some("1500")), Duration::from_millis(1500));
        for nonsense in [None, Some(""), Some("0"), Some("soon")] {
            assert_eq!(timeout_of(nonsense), DEFAULT_CONTROL_TIMEOUT);
        }
    }
}
