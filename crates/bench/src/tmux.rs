//! tmux in control mode: a client over pipes that sends commands as lines. Replies are between `%begin` and `%end`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use wh_testkit::Tmux;

use crate::BenchResult;

/// Control client of tmux. Disables notifications of pane output, because they would slow tmux down.
pub struct TmuxControl {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    answer: Vec<u8>,
}

impl TmuxControl {
    pub fn attach(tmux: &Tmux) -> BenchResult<Self> {
        let mut child = tmux.control().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("cannot open pipes to tmux".into());
        };
        let output = BufReader::with_capacity(64 * 1024, output);
        let mut control = Self { child, input, output, line: Vec::new(), answer: Vec::new() };
        // Attaching is a command, so tmux sends a reply to it.
        control.answer()?;
        Ok(control)
    }

    /// Sends a command and returns its reply.
    pub fn ask(&mut self, command: &str) -> BenchResult<&[u8]> {
        self.input.write_all(format!("{command}\n").as_bytes())?;
        self.answer()?;
        Ok(&self.answer)
    }

    fn answer(&mut self) -> BenchResult<()> {
        let mut inside = false;
        self.answer.clear();
        loop {
            self.line.clear();
            if self.output.read_until(b'\n', &mut self.line)? == 0 {
                return Err("tmux closed the connection".into());
            }
            match (inside, self.line.as_slice()) {
                (false, line) if line.starts_with(b"%begin ") => inside = true,
                (true, line) if line.starts_with(b"%end ") => return Ok(()),
                (true, line) if line.starts_with(b"%error ") => {
                    return Err(format!("tmux failed: {}", String::from_utf8_lossy(&self.answer).trim_end()).into());
                }
                (true, line) => self.answer.extend(line),
                // Notifications outside of replies are ignored.
                (false, _) => {}
            }
        }
    }
}

impl Drop for TmuxControl {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
