//! Input to the terminal: `POST /control/send_input`, `/control/resize`, `/control/signal` and `/control/mark`.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use nix::sys::signal::Signal;
use wh_core::caller::GuardedAction;
use wh_core::input::{Gesture, KeyPress, Modifiers, Mouse, MouseAction, MouseButton};
use wh_core::request::{CommandContent, FingerprintedId, RequestId};
use wh_core::session::{AnswerTiming, DeliveryState, InputAccepted, TerminalRefusal};
use wh_core::terminal::{InvalidSize, SignalTarget, Size};
use wh_wire::control::{MarkBody, MouseBody, ResizeBody, SendInputBody, SentBody, SignalBody};

use super::fault::Fault;
use super::route::{Route, RouteMethod};
use super::{ApiState, SENDER, body};

/// Maximum length of a marker label, in characters.
pub(super) const MAX_LABEL_CHARS: usize = 256;

/// Signals that callers may send.
pub(super) const SIGNALS: [Signal; 11] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGKILL,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGTERM,
    Signal::SIGCONT,
    Signal::SIGSTOP,
    Signal::SIGTSTP,
    Signal::SIGWINCH,
];

pub(super) fn routes() -> Vec<Route<ApiState>> {
    vec![
        Route::new(
            RouteMethod::Post,
            "/control/send_input",
            send_input,
            "sendInput",
            "Type text, press keys, paste or use the mouse, as one atomic command.",
            |it| it.accepts::<SendInputBody>().command(),
        )
        .admits_to(GuardedAction::Type),
        Route::new(RouteMethod::Post, "/control/resize", resize, "resize", "Resize the terminal.", |it| {
            it.accepts::<ResizeBody>().command()
        }),
        Route::new(RouteMethod::Post, "/control/signal", signal, "signal", "Send a signal to the program.", |it| {
            it.accepts::<SignalBody>().command()
        }),
        Route::new(
            RouteMethod::Post,
            "/control/mark",
            mark,
            "mark",
            "Add a marker to the event stream and the recording.",
            |it| it.accepts::<MarkBody>().command(),
        ),
    ]
}

async fn send_input(State(api): State<ApiState>, body: Body) -> Result<Json<SentBody>, Fault> {
    let body: SendInputBody = body::json(body).await?;
    let request_id = request_id(body.request_id.as_deref())?;
    let named = named(&body);
    let force = body.force;
    let gestures = gestures(body)?;
    // In an agent session, the input is key presses for the UI of wh. A control message with the same text goes to the
    // agent instead, so the two requests must have different fingerprints.
    let content = match &api.conversation {
        Some(_) => CommandContent::Keys(&gestures),
        None => CommandContent::typed(&gestures),
    };
    let request = request(&request_id, &content);
    let done = if force {
        api.surface.type_forced(gestures, request, AnswerTiming::Offered).await?
    } else {
        api.surface.type_in(gestures, request, AnswerTiming::Offered).await?
    };
    sent(done, request_id, Some(named))
}

async fn resize(State(api): State<ApiState>, body: Body) -> Result<Json<SentBody>, Fault> {
    let body: ResizeBody = body::json(body).await?;
    let request_id = request_id(body.request_id.as_deref())?;
    let size = Size::new(body.width, body.height).ok_or_else(|| {
        Fault::Refused("Invalid size", InvalidSize(format!("{}x{}", body.width, body.height)).to_string())
    })?;
    let done = api.surface.resize(size, request(&request_id, &CommandContent::Resize(size))).await?;
    sent(done, request_id, None)
}

async fn signal(State(api): State<ApiState>, body: Body) -> Result<Json<SentBody>, Fault> {
    let body: SignalBody = body::json(body).await?;
    let request_id = request_id(body.request_id.as_deref())?;
    let signal = signal_named(&body.signal)?;
    let target = match body.target.as_deref() {
        None | Some("program") => SignalTarget::Program,
        Some("foreground") => SignalTarget::Foreground,
        Some(_) => return Err(Fault::Refused("Invalid target", "target must be program or foreground".to_owned())),
    };
    let request = request(&request_id, &CommandContent::Signal(signal as u8, target));
    let done = api.surface.signal(signal as u8, target, request).await?;
    sent(done, request_id, None)
}

async fn mark(State(api): State<ApiState>, body: Body) -> Result<Json<SentBody>, Fault> {
    let body: MarkBody = body::json(body).await?;
    let request_id = request_id(body.request_id.as_deref())?;
    if body.label.chars().count() > MAX_LABEL_CHARS {
        return Err(Fault::Refused("Invalid label", format!("label is too long (limit {MAX_LABEL_CHARS} characters)")));
    }
    let request = request(&request_id, &CommandContent::Mark(&body.label));
    let done = api.surface.mark(body.label, request).await?;
    sent(done, request_id, None)
}

/// Builds the response. `injected` is the typed input, also in the response to a duplicate request.
fn sent(done: InputAccepted, request_id: Option<RequestId>, injected: Option<String>) -> Result<Json<SentBody>, Fault> {
    if let DeliveryState::Lost(loss) = done.delivery {
        return Err(TerminalRefusal::from(loss).into());
    }
    let request_id = request_id.map(|id| id.as_str().to_owned());
    let (delivered, duplicate) = (done.delivered(), done.duplicate);
    Ok(Json(SentBody { ok: true, injected, delivered, request_id, duplicate }))
}

fn request(id: &Option<RequestId>, content: &CommandContent<'_>) -> Option<FingerprintedId> {
    id.clone().map(|id| FingerprintedId::new(id, SENDER, content))
}

pub(super) fn request_id(text: Option<&str>) -> Result<Option<RequestId>, Fault> {
    text.map(RequestId::new).transpose().map_err(|error| Fault::Refused("Invalid request_id", error.to_string()))
}

/// Returns the first non-empty input field of the body, with the value that the client sent.
fn named(body: &SendInputBody) -> String {
    let keys = body.keys.as_ref().map(|keys| keys.join(" "));
    let mouse = body.mouse.as_ref().map(|mouse| mouse.action.clone());
    let names = [body.text.clone(), body.paste.clone(), body.key.clone(), keys, mouse];
    names.into_iter().flatten().find(|name| !name.is_empty()).unwrap_or_default()
}

fn gestures(body: SendInputBody) -> Result<Vec<Gesture>, Fault> {
    let mut gestures = Vec::new();
    gestures.extend(body.text.filter(|text| !text.is_empty()).map(Gesture::Text));
    gestures.extend(body.paste.filter(|text| !text.is_empty()).map(Gesture::Paste));
    for name in body.key.into_iter().chain(body.keys.unwrap_or_default()) {
        let press: KeyPress = name
            .parse()
            .map_err(|error: wh_core::input::UnknownKey| Fault::Refused("Invalid key name", error.to_string()))?;
        gestures.push(Gesture::Key(press));
    }
    if let Some(mouse) = body.mouse {
        gestures.push(Gesture::Mouse(mouse_event(mouse)?));
    }
    if gestures.is_empty() {
        return Err(Fault::Refused(
            "Missing text or key",
            "set a non-empty text, key, keys, paste or mouse".to_owned(),
        ));
    }
    Ok(gestures)
}

fn mouse_event(body: MouseBody) -> Result<Mouse, Fault> {
    let invalid = |detail: &str| Fault::Refused("Invalid mouse event", detail.to_owned());
    let action = match body.action.as_str() {
        "press" => MouseAction::Press,
        "release" => MouseAction::Release,
        "move" => MouseAction::Move,
        "wheel_up" => MouseAction::WheelUp,
        "wheel_down" => MouseAction::WheelDown,
        "wheel_left" => MouseAction::WheelLeft,
        "wheel_right" => MouseAction::WheelRight,
        _ => {
            return Err(invalid(
                "action must be press, release, move, wheel_up, wheel_down, wheel_left or wheel_right",
            ));
        }
    };
    let button = match (body.button.as_deref(), action) {
        (Some("left"), _) | (None, MouseAction::Press | MouseAction::Release) => MouseButton::Left,
        (Some("middle"), _) => MouseButton::Middle,
        (Some("right"), _) => MouseButton::Right,
        (None, _) => MouseButton::None,
        (Some(_), _) => return Err(invalid("button must be left, middle or right")),
    };
    let mut modifiers = Modifiers::NONE;
    for name in &body.modifiers {
        match name.as_str() {
            "ctrl" => modifiers.ctrl = true,
            "alt" => modifiers.alt = true,
            "shift" => modifiers.shift = true,
            _ => return Err(invalid("modifiers must be ctrl, alt or shift")),
        }
    }
    Ok(Mouse { action, button, x: body.x, y: body.y, modifiers })
}

fn signal_named(name: &str) -> Result<Signal, Fault> {
    let short = |signal: Signal| signal.as_str().trim_start_matches("SIG");
    let upper = name.to_ascii_uppercase();
    SIGNALS.into_iter().find(|signal| short(*signal) == upper.trim_start_matches("SIG")).ok_or_else(|| {
        let names: Vec<&str> = SIGNALS.into_iter().map(short).collect();
        Fault::Refused("Invalid signal", format!("signal must be one of {}", names.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use wh_core::input::KeyCode;

    use super::*;

    fn read(body: Value) -> Result<Vec<Gesture>, String> {
        gestures(serde_json::from_value(body).unwrap()).map_err(|fault| match fault {
            Fault::Refused(error, _) => error.to_owned(),
            other => format!("{other:?}"),
        })
    }

    #[test]
    fn a_body_is_typed_in_the_order_text_paste_key_keys_mouse() {
        let body = json!({
            "mouse": {"action": "press", "x": 3, "y": 4},
            "keys": ["enter"], "key": "escape", "paste": "p", "text": "t",
        });
        let key = |key| Gesture::Key(KeyPress { key, modifiers: Modifiers::NONE });
        let click =
            Mouse { action: MouseAction::Press, button: MouseButton::Left, x: 3, y: 4, modifiers: Modifiers::NONE };
        let expected = [
            Gesture::Text("t".to_owned()),
            Gesture::Paste("p".to_owned()),
            key(KeyCode::Escape),
            key(KeyCode::Enter),
            Gesture::Mouse(click),
        ];
        assert_eq!(read(body).unwrap(), expected);
    }

    #[test]
    fn a_body_that_types_nothing_is_refused_and_so_are_names_that_do_not_exist() {
        for nothing in [json!({}), json!({"text": ""}), json!({"keys": []}), json!({"text": "", "paste": ""})] {
            assert_eq!(read(nothing.clone()).unwrap_err(), "Missing text or key", "{nothing}");
        }
        assert_eq!(read(json!({"key": "nonsense"})).unwrap_err(), "Invalid key name");
        let mouse = |more: Value| {
            let mut body = json!({"action": "press", "x": 0, "y": 0});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            read(json!({"mouse": body}))
        };
        for wrong in [json!({"action": "click"}), json!({"button": "fourth"}), json!({"modifiers": ["hyper"]})] {
            assert_eq!(mouse(wrong.clone()).unwrap_err(), "Invalid mouse event", "{wrong}");
        }
        let wheel = mouse(json!({"action": "wheel_up"})).unwrap();
        assert!(matches!(&wheel[..], [Gesture::Mouse(Mouse { button: MouseButton::None, .. })]), "{wheel:?}");
    }

    #[test]
    fn a_signal_is_known_with_and_without_its_prefix_in_either_case() {
        for name in ["SIGTERM", "TERM", "term", "sigterm"] {
            assert_eq!(signal_named(name).ok(), Some(Signal::SIGTERM), "{name}");
        }
        for wrong in ["", "SIG", "SEGV", "15", "TERM "] {
            assert!(matches!(signal_named(wrong), Err(Fault::Refused("Invalid signal", _))), "{wrong}");
        }
    }
}
