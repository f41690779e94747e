use serde_json::json;

use super::*;
use crate::space::item::{ToolKind, ToolStatus};
use crate::space::question::{Choice, Detail, Meaning, Question, QuestionKind};

fn text(text: String) -> Body {
    Body::Text { text, attachments: Vec::new() }
}

fn tool(output: Vec<Output>) -> Body {
    Body::Tool(ToolCall {
        name: "shell".to_owned(),
        title: "ls".to_owned(),
        kind: ToolKind::Execute,
        input: Value::Null,
        status: ToolStatus::Completed,
        output,
    })
}

fn item(bounds: &mut Bounds, body: Body, done: bool) -> Passed {
    bounds.pass(Report::Item { key: "k".to_owned(), body, done })
}

fn grew(bounds: &mut Bounds, text: &str) -> Passed {
    bounds.pass(Report::Grew { key: "k".to_owned(), text: text.to_owned(), tokens: None })
}

fn shown(report: &Report) -> (String, Option<Extent>) {
    let (report, extent) = match report {
        Report::Shortened(report, extent) => (&**report, Some(*extent)),
        report => (report, None),
    };
    let text = match report {
        Report::Item { body: Body::Text { text, .. } | Body::Thought { text, .. }, .. } => text.clone(),
        Report::Item { body: Body::Tool(call), .. } => words(&call.output),
        Report::Grew { text, .. } => text.clone(),
        other => panic!("{other:?}"),
    };
    (text, extent)
}

fn extent(shown: usize, whole: usize) -> Option<Extent> {
    Some(Extent { shown: shown as u64, whole: whole as u64 })
}

#[test]
fn what_fits_passes_as_it_is() {
    let mut bounds = Bounds::default();
    let body = tool(vec![Output::Text("x".repeat(SHOWN_OF_RESULT))]);
    let report = Report::Item { key: "k".to_owned(), body, done: true };
    let passed = bounds.pass(report.clone());
    assert_eq!(passed, Passed { reports: vec![report], beyond: Vec::new() });
}

#[test]
fn the_result_of_a_tool_is_shown_up_to_its_bound_and_the_rest_is_kept() {
    let mut bounds = Bounds::default();
    let whole = "é".repeat(40_000);
    let passed = item(&mut bounds, tool(vec![Output::Text(whole.clone())]), true);
    let [report] = &passed.reports[..] else { panic!("{passed:?}") };
    let (text, of) = shown(report);
    assert_eq!(of, extent(SHOWN_OF_RESULT, 80_000));
    let [Beyond::Keep { key, at, text: rest }] = &passed.beyond[..] else { panic!("{:?}", passed.beyond) };
    assert_eq!((key.as_str(), *at), ("k", SHOWN_OF_RESULT as u64));
    assert_eq!(text + rest, whole);
}

#[test]
fn a_large_change_is_shown_as_the_lines_that_differ() {
    let old: String = (0..20_000).map(|number| format!("line {number}\n")).collect();
    let new = old.replace("line 77\n", "another\n");
    let mut output = vec![Output::Diff { path: "a".to_owned(), old: Some(old), new }];
    assert_eq!(shorten(&mut output), "");
    let [Output::Text(patch)] = &output[..] else { panic!("{output:?}") };
    assert!(patch.contains("@@ -75,7 +75,7 @@") && patch.contains("\n-line 77\n+another\n"), "{patch}");
}

#[test]
fn what_grows_is_counted_on_when_no_more_is_shown() {
    let mut bounds = Bounds::default();
    item(&mut bounds, tool(Vec::new()), false);
    let most = SHOWN_OF_RESULT;
    assert_eq!(shown(&grew(&mut bounds, &"x".repeat(most - 1)).reports[0]).1, None);
    let passed = grew(&mut bounds, "yz");
    assert_eq!(shown(&passed.reports[0]), ("y".to_owned(), extent(most, most + 1)));
    assert_eq!(passed.beyond, [Beyond::Keep { key: "k".to_owned(), at: most as u64, text: "z".to_owned() }]);
    let passed = grew(&mut bounds, "more");
    assert_eq!(shown(&passed.reports[0]), (String::new(), extent(most, most + 5)));
    assert_eq!(passed.beyond, [Beyond::Keep { key: "k".to_owned(), at: most as u64 + 1, text: "more".to_owned() }]);
}

#[test]
fn the_same_part_again_is_not_the_whole() {
    let mut bounds = Bounds::default();
    let mut output = vec![Output::Text("x".repeat(90_000))];
    item(&mut bounds, tool(output.clone()), false);
    shorten(&mut output);
    let passed = item(&mut bounds, tool(output), true);
    assert_eq!(
        shown(&passed.reports[0]).1,
        extent(SHOWN_OF_RESULT, 90_000),
        "a harness may remember only what is shown"
    );
    assert_eq!(passed.beyond, []);
}

#[test]
fn what_comes_in_the_place_of_something_longer_has_the_rest_forgotten() {
    let mut bounds = Bounds::default();
    item(&mut bounds, tool(vec![Output::Text("x".repeat(90_000))]), false);
    let passed = item(&mut bounds, tool(vec![Output::Text("short".to_owned())]), false);
    assert_eq!(shown(&passed.reports[0]), ("short".to_owned(), None));
    assert_eq!(passed.beyond, [Beyond::Forget("k".to_owned())]);
    item(&mut bounds, tool(vec![Output::Text("x".repeat(90_000))]), false);
    assert_eq!(bounds.pass(Report::Retracted("k".to_owned())).beyond, [Beyond::Forget("k".to_owned())]);
}

#[test]
fn a_person_is_told_of_a_text_that_is_not_shown_whole() {
    let told = |reports: &[Report]| {
        let notices = reports.iter().filter_map(|report| match report {
            Report::Notice(Level::Warning, text) => Some(text.clone()),
            _ => None,
        });
        notices.collect::<Vec<_>>()
    };
    let long = || "x".repeat(3_000_000);
    let said = ["a text was too long to be shown whole: 200 KB of 3 MB shown"];
    let mut bounds = Bounds::default();
    assert_eq!(told(&item(&mut bounds, text(long()), true).reports), said);
    assert!(told(&item(&mut bounds, text(long()), false).reports).is_empty(), "not yet");
    assert_eq!(told(&bounds.pass(Report::Finished("k".to_owned())).reports), said);
    grew(&mut bounds, &long());
    let ended = bounds.pass(Report::Rested(Outcome::Cancelled)).reports;
    assert_eq!(told(&ended), said, "also when it is cut");
    assert_eq!(ended.last(), Some(&Report::Rested(Outcome::Cancelled)));
}

#[test]
fn what_a_tool_is_given_is_bounded_in_every_shape() {
    let long = || "x".repeat(100_000);
    let wide = Value::Array((0..100_000).map(Value::from).collect());
    let many: serde_json::Map<String, Value> = (0..100_000).map(|n| (n.to_string(), Value::Null)).collect();
    for mut value in [json!(long()), json!({"a": long(), "b": [long()]}), wide, Value::Object(many)] {
        fit(&mut value, SHOWN_OF_RESULT);
        assert!(value.to_string().len() < 2 * SHOWN_OF_RESULT, "{}", value.to_string().len());
        assert!(value.to_string().contains('…'));
    }
    let mut small = json!({"a": [1, "b", null]});
    fit(&mut small, SHOWN_OF_RESULT);
    assert_eq!(small, json!({"a": [1, "b", null]}));
}

#[test]
fn every_report_is_bounded_whatever_is_in_it() {
    let long = || "x".repeat(5_000_000);
    let question = Question {
        kind: QuestionKind::Permission,
        title: long(),
        details: vec![
            Detail::Diff { path: "a".to_owned(), old: None, new: long() },
            Detail::Command(long()),
            Detail::Input { tool: long(), input: json!(long()) },
        ],
        options: Vec::new(),
        accepts_text: false,
        preselects: false,
    };
    let named = Named { id: long(), title: long() };
    let lines = Body::Notice { level: Level::Info, topic: long(), lines: vec![long(), long()] };
    let act = Body::Act { kind: "a".to_owned(), payload: json!(long()), about: Vec::new() };
    let reports = [
        Report::Asked { key: "q".to_owned(), question },
        Report::Recalled(long()),
        Report::Status { status: long(), summary: Some(long()) },
        Report::Notice(Level::Info, long()),
        Report::Ended("t".into(), Outcome::Failed(long())),
        Report::Gone(Some(long())),
        Report::Called(1, Ok(json!(long()))),
        Report::Called(1, Err(long())),
        Report::StreamFrame("s".to_owned(), json!(long())),
        Report::Ready(Capabilities { models: vec![named], ..Capabilities::default() }),
        Report::Item { key: "n".to_owned(), body: lines, done: true },
        Report::Item { key: "a".to_owned(), body: act, done: true },
    ];
    for report in reports {
        let kind = format!("{report:?}").chars().take(20).collect::<String>();
        let passed = Bounds::default().pass(report);
        let length = format!("{:?}", passed.reports).len();
        assert!(length < SHOWN_OF_TEXT + SHOWN_OF_RESULT, "{kind}: {length}");
    }
}

fn asked(title: &str, details: Vec<Detail>) -> (Question, Option<Extent>, Vec<Beyond>) {
    let option = Choice { id: "a".to_owned(), label: "Yes".to_owned(), meaning: Meaning::AllowOnce };
    let question = Question {
        kind: QuestionKind::Permission,
        title: title.to_owned(),
        details,
        options: vec![option],
        accepts_text: false,
        preselects: false,
    };
    let mut passed = Bounds::default().pass(Report::Asked { key: "k".to_owned(), question });
    let report = passed.reports.pop();
    match report {
        Some(Report::Asked { question, .. }) => (question, None, passed.beyond),
        Some(Report::Shortened(report, extent)) => match *report {
            Report::Asked { question, .. } => (question, Some(extent), passed.beyond),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_whole_of_what_is_asked_is_kept_where_it_is_cut() {
    let command = format!("echo {}", "é".repeat(60_000));
    let before = Detail::Path("a.txt".to_owned());
    let (question, extent, beyond) = asked("?", vec![before.clone(), Detail::Command(command.clone())]);
    let [Beyond::Forget(_), Beyond::Keep { key, at: 0, text }] = &beyond[..] else { panic!("{beyond:?}") };
    assert_eq!((key.as_str(), text.as_str()), ("k", format!("a.txt\n$ {command}").as_str()));
    let extent = extent.expect("it is cut");
    assert_eq!(extent.whole, text.len() as u64);
    let [path, Detail::Command(shown), Detail::Text(said)] = &question.details[..] else {
        panic!("{:?}", question.details)
    };
    assert_eq!((path, said.as_str()), (&before, "… 50 KB of 120 KB shown"));
    assert_eq!(text[..extent.shown as usize], format!("a.txt\n$ {shown}"), "the bytes that are shown are counted");
}

#[test]
fn what_is_asked_in_a_long_line_is_among_the_parts() {
    let (question, extent, _) = asked(&"x".repeat(3_000), Vec::new());
    assert_eq!((question.details, extent), (vec![Detail::Text("x".repeat(3_000))], None));
    let old: String = (0..20_000).map(|number| format!("line {number}\n")).collect();
    let new = old.replace("line 77\n", "```\n````\n");
    let (question, extent, beyond) = asked("?", vec![Detail::Diff { path: "a".to_owned(), old: Some(old), new }]);
    let [Detail::Text(patch)] = &question.details[..] else { panic!("{question:?}") };
    assert!(patch.starts_with("`````diff\n") && patch.ends_with("\n`````"), "{patch}");
    assert_eq!((extent, beyond), (None, Vec::new()), "the change is shown whole");
}
