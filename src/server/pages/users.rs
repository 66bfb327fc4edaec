//! Users: all of them, one of them, and what would become of its memories.

use axum::extract::{Form, Path};
use axum::response::{IntoResponse, Redirect, Response};
use minijinja::context;
use minijinja::value::Value;

use super::PAGE;
use super::guest::{Fields, Guest, done};
use super::merges::shown_row;
use super::overview::{MEMORIES, chart};
use crate::memory::PlanSource;
use crate::server::desk::Person;
use crate::server::merges;
use crate::server::people::UserRow;
use crate::server::problem::Problem;
use crate::server::spans::{Span, spans};
use crate::server::trends::Trends;

pub(super) async fn users(guest: Guest) -> Response {
    guest.answer(users_page(&guest).await)
}

async fn users_page(guest: &Guest) -> Result<Response, Problem> {
    let (people, pages) = people(guest, PAGE).await?;
    let pipeline = guest.site.desk.pipeline()?;
    let trends = Trends::read(&pipeline).await?;
    let rows = UserRow::of(&pipeline, &people, &trends).await?;
    guest.page("users.html", context! { rows => rows, pages => pages })
}

/// The users of a page, and where it stands among the pages.
pub(super) async fn people(guest: &Guest, size: usize) -> Result<(Vec<Person>, Value), Problem> {
    let directory = guest.site.desk.directory().await?;
    let (total, page) = (directory.people.len(), guest.page_number());
    let from = page.saturating_mul(size).min(total);
    let to = (from + size).min(total);
    let pages = context! {
        page => page + 1,
        total => total as u64,
        earlier => page > 0,
        more => to < total,
    };
    Ok((directory.people[from..to].to_vec(), pages))
}

pub(super) async fn find(guest: Guest, Form(form): Form<Fields>) -> Response {
    let name = form.get("user").cloned().unwrap_or_default();
    let found = async {
        if guest.visitor.csrf.is_some() {
            guest.check(&form)?;
        }
        let person = guest.site.desk.user_named(&name).await?;
        Ok(Redirect::to(&format!("/users/{}", person.id)).into_response())
    };
    let found = found.await;
    match found {
        Err(Problem { status: 404, .. }) => Redirect::to("/users?done=nobody").into_response(),
        found => guest.answer(found),
    }
}

pub(super) async fn user(guest: Guest, Path(id): Path<String>) -> Response {
    guest.answer(user_page(&guest, &id).await)
}

async fn user_page(guest: &Guest, id: &str) -> Result<Response, Problem> {
    let person = guest.site.desk.user(id).await?;
    let pipeline = guest.site.desk.pipeline()?;
    let trends = Trends::read(&pipeline).await?;
    let rows = UserRow::of(&pipeline, std::slice::from_ref(&person), &trends).await?;
    let (merges, more) = merges::list(&pipeline, Some(&person.user), 0, 10).await?;
    let merges: Vec<Value> = merges.iter().map(shown_row).collect();
    let counts = rows.first().map(|row| row.counts.as_slice());
    let days = trends.days.iter().map(|day| day.day.to_string());
    let parts = counts.unwrap_or_default().iter();
    let parts = parts.map(|count| count.iter().copied().collect());
    let chart = chart(guest.lang, MEMORIES, &["memories"], days.zip(parts));
    guest.page(
        "user.html",
        context! { person => rows.first(), chart => chart, merges => merges, more => more },
    )
}

pub(super) async fn request(
    guest: Guest,
    Path(id): Path<String>,
    Form(form): Form<Fields>,
) -> Response {
    let asked = async {
        guest.check(&form)?;
        let person = guest.site.desk.user(&id).await?;
        guest.site.desk.request(&person.user).await?;
        done(&format!("/users/{}", person.id), "requested")
    };
    guest.answer(asked.await)
}

pub(super) async fn plan(guest: Guest, Path(id): Path<String>) -> Response {
    let shown = async {
        let person = guest.site.desk.user(&id).await?;
        let plan = guest.site.desk.plan(&person.user).await?;
        let merge = |merge: &crate::memory::PlannedMerge| {
            let texts: Vec<&str> = merge.sources.iter().map(|s| s.text.as_str()).collect();
            let (sides, after) = spans(&texts, &merge.text);
            let source = |(source, spans): (&PlanSource, Vec<Span>)| {
                context! { spans => spans, ..Value::from_serialize(source) }
            };
            context! {
                sources => merge.sources.iter().zip(sides).map(source).collect::<Vec<_>>(),
                after => after,
                author => merges::author(&merge.author),
                findings => merge.findings,
            }
        };
        let merges: Vec<Value> = plan.merges.iter().map(merge).collect();
        guest.page(
            "plan.html",
            context! {
                person => named(&person),
                memories => plan.memories as u64,
                threshold => plan.threshold.value,
                distance => plan.distance,
                left => (plan.groups_left.len() + plan.left_alone.len()) as u64,
                merges => merges,
            },
        )
    };
    guest.answer(shown.await)
}

pub(super) fn named(person: &Person) -> Value {
    context! { id => person.id, user => person.user }
}
