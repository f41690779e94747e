//! A conversation with Claude Code: prompts in, their messages out.

use std::ops::Deref;

use serde_json::Value;
use wh_wire::claude::{ContentBlock, InitializeReply, Message, TurnResult, UserContent, UserInput};

use crate::chance::uuid;
use crate::connection::{Connection, Event, Events};
use crate::error::Error;
use crate::options::Options;

/// A conversation. All requests of a [`Connection`] can be made on it, also while a turn runs: take a clone of the
/// connection for that.
#[derive(Debug)]
pub struct Client {
    connection: Connection,
    events: Events,
    hello: Value,
    /// Prompts that were sent, and turns that have ended.
    sent: u64,
    ended: u64,
}

impl Client {
    /// Starts Claude Code, and comes back when it has introduced itself.
    ///
    /// # Errors
    ///
    /// If it is not installed, cannot be started, or does not answer in time.
    pub async fn connect(options: &Options) -> Result<Self, Error> {
        let (connection, events, hello) = Connection::start(options).await?;
        Ok(Self { connection, events, hello, sent: 0, ended: 0 })
    }

    /// What it said of itself at the start.
    pub fn server_info(&self) -> InitializeReply {
        serde_json::from_value(self.hello.clone()).unwrap_or_default()
    }

    /// The same, as it came: versions differ in what they tell.
    pub fn raw_server_info(&self) -> &Value {
        &self.hello
    }

    /// The line itself; a clone of it makes requests while a turn is read.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Says something, and gives the turn that comes of it. A turn before that was not read to its end is passed over.
    ///
    /// # Errors
    ///
    /// If it is gone.
    pub async fn prompt(&mut self, text: impl Into<String>) -> Result<Turn<'_>, Error> {
        self.say(UserContent::Text(text.into())).await
    }

    /// The same with pictures or files.
    ///
    /// # Errors
    ///
    /// If it is gone.
    pub async fn say(&mut self, content: UserContent) -> Result<Turn<'_>, Error> {
        let id = uuid();
        self.connection.send(UserInput { uuid: Some(id.clone()), ..UserInput::from(content) }).await?;
        self.sent += 1;
        let number = self.sent;
        Ok(Turn { client: self, number, id, over: false })
    }

    /// Lets it end, and waits for that.
    pub async fn close(mut self) {
        self.connection.close();
        while let Some(event) = self.events.next().await {
            if matches!(event, Event::Closed(_)) {
                return;
            }
        }
    }
}

impl Deref for Client {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

/// One turn: its messages, until its result.
#[derive(Debug)]
pub struct Turn<'a> {
    client: &'a mut Client,
    number: u64,
    id: String,
    over: bool,
}

impl Turn<'_> {
    /// The id of the prompt: files can be rewound to it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The next message, the [result](Message::Result) last; `None` after it.
    ///
    /// # Errors
    ///
    /// If Claude Code is gone before the turn was over.
    pub async fn next(&mut self) -> Option<Result<Message, Error>> {
        while !self.over {
            let message = match self.client.events.next().await {
                Some(Event::Message(message)) => message,
                Some(Event::Closed(closed)) => {
                    self.over = true;
                    return Some(Err(Error::Disconnected(closed.reason().into())));
                }
                None => {
                    self.over = true;
                    return Some(Err(Error::Disconnected("it has ended before".into())));
                }
                Some(_) => continue,
            };
            // What belongs to a turn before, whose reader went away, is passed over.
            let ours = self.client.ended + 1 == self.number;
            if matches!(message, Message::Result(_)) {
                self.client.ended += 1;
                self.over = ours;
            }
            if ours {
                return Some(Ok(message));
            }
        }
        None
    }

    /// Reads to the end, and gives the result.
    ///
    /// # Errors
    ///
    /// If Claude Code is gone before.
    pub async fn result(mut self) -> Result<TurnResult, Error> {
        while let Some(message) = self.next().await {
            if let Message::Result(result) = message? {
                return Ok(*result);
            }
        }
        Err(Error::Disconnected("the turn was read to its end before".into()))
    }

    /// Reads to the end, and gives what the model said.
    ///
    /// # Errors
    ///
    /// If Claude Code is gone before.
    pub async fn text(mut self) -> Result<String, Error> {
        let mut text = String::new();
        while let Some(message) = self.next().await {
            if let Message::Assistant(said) = message? {
                for block in said.message.content {
                    if let ContentBlock::Text(words) = block {
                        text.push_str(&words);
                    }
                }
            }
        }
        Ok(text)
    }

    /// Ends the turn. It still has a result, which says so.
    ///
    /// # Errors
    ///
    /// As for [`Connection::interrupt`].
    pub async fn interrupt(&self) -> Result<(), Error> {
        self.client.connection.interrupt().await.map(drop)
    }
}
