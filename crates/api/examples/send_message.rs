//! Prompts an agent, follows the events of its turn, and reads the receipt.
//!
//! ```sh
//! wh --headless --control-port 9091 &
//! cargo run -p wh-api --example send_message -- http://127.0.0.1:9091 'hello'
//! ```

use wh_api::wire::control::{EventBody, ReceiptBody, StreamBody};
use wh_api::wire::remote::MessageRequest;
use wh_api::{Address, Client, Error, EventOptions, Routes};

/// Sends a prompt, waits for the end of the turn, and returns the answer and the receipt.
pub async fn prompt(client: &Client, text: &str, request_id: &str) -> Result<(String, ReceiptBody), Error> {
    let mut events = client.events(EventOptions::new());
    // The snapshot comes first. No event after it is missed.
    events.next().await.transpose()?;
    let message =
        MessageRequest { message: text.to_owned(), request_id: Some(request_id.to_owned()), ..Default::default() };
    let turn = client.message(&message).await?.turn;
    while let Some(message) = events.next().await {
        match message? {
            StreamBody::Event { event: EventBody::TurnEnded(ended), .. } if Some(&ended.turn) == turn.as_ref() => break,
            _ => {}
        }
    }
    let said = client.history(Some(1)).await?.pop().map(|entry| entry.text).unwrap_or_default();
    Ok((said, client.receipt(request_id).await?))
}

#[allow(dead_code, reason = "a test calls `prompt` itself")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().unwrap_or_else(|| "http://127.0.0.1:9091".to_owned());
    let text = arguments.next().unwrap_or_else(|| "hello".to_owned());
    let client = Client::new(Address::parse(&url)?)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (said, receipt) = runtime.block_on(prompt(&client, &text, &format!("example-{}", std::process::id())))?;
    #[allow(clippy::print_stdout, reason = "it is an example")]
    {
        println!("{said}\n{}", receipt.stage);
    }
    Ok(())
}
