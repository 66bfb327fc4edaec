//! Questions and answers, line by line: on a terminal, or read from a file.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use anyhow::Context as _;

use super::no_terminal;
use crate::cli::Context;
use crate::cli::exit::usage;
use crate::cli::render::Style;

/// What may be done with a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Accept,
    Edit,
    Reject,
    Never,
    Skip,
    Quit,
    /// Take the text that the verification refused. Never by one letter.
    Anyway,
}

/// What there is to take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    /// The text that is shown.
    pub(super) text: bool,
    /// A text of the user's own that the verification objects to.
    pub(super) refused: bool,
}

impl Answer {
    /// From its first letter or its word, whatever the case.
    fn parse(text: &str) -> Option<Self> {
        Some(match text.trim().to_lowercase().as_str() {
            "a" | "accept" => Self::Accept,
            "e" | "edit" => Self::Edit,
            "r" | "reject" => Self::Reject,
            "n" | "never" => Self::Never,
            "s" | "skip" => Self::Skip,
            "q" | "quit" => Self::Quit,
            "anyway" => Self::Anyway,
            _ => return None,
        })
    }
}

/// Where answers come from and questions go.
pub(super) struct Dialog<'a> {
    context: &'a Context,
    answers: Arc<Mutex<Box<dyn BufRead + Send>>>,
    /// Whether a person sits at the terminal, who may use an editor.
    by_hand: bool,
    /// Whether the dialog goes to stderr, since stdout is for the document.
    aside: bool,
}

impl<'a> Dialog<'a> {
    /// Refuses where nobody could answer.
    pub(super) fn open(
        context: &'a Context,
        file: Option<&Path>,
        aside: bool,
    ) -> anyhow::Result<Self> {
        let answers: Box<dyn BufRead + Send> = match file {
            None if !io::stdin().is_terminal() => return Err(no_terminal()),
            Some(path) if path != Path::new("-") => {
                let shown = path.display();
                let file = File::open(path)
                    .map_err(|error| usage(format!("--answers: cannot read {shown}: {error}")))?;
                Box::new(BufReader::new(file))
            }
            _ => Box::new(BufReader::new(io::stdin())),
        };
        Ok(Self {
            context,
            answers: Arc::new(Mutex::new(answers)),
            by_hand: file.is_none(),
            aside,
        })
    }

    /// How what is shown is dressed.
    pub(super) fn style(&self) -> Style {
        if self.aside {
            self.context.out.notes
        } else {
            self.context.out.style
        }
    }

    /// Shows something.
    pub(super) fn say(&self, text: &str) -> anyhow::Result<()> {
        if self.aside {
            self.context.out.note(text.trim_end());
        } else {
            self.context.out.data(text)?;
        }
        Ok(())
    }

    /// Tells what became of an answer.
    pub(super) fn note(&self, text: &str) {
        self.context.out.note(text);
    }

    /// Asks until an answer can be understood; the end of the answers is one too: quit.
    pub(super) async fn ask(&self, offer: Offer) -> anyhow::Result<Answer> {
        let accept = if offer.text { "[a]ccept  " } else { "" };
        let anyway = if offer.refused {
            "  anyway = take your text all the same"
        } else {
            ""
        };
        let question = format!("{accept}[e]dit  [r]eject  [n]ever  [s]kip  [q]uit{anyway}? ");
        loop {
            let Some(line) = self.line(&question).await? else {
                return Ok(Answer::Quit);
            };
            match Answer::parse(&line) {
                Some(Answer::Accept) if !offer.text => {
                    self.refuse("there is no text yet; write one with `e`")?;
                }
                Some(Answer::Anyway) if !offer.refused => {
                    self.refuse("no text of yours was refused; write one with `e`")?;
                }
                Some(answer) => return Ok(answer),
                None => self.refuse("please answer with one of the letters in brackets")?,
            }
        }
    }

    /// An answer that cannot be used: a person may answer again, a file is wrong.
    fn refuse(&self, why: &str) -> anyhow::Result<()> {
        if !self.by_hand {
            return Err(usage(format!("--answers: {why}")));
        }
        self.note(why);
        Ok(())
    }

    /// One line of an answer without its end; `None` at the end of the answers.
    pub(super) async fn line(&self, question: &str) -> anyhow::Result<Option<String>> {
        if self.by_hand {
            let mut stderr = io::stderr().lock();
            let question = self.context.out.notes.bold(question);
            write!(stderr, "{question}").and_then(|()| stderr.flush())?;
        }
        let answers = Arc::clone(&self.answers);
        let read = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            let mut answers = answers
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            answers.read_line(&mut line).map(|bytes| (bytes, line))
        });
        let (bytes, mut line) = read.await?.context("cannot read the answer")?;
        if bytes == 0 && self.by_hand {
            // The prompt's line is still open.
            self.note("");
        }
        line.truncate(line.trim_end_matches(['\n', '\r']).len());
        Ok((bytes > 0).then_some(line))
    }

    /// A text of the user's own, from an editor or as one line; `None` = as it was.
    pub(super) async fn text(&self, before: &str) -> anyhow::Result<Option<String>> {
        let editor = ["VISUAL", "EDITOR"]
            .iter()
            .filter_map(|name| std::env::var(name).ok())
            .find(|editor| !editor.trim().is_empty());
        let text = match editor {
            Some(editor) if self.by_hand => {
                let before = before.to_owned();
                tokio::task::spawn_blocking(move || edited(&editor, &before)).await??
            }
            _ => self
                .line("the text (empty = as it was): ")
                .await?
                .unwrap_or_default(),
        };
        let text = text.trim();
        Ok((!text.is_empty() && text != before).then(|| text.to_owned()))
    }
}

/// What an editor makes of a text, in a file that only its owner can read.
fn edited(editor: &str, before: &str) -> anyhow::Result<String> {
    let name = format!("memfold-{}.txt", ulid::Ulid::generate());
    let path = std::env::temp_dir().join(name);
    let written = crate::cli::plan_file::write_private(&path, format!("{before}\n").as_bytes());
    let text = written
        .context("cannot write the text for the editor")
        .and_then(|()| {
            // By the shell, for the variable may hold arguments.
            let status = Command::new("sh")
                .args(["-c", &format!("{editor} \"$1\""), "sh"])
                .arg(&path)
                .status()
                .with_context(|| format!("cannot start the editor `{editor}`"))?;
            if !status.success() {
                // As git takes it: nothing is to be changed.
                return Ok(before.to_owned());
            }
            fs::read_to_string(&path).context("cannot read what the editor wrote")
        });
    let _ = fs::remove_file(&path);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_letter_or_a_word() {
        for (text, answer) in [
            ("a", Answer::Accept),
            (" Accept ", Answer::Accept),
            ("E", Answer::Edit),
            ("never", Answer::Never),
            ("q\r", Answer::Quit),
            ("anyway", Answer::Anyway),
        ] {
            assert_eq!(Answer::parse(text), Some(answer), "{text:?}");
        }
        for text in ["", "yes", "ac", "0"] {
            assert_eq!(Answer::parse(text), None, "{text:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn an_editor_gets_the_text_and_gives_its_own() {
        let appends = edited("printf 'and more\\n' >>", "one line").unwrap();
        assert_eq!(appends, "one line\nand more\n");
        let fails = edited("false", "one line").unwrap();
        assert_eq!(fails, "one line");
    }
}
