//! Standalone supervisor for programs behind pipes, for owners whose own binary cannot act as a supervisor.

use std::process::ExitCode;

fn main() -> ExitCode {
    wh_pipe::supervisor::pipes::run(std::env::args_os().skip(1)).unwrap_or_else(|error| {
        #[expect(clippy::print_stderr, reason = "reports errors to a user who starts wh-keep by hand")]
        {
            eprintln!("wh-keep: {error}");
        }
        ExitCode::FAILURE
    })
}
