//! The built-in demo program: a small chat that echoes its input, for trying the HTTP API.

use std::io;
use std::time::{Duration, Instant};

use crossterm::event::{
    self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event, KeyCode,
    KeyEventKind, KeyModifiers, MouseEventKind,
};
use crossterm::execute;
use ratatui::layout::{Constraint, Layout, Position};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Wrap};
use ratatui::{DefaultTerminal, Frame};

/// Delay between words in an answer.
const WORD_DELAY: Duration = Duration::from_millis(60);
const SPINNER: [char; 8] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧'];

const HELP: &str = "Available Commands: /help · /colors · /wide · /clear · /quit";

/// Runs the demo until the user quits.
pub fn run(url: Option<&str>) -> io::Result<()> {
    let mut terminal = ratatui::try_init()?;
    let _ = execute!(io::stdout(), EnableBracketedPaste, EnableMouseCapture);
    let result = DemoProgram::new(url).run(&mut terminal);
    let _ = execute!(io::stdout(), DisableBracketedPaste, DisableMouseCapture);
    ratatui::try_restore()?;
    result
}

struct DemoProgram {
    transcript: Vec<Line<'static>>,
    draft: String,
    /// Remaining words of the current answer, last word first, and the start time of the answer.
    answer: Option<(Vec<String>, Instant)>,
    url: Option<String>,
    quit: bool,
}

impl DemoProgram {
    fn new(url: Option<&str>) -> Self {
        let mut demo = Self {
            transcript: Vec::new(),
            draft: String::new(),
            answer: None,
            url: url.map(str::to_owned),
            quit: false,
        };
        demo.say("Welcome aboard. Type something and press Enter; /help lists the commands.");
        if let Some(url) = &demo.url {
            let call = format!("curl {url}/control/send_input -d '{{\"text\":\"hello\",\"key\":\"enter\"}}'");
            demo.say("Or type from another terminal:");
            demo.transcript.push(Line::from(format!("  {call}")).cyan());
        }
        demo
    }

    fn say(&mut self, text: &str) {
        self.transcript.push(Line::from(vec![Span::from("◇ demo  ").magenta(), Span::from(text.to_owned())]));
    }

    fn run(mut self, terminal: &mut DefaultTerminal) -> io::Result<()> {
        while !self.quit {
            terminal.draw(|frame| self.draw(frame))?;
            // Redraws only on input or while an answer is shown.
            let waiting = if self.answer.is_some() { WORD_DELAY } else { Duration::from_secs(3600) };
            if event::poll(waiting)? {
                self.update(event::read()?);
            } else {
                self.next_word();
            }
        }
        Ok(())
    }

    fn update(&mut self, event: Event) {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => match (key.code, key.modifiers) {
                (KeyCode::Char('c' | 'd'), KeyModifiers::CONTROL) => self.quit = true,
                (KeyCode::Char('u'), KeyModifiers::CONTROL) | (KeyCode::Esc, _) => self.draft.clear(),
                (KeyCode::Enter, KeyModifiers::ALT | KeyModifiers::SHIFT)
                | (KeyCode::Char('j'), KeyModifiers::CONTROL) => self.draft.push('\n'),
                (KeyCode::Enter, _) => self.submit(),
                (KeyCode::Backspace, _) => drop(self.draft.pop()),
                (KeyCode::Char(character), _) => self.draft.push(character),
                (code, _) => self.say(&format!("you pressed {code}")),
            },
            Event::Paste(text) => self.draft.push_str(&text),
            Event::Mouse(mouse) if matches!(mouse.kind, MouseEventKind::Down(_)) => {
                self.say(&format!("you clicked at {},{}", mouse.column, mouse.row))
            }
            _ => {}
        }
    }

    fn submit(&mut self) {
        // Completes the current answer before the next one starts.
        while self.answer.is_some() {
            self.next_word();
        }
        let text = std::mem::take(&mut self.draft);
        match text.trim() {
            "" => {}
            "/quit" => self.quit = true,
            "/clear" => self.transcript.clear(),
            "/help" => self.say(HELP),
            "/wide" => self.say("日本語 · 한국어 · e\u{301}te\u{301} · ⚓ · ┌─┬─┐"),
            "/colors" => self.transcript.push(Line::from(
                (0..16).map(|index| Span::styled("██", Style::new().fg(Color::Indexed(index)))).collect::<Vec<_>>(),
            )),
            text => {
                self.transcript
                    .push(Line::from(vec![Span::from("◆ you   ").green(), Span::from(text.replace('\n', " ⏎ "))]));
                let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
                words.insert(0, "echo:".to_owned());
                words.reverse();
                self.answer = Some((words, Instant::now()));
                self.say("");
            }
        }
    }

    fn next_word(&mut self) {
        let Some((words, _)) = &mut self.answer else { return };
        if let (Some(word), Some(line)) = (words.pop(), self.transcript.last_mut()) {
            line.push_span(Span::from(format!("{word} ")));
        }
        // The answer ends in the same frame as its last word.
        self.answer.take_if(|(words, _)| words.is_empty());
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let lines = self.draft.split('\n').count().min(6);
        let areas: [_; 4] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Min(1),
            Constraint::Length(1),
            Constraint::Length(lines as u16 + 2),
        ])
        .areas(frame.area());
        let [head, middle, status, composer] = areas;
        frame.render_widget(
            Line::from(vec![Span::from(" wheelhouse ").bold().reversed(), Span::from(" demonstration").dim()]),
            head,
        );
        let shown = self.transcript.len().saturating_sub(usize::from(middle.height));
        frame.render_widget(Paragraph::new(self.transcript[shown..].to_vec()).wrap(Wrap { trim: false }), middle);
        frame.render_widget(self.status(), status);
        let draft = if self.draft.is_empty() {
            Line::from("Type a message…").dim().into()
        } else {
            ratatui::text::Text::from(self.draft.as_str())
        };
        frame.render_widget(Paragraph::new(draft).block(Block::bordered().border_style(Style::new().cyan())), composer);
        let last = self.draft.rsplit('\n').next().unwrap_or_default();
        let column = composer.x + 1 + u16::try_from(Line::from(last).width()).unwrap_or(0);
        frame.set_cursor_position(Position::new(
            column.min(composer.right().saturating_sub(2)),
            composer.y + lines as u16,
        ));
    }

    fn status(&self) -> Line<'static> {
        match &self.answer {
            Some((_, since)) => {
                let turn = since.elapsed().as_millis() as usize / 80 % SPINNER.len();
                Line::from(format!("{} answering", SPINNER[turn])).cyan()
            }
            None => Line::from("Enter: send · Esc: clear · Ctrl-C: quit").dim(),
        }
    }
}
