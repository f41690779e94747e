use serde_json::json;

use super::*;
use crate::space::item::{ToolKind, ToolStatus};
use crate::space::question::{OptionMeaning, Question, QuestionDetail, QuestionKind, QuestionOption};

fn text(text: String) -> ItemBody {
    ItemBody::Text { text, attachments: Vec::new() }
}

fn tool(output: Vec<ToolResultPart>) -> ItemBody {
    ItemBody::Tool(ToolCall {
        name: "shell".to_owned(),
        title: "ls".to_owned(),
        kind: ToolKind::Execute,
        input: Value::Null,
        status: ToolStatus::Completed,
        output,
    })
}

fn item(bounds: &mut ReportBounds, body: ItemBody, done: bool) -> BoundedReport {
    bounds.bound(Report::Item { key: "k".to_owned(), body, done })
}

fn grew(bounds: &mut ReportBounds, text: &str) -> BoundedReport {
    bounds.bound(Report::Grew { key: "k".to_owned(), text: text.to_owned(), tokens: None })
}

fn shown(report: &Report) -> (String, Option<Extent>) {
    let (report, extent) = match report {
        Report::Shortened(report, extent) => (&**report, Some(*extent)),
        report => (report, None),
    };
    let text = match report {
        Report::Item { body: ItemBody::Text { text, .. } | ItemBody::Thought { text, .. }, .. } => text.clone(),
        Report::Item { body: ItemBody::Tool(call), .. } => output_text(&call.output),
        Report::Grew { text, .. } => text.clone(),
        other => panic!("{other:?}"),
    };
    (text, extent)
}

fn extent(shown: usize, whole: usize) -> Option<Extent> {
    Some(Extent { shown: shown as u64, whole: whole as u64 })
}

#[test]
fn a_report_within_the_bounds_is_unchanged() {
    let mut bounds = ReportBounds::default();
    let body = tool(vec![ToolResultPart::Text("x".repeat(MAX_SHOWN_RESULT_BYTES))]);
    let report = Report::Item { key: "k".to_owned(), body, done: true };
    let passed = bounds.bound(report.clone());
    assert_eq!(passed, BoundedReport { reports: vec![report], overflow: Vec::new() });
}

#[test]
fn the_result_of_a_tool_is_shown_up_to_its_bound_and_the_rest_is_kept() {
    let mut bounds = ReportBounds::default();
    let whole = "é".repeat(40_000);
    let passed = item(&mut bounds, tool(vec![ToolResultPart::Text(whole.clone())]), true);
    let [report] = &passed.reports[..] else { panic!("{passed:?}") };
    let (text, of) = shown(report);
    assert_eq!(of, extent(MAX_SHOWN_RESULT_BYTES, 80_000));
    let [ReportOverflow::Store { key, at, text: rest }] = &passed.overflow[..] else { panic!("{:?}", passed.overflow) };
    assert_eq!((key.as_str(), *at), ("k", MAX_SHOWN_RESULT_BYTES as u64));
    assert_eq!(text + rest, whole);
}

#[test]
fn a_large_change_is_shown_as_the_lines_that_differ() {
    let old: String = (0..20_000).map(|number| format!("line {number}\n")).collect();
    let new = old.replace("line 77\n", "another\n");
    let mut output = vec![ToolResultPart::Diff { path: "a".to_owned(), old: Some(old), new }];
    assert_eq!(shorten(&mut output), "");
    let [ToolResultPart::Text(patch)] = &output[..] else { panic!("{output:?}") };
    assert!(patch.contains("@@ -75,7 +75,7 @@") && patch.contains("\n-line 77\n+another\n"), "{patch}");
}

#[test]
fn growth_beyond_the_shown_part_is_counted() {
    let mut bounds = ReportBounds::default();
    item(&mut bounds, tool(Vec::new()), false);
    let most = MAX_SHOWN_RESULT_BYTES;
    assert_eq!(shown(&grew(&mut bounds, &"x".repeat(most - 1)).reports[0]).1, None);
    let passed = grew(&mut bounds, "yz");
    assert_eq!(shown(&passed.reports[0]), ("y".to_owned(), extent(most, most + 1)));
    assert_eq!(passed.overflow, [ReportOverflow::Store { key: "k".to_owned(), at: most as u64, text: "z".to_owned() }]);
    let passed = grew(&mut bounds, "more");
    assert_eq!(shown(&passed.reports[0]), (String::new(), extent(most, most + 5)));
    assert_eq!(
        passed.overflow,
        [ReportOverflow::Store { key: "k".to_owned(), at: most as u64 + 1, text: "more".to_owned() }]
    );
}

#[test]
fn a_repeated_shown_part_keeps_the_extent() {
    let mut bounds = ReportBounds::default();
    let mut output = vec![ToolResultPart::Text("x".repeat(90_000))];
    item(&mut bounds, tool(output.clone()), false);
    shorten(&mut output);
    let passed = item(&mut bounds, tool(output), true);
    assert_eq!(
        shown(&passed.reports[0]).1,
        extent(MAX_SHOWN_RESULT_BYTES, 90_000),
        "a harness may remember only what is shown"
    );
    assert_eq!(passed.overflow, []);
}

#[test]
fn a_shorter_replacement_discards_the_stored_overflow() {
    let mut bounds = ReportBounds::default();
    item(&mut bounds, tool(vec![ToolResultPart::Text("x".repeat(90_000))]), false);
    let passed = item(&mut bounds, tool(vec![ToolResultPart::Text("short".to_owned())]), false);
    assert_eq!(shown(&passed.reports[0]), ("short".to_owned(), None));
    assert_eq!(passed.overflow, [ReportOverflow::Discard("k".to_owned())]);
    item(&mut bounds, tool(vec![ToolResultPart::Text("x".repeat(90_000))]), false);
    assert_eq!(bounds.bound(Report::Retracted("k".to_owned())).overflow, [ReportOverflow::Discard("k".to_owned())]);
}

#[test]
fn a_notice_reports_a_text_that_is_not_shown_completely() {
    let notices_of = |reports: &[Report]| {
        let notices = reports.iter().filter_map(|report| match report {
            Report::Notice(NoticeLevel::Warning, text) => Some(text.clone()),
            _ => None,
        });
        notices.collect::<Vec<_>>()
    };
    let long = || "x".repeat(3_000_000);
    let expected = ["a text is too long to be shown completely: 200 KB of 3 MB shown"];
    let mut bounds = ReportBounds::default();
    assert_eq!(notices_of(&item(&mut bounds, text(long()), true).reports), expected);
    assert!(notices_of(&item(&mut bounds, text(long()), false).reports).is_empty(), "not yet");
    assert_eq!(notices_of(&bounds.bound(Report::Finished("k".to_owned())).reports), expected);
    grew(&mut bounds, &long());
    let ended = bounds.bound(Report::SelfEnded(TurnOutcome::Cancelled)).reports;
    assert_eq!(notices_of(&ended), expected, "also when it is cut");
    assert_eq!(ended.last(), Some(&Report::SelfEnded(TurnOutcome::Cancelled)));
}

#[test]
fn tool_arguments_of_every_shape_are_bounded() {
    let long = || "x".repeat(100_000);
    let wide = Value::Array((0..100_000).map(Value::from).collect());
    let many: serde_json::Map<String, Value> = (0..100_000).map(|n| (n.to_string(), Value::Null)).collect();
    for mut value in [json!(long()), json!({"a": long(), "b": [long()]}), wide, Value::Object(many)] {
        fit(&mut value, MAX_SHOWN_RESULT_BYTES);
        assert!(value.to_string().len() < 2 * MAX_SHOWN_RESULT_BYTES, "{}", value.to_string().len());
        assert!(value.to_string().contains('…'));
    }
    let mut small = json!({"a": [1, "b", null]});
    fit(&mut small, MAX_SHOWN_RESULT_BYTES);
    assert_eq!(small, json!({"a": [1, "b", null]}));
}

#[test]
fn every_report_is_bounded_whatever_is_in_it() {
    let long = || "x".repeat(5_000_000);
    let question = Question {
        kind: QuestionKind::Permission,
        title: long(),
        details: vec![
            QuestionDetail::Diff { path: "a".to_owned(), old: None, new: long() },
            QuestionDetail::Command(long()),
            QuestionDetail::Input { tool: long(), input: json!(long()) },
        ],
        options: Vec::new(),
        accepts_text: false,
        preselects: false,
    };
    let named = AgentOption { id: long(), title: long() };
    let lines = ItemBody::Notice { level: NoticeLevel::Info, topic: long(), lines: vec![long(), long()] };
    let act = ItemBody::Act { kind: "a".to_owned(), payload: json!(long()), about: Vec::new() };
    let reports = [
        Report::Asked { key: "q".to_owned(), question },
        Report::EarlierPrompt(long()),
        Report::Status { status: long(), summary: Some(long()) },
        Report::Notice(NoticeLevel::Info, long()),
        Report::Ended("t".into(), TurnOutcome::Failed(long())),
        Report::Gone(Some(long())),
        Report::Called(1, Ok(json!(long()))),
        Report::Called(1, Err(long())),
        Report::StreamFrame("s".to_owned(), json!(long())),
        Report::Ready(ReportedCapabilities { models: vec![named], ..ReportedCapabilities::default() }),
        Report::Item { key: "n".to_owned(), body: lines, done: true },
        Report::Item { key: "a".to_owned(), body: act, done: true },
    ];
    for report in reports {
        let kind = format!("{report:?}").chars().take(20).collect::<String>();
        let passed = ReportBounds::default().bound(report);
        let length = format!("{:?}", passed.reports).len();
        assert!(length < MAX_SHOWN_TEXT_BYTES + MAX_SHOWN_RESULT_BYTES, "{kind}: {length}");
    }
}

fn asked(title: &str, details: Vec<QuestionDetail>) -> (Question, Option<Extent>, Vec<ReportOverflow>) {
    let option = QuestionOption { id: "a".to_owned(), label: "Yes".to_owned(), meaning: OptionMeaning::AllowOnce };
    let question = Question {
        kind: QuestionKind::Permission,
        title: title.to_owned(),
        details,
        options: vec![option],
        accepts_text: false,
        preselects: false,
    };
    let mut passed = ReportBounds::default().bound(Report::Asked { key: "k".to_owned(), question });
    let report = passed.reports.pop();
    match report {
        Some(Report::Asked { question, .. }) => (question, None, passed.overflow),
        Some(Report::Shortened(report, extent)) => match *report {
            Report::Asked { question, .. } => (question, Some(extent), passed.overflow),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_complete_description_of_a_shortened_question_is_stored() {
    let command = format!("echo {}", "é".repeat(60_000));
    let before = QuestionDetail::Path("a.txt".to_owned());
    let (question, extent, beyond) = asked("?", vec![before.clone(), QuestionDetail::Command(command.clone())]);
    let [ReportOverflow::Discard(_), ReportOverflow::Store { key, at: 0, text }] = &beyond[..] else {
        panic!("{beyond:?}")
    };
    assert_eq!((key.as_str(), text.as_str()), ("k", format!("a.txt\n$ {command}").as_str()));
    let extent = extent.expect("it is cut");
    assert_eq!(extent.whole, text.len() as u64);
    let [path, QuestionDetail::Command(shown), QuestionDetail::Text(expected)] = &question.details[..] else {
        panic!("{:?}", question.details)
    };
    assert_eq!((path, expected.as_str()), (&before, "… 50 KB of 120 KB shown"));
    assert_eq!(text[..extent.shown as usize], format!("a.txt\n$ {shown}"), "the bytes that are shown are counted");
}

#[test]
fn a_long_title_is_added_to_the_details() {
    let (question, extent, _) = asked(&"x".repeat(3_000), Vec::new());
    assert_eq!((question.details, extent), (vec![QuestionDetail::Text("x".repeat(3_000))], None));
    let old: String = (0..20_000).map(|number| format!("line {number}\n")).collect();
    let new = old.replace("line 77\n", "```\n````\n");
    let (question, extent, beyond) =
        asked("?", vec![QuestionDetail::Diff { path: "a".to_owned(), old: Some(old), new }]);
    let [QuestionDetail::Text(patch)] = &question.details[..] else { panic!("{question:?}") };
    assert!(patch.starts_with("`````diff\n") && patch.ends_with("\n`````"), "{patch}");
    assert_eq!((extent, beyond), (None, Vec::new()), "the change is shown whole");
}
