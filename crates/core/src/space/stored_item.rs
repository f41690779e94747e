//! Stored form of items: versioned JSON, readable after a restart and by other versions of `wh`.
//!
//! An unknown field is ignored, and a missing field has its default. An item whose body cannot be read is replaced by a
//! notice: no item of a conversation is lost because the format has changed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::item::{Item, ItemBody, ItemProgress, NoticeLevel};
use super::name::{ItemId, ParticipantId, TurnId};

/// Version of the stored format. It must be increased if an older version of `wh` would misread the new format.
pub const STORED_ITEM_VERSION: u64 = 1;

/// Error for a text that is not a stored item.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a stored item cannot be read: {0}")]
pub struct UnreadableItem(String);

#[derive(Serialize)]
struct VersionedItem<'a> {
    v: u64,
    #[serde(flatten)]
    item: &'a Item,
}

/// Fields that every version of the format has. They are sufficient to show a notice in place of the item.
#[derive(Deserialize)]
struct MinimalItem {
    id: ItemId,
    from: ParticipantId,
    #[serde(default)]
    to: Option<Vec<ParticipantId>>,
    #[serde(default)]
    turn: Option<TurnId>,
    #[serde(with = "nanoseconds")]
    at: std::time::SystemTime,
    #[serde(default, with = "timestamps")]
    listed: Vec<std::time::SystemTime>,
}

/// Converts an item to one line of JSON.
pub fn write(item: &Item) -> Result<String, UnreadableItem> {
    serde_json::to_string(&VersionedItem { v: STORED_ITEM_VERSION, item })
        .map_err(|error| UnreadableItem(error.to_string()))
}

/// Parses an item from JSON. If only the id, the sender and the times can be read, returns a notice in place of the
/// item.
pub fn read(text: &str) -> Result<Item, UnreadableItem> {
    let unreadable = |error: serde_json::Error| UnreadableItem(error.to_string());
    let value: Value = serde_json::from_str(text).map_err(unreadable)?;
    let version = value.get("v").and_then(Value::as_u64).unwrap_or(STORED_ITEM_VERSION);
    let why = if version <= STORED_ITEM_VERSION {
        match Item::deserialize(&value) {
            Ok(item) => return Ok(item),
            Err(error) => error.to_string(),
        }
    } else {
        format!("it was written by a newer wh (format {version}; this wh reads formats up to {STORED_ITEM_VERSION})")
    };
    let MinimalItem { id, from, to, turn, at, listed } = MinimalItem::deserialize(&value).map_err(unreadable)?;
    let lines = vec![format!("this part of the conversation cannot be shown: {why}")];
    let body = ItemBody::Notice { level: NoticeLevel::Warning, topic: "unreadable".to_owned(), lines };
    Ok(Item { id, from, to, turn, at, body, progress: ItemProgress::Done, extent: None, listed, starts: Vec::new() })
}

/// Serialises a time as whole nanoseconds since 1970, negative before 1970. The range is about 300 years before and
/// after.
pub(super) mod nanoseconds {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(at: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
        let whole = |duration: Duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
        serializer.serialize_i64(match at.duration_since(UNIX_EPOCH) {
            Ok(after) => whole(after),
            Err(before) => -whole(before.duration()),
        })
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
        let nanoseconds = i64::deserialize(deserializer)?;
        let distance = Duration::from_nanos(nanoseconds.unsigned_abs());
        let at = if nanoseconds < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
        at.ok_or_else(|| serde::de::Error::custom("the time is outside the range of the clock"))
    }
}

/// Serialises a list of times, each like [`nanoseconds`].
pub(super) mod timestamps {
    use std::time::SystemTime;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(transparent)]
    struct Timestamp(#[serde(with = "super::nanoseconds")] SystemTime);

    pub fn serialize<S: Serializer>(list: &[SystemTime], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(list.iter().copied().map(Timestamp))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SystemTime>, D::Error> {
        Ok(Vec::<Timestamp>::deserialize(deserializer)?.into_iter().map(|Timestamp(at)| at).collect())
    }
}

#[cfg(test)]
mod tests {
    use crate::space::extent::Extent;
    use std::time::{Duration, SystemTime};

    use proptest::collection::vec;
    use proptest::option::of;
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::item::{Attachment, ToolCall, ToolKind, ToolResultPart, ToolStatus};
    use super::super::question::{
        Answer, OptionMeaning, Question, QuestionCloseReason, QuestionDetail, QuestionKind, QuestionOption,
    };
    use super::*;

    fn text() -> impl Strategy<Value = String> {
        prop_oneof!["[a-z ]{0,8}", any::<String>()]
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            text().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(text(), inner, 0..4).prop_map(|map| json!(map)),
            ]
        })
    }

    fn question() -> impl Strategy<Value = Question> {
        use OptionMeaning::{AllowAlways, AllowOnce, Other, RejectAlways, RejectOnce};
        let detail = prop_oneof![
            text().prop_map(QuestionDetail::Text),
            text().prop_map(QuestionDetail::Command),
            text().prop_map(QuestionDetail::Path),
            (text(), of(text()), text()).prop_map(|(path, old, new)| QuestionDetail::Diff { path, old, new }),
            (text(), value()).prop_map(|(tool, input)| QuestionDetail::Input { tool, input }),
        ];
        let meaning = proptest::sample::select(vec![AllowOnce, AllowAlways, RejectOnce, RejectAlways, Other]);
        let choice = (text(), text(), meaning).prop_map(|(id, label, meaning)| QuestionOption { id, label, meaning });
        use QuestionKind::{Permission, Secret};
        let kind = proptest::sample::select(vec![Permission, QuestionKind::Choice, QuestionKind::Text, Secret]);
        (kind, text(), vec(detail, 0..3), vec(choice, 0..3), any::<(bool, bool)>()).prop_map(
            |(kind, title, details, options, (accepts_text, preselects))| Question {
                kind,
                title,
                details,
                options,
                accepts_text,
                preselects,
            },
        )
    }

    fn tool() -> impl Strategy<Value = ToolCall> {
        use ToolKind::{Edit, Execute, Fetch, Other, Read, Search};
        use ToolStatus::{Cancelled, Completed, Denied, Failed, Pending, Running};
        let output = prop_oneof![
            text().prop_map(ToolResultPart::Text),
            (text(), of(text()), text()).prop_map(|(path, old, new)| ToolResultPart::Diff { path, old, new }),
        ];
        (
            (text(), text()),
            proptest::sample::select(vec![Read, Edit, Execute, Search, Fetch, Other]),
            value(),
            proptest::sample::select(vec![Pending, Running, Completed, Failed, Denied, Cancelled]),
            vec(output, 0..3),
        )
            .prop_map(|((name, title), kind, input, status, output)| ToolCall {
                name,
                title,
                kind,
                input,
                status,
                output,
            })
    }

    fn body() -> impl Strategy<Value = ItemBody> {
        let attachment =
            (text(), text(), any::<u64>()).prop_map(|(name, media_type, size)| Attachment { name, media_type, size });
        let closing = prop_oneof![
            (text(), of(text()), of(text())).prop_map(|(by, option, text)| QuestionCloseReason::Answered {
                by: by.into(),
                answer: Answer { option, text }
            }),
            Just(QuestionCloseReason::Withdrawn),
            Just(QuestionCloseReason::Cancelled),
        ];
        let level = proptest::sample::select(vec![NoticeLevel::Info, NoticeLevel::Warning, NoticeLevel::Error]);
        prop_oneof![
            (text(), vec(attachment, 0..3)).prop_map(|(text, attachments)| ItemBody::Text { text, attachments }),
            (text(), of(text()), of(any::<u64>())).prop_map(|(text, action, tokens)| ItemBody::Thought {
                text,
                action,
                tokens
            }),
            tool().prop_map(ItemBody::Tool),
            (question(), of(closing)).prop_map(|(question, closing)| ItemBody::Question { question, closing }),
            (level, text(), vec(text(), 0..3)).prop_map(|(level, topic, lines)| ItemBody::Notice {
                level,
                topic,
                lines
            }),
            (text(), value(), vec(text(), 0..3)).prop_map(|(kind, payload, about)| ItemBody::Act {
                kind,
                payload,
                about: about.into_iter().map(ItemId::from).collect(),
            }),
        ]
    }

    fn item() -> impl Strategy<Value = Item> {
        use ItemProgress::{Cut, Done, Growing, Queued, Retracted};
        let progress = proptest::sample::select(vec![Queued, Growing, Done, Cut, Retracted]);
        let people = of(vec(text().prop_map(ParticipantId::from), 0..3));
        let at = (any::<bool>(), any::<u32>(), 0..1_000_000_000u32).prop_map(|(before, seconds, nanoseconds)| {
            let distance = Duration::new(seconds.into(), nanoseconds);
            if before { SystemTime::UNIX_EPOCH - distance } else { SystemTime::UNIX_EPOCH + distance }
        });
        (text(), text(), people, of(text()), at, body(), progress).prop_map(
            |(id, from, to, turn, at, body, progress)| Item {
                extent: (id.len() % 2 == 0).then_some(Extent { shown: 7, whole: 70 }),
                listed: vec![at; id.len() % 3],
                starts: vec![TurnId::from("t1"); id.len() % 2],
                id: id.into(),
                from: from.into(),
                to,
                turn: turn.map(TurnId::from),
                at,
                body,
                progress,
            },
        )
    }

    proptest! {
        #[test]
        fn a_stored_item_reads_back_equal(item in item()) {
            let text = write(&item).unwrap();
            prop_assert!(!text.contains('\n'));
            prop_assert_eq!(read(&text).unwrap(), item);
        }

        #[test]
        fn fields_added_by_a_newer_wh_are_ignored(item in item(), extra in value()) {
            let mut kept: Value = serde_json::from_str(&write(&item).unwrap()).unwrap();
            kept["of_tomorrow"] = extra.clone();
            kept["body"]["of_tomorrow"] = extra;
            prop_assert_eq!(read(&kept.to_string()).unwrap(), item);
        }

        #[test]
        fn no_text_makes_reading_panic(text in any::<String>(), value in value()) {
            let _ = (read(&text), read(&value.to_string()));
        }
    }

    #[test]
    fn the_shape_on_disk_is_this_one() {
        let kept = json!({
            "v": 1, "id": "i1", "from": "claude", "to": null, "turn": "turn-1", "at": 1_500_000_000_i64,
            "body": {"type": "tool", "name": "Bash", "title": "ls", "kind": "execute", "input": {"command": "ls"},
                     "status": "completed", "output": [{"text": "a\n"}]},
            "progress": "done",
        });
        let item = read(&kept.to_string()).unwrap();
        assert_eq!(item.at, SystemTime::UNIX_EPOCH + Duration::from_millis(1500));
        assert_eq!(serde_json::from_str::<Value>(&write(&item).unwrap()).unwrap(), kept);
    }

    #[test]
    fn missing_fields_take_their_defaults() {
        let kept = r#"{"id":"i1","from":"a","at":0,"progress":"done","body":{"type":"text","text":"hello"}}"#;
        assert_eq!(read(kept).unwrap().body, ItemBody::Text { text: "hello".to_owned(), attachments: vec![] });
    }

    #[test]
    fn an_unknown_kind_of_tool_is_another_one_and_an_unknown_body_keeps_its_place() {
        let mut kept = json!({"v": 1, "id": "i1", "from": "a", "at": 0, "progress": "done",
            "body": {"type": "tool", "name": "n", "title": "t", "kind": "telepathy", "status": "running"}});
        assert!(matches!(
            read(&kept.to_string()).unwrap().body,
            ItemBody::Tool(ToolCall { kind: ToolKind::Other, .. })
        ));
        kept["body"]["type"] = json!("hologram");
        let item = read(&kept.to_string()).unwrap();
        assert!(matches!(&item.body, ItemBody::Notice { topic, .. } if topic == "unreadable"), "{item:?}");
        assert_eq!((item.id, item.progress), (ItemId::from("i1"), ItemProgress::Done));
        assert!(read(r#"{"v":1,"body":{}}"#).is_err());
    }
}
