//! Table of the languages that syntax highlighting supports.

/// Group of languages that are highlighted by the same rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LexicalFamily {
    /// Programming languages, with keywords, strings and calls.
    Code,
    /// Shells, with commands, flags and variables.
    Shell,
    /// Configuration files, with key-value pairs on separate lines.
    Settings,
    /// Markup languages such as HTML.
    Markup,
    /// Diffs, which are coloured by line.
    Changes,
}

#[derive(Debug)]
pub(super) struct HighlightLanguage {
    names: &'static [&'static str],
    pub(super) shape: LexicalFamily,
    /// Keywords of the language, separated by spaces.
    keywords: &'static str,
    pub(super) line_comments: &'static [&'static str],
    pub(super) block_comment: Option<(&'static str, &'static str)>,
    /// Quotes of strings that may span several lines, longest first.
    pub(super) long_quotes: &'static [&'static str],
    /// Quotes of strings that end at the end of the line.
    pub(super) quotes: &'static str,
    /// True if a name before a colon is a key.
    pub(super) keys: bool,
}

const C_LIKE: HighlightLanguage = HighlightLanguage {
    names: &[],
    shape: LexicalFamily::Code,
    keywords: "",
    line_comments: &["//"],
    block_comment: Some(("/*", "*/")),
    long_quotes: &[],
    quotes: "\"'",
    keys: false,
};

const SETTINGS_LANGUAGE: HighlightLanguage = HighlightLanguage {
    shape: LexicalFamily::Settings,
    line_comments: &["#"],
    block_comment: None,
    keys: true,
    ..C_LIKE
};

const CONSTANT_WORDS: &str = "true false null nil none None True False undefined NaN this self super NULL nullptr";

/// Type names that begin with a lower-case letter.
const TYPE_WORDS: &str = "i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64 bool char str int float string bytes \
                     list dict tuple set number boolean any unknown never error byte rune uint int32 int64 uint8 uint32 \
                     uint64 float32 float64 size_t";

const LANGUAGES: &[HighlightLanguage] = &[
    HighlightLanguage {
        names: &["rust", "rs"],
        keywords: "as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod \
                   move mut pub ref return static struct trait type union unsafe use where while yield",
        quotes: "\"'",
        ..C_LIKE
    },
    HighlightLanguage {
        names: &["python", "py", "python3"],
        keywords: "and as assert async await break case class continue def del elif else except finally for from global \
                   if import in is lambda match nonlocal not or pass raise return try while with yield",
        line_comments: &["#"],
        block_comment: None,
        long_quotes: &["\"\"\"", "'''"],
        ..C_LIKE
    },
    HighlightLanguage {
        names: &["javascript", "js", "jsx", "typescript", "ts", "tsx", "mjs"],
        keywords: "abstract as async await break case catch class const continue declare default delete do else enum \
                   export extends finally for from function get if implements import in infer instanceof interface is \
                   keyof let namespace new of private protected public readonly return satisfies set static switch \
                   throw try type typeof var void while with yield",
        long_quotes: &["`"],
        ..C_LIKE
    },
    HighlightLanguage {
        names: &["go", "golang"],
        keywords: "break case chan const continue default defer else fallthrough for func go goto if import interface \
                   map package range return select struct switch type var",
        long_quotes: &["`"],
        ..C_LIKE
    },
    HighlightLanguage {
        names: &["c", "h", "cpp", "c++", "cc", "hpp", "objc", "cs", "csharp", "c#"],
        keywords: "abstract alignas async auto await base bool break case catch char class const constexpr continue \
                   decltype default delete do double else enum explicit extern final float for foreach friend get goto \
                   if in inline int interface internal is long namespace new noexcept operator out override private \
                   protected public readonly ref return sealed set short signed sizeof static string struct switch \
                   template throw try typedef typename union unsigned using var virtual void volatile while #include \
                   #define #if #ifdef #ifndef #endif #else #pragma",
        ..C_LIKE
    },
    HighlightLanguage {
        names: &["java", "kotlin", "kt", "scala", "swift", "dart", "groovy", "php"],
        keywords: "abstract as assert async await boolean break by case catch char class companion const continue data \
                   def default defer do double echo else enum extends extension final finally float for fun func \
                   function guard if implements import in init inout int interface internal is lateinit lazy let long \
                   match namespace native new object open operator out override package private protected protocol \
                   public record return sealed short static struct suspend switch synchronized throw throws trait try \
                   type typealias use val var void volatile when where while with yield",
        long_quotes: &["\"\"\""],
        ..C_LIKE
    },
    HighlightLanguage {
        names: &["ruby", "rb", "elixir", "ex", "lua", "perl", "pl", "r", "julia"],
        keywords: "alias and begin break case class def defined defmodule do else elseif elsif end ensure fn for function \
                   goto if import in include local module my next not or package rescue repeat require return sub \
                   then unless until use when while yield",
        line_comments: &["#", "--"],
        block_comment: None,
        ..C_LIKE
    },
    HighlightLanguage {
        names: &["sql", "postgres", "mysql", "sqlite"],
        keywords: "add all alter and as asc between by case check column constraint create cross default delete desc \
                   distinct drop else end exists foreign from full group having if in index inner insert into is join \
                   key left like limit not null offset on or order outer primary references returning right select \
                   set table then union unique update values view when where with",
        line_comments: &["--"],
        ..C_LIKE
    },
    HighlightLanguage {
        names: &["sh", "bash", "zsh", "shell", "console", "fish", "dockerfile", "docker", "make", "makefile"],
        shape: LexicalFamily::Shell,
        keywords: "case do done elif else esac export fi for function if in local return set source then unset until \
                   while FROM RUN COPY ADD CMD ENTRYPOINT ENV ARG WORKDIR EXPOSE USER LABEL VOLUME AS",
        line_comments: &["#"],
        block_comment: None,
        long_quotes: &["\"", "'"],
        quotes: "`",
        keys: false,
    },
    HighlightLanguage { names: &["json", "jsonc", "json5"], keys: true, quotes: "\"", ..C_LIKE },
    HighlightLanguage { names: &["yaml", "yml"], ..SETTINGS_LANGUAGE },
    HighlightLanguage {
        names: &["toml", "ini", "conf", "cfg", "properties", "env", "dotenv"],
        line_comments: &["#", ";"],
        long_quotes: &["\"\"\"", "'''"],
        ..SETTINGS_LANGUAGE
    },
    HighlightLanguage {
        names: &["css", "scss", "less"],
        keywords: "@media @import @font-face @keyframes @supports @use @mixin @include !important",
        keys: true,
        ..C_LIKE
    },
    HighlightLanguage {
        names: &["html", "xml", "svg", "vue", "svelte", "xhtml"],
        shape: LexicalFamily::Markup,
        line_comments: &[],
        block_comment: Some(("<!--", "-->")),
        ..C_LIKE
    },
    HighlightLanguage { names: &["diff", "patch"], shape: LexicalFamily::Changes, ..C_LIKE },
];

impl HighlightLanguage {
    /// Finds a language by the label of a fence, such as `rust`, `rust,ignore` or `{.rust}`.
    pub(super) fn named(label: &str) -> Option<&'static Self> {
        let name = label.trim_start_matches(['{', '.']).split([' ', ',', '{', '}', ':']).next()?.to_ascii_lowercase();
        LANGUAGES.iter().find(|language| language.names.contains(&name.as_str()))
    }

    pub(super) fn is_keyword(&self, word: &str) -> bool {
        let sql = self.names.contains(&"sql");
        self.keywords.split(' ').any(|known| known == word || (sql && known.eq_ignore_ascii_case(word)))
    }

    pub(super) fn is_constant(&self, word: &str) -> bool {
        CONSTANT_WORDS.split(' ').any(|known| known == word)
    }

    pub(super) fn is_type(&self, word: &str) -> bool {
        self.shape == LexicalFamily::Code && !self.keys && TYPE_WORDS.split(' ').any(|known| known == word)
    }

    pub(super) fn is(&self, name: &str) -> bool {
        self.names.contains(&name)
    }
}
