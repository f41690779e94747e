//! What an agent says, and what it means for the space.

use serde_json::{Value, json};
use wh_core::space::harness::{Named, Report};
use wh_core::space::item::Level;
use wh_wire::acp::{self, Chunk, PermissionRequest, SessionUpdate, Update, read};

use super::super::items::Voice;
use super::super::questions::{self, Open};
use super::{Done, Live, Unheard};
use crate::rpc::Incoming;

impl Live<'_> {
    pub(super) async fn incoming(&mut self, incoming: Incoming) -> Result<(), Unheard> {
        match incoming {
            Incoming::Request { id, method, params } => self.asked(id, &method, params).await,
            Incoming::Notification { method, params } => match method.as_str() {
                "session/update" => self.update(read(params)).await,
                "$/cancel_request" => self.cancelled(&params["requestId"]).await,
                _ => {
                    tracing::debug!(method, "an unknown notification");
                    Ok(())
                }
            },
            Incoming::Skipped { bytes } => {
                let title = &self.entry.title;
                self.warn(format!(
                    "{title} wrote a line of {bytes} bytes, which is too long to be read; it was passed over"
                ))
                .await
            }
            Incoming::Unreadable(error) => {
                self.warn(format!("{} wrote what cannot be read: {error}; it was passed over", self.entry.title)).await
            }
            // The loop sees to it.
            Incoming::Closed(_) => Ok(()),
        }
    }

    /// The first sign that it works on the prompt.
    pub(super) async fn begun(&mut self) -> Result<(), Unheard> {
        if !self.astray {
            self.delivered().await?;
        }
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.written && !turn.begun) else { return Ok(()) };
        turn.begun = true;
        let id = turn.id.clone();
        self.tell(Report::Submitted(id.clone())).await?;
        self.tell(Report::Started(id)).await
    }

    async fn update(&mut self, news: SessionUpdate) -> Result<(), Unheard> {
        // A subagent's session is its own; what it does is within a call of this one.
        if news.session_id.is_some_and(|session| session != self.session) {
            return Ok(());
        }
        match news.update {
            Update::AgentMessage(chunk) => match self.mode_in(&chunk) {
                Some(mode) => self.mode(mode).await,
                None => self.chunk(Voice::Said, chunk).await,
            },
            Update::AgentThought(chunk) => self.chunk(Voice::Thought, chunk).await,
            Update::ToolCall(call) | Update::ToolCallUpdate(call) => {
                if self.replays {
                    return Ok(());
                }
                self.begun().await?;
                let reports = self.memory.items.call(*call);
                self.tell_all(reports).await
            }
            Update::Plan(entries) => {
                if self.replays {
                    return Ok(());
                }
                self.begun().await?;
                let reports = self.memory.items.plan(&entries);
                self.tell_all(reports).await
            }
            Update::AvailableCommands(commands) => {
                self.commands = commands
                    .into_iter()
                    .map(|command| Named {
                        id: command.name.trim_start_matches('/').to_owned(),
                        title: command.description.lines().next().unwrap_or_default().to_owned(),
                    })
                    .collect();
                self.ready().await
            }
            Update::CurrentMode(mode) => self.mode(mode).await,
            Update::ConfigOptions(reply) => {
                self.settings.learn(&reply);
                self.ready().await?;
                self.leave_unallowed().await
            }
            Update::Usage(news) => {
                let usage = &mut self.memory.usage;
                usage.context_tokens = news.used.or(usage.context_tokens);
                usage.context_limit = news.size.or(usage.context_limit);
                usage.cost = news.cost.filter(|cost| cost.currency == "USD").map(|cost| cost.amount).or(usage.cost);
                self.tell(Report::Usage(self.memory.usage)).await
            }
            Update::Notice(notice) => {
                let level = match notice.level {
                    acp::Level::Warning => Level::Warning,
                    acp::Level::Error => Level::Error,
                    acp::Level::Info | acp::Level::Other(_) => Level::Info,
                };
                if notice.message.is_empty() {
                    return Ok(());
                }
                self.tell(Report::Notice(level, notice.message)).await
            }
            Update::Compaction(news) => self.compaction(&news).await,
            // A user's words are the space's own; only an old conversation has them again. A title is for lists, which
            // are asked for.
            Update::UserMessage(_) | Update::SessionInfo { .. } => Ok(()),
            Update::Unknown { kind, raw } => {
                tracing::debug!(kind, %raw, "an unknown update");
                Ok(())
            }
        }
    }

    async fn chunk(&mut self, voice: Voice, chunk: Chunk) -> Result<(), Unheard> {
        if self.replays {
            return Ok(());
        }
        self.begun().await?;
        let reports = self.memory.items.chunk(voice, chunk);
        self.tell_all(reports).await
    }

    /// The conversation is made shorter, or was.
    async fn compaction(&mut self, news: &Value) -> Result<(), Unheard> {
        if self.replays {
            return Ok(());
        }
        let (level, words) = match news["status"].as_str() {
            Some("in_progress") => (Level::Info, "making the conversation shorter".to_owned()),
            Some("completed") => (Level::Info, "the conversation was made shorter".to_owned()),
            Some("failed" | "cancelled") => {
                let why = news["error"].as_str().map(|why| format!(": {why}")).unwrap_or_default();
                (Level::Warning, format!("the conversation was not made shorter{why}"))
            }
            // The summary is for the model.
            _ => return Ok(()),
        };
        self.tell(Report::Notice(level, words)).await
    }

    /// The mode that a message is about, with agents that say it so.
    fn mode_in(&self, chunk: &Chunk) -> Option<String> {
        let words = chunk.content.words();
        let mode = words.strip_prefix(self.entry.quirks.mode_in_words.as_deref()?)?;
        Some(mode.trim().to_owned())
    }

    async fn mode(&mut self, mode: String) -> Result<(), Unheard> {
        if self.settings.modes.current.as_ref() == Some(&mode) {
            return Ok(());
        }
        self.settings.modes.current = Some(mode);
        self.ready().await?;
        self.leave_unallowed().await
    }

    /// Brings it out of a mode that skips permissions where nobody has allowed one: back into the one that was chosen, or
    /// into its first other one.
    pub(super) async fn leave_unallowed(&mut self) -> Result<(), Unheard> {
        let modes = &self.settings.modes;
        let Some(mode) = modes.current.as_ref().filter(|mode| !self.may_skip && self.entry.skips(mode)) else {
            return Ok(());
        };
        let text = format!("{} went into its mode {mode:?}, which skips permissions", self.entry.title);
        let chosen = self.memory.mode.as_ref().filter(|mode| modes.has(mode) && !self.entry.skips(mode));
        let first = || modes.all.iter().map(|mode| &mode.id).find(|mode| !self.entry.skips(mode));
        let Some(careful) = chosen.or_else(first).cloned() else {
            return self.warn(format!("{text}; it has no other")).await;
        };
        let (method, params) = self.settings.mode(&self.session, &careful);
        self.warn(format!("{text}, and is brought back into {careful:?}; to let it, {}", super::super::ALLOW)).await?;
        self.aside(move |peer| async move {
            let outcome = peer.request(method, params).await;
            Done::Mode(careful, outcome)
        });
        Ok(())
    }

    async fn asked(&mut self, id: Value, method: &str, params: Value) -> Result<(), Unheard> {
        // That an answer cannot be written is told by the agent's end, which follows.
        match method {
            "session/request_permission" => self.permission(id, read(params)).await?,
            "elicitation/create" => match Open::form(id.clone(), &self.entry.title, &params) {
                Some(open) => self.ask(open).await?,
                None => drop(self.peer.answer(&id, questions::declined()).await),
            },
            told if self.entry.quirks.told.iter().any(|one| one == told) => {
                drop(self.peer.answer(&id, json!({})).await)
            }
            other => drop(self.peer.unknown(&id, other).await),
        }
        Ok(())
    }

    async fn permission(&mut self, id: Value, request: PermissionRequest) -> Result<(), Unheard> {
        self.begun().await?;
        let call = request.tool_call.tool_call_id.clone();
        let reports = self.memory.items.call(request.tool_call);
        self.tell_all(reports).await?;
        if self.turn.as_ref().is_some_and(|turn| turn.interrupted.is_some()) {
            drop(self.peer.answer(&id, questions::cancelled()).await);
            return Ok(());
        }
        let none = Default::default();
        let told = self.memory.items.told(&call).unwrap_or(&none);
        let hidden = if self.may_skip { &[][..] } else { &self.entry.skipping };
        match Open::permission(id.clone(), &self.entry.title, (&call, told), request.options, hidden) {
            Some(open) => self.ask(open).await,
            None => {
                drop(self.peer.answer(&id, questions::cancelled()).await);
                self.warn(format!("{} asked for a permission and gave nothing to choose from", self.entry.title)).await
            }
        }
    }

    async fn ask(&mut self, open: Open) -> Result<(), Unheard> {
        self.memory.questions += 1;
        let key = format!("question-{}", self.memory.questions);
        let question = open.question.clone();
        self.open.push((key.clone(), open));
        self.tell(Report::Asked { key, question }).await
    }

    /// The agent no longer wants to know.
    async fn cancelled(&mut self, id: &Value) -> Result<(), Unheard> {
        let Some(place) = self.open.iter().position(|(_, open)| open.id == *id) else { return Ok(()) };
        let (key, _) = self.open.remove(place);
        drop(self.peer.refuse(id, acp::CANCELLED, "cancelled").await);
        self.tell(Report::Withdrew(key)).await
    }
}
