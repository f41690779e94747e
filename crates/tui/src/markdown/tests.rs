//! Tests of Markdown rendering: source in, lines out.

use proptest::prelude::*;
use ratatui::style::{Modifier, Style};

use super::*;

fn texts(lines: &[Line<'_>]) -> Vec<String> {
    lines.iter().map(|line| line.to_string().trim_end().to_owned()).collect()
}

fn shown(source: &str, width: u16) -> Vec<String> {
    texts(&render(source, width, &Theme::dark()))
}

fn partly(source: &str) -> Vec<String> {
    texts(&render_partial(source, 40, &Theme::dark()))
}

/// The style of the first span that has this text.
#[track_caller]
fn style_of(lines: &[Line<'_>], text: &str) -> Style {
    let mut spans = lines.iter().flat_map(|line| &line.spans);
    let span = spans.find(|span| span.content.trim() == text);
    span.unwrap_or_else(|| panic!("no {text:?} in {lines:?}")).style
}

#[test]
fn blocks_are_set_apart_and_words_wrap() {
    assert_eq!(
        shown("# Title\nSome words that wrap\nand a break\n\n---\nEnd", 12),
        ["Title", "", "Some words", "that wrap", "and a break", "", "────────────", "", "End"]
    );
}

#[test]
fn words_have_their_styles() {
    let theme = Theme::dark();
    let lines = render("# H\n\na **b** *c* ~~d~~ `e` ***f***", 40, &theme);
    assert_eq!(style_of(&lines, "H"), theme.heading.add_modifier(Modifier::UNDERLINED));
    assert_eq!(style_of(&lines, "b"), theme.strong);
    assert_eq!(style_of(&lines, "c"), theme.emphasis);
    assert_eq!(style_of(&lines, "d"), theme.strike);
    assert_eq!(style_of(&lines, "e"), theme.code);
    assert_eq!(style_of(&lines, "f"), theme.emphasis.patch(theme.strong));
}

#[test]
fn a_link_shows_its_address() {
    assert_eq!(shown("see [the docs](https://a.b/c)", 60), ["see the docs (https://a.b/c)"]);
    assert_eq!(shown("<https://a.b> and ![a cat](cat.png)", 60), ["https://a.b and [image] a cat (cat.png)"]);
}

#[test]
fn lists_hang_and_nest() {
    assert_eq!(
        shown("- one two three\n  - inner words\n    - deep\n- [x] done\n- [ ] to do\n\n9. nine\n10. ten and more", 14),
        [
            "• one two",
            "  three",
            "  ◦ inner",
            "    words",
            "    ▪ deep",
            "☑ done",
            "☐ to do",
            "",
            "9. nine",
            "10. ten and",
            "    more",
        ]
    );
    assert_eq!(shown("- a\n\n  b\n- c\n-\n", 20), ["• a", "", "  b", "• c", "•"]);
}

#[test]
fn a_quote_has_a_bar() {
    assert_eq!(shown("> one two\n>\n> - three\n\nfour", 10), ["▎ one two", "▎", "▎ • three", "", "four"]);
}

#[test]
fn code_keeps_its_blanks_and_says_its_language() {
    assert_eq!(
        shown("```rust\nfn main() {\n\n    let x = \"a long line\";\n}\n```", 20),
        ["rust", "  fn main() {", "", "      let x = \"a lon", "  g line\";", "  }"]
    );
    assert_eq!(shown("a\n\n    indented\n", 20), ["a", "", "  indented"]);
}

#[test]
fn a_table_fits() {
    let table = "| Name | What it does |\n|---|--:|\n| a | first |\n| `b` | the second of them |";
    assert_eq!(
        shown(table, 60),
        [
            "┌──────┬────────────────────┐",
            "│ Name │       What it does │",
            "├──────┼────────────────────┤",
            "│ a    │              first │",
            "│ b    │ the second of them │",
            "└──────┴────────────────────┘",
        ]
    );
    assert_eq!(
        shown(table, 22),
        [
            "┌──────┬─────────────┐",
            "│ Name │     What it │",
            "│      │        does │",
            "├──────┼─────────────┤",
            "│ a    │       first │",
            "├──────┼─────────────┤",
            "│ b    │  the second │",
            "│      │     of them │",
            "└──────┴─────────────┘",
        ]
    );
    assert_eq!(shown(table, 13)[..3], ["Name: a", "What it does:", "first"]);
}

#[test]
fn wide_characters_keep_a_table_straight() {
    let lines = render("|名前|x|\n|-|-|\n|日本語|a|", 40, &Theme::dark());
    assert!(lines.iter().all(|line| line.width() == lines[0].width()), "{lines:?}");
}

#[test]
fn controls_never_reach_the_terminal() {
    assert_eq!(shown("a\x1b[31mred &#27;[2J `\x07`", 60), ["a␛[31mred ␛[2J ␇"]);
    assert_eq!(shown("```\x1b]0;x\nc\x1bd\n```", 60), ["␛]0;x", "  c␛d"]);
}

#[test]
fn html_is_text() {
    assert_eq!(shown("a<br>b <b>c</b>", 60), ["a", "b <b>c</b>"]);
}

#[test]
fn partial_text_looks_like_its_final_form() {
    assert_eq!(partly("some **bold te"), ["some bold te"]);
    assert_eq!(partly("some **"), ["some"]);
    assert_eq!(partly("some `code *x"), ["some code *x"]);
    assert_eq!(partly("see [the docs](http://exa"), ["see the docs"]);
    assert_eq!(partly("a paragraph\n-"), ["a paragraph"]);
    assert_eq!(partly("a paragraph\n="), ["a paragraph"]);
    assert_eq!(partly("- one\n- "), ["• one"]);
    assert_eq!(partly("1. one\n2."), ["1. one"]);
    assert_eq!(partly("```rust\nlet x = \"**"), ["rust", "  let x = \"**"]);
    assert_eq!(partly("```\na\n```\n**b"), ["  a", "", "b"]);
    assert_eq!(partly("a * b and 2 ** 3"), ["a * b and 2 ** 3"]);
    assert_eq!(partly("snake_case_name"), ["snake_case_name"]);
    assert_eq!(partly("**a** and *b*"), ["a and b"]);
    assert_eq!(partly("***all"), ["all"]);
    assert_eq!(partly("in 2026"), ["in 2026"]);
}

#[test]
fn code_has_colours() {
    let theme = Theme::dark();
    let syntax = theme.syntax;
    for (language, source, expected) in [
        (
            "rust",
            "let x: Foo = bar(\"s\", 'c', 1.5); // hi",
            &[
                ("let", syntax.keyword),
                ("Foo", syntax.kind),
                ("bar", syntax.function),
                ("\"s\"", syntax.string),
                ("'c'", syntax.string),
                ("1.5", syntax.constant),
                ("// hi", syntax.comment),
            ][..],
        ),
        (
            "rs",
            "#[test] fn f<'a>(x: &'a str) { vec![true] }",
            &[
                ("#[test]", syntax.attribute),
                ("'a", syntax.attribute),
                ("str", syntax.kind),
                ("vec", syntax.function),
                ("true", syntax.constant),
            ],
        ),
        (
            "python",
            "@cached\ndef f():\n    \"\"\"doc\n    more\"\"\"  # why",
            &[
                ("@cached", syntax.attribute),
                ("def", syntax.keyword),
                ("\"\"\"doc\n    more\"\"\"", syntax.string),
                ("# why", syntax.comment),
            ],
        ),
        (
            "ts",
            "const s = `a\n${b}`; /* c\nd */ new Map()",
            &[
                ("const", syntax.keyword),
                ("`a\n${b}`", syntax.string),
                ("/* c\nd */", syntax.comment),
                ("Map", syntax.function),
            ],
        ),
        (
            "json",
            "{\"a\": \"b\", \"c\": null}",
            &[("\"a\"", syntax.key), ("\"b\"", syntax.string), ("null", syntax.constant)],
        ),
        (
            "yaml",
            "# c\nname: x\n- item: 5",
            &[("# c", syntax.comment), ("name", syntax.key), ("- item", syntax.key), ("5", syntax.constant)],
        ),
        (
            "toml",
            "[package]\nname = \"x\" # y",
            &[("[package]", syntax.key), ("name", syntax.key), ("\"x\"", syntax.string)],
        ),
        (
            "bash",
            "if true; then ls -la \"$HOME\" | grep $x; fi",
            &[
                ("if", syntax.keyword),
                ("ls", syntax.function),
                ("-la", syntax.constant),
                ("grep", syntax.function),
                ("$x", syntax.attribute),
            ],
        ),
        (
            "html",
            "<a href=\"x\">t</a><!-- c -->",
            &[("<a", syntax.keyword), ("href", syntax.key), ("\"x\"", syntax.string), ("<!-- c -->", syntax.comment)],
        ),
        (
            "diff",
            "-old\n+new\n@@ 1 @@",
            &[("-old", theme.removed), ("+new", theme.added), ("@@ 1 @@", syntax.attribute)],
        ),
        ("sql", "SELECT a FROM t -- x", &[("SELECT", syntax.keyword), ("-- x", syntax.comment)]),
    ] {
        let pieces = highlight::highlight(source, language, &theme);
        assert_eq!(pieces.iter().map(|piece| piece.text.as_str()).collect::<String>(), source);
        for (text, style) in expected {
            let piece = pieces.iter().find(|piece| piece.text.trim() == *text);
            let piece = piece.unwrap_or_else(|| panic!("no {text:?} of its own in {pieces:?}"));
            assert_eq!(piece.style, *style, "{language}: {text}");
        }
    }
}

#[test]
fn an_unknown_language_is_plain() {
    let theme = Theme::dark();
    assert_eq!(highlight::highlight("let x", "brainfuck", &theme).len(), 1);
    assert_eq!(texts(&code("a\tb\n", "", 20, &theme)), ["a   b"]);
}

#[test]
fn a_long_text_takes_time_in_proportion() {
    let theme = Theme::dark();
    let paragraph = "Some **bold** words, `code` and [a link](http://x.y) in a paragraph.\n";
    let long = format!(
        "{}\n\n```rust\n{}```\n{}",
        paragraph.repeat(3000),
        "let x = 'a'; // b\n".repeat(3000),
        "**`[*".repeat(3000)
    );
    let lines = render_partial(&long, 80, &theme);
    assert!(lines.len() > 6000);
}

fn any_markdown() -> impl Strategy<Value = String> {
    let bits = [
        "# ",
        "**",
        "*",
        "_",
        "`",
        "```",
        "```rust\n",
        "~~",
        "~",
        "[",
        "](",
        ")",
        "![",
        "> ",
        "- ",
        "1. ",
        "- [ ] ",
        "\n",
        "\n\n",
        "|",
        "|-|-|\n",
        "| a | b |\n",
        "    ",
        "\t",
        "word",
        "日本語",
        " ",
        "<b>",
        "&#27;",
        "\x1b",
        "\\",
        "'",
        "\"",
        "//",
        "/*",
        "---",
        "é",
        "```html\n",
        "```sh\n",
        "```yaml\n",
        "<",
        "$",
        "${",
        "@",
        "#",
        ":",
    ];
    prop_oneof![
        4 => proptest::collection::vec(proptest::sample::select(bits.to_vec()), 0..40).prop_map(|bits| bits.concat()),
        1 => any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_text_is_drawn_within_the_width_and_without_controls(source in any_markdown(), width in 4u16..60) {
        for lines in [render(&source, width, &Theme::dark()), render_partial(&source, width, &Theme::light())] {
            for line in &lines {
                prop_assert!(line.width() <= usize::from(width), "{:?}", line);
                prop_assert!(!line.to_string().contains(char::is_control), "{:?}", line);
            }
        }
        let _ = render(&source, 0, &Theme::dark());
    }

    #[test]
    fn colouring_loses_no_character(source in any_markdown(), language in "rust|html|sh|yaml|json|python|css|diff|sql|c") {
        let pieces = highlight::highlight(&source, &language, &Theme::dark());
        prop_assert_eq!(pieces.into_iter().map(|piece| piece.text).collect::<String>(), source);
    }
}

#[test]
fn repeated_marks_take_linear_time() {
    // With quadratic time this takes minutes.
    for text in ["x", "*", "_", "~", "`", "[", "a* ", "` `` ", "\\"] {
        let long = text.repeat(400_000 / text.len());
        assert!(!render_partial(&long, 80, &Theme::dark()).is_empty() || !text.contains('x'), "{text}");
    }
}
