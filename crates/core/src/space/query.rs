//! Queries of the state of a space. Each query reads the state at one moment. Queries and answers are serialisable,
//! because the caller may be in another process.

use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::event::{AgentStatus, ParticipantRole};
use super::item::{Item, ItemBody, ItemProgress};
use super::name::ParticipantId;
use super::state::SpaceState;

/// Query of the state of a space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Query {
    /// Returns the revision of the state, by which a caller detects changes.
    Revision,
    /// Returns the status and settings of a participant.
    Participant(ParticipantId),
    /// Returns the open questions, oldest first.
    Questions,
    /// Returns the envelopes that match the filter.
    Envelopes(EnvelopeFilter),
    /// Returns the state without completed items and older turns, with the envelopes that match the filter. Both are
    /// read at the same moment.
    Outline(EnvelopeFilter),
    /// Returns the newest texts of users and agents, at most this number.
    History(usize),
}

/// Answer to a [`Query`]. Each variant answers the query with the same name.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum QueryAnswer {
    Revision(Revision),
    /// View of the participant; `None` if there is no such participant.
    Participant(Option<ParticipantView>),
    Questions(Vec<Arc<Item>>),
    Envelopes(Envelopes),
    Outline(Box<SpaceState>, Envelopes),
    /// Texts of users and agents, oldest first.
    History(Vec<HistoryMessage>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision {
    /// Number that increases with every change of the state.
    pub number: u64,
    /// Start time of the thought in progress. The duration of the thought changes without a new revision.
    pub reasoning_since: Option<SystemTime>,
}

/// Status and settings of a participant for the list of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParticipantView {
    /// Status of the participant's session, if the participant has one.
    pub status: Option<AgentStatus>,
    pub model: Option<String>,
    pub mode: Option<String>,
    /// Number of open questions of all participants in the space.
    pub open_questions: usize,
}

/// Filter for the envelopes of a space.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct EnvelopeFilter {
    /// Maximum number of envelopes: the first ones after `since`, or the newest ones without `since`. If `kind` or
    /// `from` is set, the caller applies the maximum after these filters.
    pub limit: Option<usize>,
    /// Lower bound of the listing time: envelopes listed at this time or earlier are excluded.
    pub since: Option<SystemTime>,
    /// Kind that an envelope must have. The caller applies this filter.
    pub kind: Option<String>,
    /// Sender that an envelope must have. The caller applies this filter.
    pub from: Option<String>,
}

/// Envelopes of a space. Each entry is an item and the index of the envelope in the item.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Envelopes {
    /// Envelopes in the order of listing. The caller must still apply the filters `kind` and `from`.
    pub listed: Vec<(Arc<Item>, usize)>,
    /// Number of all listed envelopes in the space.
    pub total: usize,
}

/// Text of a user or an agent in the history of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryMessage {
    pub speaker: Speaker,
    pub item: Arc<Item>,
}

/// Sender of a message: user or agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Speaker {
    Human,
    Agent,
}

impl SpaceState {
    pub fn answer(&self, query: &Query) -> QueryAnswer {
        match query {
            Query::Revision => QueryAnswer::Revision(self.revision()),
            Query::Participant(id) => QueryAnswer::Participant(self.participant_view(id)),
            Query::Questions => QueryAnswer::Questions(self.questions().cloned().collect()),
            Query::Envelopes(filter) => QueryAnswer::Envelopes(self.envelopes(filter)),
            Query::Outline(filter) => QueryAnswer::Outline(Box::new(self.outline()), self.envelopes(filter)),
            Query::History(most) => QueryAnswer::History(self.history(*most)),
        }
    }

    pub fn revision(&self) -> Revision {
        Revision { number: self.revision, reasoning_since: self.reasoning().map(|item| item.at) }
    }

    fn participant_view(&self, id: &ParticipantId) -> Option<ParticipantView> {
        let participant = self.participants.get(id)?;
        Some(ParticipantView {
            status: participant.session.clone(),
            model: participant.capabilities.model.clone(),
            mode: participant.capabilities.mode.clone(),
            open_questions: self.questions().count(),
        })
    }

    fn envelopes(&self, filter: &EnvelopeFilter) -> Envelopes {
        let envelopes = self.items.envelopes(filter.since).map(|(item, place)| (Arc::clone(item), place));
        let listed = match filter.limit {
            // If `kind` or `from` is set, the caller filters the envelopes and then applies the limit.
            Some(limit) if filter.kind.is_none() && filter.from.is_none() && filter.since.is_some() => {
                envelopes.take(limit).collect()
            }
            Some(limit) if filter.kind.is_none() && filter.from.is_none() => {
                let mut newest: Vec<_> = envelopes.rev().take(limit).collect();
                newest.reverse();
                newest
            }
            _ => envelopes.collect(),
        };
        Envelopes { listed, total: self.items.envelope_count() }
    }

    /// Returns a copy of the state with only the growing items, the running turns and the last turn of each
    /// participant.
    fn outline(&self) -> Self {
        let mut outline = Self::new(&self.name, self.me.clone());
        outline.participants.clone_from(&self.participants);
        for item in self.items.growing() {
            outline.items.put(Arc::clone(item), item.at, 0);
        }
        let newest = self.participants.keys().filter_map(|id| self.last_turn(id));
        let open = self.turns.iter().filter(|(_, turn)| turn.end.is_none());
        outline.copy_turns(newest.chain(open).map(|(id, turn)| (id.clone(), turn.clone())));
        outline.acknowledgements.clone_from(&self.acknowledgements);
        outline.streams.clone_from(&self.streams);
        outline.frames.clone_from(&self.frames);
        outline.targets.clone_from(&self.targets);
        (outline.envelopes, outline.revision) = (self.envelopes, self.revision);
        outline
    }

    fn history(&self, most: usize) -> Vec<HistoryMessage> {
        let message = |item: &Arc<Item>| {
            let ItemBody::Text { text, .. } = &item.body else { return None };
            let speaker = match self.participants.get(&item.from).map(|one| one.role) {
                Some(ParticipantRole::Human) => Speaker::Human,
                Some(ParticipantRole::Agent) => Speaker::Agent,
                Some(ParticipantRole::System) => return None,
                // Unknown participant: an item in a turn was written by an agent.
                None if item.turn.is_some() => Speaker::Agent,
                None => Speaker::Human,
            };
            // A message of a user that was not delivered is not part of the history.
            let unsent = speaker == Speaker::Human && matches!(item.progress, ItemProgress::Queued | ItemProgress::Cut);
            let left_out = unsent || item.progress == ItemProgress::Retracted || text.is_empty();
            (!left_out).then(|| HistoryMessage { speaker, item: Arc::clone(item) })
        };
        let mut newest: Vec<HistoryMessage> = self.items.iter().rev().filter_map(message).take(most).collect();
        newest.reverse();
        newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::event::{Activity, Evidence, SpaceEvent};
    use crate::space::question::{Question, QuestionKind};

    const AT: SystemTime = SystemTime::UNIX_EPOCH;

    fn item(id: &str, progress: ItemProgress, body: ItemBody) -> Arc<Item> {
        Arc::new(Item {
            id: id.into(),
            from: "human".into(),
            to: None,
            turn: None,
            at: AT,
            body,
            progress,
            extent: None,
            listed: Vec::new(),
            starts: Vec::new(),
        })
    }

    fn text(id: &str, progress: ItemProgress) -> Arc<Item> {
        item(id, progress, ItemBody::Text { text: id.to_owned(), attachments: Vec::new() })
    }

    fn question(id: &str) -> Arc<Item> {
        let question = Question {
            kind: QuestionKind::Permission,
            title: "May I?".to_owned(),
            details: Vec::new(),
            options: Vec::new(),
            accepts_text: false,
            preselects: false,
        };
        item(id, ItemProgress::Growing, ItemBody::Question { question, closing: None })
    }

    fn state() -> SpaceState {
        let mut state = SpaceState::new("test", "human".into());
        state.apply(&SpaceEvent::Joined("human".into(), ParticipantRole::Human), AT);
        state.apply(&SpaceEvent::Joined("agent".into(), ParticipantRole::Agent), AT);
        let status = AgentStatus {
            activity: Activity::Idle,
            evidence: Evidence::Protocol,
            since: AT,
            observation: None,
            waits_for: None,
        };
        state.apply(&SpaceEvent::Session("agent".into(), status), AT);
        for (id, progress) in [
            ("one", ItemProgress::Done),
            ("queued", ItemProgress::Queued),
            ("never sent", ItemProgress::Cut),
            ("two", ItemProgress::Done),
        ] {
            state.put(text(id, progress));
        }
        state.put(question("q"));
        state
    }

    #[test]
    fn the_history_has_the_newest_delivered_texts() {
        let QueryAnswer::History(messages) = state().answer(&Query::History(usize::MAX)) else { panic!() };
        let ids: Vec<&str> = messages.iter().map(|one| one.item.id.as_str()).collect();
        assert_eq!(ids, ["one", "two"]);
        let QueryAnswer::History(messages) = state().answer(&Query::History(1)) else { panic!() };
        assert_eq!(messages.len(), 1);
        assert_eq!((messages[0].item.id.as_str(), messages[0].speaker), ("two", Speaker::Human));
    }

    #[test]
    fn an_outline_has_everything_except_complete_items() {
        let whole = state();
        let filter = EnvelopeFilter { limit: Some(1), ..EnvelopeFilter::default() };
        let QueryAnswer::Outline(outline, envelopes) = whole.answer(&Query::Outline(filter)) else { panic!() };
        assert_eq!(outline.participants, whole.participants);
        assert_eq!((outline.items.len(), outline.questions().count()), (1, 1));
        assert_eq!((outline.revision, outline.envelopes), (whole.revision, whole.envelopes));
        assert_eq!((envelopes.listed.len(), envelopes.total), (1, whole.items.envelope_count()));
        assert_eq!(outline.gauges(), whole.gauges());
    }

    #[test]
    fn envelopes_after_a_time_are_the_first_ones_and_without_a_time_the_newest() {
        let whole = state();
        let ids = |filter| {
            let QueryAnswer::Envelopes(envelopes) = whole.answer(&Query::Envelopes(filter)) else { panic!() };
            envelopes.listed.iter().map(|(item, _)| item.id.to_string()).collect::<Vec<_>>()
        };
        let limit = Some(1);
        let newest = ids(EnvelopeFilter { limit, ..EnvelopeFilter::default() });
        let first = ids(EnvelopeFilter { limit, since: Some(AT), ..EnvelopeFilter::default() });
        assert_ne!(newest, first);
        let filtered = ids(EnvelopeFilter { limit, kind: Some("chat".to_owned()), ..EnvelopeFilter::default() });
        assert_eq!(filtered.len(), whole.items.envelope_count(), "the kind is applied later");
    }

    #[test]
    fn a_query_and_its_answer_survive_being_serialised() {
        let whole = state();
        for query in [
            Query::Revision,
            Query::Participant("agent".into()),
            Query::Questions,
            Query::Envelopes(EnvelopeFilter::default()),
            Query::Outline(EnvelopeFilter { since: Some(AT), ..EnvelopeFilter::default() }),
            Query::History(7),
        ] {
            let read: Query = serde_json::from_str(&serde_json::to_string(&query).unwrap()).unwrap();
            assert_eq!(read, query);
            let answer = whole.answer(&query);
            let read: QueryAnswer = serde_json::from_str(&serde_json::to_string(&answer).unwrap()).unwrap();
            assert_eq!(format!("{read:?}"), format!("{answer:?}"));
        }
    }
}
