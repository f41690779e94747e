//! Ids of participants, items, turns and streams. The space assigns all ids. The ids of an agent's own protocol are
//! used only in its harness.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.as_str().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

name! {
    /// Id of a participant: a user, an agent or the system.
    ParticipantId
}
name! {
    /// Id of an item of the conversation. A question has the id of its item.
    ItemId
}
name! {
    /// Id of a turn: a prompt and the agent's work on it.
    TurnId
}
name! {
    /// Id of a stream, which carries data outside the conversation.
    StreamId
}
