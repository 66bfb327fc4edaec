//! The results of groups, graded by an LLM: an opinion beside the scores by code, and never a part of them.

use std::collections::{BTreeMap, HashMap};

use futures_util::{StreamExt as _, stream};
use serde::Serialize;

use super::groups::GroupDecision;
use super::input::{GroupCase, Member};
use crate::summarize::SourceText;
use crate::summarize::llm::{GradePrompt, Grades, Llm, Merge};

/// What the LLM thinks of all results together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Opinion {
    /// The model that was asked.
    pub model: String,
    /// The version of the prompt.
    pub prompt: String,
    /// Results that were graded.
    pub graded: usize,
    /// Results that were not, by what went wrong.
    pub failed: BTreeMap<String, usize>,
    /// Means of the grades, 1 … 5; `None` where nothing was graded.
    pub means: Option<Means>,
}

/// Means of grades, 1 (worst) … 5 (best).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Means {
    /// Nothing in the results is false.
    pub accuracy: f64,
    /// Nothing in them is needless.
    pub brevity: f64,
    /// Nothing is missing.
    pub completeness: f64,
    /// Much is said in few words.
    pub density: f64,
}

/// Has every result graded, `at_once` at a time; each grade is noted at its result. `step` is called after each.
pub async fn grade(
    llm: &Llm,
    prompt: &GradePrompt,
    groups: &[GroupCase],
    decisions: &mut [GroupDecision],
    at_once: usize,
    step: impl Fn(),
) -> Opinion {
    let mut opinion = Opinion {
        model: llm.model().to_owned(),
        prompt: prompt.version().to_owned(),
        ..Opinion::default()
    };
    let mut all: Vec<Grades> = Vec::new();
    let results = groups.iter().zip(decisions).flat_map(|(group, decision)| {
        let members: HashMap<&str, &Member> = group.members.iter().map(|m| (&*m.id, m)).collect();
        decision.merged.iter_mut().map(move |merged| {
            let sources = merged.ids.iter().filter_map(|id| members.get(id.as_str()));
            let sources: Vec<SourceText> = sources.map(|member| source(member)).collect();
            (merged, sources)
        })
    });
    let mut graded = stream::iter(results)
        .map(|(merged, sources)| async move {
            let merge = Merge {
                sources: &sources,
                result: &merged.text,
                history: &merged.history,
            };
            let grades = llm.grade(prompt, &merge).await;
            (merged, grades)
        })
        .buffered(at_once.max(1));
    while let Some((merged, grades)) = graded.next().await {
        step();
        match grades {
            Ok(grades) => {
                merged.grades = Some(grades.clone());
                all.push(grades);
            }
            Err(error) => *opinion.failed.entry(error.for_log()).or_default() += 1,
        }
    }
    drop(graded);
    opinion.graded = all.len();
    opinion.means = means(&all);
    opinion
}

fn source(member: &Member) -> SourceText {
    SourceText {
        id: member.id.clone(),
        text: member.content.clone(),
        said_at: member.created_at,
    }
}

fn means(grades: &[Grades]) -> Option<Means> {
    let mean = |of: fn(&Grades) -> u8| {
        let sum: f64 = grades.iter().map(|grades| f64::from(of(grades))).sum();
        sum / grades.len() as f64
    };
    (!grades.is_empty()).then(|| Means {
        accuracy: mean(|g| g.accuracy),
        brevity: mean(|g| g.brevity),
        completeness: mean(|g| g.completeness),
        density: mean(|g| g.density),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_of_what_was_graded() {
        assert_eq!(means(&[]), None);
        let grades = |accuracy, density| Grades {
            accuracy,
            brevity: 3,
            completeness: 5,
            density,
            why: String::new(),
        };
        let means = means(&[grades(5, 1), grades(4, 2)]).unwrap();
        assert_eq!(
            [
                means.accuracy,
                means.brevity,
                means.completeness,
                means.density
            ],
            [4.5, 3.0, 5.0, 1.5]
        );
    }
}
