//! A keeper as a binary of its own, for those who have none to lend it.

use std::process::ExitCode;

fn main() -> ExitCode {
    wh_pipe::keeper::run(std::env::args_os().skip(1)).unwrap_or_else(|error| {
        #[expect(clippy::print_stderr, reason = "whoever starts it by hand is told")]
        {
            eprintln!("wh-keep: {error}");
        }
        ExitCode::FAILURE
    })
}
