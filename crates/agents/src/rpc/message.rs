//! Parses one JSON-RPC message.

use serde_json::Value;

use super::RpcError;

/// JSON-RPC message, parsed from one line.
#[derive(Debug, PartialEq)]
pub(super) enum RpcMessage {
    Request { id: Value, method: String, params: Value },
    Notification { method: String, params: Value },
    Reply { id: Value, outcome: Result<Value, RpcError> },
}

impl RpcMessage {
    /// Parses a line. Returns `None` if the line is not a JSON object, for example output of another program that
    /// writes to the same pipe.
    pub fn read(line: &[u8]) -> Result<Option<Self>, String> {
        let line = line.trim_ascii();
        if !line.starts_with(b"{") {
            return Ok(None);
        }
        let mut message: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
        let id = message.get("id").filter(|id| !id.is_null()).cloned();
        let mut take = |field: &str| message.get_mut(field).map(Value::take).unwrap_or_default();
        match (method, id) {
            (Some(method), Some(id)) => Ok(Some(Self::Request { id, method, params: take("params") })),
            (Some(method), None) => Ok(Some(Self::Notification { method, params: take("params") })),
            (None, Some(id)) => {
                let error = take("error");
                let outcome = if error.is_null() { Ok(take("result")) } else { Err(refused(error)) };
                Ok(Some(Self::Reply { id, outcome }))
            }
            (None, None) => Err("the message has neither a method nor an id".to_owned()),
        }
    }
}

fn refused(mut error: Value) -> RpcError {
    let message = match error.get("message").and_then(Value::as_str) {
        Some(message) => message.to_owned(),
        None => error.to_string(),
    };
    RpcError::Refused {
        code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
        message,
        data: error.get_mut("data").map(Value::take).filter(|data| !data.is_null()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(line: &str) -> RpcMessage {
        RpcMessage::read(line.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn each_is_known_by_its_fields() {
        let request = RpcMessage::Request { id: json!(0), method: "m".to_owned(), params: json!({"a": 1}) };
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":0,"method":"m","params":{"a":1}}"#), request);
        let named = RpcMessage::Request { id: json!("x"), method: "m".to_owned(), params: Value::Null };
        assert_eq!(read(r#"{"id":"x","method":"m"}"#), named);
        let note = RpcMessage::Notification { method: "n".to_owned(), params: json!([]) };
        assert_eq!(read(r#"{"method":"n","params":[],"id":null}"#), note);
        assert_eq!(read(r#"{"id":3,"result":null}"#), RpcMessage::Reply { id: json!(3), outcome: Ok(Value::Null) });
        let RpcMessage::Reply { outcome: Err(error), .. } = read(r#"{"id":3,"error":{"code":-32601,"message":"no"}}"#)
        else {
            panic!("an error");
        };
        assert!(error.is_unknown_method());
        assert_eq!(error.to_string(), "no");
    }

    #[test]
    fn what_is_none_of_them_is_nothing_or_an_error() {
        for noise in ["", "  ", "Debugger attached.", "[1]"] {
            assert_eq!(RpcMessage::read(noise.as_bytes()), Ok(None), "{noise}");
        }
        for broken in ["{", "{}", r#"{"id":null}"#, "{\"a\":\u{1}}"] {
            assert!(RpcMessage::read(broken.as_bytes()).is_err(), "{broken}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            let _ = RpcMessage::read(&bytes);
        }
    }
}
