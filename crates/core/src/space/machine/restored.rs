//! A space that begins with what was said in an earlier life of it. All of that is over: nobody is left who could finish
//! it, and nothing new gets a name that something old has.

use std::sync::Arc;
use std::time::SystemTime;

use super::super::item::{Body, Item, Level, Progress};
use super::super::items;
use super::super::name::ParticipantId;
use super::super::question::Closing;
use super::super::state;
use super::messages::QueuedMessage;
use super::{Counters, Effect, Now, Space};

/// Numbers in names are counted up to here; no space ever comes so far by itself.
const HIGHEST: u64 = 1 << 53;

impl Space {
    /// A space that begins with these items, in this order: what was unfinished is cut as at the end of a turn, and open
    /// questions are withdrawn. `notice`: what people are told about it, if anything. What happened comes back as from
    /// [`Space::new`]; the items are in the state, and are no events.
    pub fn restore(
        name: &str,
        me: ParticipantId,
        Left { items, queued, was_running, epoch }: Left,
        notice: Option<&str>,
        now: Now,
    ) -> (Self, Vec<Effect>) {
        let (mut space, mut effects) = Self::new(name, me, now);
        let mut withdrawn = 0;
        space.requeued = queued;
        space.own_ids = format!("wh-{epoch}-");
        let mut newest = SystemTime::UNIX_EPOCH;
        let mut items: Vec<Arc<Item>> = items.into_iter().map(Arc::new).collect();
        for item in &mut items {
            // An earlier version did not store when envelopes were listed.
            let at = item.at;
            items::list(item, &mut newest, at, 0);
        }
        // What ends by the restart is listed now, after all that was listed before.
        let at = now.time.max(newest);
        space.state.items.list_after(newest);
        for item in items {
            space.counters.pass(&item);
            let item = Arc::unwrap_or_clone(item);
            let waits = item.progress == Progress::Queued && space.claims(&item);
            let (item, was_asked) = if waits { (item, false) } else { settled(item) };
            withdrawn += usize::from(was_asked);
            space.state.put_at(Arc::new(item), at, 0);
        }
        let told = space.requeued.iter().filter_map(|queued| queued.turn.as_ref()).map(|turn| number(turn.as_str()));
        space.counters.turns = space.counters.turns.max(told.max().unwrap_or(0));
        if was_running {
            space.counters.items += UNSTORED_IDS;
            space.counters.turns += UNSTORED_IDS;
        }
        if let Some(notice) = notice {
            let mut lines = vec![notice.to_owned()];
            match withdrawn {
                0 => {}
                1 => lines.push("A question was withdrawn: whoever asked it no longer waits.".to_owned()),
                many => lines.push(format!("{many} questions were withdrawn: whoever asked them no longer waits.")),
            }
            space.notice(Level::Warning, "restarted", lines);
        }
        effects.append(&mut space.effects);
        (space, effects)
    }
}

/// Ids that are left out after a crash: some that were given out just before it were not stored.
const UNSTORED_IDS: u64 = 1000;

/// State of an earlier life of a space.
#[derive(Debug, Default)]
pub struct Left {
    /// Its items, in order.
    pub items: Vec<Item>,
    /// Messages that no agent was given, in order.
    pub queued: Vec<QueuedMessage>,
    /// It was running when the earlier life ended, which may have given out ids that were not stored.
    pub was_running: bool,
    /// The number of this life, so that commands without an id get one that no earlier life has given.
    pub epoch: u64,
}

impl Space {
    /// True if an item shows a message that waits. Each message has one.
    fn claims(&mut self, item: &Item) -> bool {
        let Body::Text { text, .. } = &item.body else { return false };
        let shows = |queued: &&mut QueuedMessage| {
            queued.item.is_none() && queued.by == item.from && super::messages::shown(&queued.text) == *text
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

impl Counters {
    /// Goes past the numbers of an item, and of what it names.
    fn pass(&mut self, item: &Item) {
        self.items = self.items.max(number(item.id.as_str()));
        let turns = item.turn.iter().chain(&item.starts).map(|turn| number(turn.as_str())).max();
        self.turns = self.turns.max(turns.unwrap_or(0));
        if let Body::Act { payload, .. } = &item.body {
            self.streams = self.streams.max(payload["stream_id"].as_str().map_or(0, number));
        }
    }
}

/// The number at a name's end. One that is out of all reach counts as none: it is never come to.
fn number(name: &str) -> u64 {
    let digits = name.len() - name.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
    name[name.len() - digits..].parse().ok().filter(|number| *number < HIGHEST).unwrap_or(0)
}

/// The item, over; and whether it was a question that waited.
fn settled(mut item: Item) -> (Item, bool) {
    if item.progress == Progress::Queued {
        // It is not among the messages that wait: an agent was given it, and that was not stored in time.
        item.progress = Progress::Done;
    }
    let over = item.progress != Progress::Growing;
    match &mut item.body {
        Body::Question { closing: closing @ None, .. } if item.progress != Progress::Retracted => {
            *closing = Some(Closing::Withdrawn);
            item.progress = item.progress.max(Progress::Done);
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

    fn item(id: &str, turn: Option<&str>, body: Body, progress: Progress) -> Item {
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

    fn text(text: &str) -> Body {
        Body::Text { text: text.to_owned(), attachments: Vec::<Attachment>::new() }
    }

    fn restored(items: Vec<Item>, notice: Option<&str>) -> (Space, Vec<Effect>) {
        let now = Now { steady: Instant::now(), time: SystemTime::UNIX_EPOCH };
        Space::restore("test", "human".into(), Left { items, ..Left::default() }, notice, now)
    }

    #[test]
    fn what_was_unfinished_is_cut_and_what_was_asked_is_withdrawn() {
        let call = ToolCall {
            name: "t".to_owned(),
            title: "T".to_owned(),
            kind: ToolKind::Other,
            input: json!({}),
            status: ToolStatus::Running,
            output: Vec::new(),
        };
        let items = vec![
            item("m1", None, text("go"), Progress::Done),
            item("i2", Some("turn-1"), text("half a sen"), Progress::Growing),
            item("i3", Some("turn-1"), Body::Tool(call), Progress::Growing),
            item("q4", Some("turn-1"), Body::Question { question: permission(), closing: None }, Progress::Growing),
            item("i5", Some("turn-1"), text("taken back"), Progress::Retracted),
        ];
        let (space, effects) = restored(items.clone(), Some("It was restarted."));
        let state = space.state();
        state.check().unwrap();
        let now: Vec<(&str, Progress)> = state.items.iter().map(|one| (one.id.as_str(), one.progress)).collect();
        let (done, cut, retracted) = (Progress::Done, Progress::Cut, Progress::Retracted);
        assert_eq!(now, [("m1", done), ("i2", cut), ("i3", cut), ("q4", done), ("i5", retracted), ("n6", done)]);
        let body = |id: &str| state.items.get(&ItemId::from(id)).unwrap().body.clone();
        assert!(matches!(body("i3"), Body::Tool(call) if call.status == ToolStatus::Cancelled));
        assert!(matches!(body("q4"), Body::Question { closing: Some(Closing::Withdrawn), .. }));
        let Body::Notice { lines, .. } = body("n6") else { panic!("a notice") };
        assert_eq!(lines[0], "It was restarted.");
        assert!(lines[1].contains("withdrawn"), "{lines:?}");
        let told = effects.iter().filter(|effect| matches!(effect, Effect::Publish(_))).count();
        assert_eq!(told, 3, "two who joined, and the notice: {effects:?}");
        assert!(restored(items, None).0.state().items.len() == 5);
    }

    #[test]
    fn new_names_come_after_the_old_whatever_these_are() {
        let act =
            Body::Act { kind: "stream/open".to_owned(), payload: json!({ "stream_id": "stream-7" }), about: vec![] };
        let items = vec![
            item("m40", Some("turn-9"), text("a"), Progress::Done),
            item("a3", None, act, Progress::Done),
            item("m18446744073709551615", Some("turn-x"), text("b"), Progress::Done),
            item("ä", None, text("c"), Progress::Done),
            item("", None, text("d"), Progress::Done),
        ];
        let (mut space, _) = restored(items, None);
        assert_eq!(space.item_id('m').as_str(), "m41");
        assert_eq!(space.turn_id().as_str(), "turn-10");
        assert_eq!(space.stream_id().as_str(), "stream-8");
    }
}
