//! Conversation with Claude Code: prompts in, messages out.

use std::ops::Deref;

use serde_json::Value;
use wh_wire::claude::{ClaudeMessage, ContentBlock, InitializeReply, TurnResult, UserContent, UserInput};

use crate::connection::{Connection, Event, Events};
use crate::error::Error;
use crate::options::Options;
use crate::random_id::uuid;

/// Conversation with Claude Code. Dereferences to its [`Connection`] for control requests. To send requests while a
/// turn is being read, use a clone of the connection.
#[derive(Debug)]
pub struct ClaudeClient {
    connection: Connection,
    events: Events,
    hello: Value,
    /// Id of the prompt whose turn has not ended. There is at most one, because Claude Code merges input sent during a
    /// turn into that turn, without a separate result.
    current: Option<String>,
}

impl ClaudeClient {
    /// Starts Claude Code and waits for its reply to the initialize request.
    ///
    /// # Errors
    ///
    /// Fails if Claude Code is not installed, cannot be started, exits at once, refuses the handshake, or does not
    /// answer in time.
    pub async fn connect(options: &Options) -> Result<Self, Error> {
        let (connection, events, hello) = Connection::start(options).await?;
        Ok(Self { connection, events, hello, current: None })
    }

    /// Returns the reply to the initialize request.
    pub fn server_info(&self) -> InitializeReply {
        serde_json::from_value(self.hello.clone()).unwrap_or_default()
    }

    /// Returns the reply to the initialize request as raw JSON. Its fields differ between versions.
    pub fn raw_server_info(&self) -> &Value {
        &self.hello
    }

    /// Returns the connection of this client. A clone of the connection can send requests while a turn is being read.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Sends a prompt and returns its turn. If the previous turn was not read to its end, first waits until that turn
    /// has ended. [Interrupt](ClaudeTurn::interrupt) a turn that is no longer needed.
    ///
    /// # Errors
    ///
    /// Fails if Claude Code has exited.
    pub async fn prompt(&mut self, text: impl Into<String>) -> Result<ClaudeTurn<'_>, Error> {
        self.prompt_content(UserContent::Text(text.into())).await
    }

    /// Sends a prompt with images or files. See [`prompt`](Self::prompt).
    ///
    /// # Errors
    ///
    /// Fails if Claude Code has exited.
    pub async fn prompt_content(&mut self, content: UserContent) -> Result<ClaudeTurn<'_>, Error> {
        while self.current.is_some() {
            self.read().await?;
        }
        // Claude Code can begin turns on its own. Messages of such a turn do not answer this prompt and are discarded.
        while let Some(event) = self.events.try_next() {
            if let Event::Closed(closed) = event {
                return Err(Error::Disconnected(closed.reason().into()));
            }
        }
        let id = uuid();
        let input = UserInput { uuid: Some(id.clone()), ..UserInput::from(content) };
        // Must be set before sending: if this call is cancelled, the prompt may still have been sent.
        self.current = Some(id.clone());
        self.connection.send(input).await?;
        Ok(ClaudeTurn { client: self, id, ended: false })
    }

    /// Reads the next message. The result of the current prompt ends its turn.
    async fn read(&mut self) -> Result<ClaudeMessage, Error> {
        loop {
            let message = match self.events.next().await {
                Some(Event::Message(message)) => message,
                Some(Event::Closed(closed)) => {
                    self.current = None;
                    return Err(Error::Disconnected(closed.reason().into()));
                }
                None => {
                    self.current = None;
                    return Err(self.connection.exit_error().await);
                }
                Some(_) => continue,
            };
            if let (ClaudeMessage::Result(result), Some(current)) = (&message, &self.current) {
                // Newer versions report the id of the prompt that a result belongs to.
                let whose = &result.user_message_uuids;
                if !whose.is_empty() && !whose.contains(current) {
                    continue;
                }
                self.current = None;
            }
            return Ok(message);
        }
    }

    /// Ends Claude Code and waits until it has exited.
    pub async fn close(mut self) {
        self.connection.close();
        while let Some(event) = self.events.next().await {
            if matches!(event, Event::Closed(_)) {
                return;
            }
        }
    }
}

impl Deref for ClaudeClient {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

/// Turn of a conversation: its messages up to the result.
#[derive(Debug)]
pub struct ClaudeTurn<'a> {
    client: &'a mut ClaudeClient,
    id: String,
    ended: bool,
}

impl ClaudeTurn<'_> {
    /// Returns the id of the prompt, for use with [`rewind_files`](Connection::rewind_files).
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Reads the next message. The [result](ClaudeMessage::Result) is the last message of the turn. Later calls return
    /// `None`.
    ///
    /// # Errors
    ///
    /// Fails if Claude Code exits before the turn has ended.
    pub async fn next(&mut self) -> Option<Result<ClaudeMessage, Error>> {
        if self.ended {
            return None;
        }
        let message = self.client.read().await;
        self.ended = self.client.current.is_none();
        Some(message)
    }

    /// Reads the turn to its end and returns the result.
    ///
    /// # Errors
    ///
    /// Fails if Claude Code exits before the turn has ended, or if [`next`](Self::next) has read the turn to its end.
    pub async fn result(mut self) -> Result<TurnResult, Error> {
        while let Some(message) = self.next().await {
            if let ClaudeMessage::Result(result) = message? {
                return Ok(*result);
            }
        }
        Err(Error::TurnAlreadyRead)
    }

    /// Reads the turn to its end and returns the text of the model.
    ///
    /// # Errors
    ///
    /// Fails if Claude Code exits before the turn has ended.
    pub async fn text(mut self) -> Result<String, Error> {
        let mut text = String::new();
        while let Some(message) = self.next().await {
            if let ClaudeMessage::Assistant(said) = message? {
                for block in said.message.content {
                    if let ContentBlock::Text(words) = block {
                        text.push_str(&words);
                    }
                }
            }
        }
        Ok(text)
    }

    /// Interrupts the turn. The turn still ends with a result, which reports the interrupt.
    ///
    /// # Errors
    ///
    /// See [`Connection::interrupt`].
    pub async fn interrupt(&self) -> Result<(), Error> {
        self.client.connection.interrupt().await.map(drop)
    }
}
