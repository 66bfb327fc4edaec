//! Merges: all of them, one of them, and its undo.

use axum::extract::{Form, Path};
use axum::response::Response;
use minijinja::context;
use minijinja::value::Value;

use super::PAGE;
use super::guest::{Fields, Guest, done};
use super::users::named;
use crate::server::merges::{self, MergeDetail, MergeRow};
use crate::server::problem::Problem;
use crate::server::spans::{Span, plain, spans};

/// A merge of a list with what differs.
pub(super) fn shown_row(row: &MergeRow) -> Value {
    let (before, after) = sides(&row.before, row.after.as_deref());
    context! { before => before, after => after, ..Value::from_serialize(row) }
}

/// The texts with what differs; `None` where they are gone.
fn sides(
    before: &[Option<String>],
    after: Option<&str>,
) -> (Vec<Option<Vec<Span>>>, Option<Vec<Span>>) {
    let Some(after) = after else {
        let alone = |text: &Option<String>| text.as_deref().map(plain);
        return (before.iter().map(alone).collect(), None);
    };
    let known: Vec<&str> = before.iter().flatten().map(String::as_str).collect();
    let (sides, after) = spans(&known, after);
    let mut sides = sides.into_iter();
    let before = before
        .iter()
        .map(|text| text.as_ref().and_then(|_| sides.next()))
        .collect();
    (before, Some(after))
}

pub(super) async fn merges_page(guest: Guest) -> Response {
    let shown = async {
        let pipeline = guest.site.desk.pipeline()?;
        let person = match guest.query.get("user") {
            Some(id) => Some(guest.site.desk.user(id).await?),
            None => None,
        };
        let name = person.as_ref().map(|person| person.user.as_str());
        let page = guest.page_number();
        let (rows, more) = merges::list(&pipeline, name, page.saturating_mul(PAGE), PAGE).await?;
        guest.page(
            "merges.html",
            context! {
                person => person.as_ref().map(named),
                rows => rows.iter().map(shown_row).collect::<Vec<_>>(),
                pages => context! { page => page + 1, earlier => page > 0, more => more },
            },
        )
    };
    guest.answer(shown.await)
}

pub(super) async fn merge(guest: Guest, Path(id): Path<String>) -> Response {
    guest.answer(merge_page(&guest, &id, "merge.html").await)
}

pub(super) async fn undo_form(guest: Guest, Path(id): Path<String>) -> Response {
    guest.answer(merge_page(&guest, &id, "undo.html").await)
}

async fn merge_page(guest: &Guest, id: &str, template: &str) -> Result<Response, Problem> {
    let detail: MergeDetail = merges::detail(&guest.site.desk.pipeline()?, id).await?;
    let (before, after) = sides(&detail.before, detail.after.as_deref());
    guest.page(
        template,
        context! {
            before => before,
            after => after,
            author => merges::author(&detail.merge.author),
            ..Value::from_serialize(&detail)
        },
    )
}

pub(super) async fn undo(
    guest: Guest,
    Path(id): Path<String>,
    Form(form): Form<Fields>,
) -> Response {
    let ticked = |name: &str| form.contains_key(name);
    let undone = async {
        guest.check(&form)?;
        let reason = form.get("reason").map(String::as_str);
        guest
            .site
            .desk
            .undo(&id, ticked("force"), ticked("cascade"), reason)
            .await?;
        done(&format!("/merges/{id}"), "undone")
    };
    guest.answer(undone.await)
}
