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
    /// The prompt whose turn is not over, by its id. There is one at most: Claude Code takes what is said while it works
    /// into the turn that runs, and gives no result of its own to it.
    current: Option<String>,
}

impl Client {
    /// Starts Claude Code, and comes back when it has introduced itself.
    ///
    /// # Errors
    ///
    /// If it is not installed, cannot be started, or does not answer in time.
    pub async fn connect(options: &Options) -> Result<Self, Error> {
        let (connection, events, hello) = Connection::start(options).await?;
        Ok(Self { connection, events, hello, current: None })
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

    /// Says something, and gives the turn that comes of it. If the turn before was not read to its end, that end is waited
    /// for first: [interrupt](Turn::interrupt) what need not go on.
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
        while self.current.is_some() {
            self.read().await?;
        }
        // Claude Code can begin a turn by itself: one that has come and gone since is not the answer to this.
        while let Some(event) = self.events.ready() {
            if let Event::Closed(closed) = event {
                return Err(Error::Disconnected(closed.reason().into()));
            }
        }
        let id = uuid();
        let input = UserInput { uuid: Some(id.clone()), ..UserInput::from(content) };
        // Even if nobody waits to hear that it was sent, it is.
        self.current = Some(id.clone());
        self.connection.send(input).await?;
        Ok(Turn { client: self, id, over: false })
    }

    /// The next message. The result of the current prompt ends it.
    async fn read(&mut self) -> Result<Message, Error> {
        loop {
            let message = match self.events.next().await {
                Some(Event::Message(message)) => message,
                Some(Event::Closed(closed)) => {
                    self.current = None;
                    return Err(Error::Disconnected(closed.reason().into()));
                }
                None => {
                    self.current = None;
                    return Err(self.connection.why_gone().await);
                }
                Some(_) => continue,
            };
            if let (Message::Result(result), Some(current)) = (&message, &self.current) {
                // Newer versions say whose result it is.
                let whose = &result.user_message_uuids;
                if !whose.is_empty() && !whose.contains(current) {
                    continue;
                }
                self.current = None;
            }
            return Ok(message);
        }
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
        if self.over {
            return None;
        }
        let message = self.client.read().await;
        self.over = self.client.current.is_none();
        Some(message)
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
