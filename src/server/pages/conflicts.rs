//! Conflicts: of one user, to decide, and of those with the most memories.

use std::time::Instant;

use axum::extract::{Form, Path};
use axum::response::Response;
use minijinja::context;
use minijinja::value::Value;

use super::guest::{Fields, Guest, done};
use super::users::{named, people};
use super::{LOOK_BUDGET, LOOKED_AT};
use crate::memory::PlanSource;
use crate::merge::Conflict;
use crate::server::desk::Person;
use crate::server::people::{Decision, NOT_VERIFIED};
use crate::server::problem::Problem;
use crate::server::spans::{Span, spans};

/// A conflict with what differs from the newest of its memories.
fn shown_conflict(conflict: &Conflict) -> Value {
    let members = conflict.by_date();
    let newest = members.last().map_or("", |newest| newest.text.as_str());
    let older: Vec<&str> = members
        .iter()
        .rev()
        .skip(1)
        .rev()
        .map(|m| m.text.as_str())
        .collect();
    let (mut sides, last) = spans(&older, newest);
    sides.push(last);
    let member = |(source, spans): (&&PlanSource, Vec<Span>)| {
        context! { spans => spans, ..Value::from_serialize(source) }
    };
    context! {
        id => conflict.id,
        reason => conflict.group.reason,
        has_order => conflict.has_order(),
        kept => conflict.kept,
        newest => newest,
        findings => conflict.group.findings,
        members => members.iter().zip(sides).map(member).collect::<Vec<_>>(),
    }
}

pub(super) async fn user_conflicts(guest: Guest, Path(id): Path<String>) -> Response {
    let shown = async {
        let person = guest.site.desk.user(&id).await?;
        of_user(&guest, &person, None).await
    };
    guest.answer(shown.await)
}

/// A text by hand that the verification objects to.
struct Refused<'a> {
    conflict: &'a str,
    text: &'a str,
    why: &'a str,
}

/// The conflicts of a user; what was refused is shown again in its form, where it can be corrected,
/// or taken by whoever knows better.
async fn of_user(
    guest: &Guest,
    person: &Person,
    refused: Option<Refused<'_>>,
) -> Result<Response, Problem> {
    let found = guest.site.desk.conflicts(&person.user).await?;
    let refused = refused.map(|refused| {
        context! { conflict => refused.conflict, text => refused.text, why => refused.why }
    });
    guest.page(
        "user_conflicts.html",
        context! {
            person => named(person),
            conflicts => found.iter().map(shown_conflict).collect::<Vec<_>>(),
            refused => refused,
        },
    )
}

pub(super) async fn decide(
    guest: Guest,
    Path((id, conflict)): Path<(String, String)>,
    Form(form): Form<Fields>,
) -> Response {
    let answer = async {
        guest.check(&form)?;
        let decision = decision(&form)?;
        let desk = &guest.site.desk;
        let person = desk.user(&id).await?;
        let found = desk.conflict(&person.user, &conflict).await?;
        match (
            desk.decide(&person.user, &found, &decision).await,
            &decision,
        ) {
            (Err(problem), Decision::Text { text, .. }) if problem.is(NOT_VERIFIED) => {
                let refused = Refused {
                    conflict: &conflict,
                    text,
                    why: &problem.detail,
                };
                let mut page = of_user(&guest, &person, Some(refused)).await?;
                *page.status_mut() = problem.code();
                Ok(page)
            }
            (decided, _) => {
                decided?;
                done(&format!("/users/{}/conflicts", person.id), "decided")
            }
        }
    };
    guest.answer(answer.await)
}

fn decision(form: &Fields) -> Result<Decision, Problem> {
    let field = |name: &str| {
        form.get(name)
            .cloned()
            .filter(|text| !text.trim().is_empty())
    };
    match form.get("decision").map(String::as_str) {
        Some("keep") => Ok(Decision::Keep {
            reason: field("reason"),
        }),
        Some("latest") => Ok(Decision::Latest),
        Some("text") => Ok(Decision::Text {
            text: field("text")
                .ok_or_else(|| Problem::bad_request("write the text that all of them become"))?,
            anyway: form.contains_key("anyway"),
        }),
        _ => Err(Problem::bad_request("`decision` is keep, latest or text")),
    }
}

pub(super) async fn conflicts(guest: Guest) -> Response {
    guest.answer(conflicts_page(&guest).await)
}

async fn conflicts_page(guest: &Guest) -> Result<Response, Problem> {
    let (people, pages) = people(guest, LOOKED_AT).await?;
    let began = Instant::now();
    let mut rows = Vec::new();
    for person in &people {
        let (mut open, mut kept, mut problem) = (None, None, None);
        // Those for whom there is no time are listed all the same.
        if began.elapsed() < LOOK_BUDGET {
            match guest.site.desk.conflicts(&person.user).await {
                Ok(found) => {
                    let count = found.iter().filter(|conflict| conflict.kept).count();
                    (open, kept) = (Some((found.len() - count) as u64), Some(count as u64));
                }
                Err(error) => problem = Some(error.detail),
            }
        }
        rows.push(context! {
            person => named(person),
            open => open,
            kept => kept,
            problem => problem,
        });
    }
    guest.page("conflicts.html", context! { rows => rows, pages => pages })
}
