//! tmux as a reference terminal: a program in a pane of exact size, and the visible content of that pane.

mod drawn;
mod replay;
mod visible;

use std::ffi::OsStr;
use std::fmt::Display;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;
use unicode_width::UnicodeWidthChar;

pub use self::replay::TmuxReplay;
pub use self::visible::VisibleScreen;

use self::drawn::drawn;
use crate::deadline::{CONDITION_TIMEOUT, wait_until};
use crate::process;

/// Options for starting a pane: its size, scrollback, environment and directory.
#[must_use]
pub struct TmuxOptions {
    cols: u16,
    rows: u16,
    history: u32,
    directory: Option<PathBuf>,
    inherit: bool,
    env: Vec<(String, String)>,
}

impl TmuxOptions {
    /// Sets the number of scrollback lines that the pane retains.
    pub fn history(mut self, lines: u32) -> Self {
        self.history = lines;
        self
    }

    /// Sets an environment variable of the program.
    pub fn env(mut self, name: &str, value: impl Display) -> Self {
        self.env.push((name.to_owned(), value.to_string()));
        self
    }

    /// Replaces the environment of the program. Only variables set by tmux are added.
    pub fn environment(mut self, env: impl IntoIterator<Item = (String, String)>) -> Self {
        self.inherit = false;
        self.env = env.into_iter().collect();
        self
    }

    /// Sets the working directory of the program.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Starts the program without a shell. `command` consists of the program and its arguments.
    #[track_caller]
    pub fn start(self, command: &[&str]) -> Tmux {
        static SERVERS: AtomicU32 = AtomicU32::new(0);
        let number = SERVERS.fetch_add(1, Ordering::Relaxed);
        let tmux = Tmux {
            name: format!("wh-testkit-{}-{number}", std::process::id()),
            sockets: tempfile::tempdir().expect("a temporary directory can be created"),
            cols: self.cols,
            rows: self.rows,
        };
        let mut server = tmux.command();
        if !self.inherit {
            server.env_clear().env("TMUX_TMPDIR", tmux.sockets.path());
        }
        server.envs(self.env);
        if let Some(directory) = &self.directory {
            server.current_dir(directory);
        }
        // These options affect only panes that start after the options are set.
        for (option, value) in [
            ("status", "off"),
            ("escape-time", "0"),
            ("default-terminal", "tmux-256color"),
            ("history-limit", &self.history.to_string()),
        ] {
            server.args(["set-option", "-g", option, value, ";"]);
        }
        let (cols, rows) = (self.cols.to_string(), self.rows.to_string());
        server.args(["new-session", "-d", "-x", &cols, "-y", &rows, "--"]);
        // tmux would interpret a single argument as a shell command.
        server.arg("env").args(command.iter().map(|word| literal(word)));
        // tmux 3.3 crashes if a session starts with this option enabled.
        server.args([";", "set-option", "-g", "window-size", "manual"]);
        run(&mut server).unwrap_or_else(|error| panic!("{error}"));
        tmux
    }
}

/// tmux server with one pane. Dropping it ends the server and its program.
pub struct Tmux {
    name: String,
    sockets: TempDir,
    cols: u16,
    rows: u16,
}

impl Tmux {
    /// Returns true if tmux is installed.
    pub fn available() -> bool {
        run(Command::new("tmux").arg("-V")).is_ok()
    }

    /// Starts a program in a pane of the given size.
    #[track_caller]
    pub fn start(cols: u16, rows: u16, command: &[&str]) -> Self {
        Self::options(cols, rows).start(command)
    }

    pub fn options(cols: u16, rows: u16) -> TmuxOptions {
        TmuxOptions { cols, rows, history: 2_000, directory: None, inherit: true, env: Vec::new() }
    }

    /// Returns the rows of the visible screen from top to bottom, padded with blanks to the width.
    #[track_caller]
    pub fn capture(&self) -> Vec<String> {
        let captured = drawn(&self.expect(&["capture-pane", "-p", "-e"]));
        let mut rows: Vec<String> = captured.lines().map(|row| self.padded(row)).collect();
        rows.resize_with(self.rows.into(), || self.padded(""));
        rows
    }

    /// Returns the rows that have scrolled off the screen, oldest first, padded as in [`Tmux::capture`].
    #[track_caller]
    pub fn history(&self) -> Vec<String> {
        // Without scrollback, tmux would return the first row of the screen.
        if self.format("#{history_size}") == "0" {
            return Vec::new();
        }
        let captured = drawn(&self.expect(&["capture-pane", "-p", "-e", "-S", "-", "-E", "-1"]));
        captured.lines().map(|row| self.padded(row)).collect()
    }

    /// Returns column and row of the cursor, from zero. After a full row the cursor is in the last column, where the
    /// user sees it, although tmux reports the column after that.
    #[track_caller]
    pub fn cursor(&self) -> (u16, u16) {
        self.cursor_and_visibility().0
    }

    #[track_caller]
    fn cursor_and_visibility(&self) -> ((u16, u16), bool) {
        let at = self.format("#{cursor_x} #{cursor_y} #{cursor_flag}");
        let numbers: Vec<u16> = at.split(' ').filter_map(|number| number.parse().ok()).collect();
        let &[x, y, visible] = &numbers[..] else { panic!("tmux returned no cursor position: {at:?}") };
        ((x.min(self.cols.saturating_sub(1)), y), visible == 1)
    }

    /// Expands a tmux format for the pane, for example `#{pane_title}`.
    #[track_caller]
    pub fn format(&self, format: &str) -> String {
        self.expect(&["display-message", "-p", format])
    }

    /// Presses keys given by their tmux names, for example `["C-c", "Enter"]`.
    #[track_caller]
    pub fn send_keys(&self, keys: &[&str]) {
        let mut args = vec!["send-keys".to_owned(), "--".to_owned()];
        args.extend(keys.iter().map(|key| literal(key)));
        self.expect(&args);
    }

    /// Types text unchanged, without interpreting the names of keys.
    #[track_caller]
    pub fn send_text(&self, text: &str) {
        self.expect(&["send-keys", "-l", "--", &literal(text)]);
    }

    #[track_caller]
    pub fn resize(&mut self, cols: u16, rows: u16) {
        self.expect(&["resize-window", "-x", &cols.to_string(), "-y", &rows.to_string()]);
        (self.cols, self.rows) = (cols, rows);
    }

    /// Waits until a row of the screen contains the text and returns the screen. Panics with the screen after a
    /// timeout.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> Vec<String> {
        let mut screen = Vec::new();
        let seen = wait_until(CONDITION_TIMEOUT, || {
            screen = self.capture();
            screen.iter().any(|row| row.contains(text)).then_some(())
        });
        assert!(seen.is_some(), "{text:?} did not appear; the screen is\n{}", screen.join("\n"));
        screen
    }

    /// Returns true while the program is running.
    pub fn alive(&self) -> bool {
        run(self.command().args(["list-panes"])).is_ok()
    }

    /// Runs a tmux command on this server. The error contains the message of tmux.
    pub fn run(&self, args: &[impl AsRef<OsStr>]) -> Result<String, String> {
        run(self.command().args(args))
    }

    /// Returns the command that attaches in control mode without pane output. The caller sets up stdin and stdout.
    pub fn control(&self) -> Command {
        let mut command = self.command();
        command.args(["-C", "attach-session", "-f", "no-output"]);
        command
    }

    /// Runs a tmux command and returns its output. Panics on failure.
    #[track_caller]
    pub fn run_ok(&self, args: &[&str]) -> String {
        self.expect(args)
    }

    #[track_caller]
    fn expect(&self, args: &[impl AsRef<OsStr>]) -> String {
        self.run(args).unwrap_or_else(|error| panic!("{error}"))
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-u", "-f", "/dev/null", "-L", &self.name]);
        command.env("TMUX_TMPDIR", self.sockets.path()).env_remove("TMUX");
        process::with_default_signals(&mut command);
        command
    }

    fn padded(&self, row: &str) -> String {
        // The width is the sum of the widths of the characters, as in terminal cells. The width of the whole string may
        // be smaller because of ligatures.
        let width: usize = row.chars().filter_map(UnicodeWidthChar::width).sum();
        let missing = usize::from(self.cols).saturating_sub(width);
        format!("{row}{}", " ".repeat(missing))
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // The server has already exited if the program has exited.
        let _ = self.run(&["kill-server"]);
    }
}

/// Escapes a semicolon at the end of an argument, which tmux would treat as the end of the command.
fn literal(word: &str) -> String {
    match word.strip_suffix(';') {
        Some(rest) => format!("{rest}\\;"),
        None => word.to_owned(),
    }
}

/// Runs tmux and returns its stdout, or an error with its stderr.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("cannot run tmux: {error}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} failed ({}): {}", output.status, stderr.trim_end()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}
