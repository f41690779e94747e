//! tmux in control mode: one client over pipes, a command a line, an answer between `%begin` and `%end`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use wh_testkit::Tmux;

use crate::Outcome;

/// A control client. It asks not to be told the panes' output: what is measured is the looking, and telling would
/// slow tmux down.
pub struct Control {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    answer: Vec<u8>,
}

impl Control {
    pub fn attach(tmux: &Tmux) -> Outcome<Self> {
        let mut child = tmux.control().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("tmux has no pipes".into());
        };
        let output = BufReader::with_capacity(64 * 1024, output);
        let mut control = Self { child, input, output, line: Vec::new(), answer: Vec::new() };
        // Attaching is a command too, and has an answer of its own.
        control.answer()?;
        Ok(control)
    }

    /// Gives a command, and what tmux answers to it.
    pub fn ask(&mut self, command: &str) -> Outcome<&[u8]> {
        self.input.write_all(format!("{command}\n").as_bytes())?;
        self.answer()?;
        Ok(&self.answer)
    }

    fn answer(&mut self) -> Outcome<()> {
        let mut inside = false;
        self.answer.clear();
        loop {
            self.line.clear();
            if self.output.read_until(b'\n', &mut self.line)? == 0 {
                return Err("tmux has hung up".into());
            }
            match (inside, self.line.as_slice()) {
                (false, line) if line.starts_with(b"%begin ") => inside = true,
                (true, line) if line.starts_with(b"%end ") => return Ok(()),
                (true, line) if line.starts_with(b"%error ") => {
                    return Err(format!("tmux says {}", String::from_utf8_lossy(&self.answer).trim_end()).into());
                }
                (true, line) => self.answer.extend(line),
                // What it tells beside the answers is not asked for.
                (false, _) => {}
            }
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
