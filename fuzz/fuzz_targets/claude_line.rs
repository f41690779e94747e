//! Decodes any line as Claude Code output: no panic, and no JSON object is refused or lost. Encoded orders stay one
//! line.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value};
use wh_wire::claude::{Incoming, Message, Outgoing, decode};

fuzz_target!(|line: &[u8]| {
    let incoming = decode(line);
    if serde_json::from_slice::<Map<String, Value>>(line).is_ok() {
        match incoming {
            Ok(Incoming::Noise) | Err(_) => panic!("a JSON object was lost"),
            Ok(Incoming::Message(Message::Unknown(unknown))) => {
                assert_eq!(unknown.raw.text().as_bytes(), line.trim_ascii());
                assert!(unknown.raw.value().is_some());
            }
            Ok(_) => {}
        }
    }
    if let Ok(outgoing) = serde_json::from_slice::<Outgoing>(line) {
        let written = outgoing.encode().expect("a decoded order can be encoded");
        assert_eq!(written.find(['\n', '\r', '\u{2028}', '\u{2029}']), Some(written.len() - 1));
        serde_json::from_str::<Outgoing>(&written).expect("an encoded order can be decoded");
    }
});
