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
            style.stays(title),
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
    lines.extend(sources(&merge.sources, &names, &style.goes("-"), style));
    // Under the sources' texts, so that before and after can be compared by eye.
    let key = pad(&name(&merge.result_key), facts_width(&names));
    lines.extend(line_of(
        &style.stays("→"),
        &key,
        &merge.text,
        style,
        Style::bold,
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
    let key_width = key_width(names);
    let lines = |(source, key): (&PlanSource, &String)| {
        let key = pad(key, key_width);
        let facts = format!("{key}  {}  {:.3}", date(source.created_at), source.distance);
        line_of(mark, &facts, &source.text, style, |_, text| text.to_owned())
    };
    sources.iter().zip(names).flat_map(lines).collect()
}

fn key_width(names: &[String]) -> usize {
    names.iter().map(|name| columns(name)).max().unwrap_or(0)
}

/// Columns of a key, its date and its distance.
fn facts_width(names: &[String]) -> usize {
    key_width(names) + "  2026-01-31  0.123".len()
}

/// A mark, facts, and a text beside them.
fn line_of(
    mark: &str,
    facts: &str,
    text: &str,
    style: Style,
    paint: impl Fn(Style, &str) -> String,
) -> Vec<String> {
    let indent = columns(facts) + 6;
    let body = style.body(text, indent).into_iter().enumerate();
    let line = |(number, text): (usize, String)| match number {
        0 => format!("  {mark} {}  {}", style.dim(facts), paint(style, &text)),
        _ => format!("{}{}", " ".repeat(indent), paint(style, &text)),
    };
    body.map(line).collect()
}

/// One merge for a review: all of its texts whole.
pub(crate) fn merge(title: &str, merge: &PlannedMerge, style: Style) -> String {
    let style = Style {
        whole: true,
        ..style
    };
    merge_lines(title, "", merge, style).join("\n") + "\n"
}

/// One group that is left, for a review: all of its texts whole.
pub(crate) fn group_left(title: &str, group: &GroupLeft, style: Style) -> String {
    let style = Style {
        whole: true,
        ..style
    };
    group_lines(title, group, style).join("\n") + "\n"
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
        Author::Person { overridden } if overridden.is_empty() => {
            "written by hand and verified".to_owned()
        }
        Author::Person { overridden } => format!(
            "written by hand and accepted against the verification: {}",
            escape(&overridden.join("; "))
        ),
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
    let lines = |group: &GroupLeft| {
        let mut lines = group_lines("left alone", group, style);
        if let Some(hint) = hint(group.reason) {
            lines.push(format!("    {} {hint}", style.cyan("hint:")));
        }
        lines
    };
    groups.iter().flat_map(lines).collect()
}

fn group_lines(title: &str, group: &GroupLeft, style: Style) -> Vec<String> {
    let kind = partition(&group.partition.scope, &group.partition.memory_type);
    let title = style.yellow(&format!("{title}: {}", group.reason));
    let line = format!("{title}  {}", style.dim(kind.trim_end_matches(" · ")));
    let mut lines = vec![String::new(), line.trim_end().to_owned()];
    let names = names(&group.members, style);
    lines.extend(sources(&group.members, &names, &style.yellow("·"), style));
    let detail = style.fit(&group.detail, style.width.saturating_sub(4));
    if !detail.is_empty() {
        lines.push(format!("    {}", style.dim(&detail)));
    }
    lines.extend(show_findings(&group.findings, style));
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
    let stopped = style.yellow("stopped before the end; run again for the rest");
    if report.merged.is_empty() && left == 0 {
        let nothing = || "nothing to merge".to_owned();
        return if report.stopped { stopped } else { nothing() };
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
        lines.push(stopped);
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
