//! Drives a terminal program: types into it, waits for its screen, ends it, and reads its exit code.
//!
//! ```sh
//! wh run --headless --control-port 9090 -- sh &
//! cargo run -p wh-api --example terminal -- http://127.0.0.1:9090
//! ```

use std::time::Duration;

use wh_api::wire::control::SendInputBody;
use wh_api::{Client, Error, Routes};

/// Computes a result in a shell and exits it. Returns the last screen and the exit code.
pub fn drive(client: &wh_api::blocking::Client) -> Result<(String, i32), Error> {
    let line = |text: &str| SendInputBody {
        text: Some(text.to_owned()),
        key: Some("enter".to_owned()),
        ..SendInputBody::default()
    };
    client.send_input(&line("expr 6 '*' 7"))?;
    client.wait("screen_matches /^42$/m", Some(Duration::from_secs(10)))?;
    let screen = client.screen(Default::default())?.plain;
    client.send_input(&line("exit 3"))?;
    // The run responds until it has ended. Afterwards its record contains the exit code.
    loop {
        match client.state() {
            Ok(state) => {
                if let Some(exit) = state.session.and_then(|session| session.exit) {
                    return Ok((screen, exit.code));
                }
                client.wait("exited", None)?;
            }
            Err(error) => return error.exit().map(|exit| (screen, exit.code)).ok_or(error),
        }
    }
}

#[allow(dead_code, reason = "a test calls `drive` itself")]
fn main() -> Result<(), Error> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:9090".to_owned());
    let (screen, code) = drive(&Client::builder(wh_api::Address::parse(&url)?).blocking()?)?;
    #[allow(clippy::print_stdout, reason = "it is an example")]
    {
        println!("{}\nexit code {code}", screen.trim_end());
    }
    Ok(())
}
