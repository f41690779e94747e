//! The binary `wh-hook`: what coding agents call as their hook. The same as `wh hook`, but starts faster.

use std::process::ExitCode;

fn main() -> ExitCode {
    wh_hook::main(std::env::args_os().skip(1))
}
