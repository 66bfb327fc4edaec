//! Aggregations, by which an index is read as a whole, page by page.

use futures_util::future::join;
use redis::aio::ConnectionLike;
use redis::{Cmd, Value};

use super::StoreError;
use super::index::no_index;
use super::reply::{self, Row};

/// Rows a page: other clients of the server wait for one page at most.
const PAGE: usize = 1000;

/// What the server may spend on a page. A timeout is an error, never a short answer.
const TIMEOUT_MS: usize = 20_000;

/// How long the server keeps a cursor that nobody reads, should this process die.
const CURSOR_IDLE_MS: usize = 60_000;

/// The aggregation of what a query finds.
pub(super) fn aggregate(index: &str, query: &str) -> Cmd {
    let mut command = redis::cmd("FT.AGGREGATE");
    command
        .arg(index)
        .arg(query)
        .arg("TIMEOUT")
        .arg(TIMEOUT_MS)
        .arg("DIALECT")
        .arg(2);
    command
}

/// Runs an aggregation to its last page.
pub(super) async fn pages(
    conn: &mut impl ConnectionLike,
    index: &str,
    query: Cmd,
    mut each: impl FnMut(&Row),
) -> Result<(), StoreError> {
    let mut pages = Pages::new(conn, index, query);
    let mut page = pages.next().await?;
    while let Some(rows) = page {
        // The server makes the next page while this one is looked at.
        let look = async { rows.iter().for_each(&mut each) };
        page = join(pages.next(), look).await.0?;
    }
    Ok(())
}

/// An aggregation, page by page. Who stops before its end closes it.
pub(super) struct Pages<'a, C> {
    conn: &'a mut C,
    index: &'a str,
    /// The first question, until it is asked.
    query: Option<Cmd>,
    open: Option<i64>,
    /// Rows a page.
    rows: usize,
}

impl<'a, C: ConnectionLike> Pages<'a, C> {
    pub(super) fn new(conn: &'a mut C, index: &'a str, query: Cmd) -> Self {
        Self {
            conn,
            index,
            query: Some(query),
            open: None,
            rows: PAGE,
        }
    }

    /// With pages of at most so many rows.
    pub(super) fn of_rows(mut self, rows: usize) -> Self {
        self.rows = rows;
        self
    }

    /// The rows of the next page; `None` after the last.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Row>>, StoreError> {
        let mut command = match (self.query.take(), self.open) {
            (Some(mut query), _) => {
                query.arg("WITHCURSOR");
                query
            }
            (None, Some(cursor)) => {
                let mut read = redis::cmd("FT.CURSOR");
                read.arg("READ").arg(self.index).arg(cursor);
                read
            }
            (None, None) => return Ok(None),
        };
        command.arg("COUNT").arg(self.rows);
        if self.open.is_none() {
            command.arg("MAXIDLE").arg(CURSOR_IDLE_MS);
        }
        let answer = self.conn.req_packed_command(&command).await;
        // An error within a page is for the page to tell.
        let page = match answer.and_then(reply::said) {
            Ok(value) => {
                self.open = reply::cursor_of(&value);
                reply::page(&value)
            }
            Err(error) if reply::says_no_index(&error) => {
                Err(no_index(self.conn, self.index).await)
            }
            Err(error) => Err(reply::search_error(error)),
        };
        if page.is_err() {
            self.close().await;
        }
        page.map(|page| Some(page.rows))
    }

    /// Gives the cursor back.
    async fn close(&mut self) {
        self.query = None;
        if let Some(cursor) = self.open.take() {
            close(self.conn, self.index, cursor).await;
        }
    }
}

/// Gives a cursor back; the server has few. It forgets an unread one by itself, so errors pass.
async fn close(conn: &mut impl ConnectionLike, index: &str, cursor: i64) {
    let mut command = redis::cmd("FT.CURSOR");
    command.arg("DEL").arg(index).arg(cursor);
    let _: Result<Value, _> = command.query_async(conn).await;
}
