//! Benchmark of stream decoding: a generated stream is read from another process through a [`Connection`] with all
//! events consumed. Compared with a plain JSON parse of each line of the same stream, in alternation.
//!
//! cargo run --release -p wh-claude --example stream_speed -- [MEGABYTES] [ROUNDS]
#![allow(clippy::disallowed_methods, reason = "not a child subreaper; it ends the processes that it starts")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its results")]

use std::env;
use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use serde_json::{Value, json};
use wh_claude::{ClaudeMessage, Connection, Event, Options};

/// Environment variables that select the role of this process. The value is the path of the stream.
const WRITE: &str = "STREAM_SPEED_WRITE";
const READ: &str = "STREAM_SPEED_READ";
const PARSE: &str = "STREAM_SPEED_PARSE";

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let outcome = if let Some(stream) = env::var_os(WRITE) {
        write(Path::new(&stream))
    } else if let Some(stream) = env::var_os(READ) {
        read(Path::new(&stream))
    } else if let Some(stream) = env::var_os(PARSE) {
        parse(Path::new(&stream))
    } else {
        compare()
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Generates the stream and runs both readers alternately.
fn compare() -> Outcome<()> {
    let number = |place, otherwise| env::args().nth(place).map_or(Ok(otherwise), |text| text.parse::<usize>());
    let (megabytes, rounds) = (number(1, 200)?, number(2, 5)?);
    let directory = tempfile::tempdir()?;
    let stream = directory.path().join("stream");
    let frames = make(&stream, megabytes * 1_000_000)?;
    let bytes = stream.metadata()?.len();
    println!("{frames} frames, {:.1} MB, {rounds} rounds", bytes as f64 / 1e6);
    let (mut connection, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        connection.push(round(READ, &stream, frames)?);
        bare.push(round(PARSE, &stream, frames)?);
    }
    println!("\n| | events/s | MB/s | seconds | peak resident |\n|---|---|---|---|---|");
    let (ours, theirs) = (Figures::median(&connection), Figures::median(&bare));
    for (name, figures) in [("`Connection`, over a pipe", &ours), ("bare `serde_json::Value`, from a file", &theirs)] {
        let Figures { seconds, resident } = figures;
        println!(
            "| {name} | {:.0} | {:.0} | {seconds:.2} | {:.1} MB |",
            frames as f64 / seconds,
            bytes as f64 / 1e6 / seconds,
            resident / 1e6
        );
    }
    println!("\ntimes as fast as the bare parse: {:.2}", theirs.seconds / ours.seconds);
    Ok(())
}

/// Measurements of one run.
struct Figures {
    seconds: f64,
    resident: f64,
}

impl Figures {
    fn median(rounds: &[Self]) -> Self {
        let middle = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or_default()
        };
        Self {
            seconds: middle(rounds.iter().map(|round| round.seconds).collect()),
            resident: middle(rounds.iter().map(|round| round.resident).collect()),
        }
    }
}

/// Runs one reader in a separate process, so that its peak memory is measured alone.
fn round(part: &str, stream: &Path, frames: usize) -> Outcome<Figures> {
    let output = Command::new(env::current_exe()?).env(part, stream).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let said: Value = serde_json::from_slice(&output.stdout)?;
    if said["frames"] != frames {
        return Err(format!("{} of {frames} frames were read", said["frames"]).into());
    }
    let figure = |name: &str| said[name].as_f64().ok_or("a figure is missing");
    Ok(Figures { seconds: figure("seconds")?, resident: figure("resident")? })
}

fn report(frames: usize, begin: Instant) -> Outcome<()> {
    let seconds = begin.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    let kib: f64 = peak.trim().trim_end_matches(" kB").parse()?;
    println!("{}", json!({"frames": frames, "seconds": seconds, "resident": kib * 1024.0}));
    Ok(())
}

/// Reads the stream through a connection. The program is this executable as the writer.
fn read(stream: &Path) -> Outcome<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let options = Options::new().program(env::current_exe()?).env(WRITE, stream).without_env(READ);
        let (connection, mut events, _) = Connection::start(&options).await?;
        connection.send(wh_claude::protocol::UserContent::Text("begin".to_owned()).into()).await?;
        let (begin, mut frames) = (Instant::now(), 0);
        while let Some(event) = events.next().await {
            let Event::Message(message) = event else { return Err(format!("not a message: {event:?}").into()) };
            frames += 1;
            if matches!(message, ClaudeMessage::Result(_)) {
                return report(frames, begin);
            }
        }
        Err("it ended early".into())
    })
}

/// Parses each line to a JSON value.
fn parse(stream: &Path) -> Outcome<()> {
    let (begin, mut frames) = (Instant::now(), 0);
    let (mut reader, mut line) = (BufReader::with_capacity(1 << 16, File::open(stream)?), Vec::new());
    while reader.read_until(b'\n', &mut line)? > 0 {
        let value: Value = serde_json::from_slice(&line)?;
        frames += usize::from(value.is_object());
        line.clear();
    }
    report(frames, begin)
}

/// Plays Claude Code: completes the handshake, receives the prompt, and writes the stream.
fn write(stream: &Path) -> Outcome<()> {
    let (mut input, mut output) = (io::stdin().lines(), io::stdout());
    let hello: Value = serde_json::from_str(&input.next().ok_or("no initialize request was received")??)?;
    let response = json!({"subtype": "success", "request_id": hello["request_id"], "response": {}});
    writeln!(output, "{}", json!({"type": "control_response", "response": response}))?;
    input.next().ok_or("no prompt was received")??;
    let (mut file, mut piece) = (File::open(stream)?, vec![0; 1 << 16]);
    loop {
        let count = file.read(&mut piece)?;
        if count == 0 {
            break;
        }
        output.write_all(&piece[..count])?;
    }
    output.flush()?;
    // Wait until the reader has read everything and closes the input.
    input.for_each(drop);
    Ok(())
}

/// Generates turns as Claude Code writes them: a streamed message followed by the complete one, a tool call, and its
/// result. Every twentieth result has one to five megabytes. The stream is deterministic.
fn make(path: &Path, size: usize) -> Outcome<usize> {
    let mut stream = Stream { output: BufWriter::new(File::create(path)?), bytes: 0, frames: 0, seed: 0x5eed };
    let mut turn = 0;
    while stream.bytes < size {
        turn += 1;
        let message = format!("msg_{turn:020}");
        stream.event("message_start", &format!(r#""message":{}"#, api_message(&message, "")))?;
        stream.event("content_block_start", r#""index":0,"content_block":{"type":"text","text":""}"#)?;
        let mut text = String::new();
        for _ in 0..200 + stream.below(400) {
            let words = stream.words();
            let delta = format!(r#""index":0,"delta":{{"type":"text_delta","text":{}}}"#, json!(words));
            stream.event("content_block_delta", &delta)?;
            text += &words;
        }
        stream.event("content_block_stop", r#""index":0"#)?;
        let block = format!(r#"{{"type":"text","text":{}}}"#, json!(text));
        stream.frame("assistant", &format!(r#""message":{},"#, api_message(&message, &block)))?;
        let call = format!("toolu_{turn:020}");
        let input = format!(r#"{{"command":"cat src/file_{turn}.rs","description":"Read the file"}}"#);
        let block = format!(r#"{{"type":"tool_use","id":"{call}","name":"Bash","input":{input}}}"#);
        stream.frame("assistant", &format!(r#""message":{},"#, api_message(&message, &block)))?;
        stream.event("message_stop", r#""usage":null"#)?;
        let length = if turn % 20 == 0 { 1_000_000 + stream.below(4_000_000) } else { 200 + stream.below(8_000) };
        stream.tool_result(&call, length)?;
    }
    stream.frame("result", &format!(r#""subtype":"success","is_error":false,"result":"done","num_turns":{turn},"#))?;
    stream.output.flush()?;
    Ok(stream.frames)
}

fn api_message(id: &str, content: &str) -> String {
    format!(
        r#"{{"id":"{id}","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{content}],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":18000,"output_tokens":1}}}}"#
    )
}

struct Stream {
    output: BufWriter<File>,
    bytes: usize,
    frames: usize,
    seed: u64,
}

impl Stream {
    /// Writes one line. `fields` is raw JSON with a comma after each field, in Claude Code's order.
    fn frame(&mut self, kind: &str, fields: &str) -> Outcome<()> {
        let uuid = format!("{:08x}-0000-4000-8000-{:012x}", self.below(1 << 32), self.below(1 << 48));
        let line = format!(
            r#"{{"type":"{kind}",{fields}"session_id":"8c8e1e3f-0a53-483f-bfb4-4b8cb8a391e7","parent_tool_use_id":null,"uuid":"{uuid}"}}"#
        );
        writeln!(self.output, "{line}")?;
        self.bytes += line.len() + 1;
        self.frames += 1;
        Ok(())
    }

    fn event(&mut self, kind: &str, fields: &str) -> Outcome<()> {
        self.frame("stream_event", &format!(r#""event":{{"type":"{kind}",{fields}}},"#))
    }

    /// Writes a tool result. The text is contained twice, for the model and as data, as in Claude Code.
    fn tool_result(&mut self, call: &str, length: usize) -> Outcome<()> {
        let mut text = String::with_capacity(length);
        while text.len() < length / 2 {
            text += "    let value = read(\"";
            text += &self.words();
            text += "\")?;\n";
        }
        let text = json!(text);
        let block = format!(r#"{{"tool_use_id":"{call}","type":"tool_result","content":{text},"is_error":false}}"#);
        let data = format!(r#"{{"stdout":{text},"stderr":"","interrupted":false}}"#);
        let fields = format!(r#""message":{{"role":"user","content":[{block}]}},"tool_use_result":{data},"#);
        self.frame("user", &fields)
    }

    fn words(&mut self) -> String {
        let count = 1 + self.below(3);
        let word = |_| [" the", " agent", " reads", " caf\u{e9}", " \"it\"", " and", " then\n"][self.below(7)];
        (0..count).map(word).collect()
    }

    /// Pseudo-random number below the limit (xorshift).
    fn below(&mut self, limit: usize) -> usize {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        usize::try_from(self.seed >> 8).unwrap_or_default() % limit
    }
}
