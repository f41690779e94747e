//! Restores a space from the stored items of an earlier run. Unfinished items are closed, because their agents no
//! longer run. New ids differ from all stored ids.

use std::sync::Arc;
use std::time::SystemTime;

use super::super::item::{Item, ItemBody, ItemProgress, NoticeLevel};
use super::super::items;
use super::super::name::ParticipantId;
use super::super::question::QuestionCloseReason;
use super::super::state;
use super::messages::QueuedMessage;
use super::{IdCounters, Now, SpaceEffect, SpaceMachine};

/// Upper limit of the numbers in ids. No space can assign such a high number.
const MAX_ID_NUMBER: u64 = 1 << 53;

impl SpaceMachine {
    /// Restores a space with the stored items, in their order. Unfinished items are closed as at the end of a turn, and
    /// open questions are withdrawn. The conversation shows `notice`. Returns the space and the effects of its
    /// creation. Restored items are part of the state, without an event.
    pub fn restore(
        name: &str,
        me: ParticipantId,
        RestoredSpace { items, queued, was_running, epoch }: RestoredSpace,
        notice: Option<&str>,
        now: Now,
    ) -> (Self, Vec<SpaceEffect>) {
        let (mut space, mut effects) = Self::new(name, me, now);
        let mut withdrawn = 0;
        space.requeued = queued;
        space.own_ids = format!("wh-{epoch}-");
        let mut newest = SystemTime::UNIX_EPOCH;
        let mut items: Vec<Arc<Item>> = items.into_iter().map(Arc::new).collect();
        for item in &mut items {
            // Earlier versions did not store the times of listing.
            let at = item.at;
            items::assign_listing_times(item, &mut newest, at, 0);
        }
        // Envelopes that the restart adds are listed after all stored envelopes.
        let at = now.time.max(newest);
        space.state.items.list_after(newest);
        for item in items {
            space.counters.advance_past(&item);
            let item = Arc::unwrap_or_clone(item);
            let waits = item.progress == ItemProgress::Queued && space.has_queued_message(&item);
            let (item, was_asked) = if waits { (item, false) } else { finish_item(item) };
            withdrawn += usize::from(was_asked);
            space.state.put_at(Arc::new(item), at, 0);
        }
        let turn_numbers =
            space.requeued.iter().filter_map(|queued| queued.turn.as_ref()).map(|turn| number(turn.as_str()));
        space.counters.turns = space.counters.turns.max(turn_numbers.max().unwrap_or(0));
        if was_running {
            space.counters.items += MAX_UNSTORED_IDS;
            space.counters.turns += MAX_UNSTORED_IDS;
        }
        if let Some(notice) = notice {
            let mut lines = vec![notice.to_owned()];
            match withdrawn {
                0 => {}
                1 => lines.push("An open question was withdrawn: its agent is no longer running.".to_owned()),
                many => {
                    lines.push(format!("{many} open questions were withdrawn: their agents are no longer running."))
                }
            }
            space.notice(NoticeLevel::Warning, "restarted", lines);
        }
        effects.append(&mut space.effects);
        (space, effects)
    }
}

/// Number of ids that are skipped after a crash, because the latest assigned ids may not have been stored.
const MAX_UNSTORED_IDS: u64 = 1000;

/// Stored state of an earlier run of a space.
#[derive(Debug, Default)]
pub struct RestoredSpace {
    /// Stored items, in the order of creation.
    pub items: Vec<Item>,
    /// Messages that no agent has received, in the order of acceptance.
    pub queued: Vec<QueuedMessage>,
    /// True if the earlier run ended without a shutdown. It may then have assigned ids that were not stored.
    pub was_running: bool,
    /// Number of this run. It is part of generated request ids, which therefore differ from those of earlier runs.
    pub epoch: u64,
}

impl SpaceMachine {
    /// True if the item shows a queued message. Assigns the item to the message, because each message has one item.
    fn has_queued_message(&mut self, item: &Item) -> bool {
        let ItemBody::Text { text, .. } = &item.body else { return false };
        let shows = |queued: &&mut QueuedMessage| {
            queued.item.is_none() && queued.by == item.from && super::messages::shown_message(&queued.text) == *text
        };
        match self.requeued.iter_mut().find(shows) {
            Some(queued) => {
                queued.item = Some(item.id.clone());
                true
            }
            None => false,
        }
    }
}

impl IdCounters {
    /// Advances the counters, so that the numbers in the item's ids are not assigned again.
    fn advance_past(&mut self, item: &Item) {
        self.items = self.items.max(number(item.id.as_str()));
        let turns = item.turn.iter().chain(&item.starts).map(|turn| number(turn.as_str())).max();
        self.turns = self.turns.max(turns.unwrap_or(0));
        if let ItemBody::Act { payload, .. } = &item.body {
            self.streams = self.streams.max(payload["stream_id"].as_str().map_or(0, number));
        }
    }
}

/// Returns the number at the end of an id; 0 if there is none, or if the number is not below [`MAX_ID_NUMBER`].
fn number(name: &str) -> u64 {
    let digits = name.len() - name.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
    name[name.len() - digits..].parse().ok().filter(|number| *number < MAX_ID_NUMBER).unwrap_or(0)
}

/// Closes an unfinished item. Returns the closed item, and true if the item was an open question.
fn finish_item(mut item: Item) -> (Item, bool) {
    if item.progress == ItemProgress::Queued {
        // The message is not among the stored queued messages, so it was delivered. Its progress was not stored in
        // time.
        item.progress = ItemProgress::Done;
    }
    let over = item.progress != ItemProgress::Growing;
    match &mut item.body {
        ItemBody::Question { closing: closing @ None, .. } if item.progress != ItemProgress::Retracted => {
            *closing = Some(QuestionCloseReason::Withdrawn);
            item.progress = item.progress.max(ItemProgress::Done);
            (item, true)
        }
        _ if over => (item, false),
        _ => (state::cut(item), false),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Instant, SystemTime};

    use serde_json::json;

    use super::super::super::item::{Attachment, ToolCall, ToolKind, ToolStatus};
    use super::super::super::name::{ItemId, TurnId};
    use super::super::super::tests::permission;
    use super::*;

    fn item(id: &str, turn: Option<&str>, body: ItemBody, progress: ItemProgress) -> Item {
        let (from, at) = (ParticipantId::from("demo"), SystemTime::UNIX_EPOCH);
        Item {
            id: id.into(),
            from,
            to: None,
            turn: turn.map(TurnId::from),
            at,
            body,
            progress,
            extent: None,
            listed: Vec::new(),
            starts: Vec::new(),
        }
    }

    fn text(text: &str) -> ItemBody {
        ItemBody::Text { text: text.to_owned(), attachments: Vec::<Attachment>::new() }
    }

    fn restored(items: Vec<Item>, notice: Option<&str>) -> (SpaceMachine, Vec<SpaceEffect>) {
        let now = Now { steady: Instant::now(), time: SystemTime::UNIX_EPOCH };
        SpaceMachine::restore("test", "human".into(), RestoredSpace { items, ..RestoredSpace::default() }, notice, now)
    }

    #[test]
    fn unfinished_items_are_cut_and_open_questions_withdrawn() {
        let call = ToolCall {
            name: "t".to_owned(),
            title: "T".to_owned(),
            kind: ToolKind::Other,
            input: json!({}),
            status: ToolStatus::Running,
            output: Vec::new(),
        };
        let items = vec![
            item("m1", None, text("go"), ItemProgress::Done),
            item("i2", Some("turn-1"), text("half a sen"), ItemProgress::Growing),
            item("i3", Some("turn-1"), ItemBody::Tool(call), ItemProgress::Growing),
            item(
                "q4",
                Some("turn-1"),
                ItemBody::Question { question: permission(), closing: None },
                ItemProgress::Growing,
            ),
            item("i5", Some("turn-1"), text("taken back"), ItemProgress::Retracted),
        ];
        let (space, effects) = restored(items.clone(), Some("It was restarted."));
        let state = space.state();
        state.check().unwrap();
        let now: Vec<(&str, ItemProgress)> = state.items.iter().map(|one| (one.id.as_str(), one.progress)).collect();
        let (done, cut, retracted) = (ItemProgress::Done, ItemProgress::Cut, ItemProgress::Retracted);
        assert_eq!(now, [("m1", done), ("i2", cut), ("i3", cut), ("q4", done), ("i5", retracted), ("n6", done)]);
        let body = |id: &str| state.items.get(&ItemId::from(id)).unwrap().body.clone();
        assert!(matches!(body("i3"), ItemBody::Tool(call) if call.status == ToolStatus::Cancelled));
        assert!(matches!(body("q4"), ItemBody::Question { closing: Some(QuestionCloseReason::Withdrawn), .. }));
        let ItemBody::Notice { lines, .. } = body("n6") else { panic!("a notice") };
        assert_eq!(lines[0], "It was restarted.");
        assert!(lines[1].contains("withdrawn"), "{lines:?}");
        let published = effects.iter().filter(|effect| matches!(effect, SpaceEffect::Publish(_))).count();
        assert_eq!(published, 3, "two who joined, and the notice: {effects:?}");
        assert!(restored(items, None).0.state().items.len() == 5);
    }

    #[test]
    fn new_ids_follow_the_restored_ones() {
        let act = ItemBody::Act {
            kind: "stream/open".to_owned(),
            payload: json!({ "stream_id": "stream-7" }),
            about: vec![],
        };
        let items = vec![
            item("m40", Some("turn-9"), text("a"), ItemProgress::Done),
            item("a3", None, act, ItemProgress::Done),
            item("m18446744073709551615", Some("turn-x"), text("b"), ItemProgress::Done),
            item("ä", None, text("c"), ItemProgress::Done),
            item("", None, text("d"), ItemProgress::Done),
        ];
        let (mut space, _) = restored(items, None);
        assert_eq!(space.item_id('m').as_str(), "m41");
        assert_eq!(space.turn_id().as_str(), "turn-10");
        assert_eq!(space.stream_id().as_str(), "stream-8");
    }
}
