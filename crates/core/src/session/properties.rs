//! Property tests of request ids in a terminal session: the text of a request id is typed at most once, and a retry
//! receives the result of the first attempt.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::request::CommandContent;

/// Lifetime of a request id in seconds.
const REQUEST_ID_TTL_SECONDS: u64 = 600;

struct BlankScreen;

impl ScreenAccess for BlankScreen {
    fn text(&self) -> String {
        String::new()
    }

    fn cursor(&self) -> (u16, u16) {
        (0, 0)
    }

    fn title(&self) -> Option<String> {
        None
    }

    fn fingerprint(&self) -> u64 {
        0
    }
}

proptest! {
    #[test]
    fn under_one_id_at_most_one_text_is_typed_and_others_are_refused(
        steps in proptest::collection::vec((0..3u8, 0..2u8, 0..2u8, 0..400u64, any::<bool>()), 1..60),
    ) {
        let start = Instant::now();
        let (mut session, mut clock, mut ticket) = (SessionMachine::new(start), 0, 0);
        let mut typed: HashMap<u8, (u64, u8, u8)> = HashMap::new();
        for (id, sender, text, after, reads) in steps {
            clock += after;
            ticket += 1;
            let now = start + Duration::from_secs(clock);
            let words = format!("text {text}");
            let sender_name = format!("sender {sender}");
            let name = RequestId::new(format!("r{id}")).unwrap();
            let request = FingerprintedId::new(name, &sender_name, &CommandContent::text(&words));
            let command = TerminalCommand::Type { bytes: words.clone().into_bytes(), answer: AnswerTiming::Offered };
            let input = SessionInput::Command(Ticket(ticket), Some(request), command);
            let effects = session.handle(input, now, &BlankScreen);
            let writes = effects.iter().filter(|effect| matches!(effect, SessionEffect::Write(_))).count();
            let answer = effects.iter().find_map(|effect| match effect {
                SessionEffect::Answer(_, answer) => Some(answer.clone()),
                _ => None,
            });
            match typed.get(&id).filter(|(at, ..)| clock - at < REQUEST_ID_TTL_SECONDS) {
                Some((_, by, first)) if (*by, *first) == (sender, text) => {
                    prop_assert_eq!(writes, 0);
                    prop_assert!(answer.unwrap().unwrap().duplicate);
                }
                Some(_) => {
                    prop_assert_eq!(writes, 0);
                    prop_assert_eq!(answer, Some(Err(TerminalRefusal::RequestIdReused)));
                }
                None => {
                    prop_assert_eq!(writes, 1);
                    typed.insert(id, (clock, sender, text));
                    // The terminal may not have accepted all bytes; that does not matter for a retry.
                    let left = if reads { 0 } else { words.len() };
                    session.handle(SessionInput::Offered(left), now, &BlankScreen);
                    session.handle(SessionInput::Wrote(0), now, &BlankScreen);
                }
            }
        }
    }
}
