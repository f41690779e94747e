//! Language rules that a machine can check: comments, the glossary of `CONTRIBUTING.md`, names, the width of Markdown.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{LazyLock, OnceLock};

use proc_macro2::{TokenStream, TokenTree};
use regex::Regex;

use crate::edges::{files, root};

/// Openings that paraphrase a thing instead of naming it.
const BAD_OPENINGS: [&str; 12] =
    ["what", "who", "whose", "whom", "which", "how", "whether", "those", "whatever", "whoever", "why", "everything"];

const MIN_COMMENT_WORDS: usize = 3;
const MAX_MARKDOWN_COLUMNS: usize = 120;

/// A public name may exist in this many crates: a wire type and its core twin.
const MAX_CRATES_OF_A_PUBLIC_TYPE: usize = 2;
const MAX_DEFINITIONS_OF_A_TYPE: usize = 2;

/// Parts of the name of a constant duration: the kind of limit.
const DURATION_KINDS: [&str; 14] = [
    "TIMEOUT", "GRACE", "INTERVAL", "DELAY", "PERIOD", "AGE", "TTL", "DEADLINE", "WINDOW", "DURATION", "TIME",
    "BACKOFF", "COOLDOWN", "LIFETIME",
];

/// Constant names that do not name the limit.
const VAGUE_CONSTANTS: [&str; 16] = [
    "PATIENCE",
    "LONGEST",
    "MOST",
    "LIMIT",
    "KEPT",
    "PAUSE",
    "REST",
    "DEPTH",
    "GRACE",
    "LAST_WORDS",
    "LAST_RITES",
    "AFTERMATH",
    "LOOK",
    "LOOK_AGAIN",
    "MANY",
    "ENOUGH",
];

/// Part of a Rust file that the rules apply to.
enum Piece {
    /// Text of consecutive doc comments, and the line of the first.
    Doc(usize, String),
    /// String literal outside of tests, as written in the source.
    Text(usize, String),
    /// Type definition outside of tests: its name, and true if the type is public.
    Type(usize, String, bool),
    /// Constant outside of tests: its name and its type.
    Constant(usize, String, String),
}

/// Reads the pieces of a stream of tokens. `test` excludes all but doc comments.
fn pieces(tokens: TokenStream, test: bool, inside_impl: bool, found: &mut Vec<Piece>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let word = |at: usize| match tokens.get(at) {
        Some(TokenTree::Ident(ident)) => ident.to_string(),
        Some(TokenTree::Punct(punct)) => punct.as_char().to_string(),
        _ => String::new(),
    };
    let mut of_test = false;
    let mut of_impl = false;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => {
                let before = at.checked_sub(1).map(word).unwrap_or_default();
                let inner = before == "!" && at.checked_sub(2).map(word).is_some_and(|mark| mark == "#");
                let attribute = before == "#" || inner;
                if attribute {
                    let text = group.stream().to_string();
                    of_test |= text.replace(' ', "").starts_with("cfg(test)") || text == "test";
                    if let Some(text) = doc(group.stream()) {
                        let line = group.span_open().start().line;
                        match found.last_mut() {
                            Some(Piece::Doc(first, whole)) if *first + whole.matches('\n').count() + 1 == line => {
                                whole.push('\n');
                                whole.push_str(&text);
                            }
                            _ => found.push(Piece::Doc(line, text)),
                        }
                    } else {
                        pieces(group.stream(), test || of_test, inside_impl, found);
                    }
                    continue;
                }
                let braces = group.delimiter() == proc_macro2::Delimiter::Brace;
                pieces(group.stream(), test || of_test, of_impl && braces, found);
                if braces {
                    (of_test, of_impl) = (false, false);
                }
            }
            TokenTree::Literal(literal) if !test && !of_test => {
                let text = literal.to_string();
                if text.starts_with('"') || text.starts_with('r') {
                    found.push(Piece::Text(literal.span().start().line, text));
                }
            }
            TokenTree::Ident(ident) => {
                let line = ident.span().start().line;
                let keyword = ident.to_string();
                of_impl |= keyword == "impl" || keyword == "trait";
                if test || of_test {
                    continue;
                }
                match keyword.as_str() {
                    "struct" | "enum" | "trait" | "union" | "type"
                        if !word(at + 1).is_empty() && word(at + 1) != "!" =>
                    {
                        if keyword == "type" && inside_impl {
                            continue;
                        }
                        let name = word(at + 1);
                        if name.starts_with(char::is_uppercase) {
                            found.push(Piece::Type(
                                line,
                                name,
                                at.checked_sub(1).map(word).is_some_and(|before| before == "pub"),
                            ));
                        }
                    }
                    "const" if word(at + 2) == ":" => {
                        let kind: String =
                            (at + 3..at + 12).map(word).take_while(|part| part != "=").collect::<Vec<_>>().concat();
                        found.push(Piece::Constant(line, word(at + 1), kind));
                    }
                    _ => {}
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => (of_test, of_impl) = (false, false),
            _ => {}
        }
    }
}

/// Returns the text of a doc comment, which the parser turns into the attribute `doc = "text"`.
fn doc(attribute: TokenStream) -> Option<String> {
    match attribute.into_iter().collect::<Vec<_>>().as_slice() {
        [TokenTree::Ident(name), TokenTree::Punct(_), TokenTree::Literal(text)] if *name == "doc" => {
            Some(text.to_string().trim_matches('"').trim().replace("\\\"", "\"").replace("\\'", "'"))
        }
        _ => None,
    }
}

/// Parses all Rust files of the workspace, once. Of test files, returns only the doc comments.
fn parsed() -> &'static [(PathBuf, Vec<Piece>)] {
    static PARSED: OnceLock<Vec<(PathBuf, Vec<Piece>)>> = OnceLock::new();
    let parse = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a readable file");
        let tokens = TokenStream::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let relative = path.strip_prefix(root()).expect("a file of the workspace").to_owned();
        let test = relative.components().any(|part| part.as_os_str() == "tests")
            || ["tests.rs", "properties.rs"].iter().any(|name| relative.ends_with(name))
            || !relative.components().any(|part| part.as_os_str() == "src");
        let mut found = Vec::new();
        pieces(tokens, test, false, &mut found);
        (relative, found)
    };
    PARSED.get_or_init(|| files(&root().join("crates"), "rs").into_iter().map(parse).collect())
}

/// Markdown files that belong to the project.
fn markdown() -> Vec<PathBuf> {
    let mut found = files(&root().join("docs"), "md");
    found.extend(files(&root().join("clients"), "md"));
    let top = fs::read_dir(root()).expect("a readable directory").flatten().map(|entry| entry.path());
    found.extend(top.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    found.retain(|path| !path.components().any(|part| part.as_os_str() == "node_modules"));
    found
}

/// Fails with all findings at once.
fn expect_none(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}: {} findings\n{}", findings.len(), findings.join("\n"));
}

#[test]
fn doc_comments_begin_with_a_noun_or_a_verb() {
    let mut findings = Vec::new();
    for (path, pieces) in parsed() {
        for piece in pieces {
            let Piece::Doc(line, text) = piece else { continue };
            let mut words = text.split_whitespace();
            let first =
                words.next().unwrap_or_default().trim_matches(|mark: char| !mark.is_alphanumeric()).to_lowercase();
            let count = text.split_whitespace().count();
            if BAD_OPENINGS.contains(&first.as_str()) || count < MIN_COMMENT_WORDS {
                findings.push(format!("{}:{line}: {}", path.display(), text.lines().next().unwrap_or_default()));
            }
        }
    }
    expect_none("a doc comment begins with a noun or a verb and has three words or more", &findings);
}

/// Reads the glossary: one expression for the terms in the first column of its table.
fn glossary() -> Regex {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).expect("the page is there");
    let (_, table) = page.split_once("| instead of | write |").expect("the glossary");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1)).flat_map(|cell| cell.split(','));
    let terms: Vec<String> = cells.map(|term| regex::escape(term.trim())).filter(|term| !term.is_empty()).collect();
    assert!(terms.len() > 20, "the glossary has {} terms", terms.len());
    Regex::new(&format!(r"(?i)\b(?:{})\b", terms.join("|"))).expect("a valid expression")
}

/// Removes code spans and the targets of links.
fn prose(line: &str) -> String {
    static SPANS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"`[^`]*`|\]\([^)]*\)").expect("a valid expression"));
    SPANS.replace_all(line, "").into_owned()
}

#[test]
fn comments_texts_and_pages_use_standard_terms() {
    let glossary = glossary();
    let term = |text: &str| glossary.find(text).map(|found| found.as_str().to_owned());
    let mut findings = Vec::new();
    for (path, pieces) in parsed() {
        for piece in pieces {
            let (line, text) = match piece {
                Piece::Doc(line, text) => (line, prose(text)),
                Piece::Text(line, text) if text.contains(' ') => (line, text.clone()),
                _ => continue,
            };
            if let Some(term) = term(&text) {
                findings.push(format!("{}:{line}: {term}: {text}", path.display()));
            }
        }
        let file = fs::read_to_string(root().join(path)).expect("a readable file");
        let comments = file.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("// "));
        for (number, line) in comments {
            if let Some(term) = term(&prose(line)) {
                findings.push(format!("{}:{}: {term}: {}", path.display(), number + 1, line.trim()));
            }
        }
    }
    for path in markdown() {
        let mut code = false;
        let page = fs::read_to_string(&path).expect("a readable file");
        let glossary_page = path.ends_with("CONTRIBUTING.md");
        for (number, line) in page.lines().enumerate() {
            code ^= line.starts_with("```");
            if code || glossary_page && line.starts_with('|') {
                continue;
            }
            if let Some(term) = term(&prose(line)) {
                findings.push(format!("{}:{}: {term}: {line}", relative_path(&path), number + 1));
            }
        }
    }
    expect_none("standard terms, see the glossary in CONTRIBUTING.md", &findings);
}

fn relative_path(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

#[test]
fn lines_of_markdown_are_short() {
    let mut findings = Vec::new();
    for path in markdown() {
        let page = fs::read_to_string(&path).expect("a readable file");
        for (number, line) in page.lines().enumerate() {
            let columns = line.chars().count();
            if columns > MAX_MARKDOWN_COLUMNS {
                findings.push(format!("{}:{}: {columns} columns", relative_path(&path), number + 1));
            }
        }
    }
    expect_none("Markdown has at most 120 columns", &findings);
}

#[test]
fn type_names_are_unique() {
    let mut defined: BTreeMap<String, Vec<(String, String, bool)>> = BTreeMap::new();
    for (path, pieces) in parsed() {
        let krate = path.components().nth(1).expect("a crate").as_os_str().to_string_lossy().into_owned();
        for piece in pieces {
            if let Piece::Type(line, name, public) = piece {
                let place = format!("{}:{line}", path.display());
                defined.entry(name.clone()).or_default().push((krate.clone(), place, *public));
            }
        }
    }
    let mut findings = Vec::new();
    for (name, places) in &defined {
        let public = places.iter().filter(|(_, _, public)| *public);
        let crates: BTreeSet<&str> = public.map(|(krate, _, _)| krate.as_str()).collect();
        if crates.len() > MAX_CRATES_OF_A_PUBLIC_TYPE || places.len() > MAX_DEFINITIONS_OF_A_TYPE {
            let places: Vec<&str> = places.iter().map(|(_, place, _)| place.as_str()).collect();
            findings.push(format!("{name}: {}", places.join(", ")));
        }
    }
    assert!(defined.len() > 500, "only {} types were found", defined.len());
    expect_none("a type name is defined at most twice, and public in at most two crates", &findings);
}

#[test]
fn constants_name_their_limit() {
    let mut findings = Vec::new();
    for (path, pieces) in parsed() {
        for piece in pieces {
            let Piece::Constant(line, name, kind) = piece else { continue };
            let duration = kind == "Duration" || kind.ends_with("::Duration");
            let named = name.split('_').any(|part| DURATION_KINDS.contains(&part));
            if VAGUE_CONSTANTS.contains(&name.as_str()) || duration && !named {
                findings.push(format!("{}:{line}: {name}: {kind}", path.display()));
            }
        }
    }
    expect_none("a constant names its limit, and a duration also the kind of limit", &findings);
}
