//! A supervisor for programs behind pipes, for owners whose own binary cannot become one.

use std::process::ExitCode;

fn main() -> ExitCode {
    wh_pipe::supervisor::pipes::run(std::env::args_os().skip(1)).unwrap_or_else(|error| {
        #[expect(clippy::print_stderr, reason = "whoever starts it by hand is told")]
        {
            eprintln!("wh-keep: {error}");
        }
        ExitCode::FAILURE
    })
}
