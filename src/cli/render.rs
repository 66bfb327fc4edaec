//! Plans and reports as people read them.

#[cfg(test)]
pub(crate) mod sample;
mod text;

use std::collections::BTreeMap;

use comfy_table::Table;
use comfy_table::presets::NOTHING;
use jiff::Timestamp;

pub(crate) use text::{Style, columns, count, escape, escape_json, pad, short_keys};

use crate::memory::{
    Author, Finding, GroupLeft, LeftAlone, Plan, PlanSource, PlannedMerge, Reason, VectorOrigin,
};
use crate::merge::Report;

/// What would be done for one user.
pub(crate) fn plan(plan: &Plan, style: Style) -> String {
    let mut lines = vec![heading(plan, style)];
    for (i, merge) in plan.merges.iter().enumerate() {
        let title = format!("merge {} of {}", i + 1, plan.merges.len());
        lines.extend(merge_lines(&title, "", merge, style));
    }
    lines.extend(groups_left(&plan.groups_left, style));
    lines.extend(left_alone(&plan.left_alone, style));
    lines.push(String::new());
    lines.push(plan_summary(plan, style));
    lines.join("\n") + "\n"
}

/// What was done for one user.
pub(crate) fn report(report: &Report, style: Style) -> String {
    let mut lines = vec![heading(&report.plan, style)];
    for (i, done) in report.merged.iter().enumerate() {
        let planned = report
            .plan
            .merges
            .iter()
            .find(|merge| merge.merge_id == done.merge_id);
        let title = format!("merged {} of {}", i + 1, report.merged.len());
        match planned {
            Some(merge) => lines.extend(merge_lines(&title, &done.merge_id, merge, style)),
            None => lines.push(format!(
                "{title} {} {}",
                done.merge_id,
                escape(&done.result_key)
            )),
        }
    }
    lines.extend(groups_left(&report.not_committed, style));
    lines.extend(groups_left(&report.plan.groups_left, style));
    lines.extend(left_alone(&report.plan.left_alone, style));
    lines.push(String::new());
    lines.push(report_summary(report, style));
    lines.join("\n") + "\n"
}

fn heading(plan: &Plan, style: Style) -> String {
    let facts = format!(
        "{} in {}, distance ≤ {} ({}, {})",
        count(plan.memories, "memory", "memories"),
        escape(&plan.index),
        plan.threshold.value,
        plan.threshold.origin,
        escape(&plan.distance),
    );
    format!("{}  {}", style.bold(&user(&plan.user)), style.dim(&facts))
}

/// A user id so that an empty one and outer spaces can be seen.
pub(crate) fn user(user: &str) -> String {
    let plain = !user.is_empty() && user.trim() == user;
    if plain {
        escape(user)
    } else {
        format!("\"{}\"", escape(user))
    }
}

/// `id` is that of a merge that was made, else empty: one that is only planned cannot be shown by it.
fn merge_lines(title: &str, id: &str, merge: &PlannedMerge, style: Style) -> Vec<String> {
    let kind = partition(&merge.partition.scope, &merge.partition.memory_type);
    let aside = format!("{kind}{id}");
    let mut lines = vec![
        String::new(),
        format!(
            "{}  {}",
            style.green(title),
            style.dim(aside.trim_end_matches(" · "))
        ),
    ];
    let names = names(&merge.sources, style);
    let name = |key: &str| {
        let found = merge
            .sources
            .iter()
            .zip(&names)
            .find(|(source, _)| source.key == key);
        found.map_or_else(|| escape(key), |(_, name)| name.clone())
    };
    lines.extend(sources(&merge.sources, &names, &style.red("-"), style));
    let key = name(&merge.result_key);
    let text = style.fit(&merge.text, style.width.saturating_sub(columns(&key) + 6));
    lines.push(format!(
        "  {} {}  {}",
        style.green("→"),
        style.dim(&key),
        style.bold(&text)
    ));
    let author = show_author(&merge.author, merge.vector_origin, name);
    lines.push(format!("    {}", style.dim(&author)));
    lines.extend(show_findings(&merge.findings, style));
    lines
}

/// The keys in short, whole where they cannot be told apart.
fn names(sources: &[PlanSource], style: Style) -> Vec<String> {
    if style.verbose {
        return sources.iter().map(|source| escape(&source.key)).collect();
    }
    short_keys(
        &sources
            .iter()
            .map(|source| source.key.as_str())
            .collect::<Vec<_>>(),
    )
}

fn partition(scope: &[String], memory_type: &str) -> String {
    let parts = scope.iter().map(String::as_str).chain([memory_type]);
    parts
        .filter(|part| !part.is_empty())
        .map(|part| format!("{} · ", escape(part)))
        .collect()
}

fn sources(sources: &[PlanSource], names: &[String], mark: &str, style: Style) -> Vec<String> {
    let key_width = names.iter().map(|name| columns(name)).max().unwrap_or(0);
    let line = |(source, key): (&PlanSource, &String)| {
        let facts = format!(
            "{}  {}  {:.3}",
            pad(key, key_width),
            date(source.created_at),
            source.distance
        );
        let text = style.fit(
            &source.text,
            style.width.saturating_sub(columns(&facts) + 6),
        );
        format!("  {mark} {}  {text}", style.dim(&facts))
    };
    sources.iter().zip(names).map(line).collect()
}

/// A day in UTC, ten columns wide.
pub(crate) fn date(date: Option<Timestamp>) -> String {
    date.map_or("no date   ".to_owned(), |date| {
        date.strftime("%Y-%m-%d").to_string()
    })
}

/// A date and time in UTC.
pub(crate) fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// Who wrote a text, and where its vector comes from.
pub(crate) fn show_author(
    author: &Author,
    vector: VectorOrigin,
    name: impl Fn(&str) -> String,
) -> String {
    let text = match author {
        Author::Extractive { kept } => {
            format!(
                "kept unchanged from {}: it says all that the others say",
                name(kept)
            )
        }
        Author::Latest { kept } => {
            format!(
                "the newest value, kept unchanged from {}; the others are its history",
                name(kept)
            )
        }
        Author::Llm {
            model,
            prompt,
            tokens,
            calls,
        } => format!(
            "written by {} (prompt {}, {}, {tokens} tokens) and verified",
            escape(model),
            escape(prompt),
            count(*calls as usize, "call", "calls"),
        ),
    };
    let vector = match vector {
        VectorOrigin::Source => "vector kept",
        VectorOrigin::Embedded => "vector embedded",
        VectorOrigin::Centroid => "vector = mean of the sources'",
    };
    format!("{text}; {vector}")
}

/// What the guards saw, one line each.
pub(crate) fn show_findings(findings: &[Finding], style: Style) -> Vec<String> {
    let line = |finding: &Finding| {
        let text = style.fit(&finding.to_string(), style.width.saturating_sub(4));
        format!("    {}", style.yellow(&text))
    };
    findings.iter().map(line).collect()
}

fn groups_left(groups: &[GroupLeft], style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    for group in groups {
        let kind = partition(&group.partition.scope, &group.partition.memory_type);
        let title = style.yellow(&format!("left alone: {}", group.reason));
        let detail = style.fit(&group.detail, style.width.saturating_sub(4));
        lines.push(String::new());
        let line = format!("{title}  {}", style.dim(kind.trim_end_matches(" · ")));
        lines.push(line.trim_end().to_owned());
        lines.extend(sources(
            &group.members,
            &names(&group.members, style),
            &style.yellow("·"),
            style,
        ));
        if !detail.is_empty() {
            lines.push(format!("    {}", style.dim(&detail)));
        }
        lines.extend(show_findings(&group.findings, style));
        if let Some(hint) = hint(group.reason) {
            lines.push(format!("    {} {hint}", style.cyan("hint:")));
        }
    }
    lines
}

/// What would change that a group or a memory is left alone.
pub(crate) fn hint(reason: Reason) -> Option<&'static str> {
    Some(match reason {
        Reason::Conflict => {
            "both stay; --conflicts latest lets the newest win and keeps the history"
        }
        Reason::ConflictUndated => "say which is true by deleting the other, or date them",
        Reason::NeedsLlm => "no text provably says it all; set --llm-url to have one written",
        Reason::LlmFailed => "all of the LLM's error with -v; `memfold doctor` looks at the server",
        Reason::VerificationFailed => "a stronger LLM may write a text that keeps every fact",
        Reason::GroupTooLarge => "raise --max-group-chars if the LLM can read that much",
        Reason::DifferentExpiry => "--ttl min or max lets the result expire with the first or last",
        Reason::Changed => "a memory changed meanwhile; the next run looks again",
        Reason::NotVisible => "the index did not show the result; `memfold doctor` looks at it",
        Reason::NoEmbedder => {
            "configure the index's own model (--model), or --write-vector centroid"
        }
        Reason::WriteRefused => "the server refused the write; `memfold doctor` looks at it",
        Reason::Malformed => "-v says why; `memfold doctor` looks at the names of the fields",
        Reason::NoVector | Reason::BadVector => "the agent must store it again with a vector",
        Reason::ForeignUser => "the index takes their users' ids for this one; memfold does not",
        Reason::NotIndexed => {
            "the index does not give the record; look at it with `JSON.GET`/`HGETALL`, or write it again"
        }
        _ => return None,
    })
}

fn left_alone(memories: &[LeftAlone], style: Style) -> Vec<String> {
    let mut by_reason: BTreeMap<Reason, Vec<&LeftAlone>> = BTreeMap::new();
    for memory in memories {
        by_reason.entry(memory.reason).or_default().push(memory);
    }
    let mut lines = Vec::new();
    for (reason, memories) in by_reason {
        let title = format!(
            "{} took no part",
            count(memories.len(), "memory", "memories")
        );
        lines.push(String::new());
        lines.push(format!("{}: {reason}", style.yellow(&title)));
        if style.verbose {
            let line = |m: &&LeftAlone| format!("    {}  {}", escape(&m.key), escape(&m.detail));
            lines.extend(
                memories
                    .iter()
                    .map(|memory| line(memory).trim_end().to_owned()),
            );
        }
        if let Some(hint) = hint(reason) {
            lines.push(format!("    {} {hint}", style.cyan("hint:")));
        }
    }
    lines
}

fn plan_summary(plan: &Plan, style: Style) -> String {
    if plan.merges.is_empty() && plan.groups_left.is_empty() {
        return "nothing to merge".to_owned();
    }
    let sources: usize = plan.merges.iter().map(|merge| merge.sources.len()).sum();
    if plan.merges.is_empty() {
        return format!("nothing to merge; {}", left_summary(plan.groups_left.len()));
    }
    let merges = format!(
        "{} would turn {} into {}",
        count(plan.merges.len(), "merge", "merges"),
        count(sources, "memory", "memories"),
        plan.merges.len(),
    );
    format!(
        "{}; {}",
        style.bold(&merges),
        left_summary(plan.groups_left.len())
    )
}

fn left_summary(groups: usize) -> String {
    format!(
        "{} left as {}",
        count(groups, "group", "groups"),
        if groups == 1 { "it is" } else { "they are" }
    )
}

fn report_summary(report: &Report, style: Style) -> String {
    let left = report.not_committed.len() + report.plan.groups_left.len();
    if report.merged.is_empty() && left == 0 {
        return "nothing to merge".to_owned();
    }
    if report.merged.is_empty() && !report.stopped && report.llm.calls == 0 {
        return format!("nothing merged; {}", left_summary(left));
    }
    let retired: usize = report.merged.iter().map(|done| done.retired.len()).sum();
    let merges = format!(
        "{} made, {} retired",
        count(report.merged.len(), "merge", "merges"),
        count(retired, "memory", "memories"),
    );
    let mut lines = vec![format!("{}; {}", style.bold(&merges), left_summary(left))];
    let llm = &report.llm;
    if llm.calls > 0 {
        lines.push(format!(
            "{} ({} tokens): {} accepted, {} after a retry, {} not accepted",
            count(llm.calls as usize, "LLM call", "LLM calls"),
            llm.tokens,
            llm.accepted,
            llm.retried,
            llm.kept
        ));
    }
    if report.stopped {
        lines.push(style.yellow("stopped before the end; run again for the rest"));
    }
    if !report.merged.is_empty() {
        lines.push(format!("undo with: memfold undo --run {}", report.run_id));
    }
    lines.join("\n")
}

/// Rows under a header, columns as wide as their longest cell; cells must be escaped.
pub(crate) fn table(header: &[&str], rows: Vec<Vec<String>>, style: Style) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(header);
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let text = table.trim_fmt();
    // Painted at the end, for the codes would count as columns.
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    format!("{}\n{rest}\n", style.bold(first))
}

#[cfg(test)]
mod tests;
