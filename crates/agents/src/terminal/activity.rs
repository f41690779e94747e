//! Evidence for the activity of an agent in its own terminal UI: collects what each source shows, and describes it.

use tokio::time::Instant;
use wh_core::space::event::Evidence;
use wh_core::space::harness::ActivityReport;

use super::profile::TitleReading;
use super::reading::{ScreenPlace, ScreenReading};

/// Latest observation of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SourceObservation {
    works: bool,
    words: String,
    at: Instant,
}

/// Latest observations of hooks and transcript, with title and screen.
#[derive(Debug, Default)]
pub struct ActivityTracker {
    hook: Option<SourceObservation>,
    transcript: Option<SourceObservation>,
    reported: Option<ActivityReport>,
}

impl ActivityTracker {
    /// Records a hook, which shows that the agent works or has stopped.
    pub fn hook(&mut self, words: &str, works: bool, at: Instant) {
        self.hook = Some(SourceObservation { works, words: format!("{words} hook"), at });
    }

    /// Records a line of the transcript, which shows that the agent works or has stopped.
    pub fn transcript(&mut self, words: &str, works: bool, at: Instant) {
        self.transcript = Some(SourceObservation { works, words: format!("transcript: {words}"), at });
    }

    /// Returns a report about an agent that is starting if the evidence has changed.
    pub fn starting(&mut self, screen: Option<&ScreenReading>) -> Option<ActivityReport> {
        let observation = match screen.map(|screen| &screen.place) {
            Some(ScreenPlace::Dialog(dialog)) => format!("screen: a dialog is open: {}", dialog.title),
            Some(ScreenPlace::Blocked(page)) => format!("screen: {page}"),
            _ => "screen: the composer is not there yet".to_owned(),
        };
        let report = ActivityReport { known: true, source: Evidence::Screen, observation, waits_for: None };
        self.changed(report)
    }

    fn changed(&mut self, report: ActivityReport) -> Option<ActivityReport> {
        if self.reported.as_ref() == Some(&report) {
            return None;
        }
        self.reported = Some(report.clone());
        Some(report)
    }

    /// Returns a report if the evidence has changed. `works` is the activity that the driver has derived, `asked` is true
    /// while a question is open.
    pub fn report(
        &mut self,
        (works, asked): (bool, bool),
        screen: Option<&ScreenReading>,
        title: TitleReading,
        waits_for: Option<String>,
    ) -> Option<ActivityReport> {
        let mut shown: Vec<(Evidence, String)> = Vec::new();
        let agrees = |one: &&SourceObservation| one.works == works;
        if !asked {
            let mut timed: Vec<(Instant, Evidence, &SourceObservation)> = Vec::new();
            timed.extend(self.hook.as_ref().filter(agrees).map(|one| (one.at, Evidence::Hook, one)));
            timed.extend(self.transcript.as_ref().filter(agrees).map(|one| (one.at, Evidence::Transcript, one)));
            timed.sort_by_key(|(_, evidence, _)| *evidence != Evidence::Hook);
            shown.extend(timed.into_iter().map(|(_, evidence, one)| (evidence, one.words.clone())));
        }
        let titled = match title {
            TitleReading::Working if works && !asked => Some("title: working"),
            TitleReading::Idle if !works && !asked => Some("title: idle"),
            TitleReading::NeedsAnswer if asked => Some("title: needs an answer"),
            _ => None,
        };
        shown.extend(titled.map(|words| (Evidence::Title, words.to_owned())));
        let on_screen = screen.and_then(|screen| match &screen.place {
            ScreenPlace::Dialog(_) if asked => Some("screen: a dialog is open".to_owned()),
            ScreenPlace::Composer(_) if works && screen.shows_work == Some(true) && !asked => {
                Some("screen: working".to_owned())
            }
            ScreenPlace::Composer(composer) if !works && !asked => Some(if composer.is_empty() {
                "screen: the composer is empty".to_owned()
            } else {
                "screen: a draft is in the composer".to_owned()
            }),
            ScreenPlace::Blocked(page) if !works => Some(format!("screen: {page}")),
            _ => None,
        });
        shown.extend(on_screen.map(|words| (Evidence::Screen, words)));
        let report = match shown.first() {
            Some((source, _)) => ActivityReport {
                known: true,
                source: *source,
                observation: shown.iter().map(|(_, words)| words.as_str()).collect::<Vec<_>>().join("; "),
                waits_for,
            },
            None => ActivityReport {
                known: works || asked,
                source: Evidence::Screen,
                observation: "no source shows the activity now".to_owned(),
                waits_for,
            },
        };
        self.changed(report)
    }
}
