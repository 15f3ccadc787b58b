//! Random sequences of INSERT, UPDATE and whole-row saves under a guard that marks rows, compared with a model.

mod tests {
    use pgrx::prelude::*;
    use simhash::fingerprint::options::Options;
    use simhash::fingerprint::resemblance::resemblance;
    use simhash::fingerprint::{Fingerprinter, Scratch, Summary};
    use simhash::random::Random;

    // The default criterion of a guard.
    const BANDS: usize = simhash::fingerprint::bands::DEFAULT_BANDS;
    const MIN_RESEMBLANCE: f64 = simhash::fingerprint::resemblance::DEFAULT_RESEMBLANCE;
    const MAX_DISTANCE: u32 = 20;

    #[derive(Clone, Debug)]
    struct ModelRow {
        id: i32,
        text: String,
        summary: Summary,
        mark: Option<i32>,
    }

    impl ModelRow {
        fn new(id: i32, text: String, mark: Option<i32>) -> Self {
            let summary = Fingerprinter::new(&mut Scratch::default(), &Options::default(), &|| ())
                .summary(&text, BANDS)
                .expect("memory suffices")
                .expect("the text has words");
            Self { id, text, summary, mark }
        }
    }

    fn run(statement: &str) {
        if let Err(error) = Spi::run(statement) {
            error!("{error}: {statement}");
        }
    }

    /// A text of one of a few groups, with up to three words replaced. Some texts are stored compressed or out of line.
    fn random_text(random: &mut Random) -> String {
        let group = random.below(4);
        let (word_count, times) = [(60, 1), (60, 20), (700, 1), (20, 1)][group as usize];
        let mut words: Vec<_> = (0..word_count).map(|n| format!("{:x}", Random(group << 32 | n).next())).collect();
        for _ in 0..random.below(4) {
            words[random.below(word_count) as usize] = format!("{:x}", random.below(8));
        }
        vec![words.join(" "); times].join(" ")
    }

    fn are_near(row: &ModelRow, other: &ModelRow) -> bool {
        let resembles = || {
            let (mut scratch, options) = Default::default();
            let mut fingerprinter = Fingerprinter::new(&mut scratch, &options, &|| ());
            let resemblance = resemblance(&mut fingerprinter, &row.text, &other.text).expect("memory suffices");
            resemblance.is_some_and(|resemblance| resemblance >= MIN_RESEMBLANCE)
        };
        let distance = (row.summary.fingerprint ^ other.summary.fingerprint).count_ones();
        row.summary.shares_band(&other.summary, BANDS) && distance <= MAX_DISTANCE && resembles()
    }

    /// The marks that a guard may give a row: the key of any unmarked row near it or, without such a row, NULL.
    fn allowed_marks(rows: &[ModelRow], new: &ModelRow) -> Vec<Option<i32>> {
        let near = rows.iter().filter(|row| row.id != new.id && row.mark.is_none() && are_near(row, new));
        let near: Vec<_> = near.map(|row| Some(row.id)).collect();
        if near.is_empty() { vec![None] } else { near }
    }

    /// Runs random statements. If `sets_marks_by_hand`, some of them set marks or delete rows. If not, at any time no
    /// two unmarked rows are near each other, and each mark leads to an unmarked row.
    fn run_statements(seed: u64, sets_marks_by_hand: bool) {
        create_table();
        let (mut random, mut rows) = (Random(seed), Vec::<ModelRow>::new());
        for number in 0..400 {
            let (statement, changed) = random_statement(&mut random, number, sets_marks_by_hand, &mut rows);
            run(&statement);
            let Some((row, allowed)) = changed else { continue };
            let query = format!("SELECT near FROM marked WHERE id = {}", row.id);
            let stored_mark = Spi::get_one::<i32>(&query).expect("the row is stored");
            assert!(allowed.contains(&stored_mark), "{stored_mark:?}, not {allowed:?}, seed {seed}: {statement}");
            rows.retain(|other| other.id != row.id);
            rows.push(ModelRow { mark: stored_mark, ..row });
            if !sets_marks_by_hand {
                check_marks(&rows);
            }
        }
        // The test has seen rows of each kind.
        assert!(rows.iter().any(|row| row.mark.is_some()) && rows.iter().any(|row| row.mark.is_none()));
    }

    fn create_table() {
        run("DROP TABLE IF EXISTS marked;
            CREATE TABLE marked (id integer PRIMARY KEY, title integer, body text, near integer)");
        for band in 0..BANDS {
            run(&format!("CREATE INDEX ON marked (simhash_band(body, {band}), simhash_size(body), simhash(body))"));
        }
        run("SELECT simhash_guard('marked', 'mark', mark_column => 'near')");
    }

    /// A random statement, with the row that it writes and the marks that this row may then have. If the statement
    /// deletes a row, returns none, and removes the row from `rows`.
    fn random_statement(
        random: &mut Random,
        number: i32,
        sets_marks_by_hand: bool,
        rows: &mut Vec<ModelRow>,
    ) -> (String, Option<(ModelRow, Vec<Option<i32>>)>) {
        let index = random.below(rows.len().max(1) as u64) as usize;
        // An application may write any mark.
        let written_mark = if rows.is_empty() || random.below(2) == 0 { None } else { Some(random.one_of(rows).id) };
        let mark = written_mark.map_or("NULL".to_owned(), |mark| mark.to_string());
        let new = ModelRow::new(number, random_text(random), written_mark);
        let kind = if rows.len() < 3 { 0 } else { random.below(if sets_marks_by_hand { 9 } else { 6 }) };
        if kind < 2 && rows.len() < 40 {
            let statement = format!("INSERT INTO marked VALUES ({number}, {number}, '{}', {mark})", new.text);
            let allowed = allowed_marks(rows, &new);
            return (statement, Some((new, allowed)));
        }
        let old = rows[index].clone();
        let (id, unchanged) = (old.id, vec![old.mark]);
        match kind {
            // An UPDATE of the text, which may be the same.
            0..=3 => {
                let also_mark = if random.below(2) == 0 { format!(", near = {mark}") } else { String::new() };
                let statement = format!("UPDATE marked SET body = '{}'{also_mark} WHERE id = {id}", new.text);
                let row = ModelRow { id, ..new };
                let allowed = if row.text == old.text { unchanged } else { allowed_marks(rows, &row) };
                (statement, Some((row, allowed)))
            }
            // An application saves a whole row, with the same text. BEFORE INSERT, the guard ignores the row with this
            // key, but may mark the new row because of others. ON CONFLICT then writes an unchanged text, so the guard
            // restores the old mark.
            4 => {
                let statement = format!(
                    "INSERT INTO marked VALUES ({id}, {number}, '{}', {mark}) ON CONFLICT (id) DO UPDATE
                     SET title = excluded.title, body = excluded.body, near = excluded.near",
                    old.text
                );
                (statement, Some((old, unchanged)))
            }
            5 => (format!("UPDATE marked SET title = {number} WHERE id = {id}"), Some((old, unchanged))),
            6 | 7 => (format!("UPDATE marked SET near = {mark} WHERE id = {id}"), Some((old, vec![new.mark]))),
            _ => {
                rows.swap_remove(index);
                (format!("DELETE FROM marked WHERE id = {id}"), None)
            }
        }
    }

    /// Panics if two unmarked rows are near each other, or if a mark leads to no unmarked row.
    fn check_marks(rows: &[ModelRow]) {
        let unmarked: Vec<_> = rows.iter().filter(|row| row.mark.is_none()).collect();
        for (index, row) in unmarked.iter().enumerate() {
            let near = unmarked[..index].iter().find(|other| are_near(row, other));
            assert!(near.is_none(), "{row:?} and {near:?} are unmarked");
        }
        for row in rows {
            let (mut reached, mut steps) = (row, 0);
            while let Some(mark) = reached.mark {
                reached = rows.iter().find(|row| row.id == mark).expect("no row was deleted");
                steps += 1;
                assert!(steps <= rows.len(), "the mark of row {} leads to no unmarked row", row.id);
            }
        }
    }

    #[pg_extern(sql = false)]
    fn random_marks() {
        (0..4).for_each(|seed| run_statements(seed, false));
    }

    #[pg_extern(sql = false)]
    fn random_marks_by_hand() {
        (10..14).for_each(|seed| run_statements(seed, true));
    }
}
