//! A group as the LLM sees it: its texts under ids made for one question.

use super::answers::MOST_COMPARED;
use crate::merge::draft::{Candidate, Draft};
use crate::merge::originals::Said;
use crate::summarize::SourceText;
use crate::summarize::llm::LeftOut;
use crate::summarize::verify::verify;

/// A candidate with what it was made of.
#[derive(Clone, Copy)]
pub(in crate::merge) struct Group<'a> {
    pub(in crate::merge) draft: &'a Draft,
    pub(in crate::merge) candidate: &'a Candidate,
    pub(in crate::merge) sources: &'a Sources,
}

impl<'a> Group<'a> {
    pub(super) fn text(self, at: usize) -> &'a String {
        &self.draft.snapshot.memories[self.candidate.parts[at].keep].text
    }

    /// The parts, `at` among them, that the text of the part `at` stands for.
    pub(super) fn covered_by(self, at: usize, parts: &[usize]) -> Vec<usize> {
        let memory_type = &self.candidate.partition.memory_type;
        let stands_for = |other: usize| {
            let sources = self.sources.of_parts(&[at, other]);
            verify(&sources, memory_type, self.text(at)).is_ok()
        };
        let compared = parts.iter().copied().take(MOST_COMPARED);
        compared
            .filter(|&other| other == at || stands_for(other))
            .collect()
    }
}

/// The texts that the LLM sees, oldest first, under ids made for this call.
pub(in crate::merge) struct Sources {
    pub(super) texts: Vec<SourceText>,
    /// For each part of the candidate, the positions of the texts that it stands for.
    of_part: Vec<Vec<usize>>,
}

impl Sources {
    pub(in crate::merge) fn of(said: Vec<Vec<Said>>) -> Self {
        let mut all: Vec<&Said> = said.iter().flatten().collect();
        all.sort_by(|a, b| (a.at, &a.text).cmp(&(b.at, &b.text)));
        all.dedup();
        let place = |said: &Said| all.iter().position(|known| **known == *said);
        let of_part = said
            .iter()
            .map(|said| said.iter().filter_map(place).collect())
            .collect();
        let numbered = all.iter().zip(1..);
        let texts = numbered
            .map(|(said, number)| SourceText {
                id: format!("m{number}"),
                text: said.text.clone(),
                said_at: said.at,
            })
            .collect();
        Self { texts, of_part }
    }

    /// The texts that some parts stand for.
    pub(in crate::merge) fn of_parts(&self, parts: &[usize]) -> Vec<SourceText> {
        let wanted = |at: &usize| parts.iter().any(|&part| self.of_part[part].contains(at));
        let places = (0..self.texts.len()).filter(wanted);
        places.map(|at| self.texts[at].clone()).collect()
    }

    /// The parts none of whose texts is left out.
    pub(super) fn without(&self, left_out: &[LeftOut]) -> Vec<usize> {
        let is_out = |at: &usize| left_out.iter().any(|left| left.id == self.texts[*at].id);
        let parts = 0..self.of_part.len();
        parts
            .filter(|&part| !self.of_part[part].iter().any(is_out))
            .collect()
    }
}

/// Whether a text says what its sources say, and nothing else; else all faults, as the second
/// question names them.
pub(in crate::merge) fn says_what(
    sources: &[SourceText],
    memory_type: &str,
    text: &str,
) -> Result<(), String> {
    verify(sources, memory_type, text).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        faults.join("; ")
    })
}
