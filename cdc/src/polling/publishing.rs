//! A window's rows, said as one transaction.

use bytes::Bytes;

use super::look::Look;
use super::poller::{Poller, Published, Stopped, refused};
use super::window::Window;
use crate::pgoutput::{Cell, Message};
use crate::quoting::{identifier, literal};
use crate::replication::ReplicationEvent;
use crate::stored::{Rows, Table, TransactionIds, ask};

/// Types whose values grow with the rows, if a sequence fills them: `bigint`, `smallint`, `integer`.
const INTEGERS: [u32; 3] = [20, 21, 23];

impl Poller {
    /// Says a window's rows as one transaction; nothing at all if it has none.
    ///
    /// Of rows that an earlier session has published, some may have been deleted since. So the last one is looked for by
    /// its id, and as many empty rows as were published stand in for those up to it: the connector counts them and
    /// looks no further. If it is gone itself, so are those before it, which are older, and all that is left is new.
    pub(crate) async fn publish(
        &mut self,
        window: &Window,
        look: &Look,
        mut published: Option<Published>,
    ) -> Result<(), Stopped> {
        let ids = self.ids(look);
        let condition = window.condition(&ids);
        let mut skip_until = match &published {
            Some(Published { last_id: Some(id), .. }) => self.holder(look, &condition, id).await?,
            _ => None,
        };
        let mut is_open = false;
        for (index, table) in look.tables.iter().enumerate().skip(skip_until.unwrap_or(0)) {
            let query = table.select(&condition, &self.order(table, &ids));
            let mut rows = Rows::of(self.control.client(), &query).await?;
            while let Some(row) = rows.next().await? {
                let mut stand_ins = 0;
                if let Some(earlier) = &published {
                    let is_last = earlier.last_id.is_some() && self.id_of(table, &row) == earlier.last_id.as_ref();
                    if skip_until == Some(index) && !is_last {
                        continue;
                    }
                    // Rows without an id are all there again, and counted.
                    stand_ins = if earlier.last_id.is_some() { earlier.rows - u64::from(is_last) } else { 0 };
                    (skip_until, published) = (None, None);
                }
                if !is_open {
                    is_open = true;
                    self.open(window, look).await?;
                }
                for _ in 0..stand_ins {
                    let stand_in = Message::Insert { relation_id: table.relation.id, row: Vec::new() };
                    self.say(ReplicationEvent::Message(stand_in), 0).await?;
                }
                self.row(table, row).await?;
            }
        }
        if is_open {
            let (commit_lsn, end_lsn) = (window.position(), window.end());
            let commit = Message::Commit { commit_lsn, end_lsn, commit_time_micros: look.time_micros };
            self.say(ReplicationEvent::Message(commit), 0).await?;
        }
        Ok(())
    }

    /// The transaction begins, behind which window it is, and before what its tables look like if that is news.
    async fn open(&mut self, window: &Window, look: &Look) -> Result<(), Stopped> {
        self.say(ReplicationEvent::Snapshot(Some(window.to_text())), 0).await?;
        let begin =
            Message::Begin { commit_lsn: window.position(), commit_time_micros: look.time_micros, transaction_id: 0 };
        self.say(ReplicationEvent::Message(begin), 0).await?;
        if self.described != look.tables {
            for table in &look.tables {
                self.say(ReplicationEvent::Message(Message::Relation(table.relation.clone())), 0).await?;
            }
            self.described.clone_from(&look.tables);
        }
        Ok(())
    }

    async fn row(&self, table: &Table, row: Vec<Cell>) -> Result<(), Stopped> {
        let length = |cell: &Cell| if let Cell::Text(text) = cell { text.len() } else { 0 };
        let bytes = row.iter().map(length).sum();
        if bytes > self.options.row_bytes_max {
            let id = self.id_of(table, &row).map(|id| String::from_utf8_lossy(&id[..id.len().min(100)]).into_owned());
            return Err(refused(format!(
                "the row of {} with id {} has {bytes} bytes, more than max.row.bytes ({}); raise it, or delete the row to lose it",
                table.quoted(),
                id.unwrap_or_default(),
                self.options.row_bytes_max
            )));
        }
        self.say(ReplicationEvent::Message(Message::Insert { relation_id: table.relation.id, row }), bytes).await
    }

    fn id_of<'r>(&self, table: &Table, row: &'r [Cell]) -> Option<&'r Bytes> {
        match row.get(table.column(&self.options.event_id)?) {
            Some(Cell::Text(id)) => Some(id),
            _ => None,
        }
    }

    /// Which of the tables has the row with this id in the window.
    async fn holder(&self, look: &Look, condition: &str, id: &Bytes) -> Result<Option<usize>, Stopped> {
        let id = literal(&String::from_utf8_lossy(id));
        for (index, table) in look.tables.iter().enumerate() {
            let column = identifier(&self.options.event_id);
            let query = format!("SELECT 1 FROM {} WHERE {condition} AND {column}::text = {id}", table.quoted());
            if !ask(self.control.client(), &query).await?.is_empty() {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// What a window's rows are ordered by. Random ids say nothing about time; transaction ids are given out in the
    /// order of first writes, which is that of commits where transactions do not overlap.
    fn order(&self, table: &Table, ids: &TransactionIds) -> String {
        if let Some(column) = &self.options.column {
            return identifier(column);
        }
        let id = table.column(&self.options.event_id);
        let is_integer = |index: usize| INTEGERS.contains(&table.relation.columns[index].type_id);
        if id.is_some_and(is_integer) { identifier(&self.options.event_id) } else { ids.order() }
    }
}
