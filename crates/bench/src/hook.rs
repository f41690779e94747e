//! `wh-bench hook`: run time of the hook process beside that of `true`, with a listener that replies at once.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

use crate::table::{self, MeasuredQuantiles, ResultUnit};
use crate::{BenchConfig, BenchResult};

/// Payload of each run; agents send payloads of this size for a prompt or a tool call.
const PAYLOAD: &[u8] = br#"{"session_id":"65fbb9e8-0f78-4fd5-90ae-49468f0975b1","transcript_path":"/home/dev/.claude/projects/-home-dev-project/65fbb9e8-0f78-4fd5-90ae-49468f0975b1.jsonl","cwd":"/home/dev/project","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls","description":"List files"}}"#;

/// Reply of the stub: no decision.
const REPLY: &[u8] = b"{\"code\":0,\"stdout\":\"{}\"}\n";

/// Measure the hook process
///
/// Runs `wh-hook` with a listener that replies at once, and `true`, alternately. Each run gets a payload on a pipe and
/// is measured from its start until its output has ended and it has exited. The ratio is to `true`.
#[derive(Debug, Args)]
pub struct HookBenchCommand {
    /// Number of runs of each program
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

impl HookBenchCommand {
    pub fn run(&self, config: &BenchConfig) -> BenchResult<()> {
        let program = config.wh.canonicalize()?.with_file_name("wh-hook");
        let directory = tempfile::tempdir()?;
        let socket = directory.path().join("socket");
        let listener = UnixListener::bind(&socket)?;
        thread::spawn(move || listener.incoming().flatten().for_each(reply));
        let (mut hooks, mut trues) = (Vec::new(), Vec::new());
        for _ in 0..self.rounds {
            hooks.push(run_once(&program, &["--agent", "claude"], &socket)?.as_secs_f64());
            trues.push(run_once(Path::new("true"), &[], &socket)?.as_secs_f64());
        }
        let (hook, base) = (MeasuredQuantiles::of(&mut hooks), MeasuredQuantiles::of(&mut trues));
        let row = |name: &str, time: MeasuredQuantiles| {
            let [median, p99] = [time.median, time.p99].map(|value| ResultUnit::Seconds.cell(value));
            format!("| {name} | {median} | {p99} | {} |\n", table::ratio(time.median / base.median))
        };
        let text =
            format!("| | median | p99 | ratio |\n|---|---|---|---|\n{}{}", row("wh-hook", hook), row("true", base));
        Ok(io::stdout().write_all(text.as_bytes())?)
    }
}

fn reply(stream: UnixStream) {
    let mut line = Vec::new();
    // A failed run is noticed by its output.
    let _ = BufReader::new(&stream).read_until(b'\n', &mut line).and_then(|_| (&stream).write_all(REPLY));
}

/// Runs a program and returns its run time. Fails if the program fails, or if `wh-hook` did not print the reply.
fn run_once(program: &Path, arguments: &[&str], socket: &Path) -> BenchResult<Duration> {
    let mut command = Command::new(program);
    command.args(arguments).env("WH_HOOK_SOCKET", socket).stdin(Stdio::piped()).stdout(Stdio::piped());
    let started = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    if let Some(mut stdin) = child.stdin.take() {
        // `true` may exit before the payload is written.
        let _ = stdin.write_all(PAYLOAD);
    }
    let output = child.wait_with_output()?;
    let time = started.elapsed();
    let expected: &[u8] = if arguments.is_empty() { b"" } else { b"{}\n" };
    if !output.status.success() || output.stdout != expected {
        return Err(format!("{} failed: {:?}", program.display(), output).into());
    }
    Ok(time)
}
