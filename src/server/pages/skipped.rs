//! What takes no part, and why: of one user, and of those with the most memories.

use std::time::Instant;

use axum::extract::Path;
use axum::response::Response;
use minijinja::context;
use minijinja::value::Value;

use super::guest::Guest;
use super::users::{named, people};
use super::{LOOK_BUDGET, LOOKED_AT};
use crate::server::people::Skipped;
use crate::server::problem::Problem;

pub(super) async fn user_skipped(guest: Guest, Path(id): Path<String>) -> Response {
    let shown = async {
        let person = guest.site.desk.user(&id).await?;
        let skipped = Skipped::of(guest.site.desk.plan(&person.user).await?);
        guest.page(
            "user_skipped.html",
            context! { person => named(&person), ..Value::from_serialize(&skipped) },
        )
    };
    guest.answer(shown.await)
}

pub(super) async fn skipped(guest: Guest) -> Response {
    guest.answer(skipped_page(&guest).await)
}

async fn skipped_page(guest: &Guest) -> Result<Response, Problem> {
    let (people, pages) = people(guest, LOOKED_AT).await?;
    let began = Instant::now();
    let mut rows = Vec::new();
    for person in &people {
        let (mut reasons, mut problem) = (None, None);
        if began.elapsed() < LOOK_BUDGET {
            match guest.site.desk.plan(&person.user).await {
                Ok(plan) => reasons = Some(Skipped::of(plan).reasons),
                Err(error) => problem = Some(error.detail),
            }
        }
        rows.push(context! {
            person => named(person),
            reasons => reasons,
            problem => problem,
        });
    }
    guest.page("skipped.html", context! { rows => rows, pages => pages })
}
