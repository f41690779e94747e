//! Wraps the emulator and corrects its deviations from xterm. Every operation passes through this module. The `pass!`
//! list names the unchanged operations. The operations after the list are corrections, verified against xterm and tmux.

use std::ops::Range;

use alacritty_terminal::event::{Event, EventListener};
use alacritty_terminal::grid::{Dimensions, Row};
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::Flags;
use alacritty_terminal::term::{Config, Term, TermMode};
use alacritty_terminal::vte::ansi::{
    Attr, CharsetIndex, ClearMode, CursorShape, CursorStyle, Handler, Hyperlink, KeyboardModes,
    KeyboardModesApplyBehavior, LineClearMode, Mode, NamedMode, NamedPrivateMode, PrivateMode, Rgb, StandardCharset,
    TabulationClearMode,
};

use super::{EmulatorSize, EventQueue, convert};
use crate::frame::Size;

/// Maximum number of pushed keyboard modes. Beyond this number the emulator panics.
const MAX_KEYBOARD_MODES: usize = 4096;

/// Cursor state saved by DECSC that the emulator does not save itself.
#[derive(Clone, Copy, Default)]
struct SavedCursor {
    origin: bool,
    charset: CharsetIndex,
}

/// State of one of the two screens, primary or alternate.
#[derive(Default)]
struct PerScreenState {
    saved: SavedCursor,
    keyboards: usize,
}

pub(super) struct Emulator {
    term: Term<EventQueue>,
    event_queue: EventQueue,
    /// Lines between the scroll margins.
    region: Range<i32>,
    charset: CharsetIndex,
    primary: PerScreenState,
    alternate: PerScreenState,
}

impl Emulator {
    pub fn new(config: Config, size: Size, event_queue: EventQueue) -> Self {
        Self {
            term: Term::new(config, &EmulatorSize(size), event_queue.clone()),
            event_queue,
            region: 0..i32::from(size.rows),
            charset: CharsetIndex::default(),
            primary: PerScreenState::default(),
            alternate: PerScreenState::default(),
        }
    }

    pub fn term(&self) -> &Term<EventQueue> {
        &self.term
    }

    pub fn resize(&mut self, size: Size) {
        let before = (self.term.columns(), self.term.screen_lines());
        self.term.resize(EmulatorSize(size));
        self.region = 0..i32::from(size.rows);
        if usize::from(size.columns) * 2 <= before.0 || usize::from(size.rows) * 2 <= before.1 {
            self.shrink();
        }
    }

    /// Frees memory after the screen has become smaller, since the emulator retains hidden rows and the former width of
    /// each row. The inactive screen (the primary screen behind the alternate screen) cannot be reached and keeps its
    /// memory.
    fn shrink(&mut self) {
        let grid = self.term.grid_mut();
        grid.truncate();
        let columns = grid.columns();
        for line in grid.topmost_line().0..=grid.bottommost_line().0 {
            let row = &mut grid[Line(line)];
            *row = Row::from_vec(row[..].to_vec(), columns);
        }
    }

    /// Performs DECSTR (soft reset), which the emulator does not support: resets modes, margins and style, but not text
    /// and cursor.
    pub fn soft_reset(&mut self) {
        let point = self.term.grid().cursor.point;
        self.unset_mode(NamedMode::Insert.into());
        for mode in [NamedPrivateMode::CursorKeys, NamedPrivateMode::Origin] {
            self.unset_private_mode(mode.into());
        }
        for mode in [NamedPrivateMode::LineWrap, NamedPrivateMode::ShowCursor] {
            self.set_private_mode(mode.into());
        }
        self.unset_keypad_application_mode();
        self.set_scrolling_region(1, None);
        self.terminal_attribute(Attr::Reset);
        for index in [CharsetIndex::G0, CharsetIndex::G1, CharsetIndex::G2, CharsetIndex::G3] {
            self.configure_charset(index, StandardCharset::Ascii);
        }
        self.set_active_charset(CharsetIndex::G0);
        self.save_cursor_position();
        self.term.grid_mut().cursor.point = point;
    }

    fn has(&self, mode: TermMode) -> bool {
        self.term.mode().contains(mode)
    }

    fn rows(&self) -> i32 {
        i32::try_from(self.term.screen_lines()).unwrap_or(i32::MAX)
    }

    fn per_screen(&mut self) -> &mut PerScreenState {
        if self.has(TermMode::ALT_SCREEN) { &mut self.alternate } else { &mut self.primary }
    }

    /// Moves the cursor to a position on the screen, ignoring origin mode.
    fn move_cursor(&mut self, line: i32, column: usize) {
        let last = self.term.last_column();
        let cursor = &mut self.term.grid_mut().cursor;
        cursor.point.line = Line(line);
        cursor.point.column = Column(column).min(last);
        cursor.input_needs_wrap = false;
    }

    /// Returns the line `count` lines up, bounded by the upper margin unless the cursor is above it.
    fn line_above(&self, count: usize) -> i32 {
        let line = self.term.grid().cursor.point.line.0;
        let top = if line < self.region.start { 0 } else { self.region.start };
        line.saturating_sub(i32::try_from(count).unwrap_or(i32::MAX)).max(top)
    }

    /// Returns the line `count` lines down, bounded by the lower margin unless the cursor is below it.
    fn line_below(&self, count: usize) -> i32 {
        let line = self.term.grid().cursor.point.line.0;
        let bottom = if line < self.region.end { self.region.end } else { self.rows() };
        line.saturating_add(i32::try_from(count).unwrap_or(i32::MAX)).min(bottom - 1)
    }

    fn column(&self) -> usize {
        self.term.grid().cursor.point.column.0
    }

    fn set_origin(&mut self, on: bool) {
        match on {
            true => self.term.set_private_mode(NamedPrivateMode::Origin.into()),
            false => self.term.unset_private_mode(NamedPrivateMode::Origin.into()),
        }
    }

    fn save_extra_state(&mut self) {
        self.per_screen().saved = SavedCursor { origin: self.has(TermMode::ORIGIN), charset: self.charset };
    }

    fn restore_extra_state(&mut self) {
        let SavedCursor { origin, charset } = self.per_screen().saved;
        self.set_origin(origin);
        self.set_active_charset(charset);
    }

    /// Fast path for printable ASCII: writes the character and moves the cursor. Returns false if the character needs
    /// the slow path.
    #[inline]
    fn put_ascii(&mut self, character: char) -> bool {
        let (insert, columns) = (self.has(TermMode::INSERT), self.term.columns());
        let grid = self.term.grid_mut();
        let cursor = &grid.cursor;
        let simple = matches!(character, ' '..='~')
            && !insert
            && !cursor.input_needs_wrap
            && cursor.point.column.0 + 1 < columns
            && cursor.template.extra.is_none()
            && cursor.charsets[self.charset] == StandardCharset::Ascii;
        if !simple {
            return false;
        }
        let (fg, bg, flags) = (cursor.template.fg, cursor.template.bg, cursor.template.flags);
        let cell = grid.cursor_cell();
        // Overwriting half of a wide character also erases the other half.
        if cell.extra.is_some() || cell.flags.intersects(Flags::WIDE_CHAR | Flags::WIDE_CHAR_SPACER) {
            return false;
        }
        (cell.c, cell.fg, cell.bg, cell.flags) = (character, fg, bg, flags);
        grid.cursor.point.column += 1;
        true
    }

    /// Switches screens as modes 47 and 1047 do: the cursor position is unchanged.
    fn swap_screen(&mut self) {
        let cursor = self.term.grid().cursor.clone();
        self.term.swap_alt();
        self.term.grid_mut().cursor = cursor;
    }
}

macro_rules! pass {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {
        $(#[inline]
        fn $name(&mut self, $($argument: $kind),*) {
            self.term.$name($($argument),*);
        })*
    };
}

impl Handler for Emulator {
    // All unchanged operations. Operations missing from this implementation do nothing.
    pass! {
        backspace();
        bell();
        carriage_return();
        clear_line(mode: LineClearMode);
        clear_tabs(mode: TabulationClearMode);
        clipboard_load(clipboard: u8, terminator: &str);
        clipboard_store(clipboard: u8, base64: &[u8]);
        configure_charset(index: CharsetIndex, charset: StandardCharset);
        delete_lines(count: usize);
        dynamic_color_sequence(prefix: String, index: usize, terminator: &str);
        erase_chars(count: usize);
        goto(line: i32, column: usize);
        goto_line(line: i32);
        identify_terminal(intermediate: Option<char>);
        insert_blank(count: usize);
        insert_blank_lines(count: usize);
        move_backward(count: usize);
        move_forward(count: usize);
        move_forward_tabs(count: u16);
        pop_title();
        push_title();
        report_mode(mode: Mode);
        report_private_mode(mode: PrivateMode);
        reset_color(index: usize);
        reverse_index();
        scroll_down(count: usize);
        scroll_up(count: usize);
        set_color(index: usize, color: Rgb);
        set_cursor_shape(shape: CursorShape);
        set_cursor_style(style: Option<CursorStyle>);
        set_horizontal_tabstop();
        set_hyperlink(link: Option<Hyperlink>);
        set_keyboard_mode(mode: KeyboardModes, behavior: KeyboardModesApplyBehavior);
        set_keypad_application_mode();
        set_mode(mode: Mode);
        set_title(title: Option<String>);
        substitute();
        terminal_attribute(attribute: Attr);
        text_area_size_chars();
        text_area_size_pixels();
        unset_keypad_application_mode();
        unset_mode(mode: Mode);
    }

    // Equivalent to the emulator, with a fast path for the common case: printable ASCII within a line.
    #[inline]
    fn input(&mut self, character: char) {
        if !self.put_ascii(character) {
            self.term.input(character);
        }
    }

    // The line is unchanged, also in origin mode.
    fn goto_col(&mut self, column: usize) {
        self.move_cursor(self.term.grid().cursor.point.line.0, column);
    }

    // The scroll margins bound the cursor.
    fn move_up(&mut self, count: usize) {
        self.move_cursor(self.line_above(count), self.column());
    }

    fn move_down(&mut self, count: usize) {
        self.move_cursor(self.line_below(count), self.column());
    }

    fn move_up_and_cr(&mut self, count: usize) {
        self.move_cursor(self.line_above(count), 0);
    }

    fn move_down_and_cr(&mut self, count: usize) {
        self.move_cursor(self.line_below(count), 0);
    }

    // In new line mode a line feed also performs a carriage return.
    fn linefeed(&mut self) {
        self.term.newline();
    }

    // A tab does not wrap to the next line.
    fn put_tab(&mut self, count: u16) {
        if !self.term.grid().cursor.input_needs_wrap {
            self.term.put_tab(count);
        }
    }

    // Without a tab stop to the left, the cursor moves to the first column.
    fn move_backward_tabs(&mut self, count: u16) {
        let line = self.term.grid().cursor.point.line.0;
        for _ in 0..count {
            let column = self.column();
            self.term.move_backward_tabs(1);
            if self.column() == column {
                self.move_cursor(line, 0);
                break;
            }
        }
        self.move_cursor(line, self.column());
    }

    // Cells before the cursor are unchanged.
    fn delete_chars(&mut self, count: usize) {
        self.term.delete_chars(count.min(self.term.columns() - self.column()));
    }

    // Clears the first line even if it is the only line above the cursor.
    fn clear_screen(&mut self, mode: ClearMode) {
        if matches!(mode, ClearMode::Above) {
            let line = self.term.grid().cursor.point.line;
            self.term.grid_mut().reset_region(..line);
        }
        self.term.clear_screen(mode);
    }

    // The pattern fills the whole screen, resets the margins and moves the cursor home.
    fn decaln(&mut self) {
        self.unset_private_mode(NamedPrivateMode::Origin.into());
        self.set_scrolling_region(1, None);
        self.term.decaln();
    }

    // Margins below the screen are ignored.
    fn set_scrolling_region(&mut self, top: usize, bottom: Option<usize>) {
        let rows = self.term.screen_lines();
        let bottom = bottom.unwrap_or(rows).min(rows);
        let (Ok(start), Ok(end)) = (i32::try_from(top), i32::try_from(bottom)) else { return };
        if start < end {
            self.region = start - 1..end;
            self.term.set_scrolling_region(top, Some(bottom));
        }
    }

    fn set_active_charset(&mut self, index: CharsetIndex) {
        self.charset = index;
        self.term.set_active_charset(index);
    }

    // Origin mode and the active charset are saved with the cursor.
    fn save_cursor_position(&mut self) {
        self.save_extra_state();
        self.term.save_cursor_position();
    }

    fn restore_cursor_position(&mut self) {
        self.restore_extra_state();
        self.term.restore_cursor_position();
    }

    fn set_private_mode(&mut self, mode: PrivateMode) {
        let primary = !self.has(TermMode::ALT_SCREEN);
        match mode {
            PrivateMode::Unknown(47 | 1047) if primary => self.swap_screen(),
            PrivateMode::Unknown(1048) => self.save_cursor_position(),
            PrivateMode::Named(NamedPrivateMode::SwapScreenAndSetRestoreCursor) if primary => {
                self.save_extra_state();
                self.term.set_private_mode(mode);
            }
            PrivateMode::Named(NamedPrivateMode::ColumnMode) => {
                self.region = 0..self.rows();
                self.term.set_private_mode(mode);
            }
            _ => self.term.set_private_mode(mode),
        }
    }

    fn unset_private_mode(&mut self, mode: PrivateMode) {
        let alternate = self.has(TermMode::ALT_SCREEN);
        match mode {
            PrivateMode::Unknown(47 | 1047) if alternate => self.swap_screen(),
            PrivateMode::Unknown(1048) => self.restore_cursor_position(),
            PrivateMode::Named(NamedPrivateMode::SwapScreenAndSetRestoreCursor) if alternate => {
                self.term.unset_private_mode(mode);
                let cursor = self.term.grid().cursor.clone();
                self.restore_extra_state();
                self.term.grid_mut().cursor = cursor;
            }
            // The cursor moves home, as when the mode is set.
            PrivateMode::Named(NamedPrivateMode::Origin) => {
                self.term.unset_private_mode(mode);
                self.move_cursor(0, 0);
            }
            PrivateMode::Named(NamedPrivateMode::ColumnMode) => {
                self.region = 0..self.rows();
                self.term.unset_private_mode(mode);
            }
            _ => self.term.unset_private_mode(mode),
        }
    }

    // In origin mode the position is reported relative to the upper margin.
    fn device_status(&mut self, question: usize) {
        if question == 6 && self.has(TermMode::ORIGIN) {
            let point = self.term.grid().cursor.point;
            let line = (point.line.0 - self.region.start).max(0);
            self.event_queue.send_event(Event::PtyWrite(format!("\x1b[{};{}R", line + 1, point.column.0 + 1)));
        } else {
            self.term.device_status(question);
        }
    }

    // Reports the active flags, not the flags that were pushed last.
    fn report_keyboard_mode(&mut self) {
        let flags = convert::modes(*self.term.mode(), 0).kitty_keyboard;
        self.event_queue.send_event(Event::PtyWrite(format!("\x1b[?{flags}u")));
    }

    // At the maximum depth the new mode replaces the last mode.
    fn push_keyboard_mode(&mut self, mode: KeyboardModes) {
        if self.per_screen().keyboards == MAX_KEYBOARD_MODES {
            self.pop_keyboard_modes(1);
        }
        self.per_screen().keyboards += 1;
        self.term.push_keyboard_mode(mode);
    }

    fn pop_keyboard_modes(&mut self, count: u16) {
        let per_screen = self.per_screen();
        per_screen.keyboards = per_screen.keyboards.saturating_sub(count.into());
        self.term.pop_keyboard_modes(count);
    }

    fn reset_state(&mut self) {
        self.term.reset_state();
        self.region = 0..self.rows();
        self.charset = CharsetIndex::default();
        (self.primary, self.alternate) = (PerScreenState::default(), PerScreenState::default());
    }
}

#[cfg(test)]
mod tests;
